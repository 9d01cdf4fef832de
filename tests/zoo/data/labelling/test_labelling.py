"""Labels of a study, on corpora of every modality."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import zoo
from zoo.bench.learning_curve.training.run import Corpora
from zoo.data.batches.batched_corpus import BatchedCorpus, DatasetInfo
from zoo.data.corpus import Batch, Corpus, open_corpus
from zoo.data.labelling.labelling import Labelling
from zoo.data.subsets import study_info
from zoo.errors import ConfigError, DataError


class Pets(BatchedCorpus):
    """Numbers, of which every third is a cat."""

    task, metric = "classify", "accuracy"

    def __init__(self, train: int = 300) -> None:
        counts = {"train": train, "validation": 60, "test": 30}
        lengths = {split: torch.arange(count) % 7 for split, count in counts.items()}
        super().__init__(DatasetInfo("pets", "Pets.", "1"), zoo.info("bert-tiny"), lengths)
        self.labels = ["cat", "dog", "owl"]

    def classes_of(self, split: str) -> Tensor:
        return torch.arange(self.sizes[split]) % 3

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        return Batch((torch.tensor(places),), self.classes_of(split)[list(places)])

    def score(self, model: Any, split: str, batch_size: int) -> dict[str, float]:
        raise AssertionError("the clean labels are scored")


@cache
def opened(data: str, model: str) -> Corpus:
    if "FOLDER" not in data:
        return Corpora(data).of(model)
    with TemporaryDirectory() as folder:
        (Path(folder) / "own.tsv").write_text("".join(f"{'so ' * (n % 5)}{n}\t{'abc'[n % 3]}\n" for n in range(300)))
        return Corpora(data.replace("FOLDER", folder)).of(model)


CORPORA = [
    ("digits", "vit-micro"), ("cards", "vit-micro"), ("labelled:FOLDER/own.tsv", "bert-micro"),
    ("drawn-graphs:components?count=200", "gcn-micro"),
]  # fmt: skip


def seen(corpus: Corpus) -> dict[int, int]:
    """Give the label of each training example of an epoch, by its index."""
    generator = torch.Generator().manual_seed(0)
    found: dict[int, int] = {}
    for index in corpus.epoch(generator, 8):
        found |= dict(zip(index.tolist(), corpus.batch(index, generator).target.tolist(), strict=True))
    return found


def labels(corpus: Corpus, split: str) -> Tensor:
    return torch.cat([batch.target for batch in corpus.held_out(split, 16)])


@pytest.mark.parametrize(("data", "model"), CORPORA)
def test_classes_have_the_ratio_in_training_and_validation_and_the_test_is_as_it_is(data: str, model: str) -> None:
    corpus = opened(data, model)
    number = study_info(corpus).num_classes
    labelling = Labelling.of("4", 0.0)
    wanted = labelling.ratio.counts(number, 40) if labelling.ratio else np.zeros(0)
    part = labelling.subset(corpus, 40, 1)
    assert part.sizes["train"] == 40
    found: Counter[int] = Counter()
    for _ in range(3):  # an epoch of pictures may leave the rest of a batch out
        found = max(found, Counter(seen(part).values()), key=Counter.total)
    assert found.total() == 40
    assert [found[each] for each in range(number)] == wanted.tolist()
    validation = Counter(labels(part, "validation").tolist())
    assert validation.pop(-100) > 0
    assert max(validation.values()) == validation[0] > validation[number - 1] > 0
    assert torch.equal(labels(part, "test"), labels(corpus, "test"))


@pytest.mark.parametrize(("data", "model"), CORPORA)
@pytest.mark.parametrize("ratio", ["", "3"])
def test_a_smaller_size_has_the_same_examples_and_wrong_labels(data: str, model: str, ratio: str) -> None:
    corpus, labelling = opened(data, model), Labelling.of(ratio, 0.4)

    def told(count: int, seed: int) -> Counter[tuple[Any, int]]:
        part: Any = labelling.subset(corpus, count, seed)
        chosen = torch.cat(list(part.epoch(torch.Generator().manual_seed(0), count)))
        given = part.batch(chosen, torch.Generator()).target.tolist()
        own = part.own["train"][chosen].tolist()
        assert sum(one != other for one, other in zip(given, own, strict=True)) > 0
        train = getattr(part.corpus, "train", None)  # pictures have places of their own in each subset
        names = chosen.tolist() if train is None else [train.inputs[place].sum().item() for place in chosen]
        return Counter(zip(names, given, strict=True))

    few, many = told(16, 1), told(48, 1)
    assert not few - many
    assert told(16, 2) != few


def test_noise_is_in_training_and_validation_only() -> None:
    corpus, part = Pets(), Labelling.of("", 0.3).subset(Pets(), 200, 0)
    for split, share in (("validation", 0.3), ("test", 0.0)):
        wrong = (labels(part, split) != labels(corpus, split)).float().mean()
        assert wrong == pytest.approx(share, abs=0.12 if share else 0)
    given = seen(part)
    assert sum(label != place % 3 for place, label in given.items()) / len(given) == pytest.approx(0.3, abs=0.1)


def test_validation_is_scored_by_the_labels_that_a_user_has() -> None:
    class Right(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, x: Tensor) -> Tensor:
            return torch.nn.functional.one_hot(x % 3, 3) * 9 * self.scale

    part = Labelling.of("", 0.3).subset(Pets(), 200, 0)
    clean = (labels(part, "validation") == labels(Pets(), "validation")).double().mean()
    assert part.score(Right(), "validation", 16)["accuracy"] == pytest.approx(float(clean))
    assert part.score(Right(), "test", 16)["accuracy"] == 1


def test_an_example_that_stands_in_for_an_unreadable_one_keeps_its_label() -> None:
    class Broken(Pets):
        def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
            return super().batch(torch.where(index == 4, 5, index), generator)

        def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
            for places, batch in super().placed(split, batch_size):
                yield places, batch._replace(target=torch.where(torch.tensor(places) == 7, -100, batch.target))

    part: Any = Labelling.of("", 0.99).subset(Broken(), 300, 0)
    index = torch.tensor([4, 5, 6])
    given = part.batch(index, torch.Generator()).target
    assert given[0] == 5 % 3
    assert given[2] == part.classes["train"][6] != 0
    assert int((labels(part, "validation") == -100).sum()) == 1


def test_a_size_without_the_rarest_class_is_refused_with_the_least_one() -> None:
    labelling = Labelling.of("100", 0.0)
    with pytest.raises(ConfigError, match="of 30 examples in the ratio 100 none is of class 'owl'; at least 56 are"):
        labelling.check_size(30, Pets(), "pets")
    labelling.check_size(56, Pets(), "pets")


def test_a_class_with_too_few_examples_is_named_with_how_many_there_are() -> None:
    labelling, corpus = Labelling.of("1,1,8", 0.0), Pets()
    most = labelling.info(corpus).limit
    assert most is not None
    labelling.check_size(most, corpus, "pets")
    with pytest.raises(
        DataError, match=f"100 of class 'owl', of which .* at most {most}|are 101 of class 'owl', of wh"
    ):
        labelling.check_size(most + 1, corpus, "pets")


@pytest.mark.parametrize(
    ("data", "model", "said"),
    [
        ("reverse", "transformer-tiny", "task 'generate'"),
        ("tags", "bert-micro", "task 'tag'"),
        ("karate", "gcn-micro", "do not tell one class"),
    ],
)
@pytest.mark.parametrize("asked", [("3", 0.0), ("", 0.1)])
@pytest.mark.usefixtures("few_texts")
def test_data_without_a_class_for_each_example_are_refused(
    data: str, model: str, said: str, asked: tuple[str, float]
) -> None:
    with pytest.raises(ConfigError, match=said):
        Labelling.of(*asked).check(opened(data, model), data)
    Labelling().check(opened(data, model), data)


def test_folders_and_archives_can_be_unbalanced(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=rng.integers(0, 255, (90, 8, 8), np.uint8), y=np.repeat(["a", "b", "c"], 30))
    corpus = open_corpus(f"npz:{tmp_path}/own.npz", zoo.info("vit-micro").with_config(image_size=None))
    labelling = Labelling.of("6,3,1", 0.0)
    labelling.check(corpus, "own")
    drawn: Any = labelling.subset(corpus, 20, 0)
    assert labelling.info(corpus).limit == labelling.ratio.most(np.array([22] * 3))
    assert Counter(drawn.classes["train"].tolist()) == {0: 12, 1: 6, 2: 2}


@pytest.mark.parametrize("noise", [-0.1, 1.0, float("nan")])
def test_noise_is_a_share_below_all(noise: float) -> None:
    with pytest.raises(ConfigError, match=f"label_noise={noise:g}: .* 0 or more and below 1"):
        Labelling.of("", noise)


def test_labels_as_they_are_leave_the_subset_as_it_was() -> None:
    part: Any = Labelling().subset(opened("digits", "vit-micro"), 20, 0)
    assert type(part).__name__ == "ImageSubset"
