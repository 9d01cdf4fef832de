"""Decoding with a state whose addresses stay."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from zoo.bench.gpu import decoding
from zoo.bench.gpu.decoding import Writer, recorded
from zoo.bench.gpu.models import pair
from zoo.factory import create

pytestmark = pytest.mark.usefixtures("on_device")
TINY: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16}


def test_what_is_replayed_writes_what_generate_writes() -> None:
    ours, _ = pair(decoding.NAME, torch.float64, **TINY)
    ours.symbols = ours.symbols._replace(eos=-1)
    prompt = decoding.prompt_of(3)
    writer = Writer(ours, prompt, 9)
    step = recorded(writer)
    wanted = ours.generate(prompt, max_len=9).ids[:, 0]
    for _ in range(2):  # a second text begins with what the first one left behind
        assert torch.equal(writer.write(step), wanted)


def test_a_step_does_not_wait_for_the_device_and_keeps_its_addresses() -> None:
    with torch.device("meta"):  # which refuses to tell values
        model = create.create(decoding.NAME, **TINY).eval()
        writer = Writer(model, torch.zeros(2, 1, dtype=torch.long), 4)
        writer.step()
        kept = [x for layer in writer.state.layers for x in layer.own.tensors.values()]
        writer.step()
    now = [x for layer in writer.state.layers for x in layer.own.tensors.values()]
    assert len(kept) == 4
    assert all(before is after for before, after in zip(kept, now, strict=True))


class Unread(TorchFunctionMode):
    """Refuse what waits for the values of tensors, as a GPU does while it records a graph."""

    WAITS = (Tensor.tolist, Tensor.item, Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.__index__,
             Tensor.nonzero, torch.nonzero, Tensor.cpu, Tensor.numpy)  # fmt: skip

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        masks = [part for part in args[1:2] if func is Tensor.__getitem__ and isinstance(part, Tensor)]
        if func in self.WAITS or any(mask.dtype is torch.bool for mask in masks):
            raise AssertionError(f"{func} waits for values")
        return func(*args, **(kwargs or {}))


def test_a_step_that_is_recorded_reads_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = create.create(decoding.NAME, **TINY).eval()
    writer = Writer(model, torch.zeros(2, 1, dtype=torch.long), 4)
    writer.step()
    monkeypatch.setattr("zoo.core.ops.tensor_check.captured", lambda x: True)
    with Unread():
        writer.step()


@pytest.mark.parametrize("build", [decoding.beside_steps, decoding.beside_peer])
def test_every_case_writes_as_many_tokens_on_both_sides(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "NEW", 3)
    monkeypatch.setattr(decoding, "pair", partial(pair, **TINY))
    ours, theirs = (job() for job in build(2))
    assert ours.shape == (2, 3)
    assert getattr(theirs, "ids", theirs)[..., -3:].numel() == 6
