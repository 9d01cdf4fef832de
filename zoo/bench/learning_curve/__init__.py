"""The study `data-size`: accuracy over the number of training examples."""
