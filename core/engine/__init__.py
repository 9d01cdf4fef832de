"""From a call of `attend` to a backend: validation, planning, and the call itself."""
