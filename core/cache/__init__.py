"""Keys and values that decoders and streams keep: growing, fixed, of a window, and sums of linear attention."""
