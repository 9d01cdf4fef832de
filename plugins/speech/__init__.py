"""Speech: sounds as frames, each of which looks only so far."""
