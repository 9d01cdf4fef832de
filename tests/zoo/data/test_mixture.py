import json
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo import ConfigError, DataError
from zoo.data.batches.workers import Workers
from zoo.data.corpus import open_corpus
from zoo.data.corpus_options import with_options
from zoo.data.mixture import Mixture
from zoo.data.subsets import study_info, subset, warn_of_notes
from zoo.training.sampler import Sampler

ENCODER, DECODER, PICTURES = (zoo.info(name) for name in ("bert-tiny", "decoder-tiny", "vit-micro"))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def texts(tmp_path: Path) -> str:
    """Write 100 texts of `a` and 50 of `b`, and mix them."""
    for name, count in (("a", 100), ("b", 50)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name * 3} {place}\n" for place in range(count)))
    return f"mix:0.75=lines:{tmp_path}/a.txt,0.25=lines:{tmp_path}/b.txt"


def mixed(text: str, spec: Any = DECODER, tokenizer: str = "byte") -> Mixture:
    corpus = open_corpus(text, spec, tokenizer=tokenizer)
    assert isinstance(corpus, Mixture)
    return corpus


def owners(corpus: Mixture, batches: Any) -> list[int]:
    """Give the corpus of each index batch, which has examples of no other."""
    found = [torch.bucketize(batch, corpus.ends, right=True).unique() for batch in batches]
    assert all(len(each) == 1 for each in found)
    return [int(each) for each in found]


