"""The command `zoo`: lists and describes models, and runs studies."""
