"""Deployment: models as ONNX or PT2 programs, in a folder that runs without this library: `zoo.export(model, folder)`."""
