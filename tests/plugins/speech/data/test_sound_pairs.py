import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given

RATE = 16_000
SOUNDS = 0.1 * np.random.default_rng(0).standard_normal((20, 1600)).astype(np.float32)
LABELS = ["low" if place % 2 else "high" for place in range(20)]


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def opened(train: Any, **config: Any) -> Any:
    return open_given(GivenData({"train": train}), zoo.info("speech-tiny").with_config(**config))


def paths(folder: Path) -> list[str]:
    for place, samples in enumerate(SOUNDS):
        soundfile.write(folder / f"{place}.wav", samples, RATE, subtype="FLOAT")
    return [str(folder / f"{place}.wav") for place in range(len(SOUNDS))]


def test_paths_samples_and_dicts_are_the_same_sounds(tmp_path: Path) -> None:
    forms: list[Any] = [
        [(samples, RATE) for samples in SOUNDS],
        [(torch.from_numpy(samples)[None], RATE) for samples in SOUNDS],
        [{"array": samples, "sampling_rate": RATE} for samples in SOUNDS],
        paths(tmp_path),
    ]
    wanted = sorted(samples.tobytes() for samples in SOUNDS)
    for sounds in forms:
        corpus = opened([*zip(sounds, LABELS, strict=True)])
        found = []
        for split in ("train", "validation", "test"):
            inputs = corpus.examples(split, range(corpus.sizes[split]), None).inputs
            found += [row.numpy().tobytes() for row in inputs[0]]
        assert sorted(found) == wanted
        assert corpus.labels == ["high", "low"]


def test_a_transcript_is_the_target_of_a_model_that_writes() -> None:
    corpus = opened([((samples, RATE), "a") for samples in SOUNDS], task="generate", by="ctc")
    assert corpus.metric == "-word error rate"


@pytest.mark.parametrize(
    ("sound", "error"),
    [
        (SOUNDS[0], r"train\[0\]: the sound is ndarray of shape \(1600,\); a path, \(samples, rate\)"),
        ((SOUNDS[0], 0), r"train\[0\]: the sound is float32 of shape \(1600,\) at the rate 0"),
        ((SOUNDS[0] * np.nan, RATE), r"train\[0\]: samples are not finite"),
        ("none.wav", r"train\[0\]: there is no file 'none.wav'"),
    ],
)
def test_sounds_that_are_none(sound: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        opened([(sound, label) for label in LABELS])


def test_the_same_samples_are_the_same_data_at_another_time() -> None:
    pairs = [((samples, RATE), label) for samples, label in zip(SOUNDS, LABELS, strict=True)]
    first = opened(pairs).fingerprint
    time.sleep(1.1)  # WAV files of floats have the second of writing in them
    assert opened(pairs).fingerprint == first
