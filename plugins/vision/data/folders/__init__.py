"""Pictures of class folders: listed, indexed, read when asked for, decoded once."""
