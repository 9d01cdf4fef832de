"""The engine against its peers, one file for each group of cases."""
