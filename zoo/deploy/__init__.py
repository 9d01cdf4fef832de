"""Deployment: models as programs that run without this library: `zoo.export(model, folder)`."""
