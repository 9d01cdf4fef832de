"""Sound as frames: features, their norm, and the way to one vector every 40 ms; what several plugins share."""
