"""Images: vision transformers on 16x16 patches, CNNs from timm, and hybrids of the two."""
