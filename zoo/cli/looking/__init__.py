"""Commands that show what a model attends to: pictures of attention, and the explorer."""
