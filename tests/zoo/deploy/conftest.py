import pytest


@pytest.fixture(autouse=True)
def _unchecked(unchecked_shapes: None) -> None: ...
