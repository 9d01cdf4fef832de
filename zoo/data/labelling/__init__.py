"""Labels as users have them: classes of unequal size, and labels that are wrong."""
