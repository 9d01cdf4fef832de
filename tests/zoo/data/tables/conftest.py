import pytest


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart, and the hub out."""
