from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

Draw = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep indices and decoded images of tests in a folder of their own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ZOO_CACHE", str(folder))
    return folder


@pytest.fixture
def draw(tmp_path: Path) -> Draw:
    """Write pictures of noise into class folders of a folder, and give it."""
    random = np.random.default_rng(0)

    def write(classes: dict[str, int], place: str = "pictures", size: tuple[int, int] = (14, 10)) -> Path:
        for name, count in classes.items():
            (tmp_path / place / name).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                pixels = random.integers(0, 255, (size[1], size[0], 3), np.uint8)
                Image.fromarray(pixels).save(tmp_path / place / name / f"{number}.png")
        return tmp_path / place

    return write
