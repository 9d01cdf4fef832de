"""Fine-tuning: which weights are trained, how fast, and by how many numbers."""
