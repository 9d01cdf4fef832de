"""Laws of models joined of an encoder and a decoder, one function each; an AssertionError describes the violation.

Inputs are those of the source, then what the decoder has written so far.
"""

from typing import Any

import torch
from torch import Tensor

from zoo.core import Generator, NonAutoregressive
from zoo.core.mechanisms.gated_cross import gates_of
from zoo.core.models.model import has_own_loss
from zoo.testing import graph_inputs
from zoo.testing import inputs as parts
from zoo.testing.checks import answer, same
from zoo.testing.inputs import Inputs

STEPS = 4
"""Tokens that are written where a law lets a model write."""
GATE = 0.5
"""Of cross-attention, where a law asks what is read through it."""


def opened(model: Any, gate: float = GATE) -> Any:
    """Let inserted cross-attention read, which is silent as long as its gates are zero; gives the model."""
    with torch.no_grad():
        for each in gates_of(model):
            each.fill_(gate)
    return model


def check_rows(model: Any, inputs: Inputs) -> None:
    """Check that a batch of one answers as the row of a batch, with as much padding of the source as that row has."""
    together = answer(model, inputs)
    for row in range(len(together)):
        source = parts.item(inputs[:-1], row, len(together))
        assert source is not None, "the source cannot be split into rows"
        alone = answer(model, (*trimmed(source[0]), inputs[-1][row : row + 1]))
        same(alone[0], together[row], f"row {row} alone and in its batch")


def trimmed(source: Inputs) -> Inputs:
    """Cut the padding behind the only row of a source."""
    counts = parts.lengths(source)
    return source if counts is None else (source[0][:, : int(counts[0])], *source[1:])


def check_source_padding(model: Any, inputs: Inputs) -> bool:
    """Check that nothing in the padding of the source leaks; tell whether there is any padding."""
    other = parts.poisoned(inputs[:-1])
    if other is None:
        return False
    same(answer(model, (*other, inputs[-1])), answer(model, inputs), "other values in the source's padding")
    return True


def check_source_is_read(model: Any, inputs: Inputs) -> None:
    """Check that another source gives another answer, and that the decoder's cross-attention has weights to show."""
    y = answer(model, inputs)
    other = answer(model, (*_other(inputs[:-1]), inputs[-1]))
    assert not torch.allclose(y, other, atol=1e-7), "another source gives the same answer: it is not read"


def check_gradients_reach_both(model: Any, inputs: Inputs) -> None:
    """Check that the loss of the decoder moves the encoder, the bridge and the decoder."""
    model.zero_grad()
    model.train()
    if has_own_loss(model):
        last = inputs[-1]
        target = torch.zeros(last.shape[:2], dtype=torch.long) if last.is_floating_point() else last
        loss = model.training_loss(inputs, target, 0.0)
    else:
        y = model(*inputs)
        loss = (y * torch.randn_like(y)).sum()
    loss.backward()
    for part in ("stem.model.", "stem.bridge.", "decoder."):
        own = [p for name, p in model.named_parameters() if name.startswith(part)]
        moved = [p for p in own if p.grad is not None and p.grad.isfinite().all() and p.grad.abs().max() > 0]
        assert moved or not own, f"no gradient reaches {part}"
    model.eval()


@torch.no_grad()
def check_zero_gate(model: Any, alone: Any, inputs: Inputs) -> None:
    """Check that with zero gates the decoder answers as alone, to the last bit.

    Args:
        model: joined.
        alone: the decoder's model, which gets the weights of the joined one.
        inputs: of the joined model.
    """
    state = model.state_dict()
    opened(model, 0.0)
    alone.load_state_dict({key: state[key] for key in alone.state_dict()})
    y, wanted = answer(model, inputs), answer(alone, inputs[-1:])
    opened(model)
    assert torch.equal(y, wanted), f"with zero gates, the answer differs by {(y - wanted).abs().max().item():.2g}"


@torch.no_grad()
def check_writes(model: Any, inputs: Inputs) -> None:
    """Check what a model writes: with what it keeps as without, once encoded as each time, and by search."""
    model.eval()
    if isinstance(model, Generator):
        _check_greedy(model, inputs)
        _check_beam(model, inputs)
    elif isinstance(model, NonAutoregressive):
        _check_rows_written(model, inputs, max_len=STEPS)
    else:
        _check_rows_written(model, inputs, max_steps=STEPS)


def _check_greedy(model: Generator, inputs: Inputs) -> None:
    """Compare with a loop that reads source and answer anew for each token, where the encoder runs each time."""
    source, calls = inputs[:-1], 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    hook = model.stem.register_forward_hook(count)
    written = model.generate(*source, max_len=STEPS)
    hook.remove()
    assert calls == 1, f"the encoder ran {calls} times for one batch"
    b = len(written.ids)
    ids = torch.full((b, 1), model.symbols.bos)
    for _ in range(STEPS):
        ids = torch.cat([ids, model(*source, ids)[:, -1:].argmax(-1)], dim=1)
    for row, found in enumerate(written.best()):
        wanted = ids[row, 1:].tolist()
        wanted = wanted[: wanted.index(model.symbols.eos)] if model.symbols.eos in wanted else wanted
        assert found == wanted, f"row {row}: {found} was written with a cache, {wanted} without"


def _check_beam(model: Generator, inputs: Inputs) -> None:
    """Check that the score of a searched answer is the log-probability that the model gives to it."""
    source = inputs[:-1]
    found = model.generate(*source, max_len=STEPS, beam=3, length_penalty=0.0)
    ids = found.ids[:, 0]
    read = torch.cat([torch.full((len(ids), 1), model.symbols.bos), ids[:, :-1]], dim=1)
    chance = model(*source, read).float().log_softmax(-1).gather(2, ids[..., None])[..., 0]
    place = torch.arange(ids.shape[1])
    ended = found.lengths[:, :1] < ids.shape[1]
    counted = place <= found.lengths[:, :1] if bool(ended.any()) else place < ids.shape[1]
    same((chance * counted).sum(1), found.scores[:, 0], "the score of a searched answer and its log-probability")


def _check_rows_written(model: Any, inputs: Inputs, **limits: Any) -> None:
    source = inputs[:-1]
    together = model.generate(*source, **limits)
    first: Tensor = together[0]
    for row in range(len(first)):
        found = parts.item(source, row, len(first))
        assert found is not None
        alone = model.generate(*trimmed(found[0]), **limits)
        length = int(together[1].flatten()[row])
        assert int(alone[1].flatten()[0]) == length, f"row {row} is written longer or shorter in a batch"
        axis = first.ndim - 1 if not first.is_floating_point() else 1
        same(
            alone[0][0].narrow(axis - 1, 0, length).float(),
            first[row].narrow(axis - 1, 0, length).float(),
            f"row {row} written alone and in a batch",
        )


def _other(source: Inputs) -> Inputs:
    """Give other values of the first input: nodes in another order, or numbers and tokens that are others."""
    x, *rest = source
    if graph_inputs.are_graphs(source):
        return x.flip(0), *rest
    return (x + torch.randn_like(x) if x.is_floating_point() else x.flip(-1)), *rest
