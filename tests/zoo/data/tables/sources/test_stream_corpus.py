import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo import ConfigError, DataError
from zoo.data import Workers
from zoo.data.corpus import Corpus, open_corpus
from zoo.data.corpus_options import with_options
from zoo.data.subsets import subset, warn_of_notes
from zoo.data.tables.sources import stream as streams
from zoo.data.tables.sources.stream_corpus import StreamCorpus
from zoo.training.sampler import Sampler

ENCODER, DECODER = zoo.info("bert-tiny"), zoo.info("decoder-tiny")
VISION = zoo.info("vit-micro").with_config(image_size=16)
COUNT = 60


@pytest.fixture
def texts(parquet: Any, tmp_path: Path) -> str:
    """Make a repository of texts with labels; one of these is rare."""
    labels = ["even" if number % 2 else "odd" for number in range(COUNT)]
    parquet("texts/train-0.parquet", text=[f"text {n}" for n in range(35)], label=labels[:35])
    parquet("texts/train-1.parquet", text=[f"text {n}" for n in range(35, COUNT)], label=["odd"] * 25)
    parquet("texts/test.parquet", text=[f"test {n}" for n in range(6)], label=labels[:6])
    return f"hf:{tmp_path / 'texts'}?streaming&buffer=20"


@pytest.fixture
def pictures(parquet: Any, tmp_path: Path) -> str:
    """Make a repository of pictures, each of its own colour."""
    import datasets
    from PIL import Image

    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["b", "a"])}
    pixels = np.stack([np.full((16, 16, 3), (4 * n, 255 - n, n), np.uint8) for n in range(COUNT)])
    pixels[:, -1, -1] = 0  # constant ones are told
    drawn = [Image.fromarray(each) for each in pixels]
    parquet("pets/train.parquet", features, image=drawn, label=[n % 2 for n in range(COUNT)])
    return f"hf:{tmp_path / 'pets'}?streaming&buffer=20"


def read(corpus: Corpus, batch: Any) -> list[str]:
    tokenizer: Any = corpus.tokenizer  # type: ignore[attr-defined]
    return [tokenizer.decode(row[:length]) for row, length in zip(*batch.inputs, strict=True)]


