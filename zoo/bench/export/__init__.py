"""Exported models in onnxruntime, float32 and int8, against the same models in eager PyTorch."""
