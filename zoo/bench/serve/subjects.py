"""Models that are measured, with random weights, and requests for them: pictures and sentences that are drawn."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zoo.errors import ConfigError
from zoo.factory import create
from zoo.weights.checkpoint import save

COUNT, LABELS, SIDE, WORDS = 64, 10, 256, (8, 24)
"""Different inputs; labels; pixels of a side of a JPEG; words of a sentence, at least and at most."""


@dataclass(frozen=True)
class Subject:
    """Name a saved model, its raw inputs, and a request's body and header for each of them."""

    name: str
    folder: Path
    raw: Callable[[int], Any]
    body: Callable[[int], tuple[bytes, dict[str, str]]]


def subject(name: str, folder: Path) -> Subject:
    """Save a model with random weights, and draw its inputs.

    Raises:
        ConfigError: If the model reads neither picture files nor texts to classify.
    """
    spec = create.info(name)
    if "classify" not in spec.tasks or spec.reads not in ("", "encoder"):
        raise ConfigError(f"--models {name}: only classifiers of pictures and of texts are measured")
    save(create.create(name, task="classify", num_classes=LABELS), folder)
    (folder / "labels.json").write_text(json.dumps([f"label {number}" for number in range(LABELS)]), encoding="utf-8")
    generator = np.random.default_rng(0)
    if spec.reads == "encoder":
        read: Any = create.preprocess("bert-micro")
        read.tokenizer.save(folder / "tokenizer.json")  # a token for each byte
        sentences = [_sentence(generator) for _ in range(COUNT)]
        return Subject(name, folder, lambda n: sentences[n % COUNT], lambda n: _json(sentences[n % COUNT]))
    files = [_picture(generator) for _ in range(COUNT)]
    head = {"content-type": "image/jpeg"}
    return Subject(name, folder, lambda n: io.BytesIO(files[n % COUNT]), lambda n: (files[n % COUNT], head))


def _json(text: str) -> tuple[bytes, dict[str, str]]:
    return json.dumps({"input": text}).encode(), {"content-type": "application/json"}


def _sentence(generator: np.random.Generator) -> str:
    lengths = generator.integers(1, 9, generator.integers(*WORDS))
    return " ".join("".join(map(chr, generator.integers(97, 123, length))) for length in lengths)


def _picture(generator: np.random.Generator) -> bytes:
    """Draw a JPEG of smooth colours."""
    from PIL import Image

    colours = Image.fromarray(generator.integers(0, 255, (16, 16, 3), np.uint8))
    colours.resize((SIDE, SIDE)).save(file := io.BytesIO(), "JPEG")
    return file.getvalue()