def test_an_epoch_reads_each_text_once_in_windows(texts: str) -> None:
    corpus = open_corpus(texts, ENCODER, tokenizer="byte")
    assert isinstance(corpus, StreamCorpus)
    drawn = corpus.sizes["train"]
    found: list[list[str]] = []
    for batch in corpus.epoch(torch.Generator().manual_seed(1), 8):
        found.append(read(corpus, corpus.batch(batch, torch.Generator())))
    flat = [text for batch in found for text in batch]
    assert len(flat) == len(set(flat)) == drawn
    order = [int(text.split()[1]) // 20 for text in flat]
    assert order == sorted(order)
    assert flat != sorted(flat, key=lambda text: int(text.split()[1]))
    held = {text for batch in corpus.held_out("validation", 4) for text in read(corpus, batch)}
    assert held
    assert {*flat, *held} == {f"text {n}" for n in range(COUNT)}
    assert not held & {*flat}
    assert {text for batch in corpus.held_out("test", 4) for text in read(corpus, batch)} == {
        f"test {n}" for n in range(6)
    }


def test_labels_of_a_window_that_lacks_some_are_those_of_the_first(texts: str) -> None:
    corpus = open_corpus(texts, ENCODER, tokenizer="byte")
    last = corpus.batch(torch.arange(corpus.sizes["train"] - 4, corpus.sizes["train"]), torch.Generator())
    assert corpus.labels == ["even", "odd"]  # type: ignore[attr-defined]
    assert last.target.tolist() == [1, 1, 1, 1]


def test_a_label_that_comes_later_is_named(parquet: Any, tmp_path: Path) -> None:
    parquet("repo/train.parquet", text=[f"t {n}" for n in range(40)], label=["a", "b"] * 15 + ["c"] * 10)
    corpus = open_corpus(f"hf:{tmp_path / 'repo'}?streaming&buffer=20", ENCODER, tokenizer="byte")
    with pytest.raises(DataError, match=r"label c of train are in no example of the first window.* a larger \?buffer="):
        corpus.batch(torch.tensor([corpus.sizes["train"] - 1]), torch.Generator())


@pytest.mark.parametrize("source", ["texts", "pictures"])
def test_batches_are_the_same_from_anywhere_and_with_workers(source: str, request: pytest.FixtureRequest) -> None:
    data, spec = request.getfixturevalue(source), ENCODER if source == "texts" else VISION
    tokenizer = "byte" if source == "texts" else ""

    def batches(first: int, workers: int = 0, rank: int = 0, world: int = 1) -> list[Any]:
        streams._READERS.clear()
        sampler = Sampler(open_corpus(data, spec, tokenizer=tokenizer), 8, 3, rank, world)
        with Workers(sampler, sampler.corpus, workers=workers):
            source = sampler.batches(first)
            return [next(source) for _ in range(12 // world - first)]

    whole = batches(0)
    halves = [batches(0, rank=rank, world=2) for rank in range(2)]
    turns = [batch for pair in zip(*halves, strict=True) for batch in pair]
    for other, start in ((batches(7), 7), (batches(3, workers=2), 3), (turns, 0)):
        for one, two in zip(whole[start:], other, strict=True):
            for a, b in zip((*one.inputs, one.target), (*two.inputs, two.target), strict=True):
                assert torch.equal(a, b)


@pytest.mark.slow
def test_a_process_that_read_a_stream_ends_without_a_word(texts: str) -> None:
    script = "import sys; from zoo.data import open_corpus; import zoo; import torch\n"
    script += "corpus = open_corpus(sys.argv[1], zoo.info('bert-tiny'), tokenizer='byte')\n"
    script += "corpus.batch(torch.tensor([corpus.sizes['train'] - 1]), torch.Generator())"
    done = subprocess.run([sys.executable, "-c", script, texts], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_pictures_have_the_labels_and_the_look_of_the_first_window(pictures: str) -> None:
    corpus: Any = open_corpus(pictures, VISION)
    assert corpus.labels == ["b", "a"]
    batch = corpus.batch(torch.arange(corpus.sizes["train"] - 20, corpus.sizes["train"]), torch.Generator())
    assert batch.target.tolist() == [n % 2 for n in range(20)]
    plain: Any = corpus.with_augmentation("none")
    (shown,), _ = plain.batch(torch.tensor([corpus.sizes["train"] - 1]), torch.Generator())
    red, green, blue = (255 * (shown[0, :, 0, 0] * corpus.source.deviation + corpus.source.mean)).round().int().tolist()
    assert 40 <= blue < COUNT  # of the last window, which is in an order of the seed
    assert (red, green) == (4 * blue, 255 - blue)


def test_long_texts_are_read_in_as_many_pieces_as_there_are_texts(parquet: Any, tmp_path: Path) -> None:
    parquet("long/train.parquet", text=[f"{n} " * 400 for n in range(40)])
    corpus = open_corpus(f"hf:{tmp_path / 'long'}?streaming&buffer=20", DECODER, tokenizer="byte")
    sizes = [len(corpus.batch(index, torch.Generator()).target) for index in corpus.epoch(torch.Generator(), 8)]
    assert max(sizes) == 8
    assert sum(sizes) == corpus.sizes["train"]


def test_a_stream_that_is_shorter_than_a_batch_is_an_error(texts: str) -> None:
    corpus: Any = open_corpus(texts, ENCODER, tokenizer="byte")
    with pytest.raises(DataError, match=r"has 5\d examples to train on, fewer than a batch of 64: set --batch-size"):
        corpus.epoch(torch.Generator(), 64)


def test_what_a_stream_cannot_is_an_error(pictures: str) -> None:
    stream: Any = open_corpus(pictures, VISION)
    with pytest.raises(ConfigError, match=r"nothing is kept of hf:.*: leave \?streaming away, or the cache"):
        with_options(stream, cache=True)
    assert with_options(stream, cache=False) is stream
    assert warn_of_notes(stream) == ()
    with pytest.raises(DataError, match=r"a stream has none: leave \?streaming away"):
        subset(stream, 5, 0)


def test_numbers_of_molecules_are_divided_by_the_deviation_of_the_first_window(parquet: Any, tmp_path: Path) -> None:
    smiles = [f"{'C' * n}c1ccccc1" for n in range(1, COUNT)]
    parquet("mols/train.parquet", smiles=smiles, y=[n**2 / 2 for n in range(1, COUNT)])
    corpus: Any = open_corpus(f"hf:{tmp_path / 'mols'}?streaming&buffer=20&draw=random", zoo.info("graph-tiny"))
    last = corpus.batch(torch.tensor([corpus.sizes["train"] - 1]), torch.Generator())
    assert last.target.tolist() == [[59**2 / 2]]
    assert corpus._window(2).units == corpus.units


def test_a_stream_can_be_sent_to_a_process(texts: str) -> None:
    corpus = open_corpus(texts, ENCODER, tokenizer="byte")
    other = pickle.loads(pickle.dumps(corpus))
    one, two = (each.batch(torch.tensor([40, 41]), torch.Generator()) for each in (corpus, other))
    assert torch.equal(one.inputs[0], two.inputs[0])
