"""From a model's scores to sequences of tokens: sampling, beam search, decoding of CTC."""
