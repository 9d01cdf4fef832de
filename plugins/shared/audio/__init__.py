"""Sound: log-mel features, subsampling, streaming, and speech recognition."""
