"""Laws of pointer networks, and a small one that sorts."""

import pytest
import torch
from torch.nn.functional import nll_loss

from zoo.core import PointerNetwork, Tokens, Valid

X = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
PLACES = torch.tensor([[3, 0, 1], [2, 2, 4]])
VALID = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)


def network(cell: str = "gru") -> PointerNetwork:
    torch.manual_seed(0)
    return PointerNetwork(cell, 6).double()


@torch.no_grad()
def test_permuting_the_input_permutes_the_answer() -> None:
    order = torch.tensor([4, 2, 0, 3, 1])
    model = network()
    answer = model(Tokens(X, keys=Valid(VALID)), PLACES)
    other = model(Tokens(X[:, order], keys=Valid(VALID[:, order])), order.argsort()[PLACES])
    torch.testing.assert_close(other, answer[..., order])
    found, moved = (model.point(Tokens(x), 4) for x in (X, X[:, order]))
    assert torch.equal(order[moved], found)


@torch.no_grad()
def test_places_that_are_not_there_are_not_pointed_at() -> None:
    answer = network("lstm")(Tokens(X, keys=Valid(VALID)), PLACES).exp()
    torch.testing.assert_close(answer.sum(-1), torch.ones(2, 3, dtype=torch.float64))
    assert float(answer[0, :, 4].max()) < 1e-300


@torch.no_grad()
def test_pointing_step_by_step_agrees_with_teacher_forcing() -> None:
    model = network()
    found = model.point(Tokens(X), 4)
    assert torch.equal(model(Tokens(X), found).argmax(-1), found)


@torch.no_grad()
def test_each_step_reads_the_vector_that_was_pointed_at_before() -> None:
    model, given = network(), list[torch.Tensor]()
    model.decoder.cell.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    model(Tokens(X), PLACES)
    read = torch.cat(given, 1)
    assert torch.equal(read[:, 0], model.begin.expand(2, -1))
    assert torch.equal(read[:, 1:], X[torch.arange(2)[:, None], PLACES[:, :-1]])


def test_every_parameter_learns() -> None:
    model = network()
    model(Tokens(X), PLACES)[..., 0].sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in model.parameters())


@pytest.mark.slow
def test_it_learns_to_sort(one_thread: None) -> None:
    torch.manual_seed(0)
    embed = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32))
    model = PointerNetwork("lstm", 32)
    optimizer = torch.optim.Adam([*embed.parameters(), *model.parameters()], 3e-3)
    for _ in range(1200):
        x = torch.rand(64, 5, 1)
        order = x[..., 0].argsort(1)
        loss = nll_loss(model(Tokens(embed(x)), order).flatten(0, 1), order.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.rand(500, 5, 1)
    assert float((model.point(Tokens(embed(x)), 5) == x[..., 0].argsort(1)).all(1).float().mean()) > 0.8
