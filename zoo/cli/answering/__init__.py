"""Commands that answer inputs with a model: predict, generate, chat, serve."""
