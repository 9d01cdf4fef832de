from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo import DataError
from zoo.data.batches.workers import Workers
from zoo.data.python.given import GivenData, open_given
from zoo.plugins.caption.data.corpus import CaptionCorpus

SPEC = zoo.info("caption-rnn-tiny")


def pixels(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 255, (30, 40, 3), np.uint8)


def files(folder: Path, count: int) -> list[tuple[Path, str]]:
    for seed in range(count):
        Image.fromarray(pixels(seed)).save(folder / f"{seed}.png")
    return [(folder / f"{seed}.png", f"picture number {seed}") for seed in range(count)]


def opened(train: Any, **others: Any) -> CaptionCorpus:
    corpus = open_given(GivenData({"train": train, **others}), SPEC)
    assert isinstance(corpus, CaptionCorpus)
    return corpus


def test_files_are_read_when_needed_and_one_that_comes_again_has_several_captions(tmp_path: Path) -> None:
    pairs = files(tmp_path, 12)
    corpus = opened([*pairs, (str(tmp_path / "3.png"), ["another", "picture number 3"])], test=pairs[:2])
    assert corpus.reads_files
    items = [item for part in ("train", "validation") for item in corpus.parts[part]]
    assert len(items) == 12
    (third,) = [item for item in items if item.picture == tmp_path / "3.png"]
    assert third.texts == ("picture number 3", "another")
    assert [item.texts for item in corpus.parts["test"]] == [("picture number 0",), ("picture number 1",)]


def test_files_that_are_absent_are_named_and_counted_and_the_others_read(tmp_path: Path) -> None:
    corpus = opened([*files(tmp_path, 12), (tmp_path / "gone.png", "a"), (tmp_path / "gone.png", "b")])
    (note,) = corpus.notes
    assert "1 of 13 pictures" in note
    assert "gone.png" in note
    assert sum(map(len, corpus.parts.values())) == 12


@pytest.mark.parametrize(
    "made",
    [lambda x: x, Image.fromarray, lambda x: torch.from_numpy(x).permute(2, 0, 1)],
    ids=["array", "PIL", "tensor"],
)
def test_pixels_are_held_in_memory_and_are_those_of_the_file(made: Any, tmp_path: Path) -> None:
    held = opened([(made(pixels(seed)), f"picture {seed}") for seed in range(12)])
    assert not held.reads_files
    of_files = opened(files(tmp_path, 12))
    number = int(held.parts["train"][0].texts[0].split()[-1])
    one, _ = held.pictures["train"].read([0])
    for part, items in of_files.parts.items():
        for place, item in enumerate(items):
            if item.texts[0].endswith(f" {number}"):
                torch.testing.assert_close(of_files.pictures[part].read([place])[0], one)
                return
    raise AssertionError(number)


def test_the_fingerprint_holds_pixels_and_captions() -> None:
    def told(seed: int, text: str) -> str:
        return opened([(pixels(seed + at), f"{text} {at}") for at in range(12)]).fingerprint

    assert told(0, "a") == told(0, "a")
    assert len({told(0, "a"), told(100, "a"), told(0, "b")}) == 3


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ((pixels(0), 3), r"train\[0\]: the caption is int 3; a text, or a list of texts, is wanted"),
        ((pixels(0), []), "the caption is a list of 0"),
        ((pixels(0), "  "), "an empty caption"),
        ((5, "a"), "the picture is int 5; a path, a PIL image or an array is wanted"),
        (pixels(0), r"train\[0\] is ndarray of shape \(30, 40, 3\): a pair"),
    ],
)
def test_what_is_no_picture_with_a_caption_is_told(item: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        opened([item, (pixels(1), "b")])


@pytest.mark.parametrize("workers", [0, 1])
def test_unreadable_pictures_are_counted_and_named_whoever_reads_them(workers: int, tmp_path: Path) -> None:
    pairs = files(tmp_path, 12)
    corpus = opened(pairs)
    bad = corpus.parts["train"][0].picture
    bad.write_bytes(b"no picture")
    with Workers(corpus, workers=workers):
        for _ in range(2):
            list(corpus.held_out("train", 4))
    (note,) = corpus.notes
    assert note.startswith(f"1 of {len(corpus.parts['train'])} pictures are skipped:\n  {bad}: ")


def test_a_training_takes_pictures_and_sentences(tmp_path: Path) -> None:
    pairs = [(pixels(seed), f"picture number {seed % 3}") for seed in range(12)]
    sizes: dict[str, Any] = {"tokenizer": "word", "steps": 1, "batch_size": 4}
    found = zoo.train("caption-rnn-tiny", pairs, out=tmp_path / "run", **sizes)
    assert sum(found.record["sizes"].values()) == 12
