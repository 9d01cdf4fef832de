"""From recordings to a folder, and from the folder to answers; and digits that are learned (slow)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.pipeline import Pipeline
from zoo.plugins.speech.data.synthetic import espeak, spoken_digits

Write = Callable[..., Path]
spoken_here = pytest.mark.skipif(shutil.which(espeak.PROGRAM) is None, reason=f"{espeak.PROGRAM} is not installed")
SMALL: dict[str, Any] = {"depth": 1, "dim": 16, "num_heads": 2, "mlp_dim": 16, "steps": 2, "batch_size": 4}


@pytest.fixture
def recorded(write: Write, tmp_path: Path) -> Path:
    """Write a manifest of tones, each with a label and what is said."""
    lines = []
    for number in range(12):
        path = write(f"{number}.wav", seconds=0.3 + 0.1 * (number % 2))
        lines.append({"audio": path.name, "label": ("short", "long")[number % 2], "text": "ab" * (1 + number % 2)})
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def test_a_model_of_labels_is_trained_and_names_them(recorded: Path) -> None:
    trained = zoo.train("speech-tiny", f"folder:{recorded}", out=recorded / "out", **SMALL)
    assert set(trained.scores) == {"accuracy", "loss"}
    ((name, answer),) = Pipeline(f"local-dir:{recorded / 'out'}").predict([str(recorded / "0.wav")])
    assert name.endswith("0.wav")
    assert set(answer) == {"short", "long"}
    assert sum(answer.values()) == pytest.approx(1)


@pytest.mark.parametrize("by", ["ctc", "attention"])
def test_a_model_of_transcripts_is_trained_and_writes(recorded: Path, by: str) -> None:
    trained = zoo.train("speech-tiny", str(recorded), out=recorded / "out", task="generate", by=by, **SMALL)
    assert set(trained.scores) == {"word error rate", "character error rate", "exact match"}
    pipeline = Pipeline(f"local-dir:{recorded / 'out'}")
    ((_, answers),) = pipeline.generate([str(recorded / "0.wav")], max_len=5)
    ((text, score),) = answers
    assert set(text.replace("<unk>", "")) <= set("ab")
    assert score <= 0


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Name a cache in which sounds lie that were spoken once."""
    return str(tmp_path_factory.mktemp("spoken"))


@pytest.mark.slow
@spoken_here
def test_digits_are_heard_in_voices_that_were_not_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(spoken_digits, "SIZES", {"words": (1_000, 50, 240)})
    trained = zoo.train("speech-tiny", "spoken-digits", out=tmp_path / "out", steps=150, validations=1)
    assert trained.scores["accuracy"] >= 0.8


@pytest.mark.slow
@spoken_here
@pytest.mark.parametrize(
    ("options", "most"),
    [  # .05 and .48 where they were written; docs/speech.md: .024 and .029 of more strings, after more steps
        ({"by": "ctc", "steps": 150}, 0.15),
        ({"by": "attention", "steps": 300, "batch_size": 16, "guided_attention": 1.0}, 0.65),
    ],
)
def test_strings_of_digits_are_written_down(
    options: dict[str, Any], most: float, spoken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_CACHE", spoken)
    monkeypatch.setattr(spoken_digits, "SIZES", {"strings": (1_000, 50, 100)})
    out = tmp_path / "out"
    trained = zoo.train("speech-tiny", "spoken-digits:strings", out=out, task="generate", validations=1, **options)
    assert trained.scores["word error rate"] <= most
