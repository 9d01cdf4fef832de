"""What a GPU is for, against peers: the cases of `zoo bench speed --suite gpu --device cuda`, one file for each group."""
