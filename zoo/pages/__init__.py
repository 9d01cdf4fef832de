"""What self-contained pages share: theme, elements, scales and saved pictures, packed without any request."""
