"""Tables of numbers and categories as a modality of the attention zoo."""
