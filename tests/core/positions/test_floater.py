"""Positions as the solution of a differential equation, and as a recurrence."""

import math

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Sinusoidal
from zoo.core.positions.floater import Dynamics, Floater, Recurrent


class Rotation(nn.Module):
    """Turn each pair of channels at its own learned rate, at first those of the sinusoids (arXiv:1706.03762 sec. 3.5).

    Args:
        dim: channels, even.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / max(dim, 1))))

    @property
    def start(self) -> Float[Tensor, " d"]:
        """The sines and cosines of position 0."""
        return torch.tensor([0.0, 1.0]).repeat(len(self.rate))

    def forward(self, t: Float[Tensor, ""], p: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Give the velocity: (sin, cos) moves along rate · (cos, -sin)."""
        sine, cosine = p.unflatten(0, (-1, 2)).unbind(1)
        return torch.stack([self.rate * cosine, -self.rate * sine], dim=1).flatten()


@pytest.mark.usefixtures("float64")
def test_with_rotating_dynamics_it_is_the_sinusoidal_encoding() -> None:
    turning = Rotation(10)
    encoding = Floater(10, prefix=1, dynamics=turning, start=turning.start, delta=1.0, step=1 / 32)
    torch.testing.assert_close(encoding((50,)), Sinusoidal(10, prefix=1)((50,)), atol=1e-5, rtol=0)


class Growth(nn.Module):
    """dp/dt = (1 + 2 t) p, which is solved by exp(t + t²)."""

    def forward(self, t: Tensor, p: Tensor) -> Tensor:
        return (1 + 2 * t) * p


def test_uneven_and_backward_steps_in_time_follow_the_equation() -> None:
    encoding = Floater(2, dynamics=Growth(), start=torch.tensor([1.0, -2.0]), step=0.02).double()
    times = [0.0, 0.3, 0.35, 1.0, 0.2, -0.4, -0.4]
    wanted = torch.tensor([[math.exp(t + t * t) * s for s in (1.0, -2.0)] for t in times], dtype=torch.float64)
    torch.testing.assert_close(encoding.at_times(times), wanted, atol=1e-5, rtol=0)


@torch.no_grad()
def test_the_error_falls_with_the_fourth_power_of_the_step() -> None:
    errors = []
    for step in (0.1, 0.05, 0.025):
        encoding = Floater(1, dynamics=Growth(), start=torch.ones(1), step=step).double()
        errors.append(abs(float(encoding.at_times([1.0])) - math.exp(2)))
    assert 13 < errors[0] / errors[1] < 17
    assert 13 < errors[1] / errors[2] < 17


@pytest.mark.usefixtures("float64")
def test_positions_are_delta_apart_and_know_no_longest_length() -> None:
    encoding = Floater(4, delta=0.25)
    torch.testing.assert_close(encoding((5,)), encoding.at_times([0.0, 0.25, 0.5, 0.75, 1.0]))
    torch.testing.assert_close(encoding((9,))[:5], encoding((5,)))


def test_rounded_times_make_no_steps_of_their_own() -> None:
    calls = []

    class Counted(Growth):
        def forward(self, t: Tensor, p: Tensor) -> Tensor:
            calls.append(float(t))
            return super().forward(t, p)

    Floater(2, dynamics=Counted(), delta=0.1, step=0.1)((11,))
    assert len(calls) == 4 * 10  # four looks at the dynamics for each of ten steps


def test_gradients_reach_the_dynamics_and_the_start() -> None:
    encoding = Floater(4, dynamics=Dynamics(4, hidden=3)).double()
    parameters = list(encoding.parameters())
    loss = encoding((4,)).square().sum()
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        assert gradient.abs().max() > 0
        with torch.no_grad():
            parameter.view(-1)[0] += 1e-6
        moved = encoding((4,)).square().sum()
        with torch.no_grad():
            parameter.view(-1)[0] -= 1e-6
        assert float((moved - loss).detach()) / 1e-6 == pytest.approx(float(gradient.view(-1)[0]), rel=1e-3, abs=1e-6)


def test_a_recurrent_encoding_is_a_walk_of_its_cell() -> None:
    encoding = Recurrent(4, prefix=1)
    cell = nn.GRUCell(4, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in encoding.walk.state_dict().items()})
    state, walked = encoding.start, [torch.zeros(1, 4)]
    for _ in range(5):
        state = cell(encoding.input, state)
        walked.append(state)
    torch.testing.assert_close(encoding((5,)), torch.cat(walked))


@pytest.mark.parametrize("encoding", [Floater(4, prefix=2), Recurrent(4, prefix=2)])
def test_prefix_tokens_and_lines_of_no_length(encoding: Floater | Recurrent) -> None:
    assert encoding((0,)).shape == (2, 4)
    assert encoding((1,)).shape == (3, 4)
    assert not encoding((3,))[:2].any()
    assert encoding((3,))[2:].any(1).all()


@pytest.mark.parametrize("encoding", [Floater(4, prefix=1), Recurrent(4, prefix=1)])
def test_a_grid_is_walked_row_by_row(encoding: Floater | Recurrent) -> None:
    torch.testing.assert_close(encoding((2, 3)), encoding((6,)))


@pytest.mark.parametrize("encoding", [Floater(4, prefix=1), Recurrent(4, prefix=1)])
def test_any_positions_are_those_of_the_line_and_none_before_it(encoding: Floater | Recurrent) -> None:
    vectors = encoding((5,))
    asked = torch.tensor([[3, 5, 0], [-2, 1, 1]])
    wanted = vectors[asked.clamp(min=0)].masked_fill((asked < 0)[..., None], 0)
    torch.testing.assert_close(encoding.at(asked), wanted)


@pytest.mark.parametrize("encoding", [Floater(4), Recurrent(4)])
@torch.no_grad()
def test_vectors_that_are_cached_follow_a_change_of_the_parameters(encoding: Floater | Recurrent) -> None:
    before = encoding.at(torch.tensor([7]))
    assert encoding.at(torch.tensor([7])).equal(before)
    encoding.start.add_(1)
    after = encoding.at(torch.tensor([7]))
    assert not after.equal(before)
    encoding.double()
    assert encoding.at(torch.tensor([7])).dtype == torch.float64
    assert encoding((9,))[7:8].float().sub(after).abs().max() < 1e-5


@pytest.mark.parametrize("make", [Floater, Recurrent])
def test_vectors_that_are_cached_follow_a_step_of_a_fused_optimizer(make: type[Floater | Recurrent]) -> None:
    encoding = make(4)
    optimizer = torch.optim.AdamW(encoding.parameters(), 0.1, fused=True)  # it leaves version counters as they are
    with torch.no_grad():
        before = encoding((5,)).clone()
    encoding((5,)).square().sum().backward()
    optimizer.step()
    with torch.no_grad():
        assert encoding((5,)).equal(encoding.line(8)[:5])
        assert not encoding((5,)).equal(before)


def test_without_dynamics_every_position_has_the_vector_of_the_start() -> None:
    encoding = Floater(4, dynamics=Dynamics(4))
    for parameter in encoding.dynamics.parameters():
        torch.nn.init.zeros_(parameter)
    assert encoding((6,)).equal(encoding.start.expand(6, -1))


def test_what_does_not_fit_is_refused_with_its_value() -> None:
    with pytest.raises(ConfigError, match=r"step=-0.1 is not positive"):
        Floater(4, step=-0.1)
    with pytest.raises(ConfigError, match=r"start of shape \(3,\) for dim=4"):
        Floater(4, start=torch.zeros(3))
