"""Gradients that cannot be differentiated say so, on every way in; transforms of torch.func do without."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

from zoo.core import ConfigError, Edges, RelativeTable, TransformerXL, Window, attend, transforms_active


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)


KEYS, TABLE, OFFSETS = (
    draw(1, 5, 2, 4),
    RelativeTable(draw(2, 7), 3),
    TransformerXL(draw(2, 4), draw(2, 4), draw(2, 21, 4), -10),
)
BY_HAND: dict[str, dict[str, Any]] = {
    "products": {"bias": TABLE, "backend": "dense"},
    "blockwise": {"bias": OFFSETS, "backend": "dense"},
    "banded": {"bias": TABLE, "pattern": Window(2, 1), "backend": "banded"},
    "edges": {"pattern": Edges(torch.ones(5, 5).nonzero().T), "backend": "edges"},
}


def loss(options: dict[str, Any]) -> Any:
    return lambda q: attend(q, KEYS, KEYS, **options).square().sum()


def once(loss: Any, q: Tensor) -> Tensor:
    return torch.autograd.grad(loss(q), q, create_graph=True)[0].sum()


REFUSED: dict[str, Any] = {
    "grad": lambda loss, q: torch.autograd.grad(once(loss, q), q, allow_unused=True),
    "backward": lambda loss, q: once(loss, q).backward(),
    "hvp": lambda loss, q: torch.autograd.functional.hvp(loss, q, q),
    "vhp": lambda loss, q: torch.autograd.functional.vhp(loss, q, q),
    "jvp by two gradients": lambda loss, q: torch.autograd.functional.jvp(loss, q, q),
    "hessian": lambda loss, q: torch.autograd.functional.hessian(loss, q),
    "of a checkpoint": lambda loss, q: torch.autograd.grad(
        once(lambda x: torch.utils.checkpoint.checkpoint(loss, x, use_reentrant=False), q), q
    ),
    "many vectors at once": lambda loss, q: torch.autograd.functional.jacobian(loss, q, vectorize=True),
}


@pytest.mark.parametrize("options", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)
def test_more_than_first_derivatives_are_refused(options: dict[str, Any], way: Any) -> None:
    q = draw(1, 5, 2, 4).requires_grad_()
    with pytest.raises(ConfigError, match='backend="reference"'):
        way(loss(options), q)


@pytest.mark.parametrize("options", BY_HAND.values(), ids=BY_HAND)
def test_second_derivatives_by_a_bias_or_values_alone_are_refused_too(options: dict[str, Any]) -> None:
    """Where the gradient of the answer is a constant, which autograd would follow nowhere."""
    v = KEYS.clone().requires_grad_()
    with pytest.raises(ConfigError, match='backend="reference"'):
        torch.autograd.grad(attend(KEYS, KEYS, v, **options).sum(), v, create_graph=True)


def in_forward_mode(loss: Any, q: Tensor) -> Tensor:
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(loss(forward_ad.make_dual(q, q.cos()))).tangent
    assert tangent is not None
    return tangent


TRANSFORMS: dict[str, Any] = {
    "grad": lambda loss, q: torch.func.grad(loss)(q),
    "vmap": lambda loss, q: torch.func.vmap(torch.func.grad(loss))(torch.stack([q, 2 * q])),
    "jvp": lambda loss, q: torch.func.jvp(loss, (q,), (q.cos(),))[1],
    "grad of grad": lambda loss, q: torch.func.grad(lambda x: torch.func.grad(loss)(x).cos().sum())(q),
    "jvp of grad": lambda loss, q: torch.func.jvp(torch.func.grad(loss), (q,), (q.cos(),))[1],
    "hessian": lambda loss, q: torch.func.hessian(loss)(q),
    "forward mode": in_forward_mode,
}


@pytest.mark.parametrize("options", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("way", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms_do_without(options: dict[str, Any], way: Any) -> None:
    """They give what the reference gives: another backend serves, or another way of the same with PyTorch's kernel."""
    backend, q = options["backend"].replace("edges", "auto"), draw(1, 5, 2, 4)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # the others' gradients are by hand, too
        torch.testing.assert_close(*(way(loss({**options, "backend": name}), q) for name in (backend, "reference")))


def test_edges_refuse_transforms() -> None:
    with pytest.raises(ConfigError, match='backend="reference"'):
        torch.func.grad(loss(BY_HAND["edges"]))(draw(1, 5, 2, 4))


def test_a_transform_is_noticed_while_it_is_at_work() -> None:
    seen: list[bool] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(transforms_active())
        return x

    torch.func.grad(watched)(torch.ones(()))
    in_forward_mode(watched, torch.ones(()))
    assert [*seen, transforms_active()] == [True, True, False]
