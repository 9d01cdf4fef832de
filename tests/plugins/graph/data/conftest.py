from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is read of files in a folder of the test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ZOO_CACHE", str(folder))
    return folder
