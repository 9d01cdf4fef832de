"""Speech models against their peers, one file for each kind of work."""
