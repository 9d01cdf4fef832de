"""Texts to numbers of tokens, against `datasets.map` with the same tokenizer and as many processes."""

import os
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from zoo.bench.speed.case import Built, Case
from zoo.data import open_corpus
from zoo.factory import create
from zoo.processors import cores

SIZE = 40_000_000
"""Bytes; from 32 MB on, texts are read in pieces by several processes."""
WORDS = 20_000
LONGEST = 40
"""Words of a line."""


@cache
def written(size: int) -> TemporaryDirectory[str]:
    """Write lines of random words, frequent and rare ones as in a language (Zipf's law)."""
    generator, folder = np.random.default_rng(0), TemporaryDirectory()
    letters = generator.integers(ord("a"), ord("z") + 1, (WORDS, 12), np.uint8)
    words = np.array([bytes(row[: 2 + place % 11]).decode() for place, row in enumerate(letters)])
    with Path(folder.name, "lines.txt").open("w") as file:
        while file.tell() < size:
            chosen = words[generator.zipf(1.2, 100_000) % WORDS]
            ends = np.cumsum(generator.integers(1, LONGEST, 100_000 * 2 // LONGEST))
            file.writelines(" ".join(line) + "\n" for line in np.split(chosen, ends[ends < len(chosen)]))
    return folder


def encode(batch: Mapping[str, list[str]], tokenizer: Any) -> dict[str, list[list[int]]]:
    """Give the tokens of each text, as `datasets.map` asks for them."""
    return {"tokens": [each.ids for each in tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)]}


def tokenized(tokenizer: str, size: int = SIZE) -> Built:
    """Turn the texts into memory-mapped tokens, and do so by `datasets`; nothing is cached before."""
    import datasets
    from tokenizers import Tokenizer

    datasets.disable_progress_bars()
    folder, processes = Path(written(size).name), cores()
    file, saved = folder / "lines.txt", folder / f"{tokenizer}.json"

    def ours(tokenizer: str = str(saved)) -> Any:
        with TemporaryDirectory() as cache, patch.dict(os.environ, ZOO_CACHE=cache):
            return open_corpus(f"lines:{file}", create.info("decoder-tiny"), tokenizer=tokenizer)

    ours(tokenizer).tokenizer.save(saved)
    known = Tokenizer.from_file(str(saved))

    def theirs() -> Any:
        with TemporaryDirectory() as cache, patch.dict(os.environ, TOKENIZERS_PARALLELISM="false"):
            texts = datasets.load_dataset("text", data_files=str(file), cache_dir=cache, split="train")
            return texts.map(
                encode, batched=True, remove_columns=["text"], num_proc=processes, fn_kwargs={"tokenizer": known}
            )

    return ours, theirs


NAME = f"{SIZE // 10**6} MB of text"
CASES = [
    Case(f"{NAME} to bytes", "datasets.load_dataset and map", 1.0, partial(tokenized, "byte")),
    Case(f"{NAME} to byte-pair tokens", "datasets.load_dataset and map", 1.0, partial(tokenized, "bpe")),
]
