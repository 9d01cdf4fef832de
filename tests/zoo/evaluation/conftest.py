"""A run of texts in a table, which has hardly learned."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import zoo

SHOPS = ("north", "south")


def written(path: Path, labels: tuple[str, ...] = ("bad", "good"), rows: int = 60) -> Path:
    rng = random.Random(0)
    lines = [
        f"thing {rng.randrange(999)} {label},{label},{rng.choice(SHOPS)}" for label in labels * (rows // len(labels))
    ]
    path.write_text("\n".join(["text,label,shop", *lines, "an odd thing,bad,west"]) + "\n")
    return path


@pytest.fixture
def write_reviews() -> Callable[..., Path]:
    return written


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("reviews") / "reviews.csv")


@pytest.fixture(scope="module")
def trained(reviews: Path) -> str:
    out = reviews.parent / "run"
    zoo.train("bert-micro", f"csv:{reviews}", out=out, steps=2, batch_size=8, tokenizer="byte", seed=3)
    return str(out)
