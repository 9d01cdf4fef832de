"""What is made of a tensor is made once, and goes with it."""

import gc
import weakref

import torch
from torch import Tensor

from zoo.plugins.graph.structure.tensor_cache import TensorCache


def counted(kept: TensorCache, tensor: Tensor, question: str = "sum") -> tuple[object, int]:
    """Ask twice, and count how often an answer was made."""
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    first = kept(tensor, question, make)
    assert kept(tensor, question, make) is first
    return first, len(made)


def test_it_is_made_once_for_each_tensor_and_question() -> None:
    kept, x = TensorCache(), torch.arange(3)
    first, made = counted(kept, x)
    assert made == 1
    assert counted(kept, x) == (first, 0)
    assert counted(kept, x, "other")[1] == 1
    assert counted(kept, x.clone())[1] == 1


def test_a_tensor_that_is_written_to_is_another() -> None:
    kept, x = TensorCache(), torch.arange(3)
    counted(kept, x)
    x[0] = 5
    assert counted(kept, x)[1] == 1
    x.data = torch.arange(4)
    assert counted(kept, x)[1] == 1


def test_it_goes_with_the_tensor() -> None:
    class Big:
        pass

    kept, x = TensorCache(), torch.arange(3)
    found = weakref.ref(kept(x, "big", Big))
    alias = kept(x, "alias", x.detach)
    del x
    gc.collect()
    assert found() is None, "it is still held"
    assert alias.tolist() == [0, 1, 2]


def test_tensors_without_versions_are_asked_anew() -> None:
    with torch.inference_mode():
        x = torch.arange(3)
    made = []
    for _ in range(2):
        TensorCache()(x, "sum", lambda: made.append(1))
    assert len(made) == 2
