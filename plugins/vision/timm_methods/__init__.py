"""What users of timm know models by: its names, its methods and its feature maps."""
