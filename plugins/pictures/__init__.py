"""Pictures as patches: what makes vectors of them; what several plugins share."""
