"""Speech: recognition, classification and synthesis, with attention over windows of frames."""
