"""What a GPU is for, against peers: the cases of `zoo bench speed --suite gpu`, one file for each group."""
