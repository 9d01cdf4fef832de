"""Sound before and after a model: preprocessing and postprocessing."""
