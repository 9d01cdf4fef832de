"""The Conformer, arXiv:2005.08100: attention and convolution in one block."""
