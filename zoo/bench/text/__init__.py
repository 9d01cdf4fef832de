"""Text models against the same models in other libraries, one file for each kind of work."""
