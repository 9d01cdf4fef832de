"""Convolution is attention: the same function for every kind of convolution, and what the heads learn."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.engine.dispatch import attend
from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.protocol import AttentionLayer
from zoo.core.mechanisms.convolution import Quadratic, QuadraticAttention, as_attention, quadratic
from zoo.core.mechanisms.kernel_geometry import Sweep, square
from zoo.core.models.inspection import attention_maps
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.padding import Lengths
from zoo.core.tokens import Tokens


def drawn(channels: int = 2, out: int = 4, kernel: Any = 3, **options: Any) -> nn.Conv2d:
    """Make a convolution with taps of deviation 1."""
    torch.manual_seed(0)
    conv = nn.Conv2d(channels, out, kernel, **options).double()
    nn.init.normal_(conv.weight)
    return conv


def tokens(image: Tensor) -> Tokens:
    return Tokens(image.flatten(2).mT)


def error(conv: nn.Conv2d, attention: QuadraticAttention, height: int = 6, width: int = 9) -> float:
    image = torch.randn(2, conv.in_channels, height, width, dtype=torch.float64)
    return (attention(tokens(image)) - conv(image).flatten(2).mT).abs().max().item()


@pytest.mark.parametrize(("alpha", "most"), [(10.0, 4e-3), (20.0, 2e-7), (46.0, 7e-15)])
def test_the_error_falls_as_a_neighbour_weighs_less(alpha: float, most: float) -> None:
    conv = drawn(padding="valid")
    found = error(conv, as_attention(conv, (6, 9), alpha))
    assert most / 30 < found <= most


@pytest.mark.parametrize(
    "options",
    [
        {"padding": 1}, {"padding": (0, 2)}, {"padding": "same"}, {"kernel": (2, 3)}, {"kernel": 1}, {"bias": False},
        {"kernel": (1, 5), "padding": "same", "dilation": (1, 2)}, {"dilation": 2, "padding": 2}, {"stride": 2},
        {"kernel": (2, 3), "stride": (3, 1), "padding": (1, 2)}, {"groups": 2}, {"channels": 4, "groups": 4},
        {"padding": 2, "padding_mode": "circular"}, {"padding": 2, "padding_mode": "reflect"},
        {"padding": (3, 1), "padding_mode": "replicate"},
    ],
    ids=str,
)  # fmt: skip
def test_every_convolution_is_attention(options: dict[str, Any]) -> None:
    conv = drawn(**options)
    assert error(conv, as_attention(conv, (6, 9))) <= 1e-13


def test_an_even_kernel_that_keeps_the_size_pads_as_torch_does() -> None:
    conv, same = drawn(kernel=(2, 4)), as_attention(drawn(kernel=(2, 4), padding="same"), (6, 9))
    image = torch.randn(1, 2, 6, 9, dtype=torch.float64)
    padded = nn.functional.pad(image, (1, 2, 0, 1))
    torch.testing.assert_close(same(tokens(image)), conv(padded).flatten(2).mT, rtol=0, atol=1e-13)


def test_gradients_are_those_of_the_convolution() -> None:
    conv = drawn(padding=1)
    attention = as_attention(conv, (6, 9))
    image = torch.randn(2, 2, 6, 9, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 54, 4, dtype=torch.float64)
    (ours,) = torch.autograd.grad((attention(tokens(image)) * weight).sum(), image)
    (theirs,) = torch.autograd.grad((conv(image).flatten(2).mT * weight).sum(), image)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_the_convolution_is_copied_in_its_precision() -> None:
    conv = nn.Conv2d(2, 4, 3, padding=1, dtype=torch.bfloat16)
    attention = as_attention(conv)
    assert {parameter.dtype for parameter in attention.parameters()} == {torch.bfloat16}
    nn.init.zeros_(attention.out.weight)
    assert conv.weight.abs().sum() > 0


def test_a_convolution_of_one_axis_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Conv1d\(2, 3, .* is no nn.Conv2d"):
        as_attention(nn.Conv1d(2, 3, 3))


def test_a_kernel_larger_than_the_grid_is_refused() -> None:
    with pytest.raises(InputError, match="a grid of 2x2, padding included, is smaller than the kernel"):
        as_attention(drawn())(tokens(torch.randn(1, 2, 2, 2, dtype=torch.float64)))


def test_scores_are_those_of_the_paper() -> None:
    centre, alpha = torch.tensor([[1.0, -0.5]]), torch.tensor([0.7])
    bias = Quadratic(centre, alpha, torch.tensor([[2, 3]]), torch.tensor([[0, 0], [3, 2]]))
    zero = torch.zeros(1, dtype=torch.long)
    scores = bias.scores(torch.zeros(1, 1, 1, 1), zero[None], torch.arange(2)[None], 1.0)
    for key, (row, column) in enumerate([(-2, -3), (1, -1)]):
        expected = -0.7 * (row**2 + column**2 - 2 * (row * 1.0 + column * -0.5))
        assert scores[0, 0, 0, key] == pytest.approx(expected)


def test_a_part_of_the_queries_gets_its_part_of_the_scores() -> None:
    bias = Quadratic(torch.randn(6, 2), torch.rand(6), torch.randint(4, (6, 2)), torch.randint(4, (5, 2)))
    q, k, v = torch.zeros(1, 6, 1, 1), torch.zeros(1, 5, 1, 1), torch.randn(1, 5, 1, 3)
    torch.testing.assert_close(
        attend(q[:, 2:], k, v, bias=bias, q_start=2, backend="reference"), attend(q, k, v, bias=bias)[:, 2:]
    )


def test_weights_are_gaussians_around_the_centres() -> None:
    attention = QuadraticAttention(3, 9, grid=(5, 5), alpha=1.5)
    weights = attention.weights(Tokens(torch.randn(2, 25, 3)))
    assert weights.shape == (2, 9, 25, 49)
    rows, columns = torch.cartesian_prod(torch.arange(7), torch.arange(7)).T
    for head, (down, right) in enumerate(torch.cartesian_prod(torch.arange(-1, 2), torch.arange(-1, 2)).tolist()):
        apart = (rows - 3 - down) ** 2 + (columns - 2 - right) ** 2  # the query in row 2, column 1; the ring adds 1
        torch.testing.assert_close(weights[0, head, 11], (-1.5 * apart).softmax(0))


def test_forward_uses_these_weights() -> None:
    attention = QuadraticAttention(3, 4, grid=(2, 3))
    x = torch.randn(2, 6, 3)
    weights = attention.weights(Tokens(x))
    values = nn.functional.pad(x.mT.unflatten(2, (2, 3)), (0, 1, 0, 1)).flatten(2).mT
    mixed = torch.einsum("bhnm,bmd->bnhd", weights, values).flatten(2)
    torch.testing.assert_close(attention(Tokens(x)), attention.out(mixed))


def test_centres_and_widths_learn() -> None:
    attention = QuadraticAttention(3, 9)
    attention(Tokens(torch.randn(2, 16, 3))).square().sum().backward()
    for parameter in (attention.rows, attention.columns, attention.log_alpha):
        assert parameter.grad is not None
        assert (parameter.grad != 0).all()


def test_a_head_finds_the_place_it_should_look_at() -> None:
    torch.manual_seed(0)
    attention = QuadraticAttention(2, 1, sweep=Sweep((1, 1), (0, 0, 0, 0)), bias=False, alpha=0.5)
    nn.init.eye_(attention.out.weight)
    attention.out.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in attention.parameters() if p.requires_grad], 0.05)
    for _ in range(150):
        image = torch.randn(16, 2, 5, 5)
        wanted = image.roll((-1, 1), (2, 3))[:, :, 1:-1, 1:-1]
        y = attention(tokens(image)).mT.unflatten(2, (5, 5))[:, :, 1:-1, 1:-1]
        optimizer.zero_grad()
        (y - wanted).square().mean().backward()
        optimizer.step()
    assert attention.rows.item() == pytest.approx(1, abs=0.2)
    assert attention.columns.item() == pytest.approx(-1, abs=0.2)
    assert attention.log_alpha.exp().item() > 2


def test_it_belongs_to_the_family() -> None:
    attention = QuadraticAttention(3, 9)
    assert isinstance(attention, AttentionLayer)
    (weights,) = attention_maps(attention, Tokens(torch.randn(2, 16, 3)))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 9, 16))


def test_padding_is_read_as_zeros() -> None:
    conv = drawn(padding=1)
    image = torch.randn(1, 2, 4, 3, dtype=torch.float64)
    expected = conv(nn.functional.pad(image, (0, 0, 0, 2)))
    x = nn.functional.pad(image, (0, 0, 0, 2), value=float("nan")).flatten(2).mT
    y = as_attention(conv, (6, 3))(Tokens(x, keys=Lengths(torch.tensor([12]))))
    torch.testing.assert_close(y, expected.flatten(2).mT, rtol=0, atol=1e-13)


def test_rows_do_not_depend_on_their_batch_mates() -> None:
    attention = QuadraticAttention(3, 9)
    x = torch.randn(2, 16, 3)
    alone = attention(Tokens(x[:1]))
    x[1] = float("nan")
    torch.testing.assert_close(attention(Tokens(x))[:1], alone)


@pytest.mark.parametrize(("length", "found"), [(6, (2, 3)), (24, (4, 6)), (54, (6, 9))])
def test_grids_of_one_shape_are_read_in_every_size(length: int, found: tuple[int, int]) -> None:
    assert QuadraticAttention(3, 9, grid=(4, 6)).shape(length) == found


@pytest.mark.parametrize("length", [0, 5, 12])
def test_what_is_no_grid_is_refused(length: int) -> None:
    with pytest.raises(InputError, match=f"{length} tokens are no grid of the shape 2:3"):
        QuadraticAttention(3, 9, grid=(2, 3))(Tokens(torch.randn(1, length, 3)))


def test_heads_are_as_many_as_taps() -> None:
    with pytest.raises(ConfigError, match=r"num_heads=4 for a kernel of \(3, 3\): one head for each tap"):
        QuadraticAttention(3, 4, sweep=square(9))


def test_widths_and_grids_are_above_zero() -> None:
    with pytest.raises(ConfigError, match=r"alpha=0.0, grid=\(1, 1\)"):
        QuadraticAttention(3, 9, alpha=0.0)


def test_patterns_contexts_and_other_channels_are_refused() -> None:
    attention, x = QuadraticAttention(3, 9), torch.randn(1, 16, 3)
    with pytest.raises(ConfigError, match="pattern=causal: this layer attends by a fixed kernel"):
        attention(Tokens(x, pattern=Causal()))
    with pytest.raises(InputError, match="give no context and no state"):
        attention(Tokens(x), Tokens(x))
    with pytest.raises(ConfigError, match="reads a whole grid at once: it keeps no state"):
        attention.state(1)
    with pytest.raises(InputError, match="4 channels given to an attention of dim=3"):
        attention(Tokens(torch.randn(1, 16, 4)))


def test_the_name_quadratic_takes_the_shape_of_the_grid() -> None:
    assert quadratic()(3, 9).grid == (1, 1)
    assert quadratic("2", "3")(3, 9).shape(24) == (4, 6)
