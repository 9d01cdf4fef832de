"""The commands `zoo transcribe` and `zoo say`."""
