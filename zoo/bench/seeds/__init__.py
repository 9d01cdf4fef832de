"""All seeds of a training at once, on one accelerator."""
