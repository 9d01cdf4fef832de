"""Attention of recurrent decoders (alignment): scores, windows, decoders, hard attention, copying."""
