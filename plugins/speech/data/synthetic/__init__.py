"""Speech that programs make."""
