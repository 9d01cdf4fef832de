"""Layers that models are built of: attention, blocks, encoders, decoders, embeddings, pooling and heads."""
