"""From learning curves to a decision: curve families, how many labels a target needs, what they cost, back-tests."""
