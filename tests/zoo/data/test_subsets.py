import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.data.batches.batched_corpus import BatchedCorpus, DatasetInfo
from zoo.data.corpus import Batch, Corpus, open_corpus
from zoo.data.corpus_options import with_options
from zoo.data.subsets import Subset, chance_accuracy, study_info, subset
from zoo.errors import ConfigError, DataError


class Counts(BatchedCorpus):
    """Numbers; each is as long as it is large, and its class is whether it is odd."""

    task, metric = "classify", "accuracy"

    def __init__(self, train: int = 200, metric: str = "accuracy") -> None:
        lengths = {split: torch.arange(count) for split, count in (("train", train), ("validation", 4), ("test", 6))}
        super().__init__(DatasetInfo("counts", "Numbers.", "1"), zoo.info("bert-tiny"), lengths)
        self.labels = ["even", "odd"]
        self.metric = metric

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        numbers = torch.tensor(places)
        return Batch((numbers,), numbers % 2)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        return {self.metric: 0.5}


def numbers(corpus: Corpus, batch_size: int = 16, seed: int = 0) -> list[Tensor]:
    return list(corpus.epoch(torch.Generator().manual_seed(seed), batch_size))


def test_an_epoch_of_a_subset_gives_each_kept_example_once() -> None:
    part = subset(Counts(), 50, 0)
    batches = numbers(part)
    assert [len(batch) for batch in batches] == [16, 16, 16, 2]
    assert len(torch.cat(batches).unique()) == 50
    assert part.sizes["train"] == 50


def test_of_one_seed_fewer_examples_are_among_more() -> None:
    few, more, other = (
        set(torch.cat(numbers(subset(Counts(), *drawn))).tolist()) for drawn in ((20, 1), (90, 1), (20, 2))
    )
    assert few < more
    assert few != other


def test_options_of_a_subset_are_those_of_its_corpus() -> None:
    class Augments(Counts):
        augmentation = ""

        def with_augmentation(self, names: str) -> Corpus:
            other = Augments()
            other.augmentation = names
            return other

        def with_cache(self, wanted: bool) -> Corpus:
            return self

    part: Any = with_options(subset(Augments(), 50, 0), "crop", True)
    assert part.augmentation == "crop"
    assert part.sizes["train"] == len(torch.cat(numbers(part))) == 50
    with pytest.raises(ConfigError, match="augment='crop': the data 'counts' leave no choice"):
        with_options(subset(Counts(), 50, 0), "crop")


def test_batches_of_a_subset_are_of_nearly_equal_length() -> None:
    spreads = [int(batch.max() - batch.min()) for batch in numbers(subset(Counts(), 100, 0), 10)]
    assert sorted(spreads)[len(spreads) // 2] < 60


def test_all_else_is_as_the_corpus_has_it() -> None:
    corpus = Counts()
    part = subset(corpus, 10, 0)
    assert part.overrides() == corpus.overrides()
    assert part.fingerprint != corpus.fingerprint
    assert part.name == "counts"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_a_subset_can_be_copied(copied: Callable[[Any], Any]) -> None:
    part = subset(Counts(), 50, 0)
    twin = copied(part)
    assert (twin.name, twin.sizes) == (part.name, part.sizes)
    assert torch.equal(torch.cat(numbers(twin)), torch.cat(numbers(part)))


def test_more_than_there_are_are_refused() -> None:
    with pytest.raises(DataError, match="300 training examples asked for, 'counts' has 200"):
        Subset(Counts(), 300, 0)


def test_a_study_learns_limit_classes_and_best_value_of_any_corpus() -> None:
    info = study_info(Counts())
    assert (info.limit, info.num_classes, info.best) == (200, 2, 1.0)
    loss = study_info(Counts(metric="-loss"))
    assert (loss.num_classes, loss.best) == (0, 0.0)


def test_images_draw_their_own_subsets_with_as_many_of_each_class() -> None:
    corpus = open_corpus("digits", zoo.info("vit-micro"))
    part: Any = subset(corpus, 40, 0)
    assert torch.bincount(part.train.labels).tolist() == [4] * 10
    assert [len(batch) for batch in numbers(part, 32)] == [32]


def test_images_are_augmented_where_that_is_asked_for() -> None:
    corpus = open_corpus("digits", zoo.info("vit-micro"))
    index = torch.arange(8)
    plain, again, changed = (
        subset(corpus, 40, 0, augment).batch(index, torch.Generator().manual_seed(seed)).inputs[0]
        for augment, seed in ((False, 0), (False, 1), (True, 0))
    )
    assert torch.equal(plain, again)
    assert not torch.equal(plain, changed)


def test_chance_is_the_share_of_the_largest_class_among_what_is_asked() -> None:
    class Asked(Counts):
        def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
            assert split == "test"
            yield Batch((torch.arange(2),), torch.tensor([0, 1]))
            yield Batch((torch.arange(4),), torch.tensor([[2, -100], [2, 2]]))

    assert chance_accuracy(Asked()) == 0.6
    assert chance_accuracy(Asked(metric="-loss")) is None
