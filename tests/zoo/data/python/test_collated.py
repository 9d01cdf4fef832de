import random
from typing import Any

import pytest
import torch

from zoo import DataError
from zoo.data.python.collated import collated_corpus
from zoo.data.python.pairs import Pairs
from zoo.spec import ModelSpec

SPEC = ModelSpec(name="net", entry="a:b", example="a:b", modality="points")


def pairs(**parts: int) -> Pairs:
    return Pairs(
        "mine", {part: [(torch.tensor([float(k)]), "ab"[k % 2]) for k in range(n)] for part, n in parts.items()}
    )


def test_each_class_is_in_each_part_that_is_drawn() -> None:
    corpus = collated_corpus(pairs(train=40), SPEC, 0, in_chans=1)
    assert sum(corpus.sizes.values()) == 40
    assert all(set(corpus.classes_of(part).tolist()) == {0, 1} for part in corpus.sizes)
    assert corpus.overrides() == {"num_classes": 2, "in_chans": 1} | (
        {} if SPEC.task == "classify" else {"task": "classify"}
    )
    seen = [float(x) for part in corpus.sizes for batch in corpus.held_out(part, 8) for x in batch.inputs[0]]
    assert sorted(seen) == [float(place) for place in range(40)]


class Noisy:
    """Change its inputs at random."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, place: int) -> Any:
        return torch.rand(2), place % 2


def test_random_inputs_follow_the_generator_of_the_batch() -> None:
    corpus = collated_corpus(Pairs("mine", {"train": Noisy()}), SPEC, 0)
    index = torch.arange(3)

    def batch(seed: int) -> torch.Tensor:
        torch.rand(1)  # whatever was drawn before
        first: torch.Tensor = corpus.batch(index, torch.Generator().manual_seed(seed)).inputs[0]
        return first

    assert torch.equal(batch(1), batch(1))
    assert not torch.equal(batch(1), batch(2))


def test_the_test_that_is_given_is_never_trained_on() -> None:
    corpus = collated_corpus(pairs(train=20, test=6), SPEC, 0)
    assert {part for part, _ in corpus.rows["test"]} == {"test"}
    assert {part for split in ("train", "validation") for part, _ in corpus.rows[split]} == {"train"}


def test_whole_numbers_are_classes_as_they_are_counted() -> None:
    items = [(torch.tensor([float(k)]), k % 12) for k in range(60)]
    assert collated_corpus(Pairs("mine", {"train": items}), SPEC, 0).labels == [str(k) for k in range(12)]


def test_inputs_that_are_no_tensors_and_labels_that_are_not_trained() -> None:
    with pytest.raises(DataError, match=r"train\[0\]: the input is str 'a'; a tensor as the model reads it is wanted"):
        collated_corpus(Pairs("mine", {"train": [("a", 1)]}), SPEC, 0)
    strange = Pairs("mine", {"train": pairs(train=20).parts["train"], "validation": [(torch.zeros(1), "c")]})
    with pytest.raises(DataError, match="label c of validation are in no training example, which have a, b"):
        collated_corpus(strange, SPEC, 0)


def fingerprint(scale: float = 1.0, seed: int = 0, dtype: torch.dtype = torch.float32) -> str:
    items = [(torch.full((2,), scale * k, dtype=dtype), k % 2) for k in range(12)]
    return collated_corpus(Pairs("mine", {"train": items}), SPEC, seed).fingerprint


def test_other_inputs_have_another_fingerprint() -> None:
    assert fingerprint() == fingerprint()
    assert len({fingerprint(), fingerprint(2.0), fingerprint(dtype=torch.bfloat16), fingerprint(seed=1)}) == 4


class Jittered(Noisy):
    """Draw inputs from Python's random numbers, which nobody seeds."""

    def __getitem__(self, place: int) -> Any:
        return torch.tensor([random.random()]), place % 2


def test_inputs_that_are_drawn_count_where_torch_draws_them_and_else_are_left_out() -> None:
    noisy, jittered = (
        [collated_corpus(Pairs("mine", {"train": kind()}), SPEC, 0) for _ in range(2)] for kind in (Noisy, Jittered)
    )
    assert noisy[0].fingerprint == noisy[1].fingerprint
    assert jittered[0].fingerprint == jittered[1].fingerprint
    assert "compares the labels alone" in jittered[0].description
    assert "compares the labels alone" not in noisy[0].description
