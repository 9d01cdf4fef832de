"""What a training does besides its steps: the run folder, progress, signals, the loss curve."""
