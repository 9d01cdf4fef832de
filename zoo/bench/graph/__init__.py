"""Models of graphs against PyTorch Geometric's layers and against themselves, one file for each kind of work."""
