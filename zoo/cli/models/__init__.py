"""Commands on models as such: list, describe, plan, export, share."""
