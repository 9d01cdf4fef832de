"""An encoder as the stem of another model, and the bridge to the decoder's channels."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool1d

from zoo.core import Bridge, ConfigError, Encoder, Features, InputError, Lengths, Model, Segments, Source, Tokens, Valid
from zoo.core.models.source import bridge_of, in_rows, pooled_stretches


class Stem(nn.Module):
    spacing = (0.04, "s")

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tokens:
        return Tokens(x, None, None if lengths is None else Lengths(lengths))


def model(dropout: float = 0.0) -> Model:
    return Model(Stem(), Encoder(8, 1, 2, 8, dropout=dropout), Features(8))


@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_stretches_are_those_of_adaptive_average_pooling(count: int) -> None:
    x = torch.randn(2, 7, 8)
    torch.testing.assert_close(pooled_stretches(Tokens(x), count), adaptive_avg_pool1d(x.mT, count).mT)


def test_what_an_exported_program_reads_is_told_by_the_encoder() -> None:
    class Stem(torch.nn.Module):
        def precomputed(self, x: Tensor) -> tuple[Tensor]:
            return (x + 1,)

    class Encodes(torch.nn.Module):
        stem: Any = Stem()

        def encode(self, x: Tensor) -> Tokens:
            return Tokens(x)

    (found,) = Source(Encodes(), Bridge(4, 4)).precomputed(torch.zeros(1, 2, 4))
    assert torch.equal(found, torch.ones(1, 2, 4))


def test_padding_is_in_no_stretch_wherever_it_stands() -> None:
    x, mask = torch.randn(1, 7, 8), torch.tensor([[True, False, True, True, False, True, True]])
    dirty = x.masked_fill(~mask[..., None], float("nan"))
    torch.testing.assert_close(
        pooled_stretches(Tokens(dirty, None, Valid(mask)), 3), pooled_stretches(Tokens(x[mask][None]), 3)
    )


def test_a_row_with_fewer_vectors_than_are_wanted_is_named() -> None:
    tokens = Tokens(torch.randn(2, 7, 8), None, Lengths(torch.tensor([7, 3])))
    with pytest.raises(InputError, match=r"bridge='pool:4' with 3 vectors in row 1.*pool:3 or less"):
        pooled_stretches(tokens, 4)


def test_widths_that_differ_need_a_linear_bridge() -> None:
    with pytest.raises(ConfigError, match=r"encoder of 8 channels and a decoder of 6.*bridge='linear'"):
        bridge_of("none", 8, 6)
    assert isinstance(bridge_of("none", 8, 8).linear, nn.Identity)
    assert bridge_of("linear", 8, 6)(Tokens(torch.randn(1, 2, 8))).x.shape == (1, 2, 6)
    assert bridge_of("pool:2", 8, 6)(Tokens(torch.randn(1, 5, 8))).x.shape == (1, 2, 6)


@pytest.mark.parametrize("text", ["pool", "pool:x", "linear:2", "mean", ""])
def test_a_bridge_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not 'linear', 'pool:N'"):
        bridge_of(text, 8, 8)


def test_a_bridge_to_no_vectors_is_refused() -> None:
    with pytest.raises(ConfigError, match="pool:0"):
        bridge_of("pool:0", 8, 8)


def test_packed_sets_get_rows_of_their_own_also_empty_ones() -> None:
    x = torch.randn(1, 6, 8)
    found = in_rows(Tokens(x, None, Segments(torch.tensor([[2, 0, 2, -1, 0, 2]]), count=4)))
    assert isinstance(found.keys, Lengths)
    assert found.keys.valid(4, 3, x.device).sum(1).tolist() == [2, 0, 3, 0]
    assert torch.equal(found.x[0, :2], x[0, [1, 4]])
    assert torch.equal(found.x[2], x[0, [0, 2, 5]])
    assert not found.x[1].any()


class Rows(nn.Module):
    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count: Any = ids[0, -1].item() + 1  # of packed sets in their order
        torch._check(count >= 0)
        found = in_rows(Tokens(x, None, Segments(ids, count=count)))
        assert isinstance(found.keys, Lengths)
        return found.x, found.keys.t


def test_rows_of_packed_sets_are_exported_for_any_number_and_size_of_sets(unchecked_shapes: None) -> None:
    dynamic = ({1: torch.export.Dim.DYNAMIC}, {1: torch.export.Dim.DYNAMIC})
    inputs = torch.randn(1, 5, 8), torch.tensor([[0, 0, 0, 1, 1]])
    program = torch.export.export(Rows(), inputs, dynamic_shapes=dynamic, strict=False).module(check_guards=False)
    for sets in ([0, 1, 1, 1, 1, 2, 2], [0], [0, 2, 2, 3]):
        ids = torch.tensor([sets])
        x = torch.randn(1, len(sets), 8)
        for found, expected in zip(program(x, ids), Rows()(x, ids), strict=True):
            assert torch.equal(found, expected)


def test_a_set_beyond_the_count_is_told() -> None:
    with pytest.raises(InputError, match="set 2, counted from 0, and there are 2 sets"):
        in_rows(Tokens(torch.randn(1, 2, 4), None, Segments(torch.tensor([[0, 2]]), count=2)))


def test_gradients_of_packed_sets_come_back_to_their_vectors() -> None:
    x = torch.randn(1, 4, 2, dtype=torch.float64, requires_grad=True)
    keys = Segments(torch.tensor([[1, -1, 0, 1]]), count=2)
    assert torch.autograd.gradcheck(lambda x: in_rows(Tokens(x, None, keys)).x, x)
    (grad,) = torch.autograd.grad(in_rows(Tokens(x, None, keys)).x.sum(), x)
    assert grad[0, :, 0].tolist() == [1, 0, 1, 1]


def test_padding_comes_with_the_vectors_and_so_does_the_time_between_them() -> None:
    source = Source(model().eval(), Bridge(8, 6))
    found = source(torch.randn(2, 5, 8), torch.tensor([5, 3]))
    assert found.valid().sum(1).tolist() == [5, 3]
    assert source.spacing == (0.04, "s")
    assert source.input_names() == ["x", "lengths"]


def test_a_frozen_encoder_stays_in_evaluation_mode() -> None:
    source = Source(model(dropout=0.5), Bridge(8, 8))
    assert source.train().model.training
    source.model.requires_grad_(False)
    assert not source.train().model.training
    assert source.bridge.training
    x = torch.randn(2, 5, 8)
    assert torch.equal(source(x).x, source(x).x)


def test_a_model_that_gives_no_tokens_is_refused() -> None:
    other: Any = nn.Linear(8, 8)
    with pytest.raises(ConfigError, match="Linear has no method encode"):
        Source(other, Bridge(8, 8))
