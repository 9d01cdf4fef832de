"""Commands for authors of plugins: write one, check one."""
