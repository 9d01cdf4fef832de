"""Reading of images and texts against the libraries that read them, with as many processes."""
