"""Packed batches, on digits: what workers send is unpacked to what the corpus gives."""

from typing import Any, cast

import pytest
import torch

import zoo
from zoo.data import Batch, Packed, unpacked
from zoo.data.batches.packed import packed_batch
from zoo.data.corpus import Corpus, open_corpus
from zoo.data.subsets import Subset
from zoo.training.sampler import Sampler


@pytest.fixture
def digits() -> Corpus:
    return open_corpus("digits", zoo.info("vit-micro"))


def test_a_packed_batch_is_bytes_and_unpacks_to_the_batch(digits: Corpus) -> None:
    packed = Sampler(digits, 4, 0).packed_at(3)
    (images,) = packed.inputs
    assert isinstance(images, Packed)
    assert cast(Any, images).values.dtype == torch.uint8
    (whole,), target = Sampler(digits, 4, 0).at(3)
    assert torch.equal(unpacked(packed).inputs[0], whole)
    assert torch.equal(packed.target, target)
    assert torch.equal(unpacked(packed).inputs[0], unpacked(packed).inputs[0]), "unpacking changes no bytes"


def test_what_is_done_to_floats_is_not_packed(digits: Corpus) -> None:
    (images,) = Sampler(cast(Any, digits).with_augmentation("shift+erasing"), 4, 0).packed_at(0).inputs
    assert isinstance(images, torch.Tensor)


def test_a_wrapper_gives_its_own_batches(digits: Corpus) -> None:
    class Doubled(Subset):
        def batch(self, index: Any, generator: Any) -> Any:
            (images,), target = digits.batch(index, generator)
            return Batch((images * 2,), target)

    (images,), _ = packed_batch(cast(Any, Doubled(digits, 8, 0)), torch.arange(2), torch.Generator())
    assert torch.equal(images, digits.batch(torch.arange(2), torch.Generator()).inputs[0] * 2)
