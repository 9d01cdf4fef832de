"""Other attention layers, one file each."""
