"""The study of fine-tuning: accuracy, seconds and trained parameters of each way, on few examples of new classes."""
