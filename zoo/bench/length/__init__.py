"""The study `length`: accuracy over the distance that is remembered, time and memory over length, by family."""
