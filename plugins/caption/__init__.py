"""Captions: pictures in, sentences out; encoders of pictures before recurrent and Transformer decoders."""
