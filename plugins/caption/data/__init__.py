"""Pictures with captions: drawn scenes, and the files of the user."""
