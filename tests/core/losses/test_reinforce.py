"""REINFORCE: the estimate of the gradient is unbiased, and a baseline makes it vary less."""

from itertools import product

import pytest
import torch
from torch import Tensor

from zoo.core import Hard, attend
from zoo.core.losses.reinforce import leave_one_out, log_probability, reinforce


def draw(seed: int, q: int, k: int, h: int = 2, b: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    made = [torch.randn(b, n, h, 4, generator=generator, dtype=torch.float64) for n in (q, k, k)]
    return made[0], made[1], made[2]


def test_log_probabilities_are_those_of_the_choices() -> None:
    soft = torch.tensor([[[0.2, 0.8], [0.5, 0.5], [0.0, 0.0]]], requires_grad=True)
    chosen = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    logs = log_probability(chosen, soft)
    torch.testing.assert_close(logs, torch.tensor([[0.2, 0.5, 1.0]]).log())
    (gradient,) = torch.autograd.grad(logs.sum(), soft)
    torch.testing.assert_close(gradient, torch.tensor([[[5.0, 0.0], [0.0, 2.0], [0.0, 0.0]]]))


def soft_weights(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attend(q, k, v, return_weights=True)[1]


def reward(chosen: Tensor, v: Tensor) -> Tensor:
    """A reward of each draw that is not linear in what was read and depends on the parameters itself."""
    read = chosen @ v.transpose(1, 2)
    return read.flatten(1).sum(1).sin() + read.flatten(1).square().sum(1)


def every_choice(queries: int, places: int, heads: int) -> Tensor:
    picks = torch.tensor(list(product(range(places), repeat=queries * heads)))
    return torch.nn.functional.one_hot(picks, places).double().unflatten(1, (heads, queries))


CASES = [(1, 6, 1), (2, 3, 1), (1, 3, 2), (2, 2, 2)]


@pytest.mark.parametrize(("queries", "places", "heads"), CASES)
@pytest.mark.parametrize("baseline", [0.0, 1.7])
def test_the_estimate_is_unbiased_by_exact_enumeration(queries: int, places: int, heads: int, baseline: float) -> None:
    q, k, v = (x.requires_grad_() for x in draw(5, queries, places, heads))
    choices = every_choice(queries, places, heads)
    logs = log_probability(choices, soft_weights(q, k, v))
    chance = logs.flatten(1).sum(1).exp()
    torch.testing.assert_close(chance.sum(), torch.ones((), dtype=torch.float64))
    exact = torch.autograd.grad((chance * reward(choices, v)).sum(), (q, k, v))
    expected = [torch.zeros_like(x) for x in (q, k, v)]
    for n in range(len(choices)):
        one = choices[n : n + 1]
        log = log_probability(one, soft_weights(q, k, v))
        gained = reward(one, v)
        loss = reinforce(log, gained, baseline) - gained.mean()  # both terms of eq. 11
        for total, gradient in zip(expected, torch.autograd.grad(loss, (q, k, v)), strict=True):
            total -= float(chance[n].detach()) * gradient
    torch.testing.assert_close(expected, list(exact), atol=1e-10, rtol=0)


def test_the_mean_of_many_draws_nears_the_exact_gradient_and_a_baseline_helps() -> None:
    torch.manual_seed(0)
    draws = 20_000
    q, k, v = draw(6, 1, 5, h=1)
    q.requires_grad_()
    choices = every_choice(1, 5, 1)
    chance = soft_weights(q, k, v)[0, 0, 0]
    (exact,) = torch.autograd.grad((chance * reward(choices, v)).sum(), q)
    own = q.detach().repeat(draws, 1, 1, 1).requires_grad_()  # a query for each draw keeps the draws apart
    many = (own, k.expand(draws, -1, -1, -1), v.expand(draws, -1, -1, -1))
    _, chosen = attend(*many, norm=Hard(sample=True), return_weights=True)
    logs, gained = log_probability(chosen, soft_weights(*many)), reward(chosen, v)
    variances = []
    for baseline in (0.0, float(gained.mean())):
        (gradients,) = torch.autograd.grad(-reinforce(logs, gained, baseline) * draws, own, retain_graph=True)
        error = gradients.std(0) / draws**0.5
        assert ((gradients.mean(0) - exact[0]).abs() < 4 * error).all()
        variances.append(float(gradients.var(0).sum()))
    assert variances[1] < variances[0]


def test_the_baseline_of_a_draw_is_the_mean_reward_of_the_others() -> None:
    reward = torch.tensor([1.0, 3.0, 8.0])
    torch.testing.assert_close(leave_one_out(reward), torch.tensor([5.5, 4.5, 2.0]))
