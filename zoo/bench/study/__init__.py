"""Definition of a study as a grid of runs, from which its command, its options and its report are made."""
