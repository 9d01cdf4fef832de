"""Stages that answer while items come: however they are cut, the answers are those of the whole, and none is late."""

from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad

from zoo.core import ConfigError, Encoder, Tokens, Window
from zoo.core.layers.blocks import PostNormBlock
from zoo.core.streaming.stages import Chain, Pointwise, Positioned, Residual, Stream, Windows, latency, stream_of


def items(n: int, *shape: int) -> Tensor:
    return torch.randn(2, n, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


def fed(stage: Stream, x: Tensor, sizes: Iterable[int]) -> Tensor:
    """Push in pieces and give all answers; check after each piece that as many were given as the stage foretells."""
    answers, seen = [], 0
    for size in sizes:
        answers.append(stage.push(x[:, seen : seen + size]))
        seen += size
        assert sum(y.shape[1] for y in answers) == stage.ready(seen)
    answers.append(stage.push(x[:, seen:], last=True))
    return torch.cat([y for y in answers if y.shape[1]], dim=1)


def windows(size: int, step: int, padding: tuple[int, int]) -> tuple[Windows, Tensor]:
    weight = torch.randn(4, 3, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return Windows(lambda x: conv1d(x.mT, weight, stride=step).mT, (4,), size, step, padding), weight


@pytest.mark.parametrize("sizes", [[], [17], [1] * 17, [0, 3, 0, 1, 9, 2], [5, 5]])
@pytest.mark.parametrize(
    ("size", "step", "padding"), [(5, 2, (2, 2)), (5, 1, (4, 0)), (3, 2, (1, 1)), (4, 3, (0, 0)), (1, 1, (0, 0))]
)
def test_windows_over_pieces_are_those_over_the_whole(
    size: int, step: int, padding: tuple[int, int], sizes: list[int]
) -> None:
    stage, weight = windows(size, step, padding)
    x = items(17, 3)
    whole = conv1d(pad(x.mT, padding), weight, stride=step).mT
    torch.testing.assert_close(fed(stage, x, sizes), whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("sizes", [[], [17], [1] * 17, [0, 3, 0, 1, 9, 2]])
def test_a_residual_waits_for_a_branch_that_reads_ahead(sizes: list[int]) -> None:
    x = items(17, 2)
    padded = pad(x, (0, 0, 1, 3))
    stage = Residual(Windows(lambda x: x.unfold(1, 5, 1).sum(3), (2,), 5, 1, (1, 3)))
    torch.testing.assert_close(fed(stage, x, sizes), x + padded.unfold(1, 5, 1).sum(3), atol=1e-12, rtol=0)


def test_what_waits_is_no_more_than_the_look_ahead() -> None:
    stage = Residual(Windows(lambda x: x.unfold(1, 5, 1).sum(3), (2,), 5, 1, (1, 3)))
    stage.push(items(100, 2))
    assert stage.stored == 2 * (3 + 4) * 2  # rows x (residuals, items of the next window) x channels


def test_memory_of_a_long_piece_is_given_back() -> None:
    stage, _ = windows(5, 1, (4, 0))
    stage.push(items(1_000, 3))
    assert stage.items is not None
    assert stage.items.untyped_storage().nbytes() == stage.items.nbytes == stage.stored * 8


def test_items_know_their_place() -> None:
    stage = Positioned(lambda x, first: x + torch.arange(first, first + x.shape[1])[:, None])
    assert torch.equal(fed(stage, torch.zeros(2, 7, 1), [2, 0, 1])[0, :, 0], torch.arange(7.0))


def test_a_chain_asks_no_stage_in_vain_and_ends_all_of_them() -> None:
    asked: list[int] = []
    first, _ = windows(4, 3, (0, 0))
    second = Windows(lambda x: x.unfold(1, 2, 1).sum(3), (4,), 2, 1, (0, 1))

    def noted(x: Tensor) -> Tensor:
        asked.append(x.shape[1])
        return x

    chain = Chain([first, Pointwise(noted), second])
    for size in (1, 2, 1, 3):
        chain.push(items(size, 3))
    assert asked == [1, 1]
    assert chain.push(items(0, 3), last=True).shape == (2, 1, 4)


def test_lateness_is_what_comes_before_an_answer() -> None:
    ahead, _ = windows(3, 2, (1, 1))
    back, _ = windows(3, 2, (2, 0))
    late = Windows(lambda x: x, (3,), 9, 1, (2, 6))
    assert [latency(ahead, 2), latency(back, 2), latency(late), latency(Chain([ahead, late]), 2)] == [1, 0, 6, 13]
    far = Windows(lambda x: x, (3,), 901, 1, (0, 900))
    assert latency(Chain([far, far])) == 1800


@pytest.mark.parametrize("options", [{}, {"block": PostNormBlock}])
@pytest.mark.parametrize("sizes", [[], [1] * 20, [7, 1, 0, 5]])
def test_an_encoder_answers_pieces_as_the_whole(options: dict[str, Any], sizes: list[int]) -> None:
    torch.manual_seed(0)
    encoder = Encoder(8, 3, 2, 12, **options).double().eval()
    x = items(20, 8)
    with torch.no_grad():
        whole = encoder(Tokens(x, Window(3, 1))).x
        torch.testing.assert_close(fed(encoder.stream(Window(3, 1)), x, sizes), whole, atol=1e-12, rtol=0)


class Mixing(nn.Module):
    """An MLP that reads the whole set."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1, keepdim=True)


def test_a_part_that_reads_everything_is_named() -> None:
    encoder = Encoder(8, 1, 2, 12, mlp=lambda dim, mlp_dim, dropout: Mixing())
    with pytest.raises(ConfigError, match="Mixing reads its input whole: no model with it answers while input comes"):
        encoder.stream(Window(3, 1))
    with pytest.raises(ConfigError, match="Linear reads its input whole"):
        stream_of(nn.Linear(2, 2))
