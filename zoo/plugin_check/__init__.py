"""`zoo plugins check`: what is wrong with a plugin, and how to mend it."""