def write_pictures(folder: Path, level: int) -> None:
    """Write eight pictures of each of two classes."""
    for name in "ab":
        (folder / name).mkdir(parents=True)
        for number in range(8):
            pixels = np.random.default_rng(number).integers(level, level + 50, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")


def test_batches_are_of_each_source_as_its_weight_says(texts: str) -> None:
    corpus = mixed(texts)
    batches = corpus.epoch(torch.Generator().manual_seed(0), 4)
    assert len(batches) == 30  # 80 examples of the one and 40 of the other
    of = owners(corpus, batches)
    assert of.count(1) in (7, 8)
    assert of != sorted(of)
    letters = [corpus.batch(batch, torch.Generator()).inputs[0][0, 1].item() for batch in batches]
    assert [chr(int(letter) - min(letters) + ord("a")) for letter in letters] == ["ab"[each] for each in of]


def test_a_small_source_is_read_again_and_a_large_one_in_parts_that_change(texts: str) -> None:
    corpus = mixed(texts.replace("0.75", "0.2").replace("0.25", "0.8"))
    large, few = (each.sizes["train"] for each in corpus.corpora)
    one, other = (torch.cat([*corpus.epoch(torch.Generator().manual_seed(seed), 4)]) for seed in (0, 1))
    for epoch in (one, other):
        small = epoch[epoch >= large]
        assert small.bincount()[large:].tolist() == pytest.approx([large * 1.2 / few] * few, abs=1)
        assert len(epoch[epoch < large].unique()) == pytest.approx(0.3 * large, abs=4)
    assert set(one[one < large].tolist()) != set(other[other < large].tolist())


def test_a_source_of_a_weight_below_a_batch_in_an_epoch_is_read_in_some(texts: str) -> None:
    corpus = mixed(texts.replace("0.25", "0.01"))
    epochs = [corpus.epoch(torch.Generator().manual_seed(seed), 4) for seed in range(50)]
    assert {len(each) for each in epochs} == {30}
    counts = [owners(corpus, each).count(1) for each in epochs]
    assert set(counts) == {0, 1}
    assert sum(counts) == pytest.approx(50 * 30 / 76, abs=9)


def test_the_order_is_a_function_of_the_seed(texts: str) -> None:
    one, other = (list(islice(Sampler(mixed(texts), 4, seed=3).batches(25), 10)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a.inputs[0], b.inputs[0])


def test_workers_and_pickled_copies_read_the_same(texts: str) -> None:
    corpus = mixed(texts)
    found = []
    for each, workers in ((corpus, 0), (corpus, 2), (pickle.loads(pickle.dumps(corpus)), 0)):
        sampler = Sampler(each, 4, seed=3)
        with Workers(sampler, each, each.corpus, workers=workers):
            found.append([*islice(sampler.batches(2), 6), *each.held_out("test", 4)])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert torch.equal(a.inputs[0], b.inputs[0])


def test_validation_and_test_are_those_of_the_first(texts: str) -> None:
    corpus = mixed(texts)
    first, second = corpus.corpora
    assert corpus.sizes == first.sizes | {"train": first.sizes["train"] + second.sizes["train"]}
    assert len(torch.cat([batch.target for batch in corpus.held_out("test", 1)], 1)[0]) > 0
    assert len(list(corpus.held_out("test", 1))) == first.sizes["test"]
    assert mixed(texts.replace("0.75", "0.7")).fingerprint != corpus.fingerprint == mixed(texts).fingerprint


def test_the_vocabulary_is_that_of_the_first(texts: str) -> None:
    corpus = mixed(texts, tokenizer="")
    one, other = (each.tokenizer for each in corpus.corpora)  # type: ignore[attr-defined]
    assert one.content == other.content


def test_a_study_takes_of_each_source_by_its_weight(texts: str) -> None:
    corpus = mixed(texts)
    assert study_info(corpus).limit == int(corpus.corpora[0].sizes["train"] / 0.75)
    few = subset(corpus, 40, 0)
    assert [each.sizes["train"] for each in few.corpora] == [30, 10]  # type: ignore[attr-defined]


def test_a_comma_between_two_paths_parts_no_sources(tmp_path: Path) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("".join(f"{name} {place}\n" for place in range(30)))
    pair = f"parallel:{tmp_path}/a.en,{tmp_path}/a.de"
    corpus = mixed(f"mix:1={pair},2={pair}", zoo.info("transformer-tiny"))
    assert [each.sizes for each in corpus.corpora] == [corpus.corpus.sizes] * 2


def test_pictures_are_prepared_as_those_of_the_first(tmp_path: Path) -> None:
    for level, place in ((200, "bright"), (20, "dark")):
        write_pictures(tmp_path / place, level)
    corpus = open_corpus(f"mix:1=folder:{tmp_path}/bright,1=folder:{tmp_path}/dark", PICTURES)
    assert isinstance(corpus, Mixture)
    for each in (corpus, with_options(corpus, augment="crop"), with_options(corpus, cache=True)):
        looks = [(one.source.mean, one.source.deviation) for one in each.corpora]
        assert looks[0] == looks[1]
        means = [each.batch(batch, torch.Generator()).inputs[0].mean() for batch in each.epoch(torch.Generator(), 4)]
        assert min(means) < -2 < 0 < max(means) + 1


def test_numbers_are_scaled_as_those_of_the_first(tmp_path: Path) -> None:
    for name, scale in (("one", 1), ("two", 100)):
        rows = [{"edges": [[0, 1]], "nodes": place + 2, "target": scale * place} for place in range(12)]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = open_corpus(f"mix:1=graphs:{tmp_path}/one.jsonl,1=graphs:{tmp_path}/two.jsonl", zoo.info("graph-tiny"))
    assert isinstance(corpus, Mixture)
    one, two = (each.units for each in corpus.corpora)  # type: ignore[attr-defined]
    assert one == two
    assert 1 < one[0][1] < 10


def test_what_cannot_be_read_of_any_source_is_named(tmp_path: Path) -> None:
    for place in ("whole", "broken"):
        write_pictures(tmp_path / place, 100)
    (tmp_path / "broken" / "a" / "3.png").write_text("no picture")
    corpus = open_corpus(f"mix:1=folder:{tmp_path}/whole,1=folder:{tmp_path}/broken", PICTURES)
    with pytest.warns(UserWarning, match=r"(?s)broken.*3\.png"):
        notes = warn_of_notes(with_options(corpus, cache=True))
    assert len(notes) == 1


def test_what_does_not_fit_one_model_is_refused(texts: str, tmp_path: Path) -> None:
    for name, labels in (("one", "xy"), ("two", "xz")):
        rows = "".join(f"text {place},{labels[place % 2]}\n" for place in range(30))
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{rows}")
    with pytest.raises(DataError, match=r"have other labels \(y, z\): what is mixed has the same"):
        mixed(f"mix:1=labelled:{tmp_path}/one.csv,1=labelled:{tmp_path}/two.csv", ENCODER)
    with pytest.raises(DataError, match=r"have task 'masked-token', and 'one\.csv' 'classify': mix one task"):
        mixed(f"mix:1=lines:{tmp_path}/a.txt,1=labelled:{tmp_path}/one.csv", ENCODER)
    with pytest.raises(ConfigError, match="leave no choice of augmentation"):
        with_options(mixed(texts), augment="crop")


@pytest.mark.parametrize(
    "text", ["lines:a.txt", "0=lines:a.txt,1=lines:b.txt", "1=", "1=mix:1=lines:a.txt", "x=lines:a"]
)
def test_weights_that_lack_or_are_nothing_are_errors(text: str) -> None:
    with pytest.raises(DataError, match=r"write WEIGHT=SOURCE,WEIGHT=SOURCE, such as 0\.7=lines:a\.txt"):
        mixed(f"mix:{text}")
