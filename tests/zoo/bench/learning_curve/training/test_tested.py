from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch import Tensor, nn

import zoo
from zoo.bench.learning_curve.training.tested import answers, judged, pack, pack_classes, unpack, unpack_classes
from zoo.data.batches.batched_corpus import BatchedCorpus, DatasetInfo
from zoo.data.corpus import Batch


class Asked(BatchedCorpus):
    """Six examples, one of which is not asked for."""

    task, metric = "classify", "accuracy"

    def __init__(self) -> None:
        lengths = {split: torch.ones(6) for split in ("train", "validation", "test")}
        super().__init__(DatasetInfo("asked", "Six.", "1"), zoo.info("bert-tiny"), lengths)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        raise NotImplementedError

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        raise NotImplementedError

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        assert split == "test"
        yield Batch((torch.arange(2),), torch.tensor([0, 1]))
        yield Batch((torch.arange(2, 6),), torch.tensor([0, 1, -100, 1]))


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x < 3, x >= 3], 1) * self.scale


@torch.no_grad()
def test_right_answers_are_told_one_by_one_with_their_classes_where_an_answer_is_asked() -> None:
    found = answers(Asked(), Odd(), "test", 4)
    assert found.right.tolist() == [True, False, True, True, True]
    assert found.classes.tolist() == [0, 1, 0, 1, 1]
    shares = Odd()(torch.tensor([0, 1, 2, 3, 5])).double().softmax(1)
    assert found.log_loss == pytest.approx(log_loss(found.classes, shares), abs=1e-6)


@torch.no_grad()
def test_the_result_of_a_test_holds_them_as_json() -> None:
    found = judged(Asked(), Odd(), 4)
    assert found["accuracy"] == 0.8
    assert unpack(found["correct"]).tolist() == [True, False, True, True, True]
    assert unpack_classes(found["classes"]).tolist() == [0, 1, 0, 1, 1]
    assert 0 < found["log_loss"] < 1


def test_what_is_packed_is_read_again_and_small() -> None:
    rng = np.random.default_rng(0)
    for most in (2, 10, 70_000):
        classes = rng.integers(most, size=2000)
        assert (unpack_classes(pack_classes(classes)) == classes).all()
    assert len(pack_classes(rng.integers(10, size=2000))) < 2000
    right = rng.random(2001) < 0.5
    assert (unpack(pack(right)) == right).all()
