"""The Conformer's block and encoder: the paper's sizes, the laws, and the faults of other libraries."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchaudio.models import Conformer

from zoo.core import (
    Attention,
    Causal,
    Explicit,
    Full,
    Lengths,
    Segments,
    TablePosition,
    Tokens,
    TransformerXLPosition,
    Window,
    flops,
    left_padded,
)
from zoo.core.engine.tracing import rows_apart
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.transformer import Stack
from zoo.core.models.inspection import attention_maps
from zoo.core.patterns.pattern import Pattern
from zoo.plugins.conformer.block import ConformerBlock, ConvolutionFirstBlock, conformer_encoder
from zoo.plugins.conformer.convolution import ConvolutionModule, causal
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameGroupNorm, FrameLayerNorm

pytestmark = pytest.mark.usefixtures("float64")

FULL = Full()
NORMS = [FrameBatchNorm, FrameLayerNorm, FrameGroupNorm]


def encoder(
    depth: int = 2,
    pattern: Pattern = FULL,
    norm: Callable[[int], nn.Module] = FrameBatchNorm,
    kind: type[ConformerBlock] = ConformerBlock,
    **convolution: Any,
) -> Stack:
    """Make a small encoder whose norms and positions are not those of the start."""
    torch.manual_seed(1)
    options: dict[str, Any] = {"kernel_size": 4, "norm": norm} | convolution
    made = conformer_encoder(
        8,
        depth,
        2,
        12,
        block=kind,
        attention=with_position(partial(Attention, pattern=pattern), "transformer-xl", 1),
        convolution=partial(ConvolutionModule, **options),
    )
    return randomised(made)


def randomised(module: Any) -> Any:
    """Move the parameters and statistics from where they start, so that a mix-up shows."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        for name, buffer in module.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 2)
    return module.eval()


@pytest.mark.parametrize(
    ("dim", "num_heads", "kernel_size", "parameters"),
    [
        (144, 4, 31, 506_736),
        (144, 4, 32, 506_880),
        (256, 4, 31, 1_588_992),
        (512, 8, 31, 6_323_712),
    ],
)
def test_a_block_has_as_many_parameters_as_the_papers(
    dim: int, num_heads: int, kernel_size: int, parameters: int
) -> None:
    with torch.device("meta"):
        made = conformer_encoder(
            dim, 2, num_heads, 4 * dim, convolution=partial(ConvolutionModule, kernel_size=kernel_size)
        )
    assert sum(p.numel() for p in made.parameters()) == 2 * parameters


class Add(nn.Module):
    """Write a number into the first channel, and remember what was there."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number, self.seen = number, 0.0

    def forward(self, given: Tensor | Tokens) -> Tensor:
        x = given.x if isinstance(given, Tokens) else given
        self.seen = float(x[0, 0, 0])
        return torch.zeros_like(x) + torch.tensor([self.number, 0.0])


def adding(
    dropout: float = 0.0, drop_path: float = 0.0, kind: type[ConformerBlock] = ConformerBlock
) -> tuple[ConformerBlock, list[Add]]:
    """Make a block without norms whose parts add 1, 10, 100 and 1000."""
    parts = [Add(1.0), Add(10.0), Add(100.0), Add(1000.0)]
    block = kind(2, *parts, dropout=dropout, drop_path=drop_path)
    for norm in ("norm1", "norm2", "norm3", "norm"):
        setattr(block, norm, nn.Identity())
    return block, parts


@pytest.mark.parametrize(
    ("kind", "seen"), [(ConformerBlock, [0, 0.5, 10.5, 110.5]), (ConvolutionFirstBlock, [0, 100.5, 0.5, 110.5])]
)
def test_attention_and_convolution_stand_between_the_half_steps_in_the_order_of_the_block(
    kind: type[ConformerBlock], seen: list[float]
) -> None:
    block, parts = adding(kind=kind)
    y = block(Tokens(torch.zeros(1, 1, 2))).x
    assert [part.seen for part in parts] == seen
    assert y.tolist() == [[[610.5, 0]]]


def test_dropout_stands_behind_attention_and_convolution_and_every_branch_can_be_skipped() -> None:
    dropping, parts = adding(dropout=1.0)
    assert dropping(Tokens(torch.zeros(1, 1, 2))).x.tolist() == [[[500.5, 0]]]
    assert [part.seen for part in parts] == [0, 0.5, 0.5, 0.5]
    skipping, parts = adding(drop_path=1 - 1e-9)
    assert not skipping(Tokens(torch.zeros(1, 1, 2))).x.any()
    assert [part.seen for part in parts] == [0, 0, 0, 0]


def test_the_encoder_hands_its_dropout_to_every_part_and_its_eps_to_every_norm_of_a_block() -> None:
    model = conformer_encoder(8, 2, 2, 12, dropout=0.3, eps=1e-3)
    for block in model.blocks:
        assert [part.p for part in block.modules() if isinstance(part, nn.Dropout)] == [0.3] * 3
        assert [getattr(block, name).eps for name in ("norm1", "norm2", "norm3", "norm")] == [1e-3] * 4


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kernel_size", [4, 5])
@pytest.mark.parametrize("length", [0, 1, 6])
def test_a_padded_row_is_as_if_alone(norm: Callable[[int], nn.Module], kernel_size: int, length: int) -> None:
    model = encoder(norm=norm, kernel_size=kernel_size)
    x = torch.randn(3, 9, 8)
    x[1, length:] = float("nan")
    y = model(Tokens(x, keys=Lengths(torch.tensor([9, length, 4])))).x
    torch.testing.assert_close(y[1, :length], model(Tokens(x[1:2, :length])).x[0])
    torch.testing.assert_close(y[0], model(Tokens(x[:1])).x[0])


def trained(padding: float, extra: int) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """Take one step's forward and backward; give valid answers, gradients and statistics."""
    model = encoder().train()
    valid = torch.arange(9 + extra) < torch.tensor([9, 6])[:, None]
    x = torch.full((2, 9 + extra, 8), padding)
    x[valid] = torch.randn(15, 8, generator=torch.Generator().manual_seed(5))
    y = model(Tokens(x, keys=Lengths(torch.tensor([9, 6])))).x[valid]
    y.sin().sum().backward()
    return y, {k: p.grad for k, p in model.named_parameters() if p.grad is not None}, dict(model.named_buffers())


def test_padding_leaks_in_training_neither_into_gradients_nor_statistics() -> None:
    for one, other in zip(trained(0.0, 0), trained(float("nan"), 5), strict=True):
        torch.testing.assert_close(one, other)


def test_padding_in_front_changes_nothing_as_positions_are_relative() -> None:
    model = encoder()
    x = torch.randn(2, 9, 8)
    lengths = torch.tensor([9, 6])
    x[1, :3] = float("nan")
    y = model(left_padded(x, lengths)).x
    torch.testing.assert_close(y[1, 3:], model(Tokens(x[1:, 3:])).x[0])


def test_packed_sets_do_not_read_each_other() -> None:
    model = encoder()
    x = torch.randn(1, 9, 8)
    y = model(Tokens(x, keys=Segments(torch.tensor([[0] * 4 + [1] * 5])))).x
    torch.testing.assert_close(y[:, :4], model(Tokens(x[:, :4])).x)
    torch.testing.assert_close(y[:, 4:], model(Tokens(x[:, 4:])).x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("training", [True, False])
def test_unequal_rows_are_packed_and_give_what_they_give_with_padding(
    norm: Callable[[int], nn.Module], training: bool
) -> None:
    keys, given = Lengths(torch.tensor([9, 2, 4])), torch.randn(3, 9, 8, dtype=torch.float64)
    valid = keys.valid(3, 9, given.device)
    answers = []
    for apart in (False, True):
        model, rows = encoder(norm=norm).double().train(training), list[int]()
        model.blocks[1].mlp1.register_forward_pre_hook(
            lambda _, args, rows=rows: rows.append(args[0].shape[:2].numel())
        )
        x = given.clone().requires_grad_()
        with rows_apart() if apart else nullcontext():
            y = model(Tokens(x, keys=keys)).x[valid]
        assert rows == [27 if apart or norm is FrameGroupNorm else 15]
        answers.append([y, *torch.autograd.grad(y.sin().sum(), [x, *model.parameters()]), *model.buffers()])
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other)


def test_rows_that_may_skip_a_branch_and_parts_of_others_are_not_packed() -> None:
    block = encoder(depth=1).blocks[0]
    assert block.packs()
    block.drop_path.probability = 0.5
    assert block.packs()
    assert not block.train().packs()
    for part in ("mlp1", "mlp2", "attention", "convolution"):
        other = encoder(depth=1).blocks[0]
        setattr(other, part, Add(1.0))
        assert not other.packs(), part


def test_the_order_of_the_frames_matters_even_to_a_kernel_of_one() -> None:
    x, order = torch.randn(1, 6, 8), torch.tensor([3, 1, 5, 0, 4, 2])
    ours = encoder(kernel_size=1)
    assert (ours(Tokens(x[:, order])).x - ours(Tokens(x)).x[:, order]).abs().max() > 0.01
    theirs, lengths = randomised(Conformer(8, 2, 12, 2, 1)), torch.tensor([6])
    torch.testing.assert_close(theirs(x[:, order], lengths)[0], theirs(x, lengths)[0][:, order])


def test_scores_depend_on_the_true_offset() -> None:
    model = encoder(depth=1)
    attention = model.blocks[0].attention
    with torch.no_grad():
        attention.qkv.weight.zero_()
        attention.qkv.bias.zero_()
    (weights,) = attention_maps(model, Tokens(torch.randn(1, 7, 8)))
    scores = weights.log()
    ratio = scores[..., 1:] - scores[..., :-1]  # the softmax's sum falls out: what is left knows offsets only
    torch.testing.assert_close(ratio[..., 1:, 1:], ratio[..., :-1, :-1])
    assert (ratio[..., 0, 0] - ratio[..., 0, 1]).abs().min() > 1e-4


def test_torchaudios_padding_leaks_and_it_refuses_even_kernels() -> None:
    theirs = randomised(Conformer(8, 2, 12, 2, 5))
    x, lengths = torch.randn(2, 9, 8), torch.tensor([9, 6])
    alone = theirs(x[1:, :6], lengths[1:])[0][0]
    assert (theirs(x, lengths)[0][1, :6] - alone).abs().max() > 1e-3
    with pytest.raises(ValueError, match="must be odd"):
        Conformer(8, 2, 12, 1, 32)


def test_a_window_and_a_kernel_reach_as_far_as_they_say() -> None:
    model = encoder(depth=1, pattern=Window(2, 1), kernel_size=4)  # the kernel reads 1 back and 2 ahead
    x = torch.randn(1, 15, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(model(Tokens(x)).x[0, 7].sin().sum(), x)
    assert grad[0].abs().sum(1).nonzero()[:, 0].tolist() == list(range(4, 11))


def test_a_window_wider_than_the_frames_is_full_attention() -> None:
    x = torch.randn(2, 9, 8)
    torch.testing.assert_close(encoder(pattern=Window(9, 9))(Tokens(x)).x, encoder()(Tokens(x)).x)


def test_a_long_window_is_computed_in_bands_and_equals_the_full_square() -> None:
    model, x = encoder(depth=1, pattern=Window(4, 3)), torch.randn(1, 300, 8)
    counted = [flops.count(model, Tokens(torch.randn(1, n, 8))).attention for n in (2000, 4000)]
    assert counted[1] < 2.1 * counted[0]
    attention = model.blocks[0].attention
    wide = attention(Tokens(x))
    attention.pattern = Full()
    offset = torch.arange(300) - torch.arange(300)[:, None]
    explicit = Explicit((offset >= -4) & (offset <= 3))
    torch.testing.assert_close(attention(Tokens(x, explicit)), wide)


@pytest.mark.parametrize("kind", [ConformerBlock, ConvolutionFirstBlock])
@torch.no_grad()
def test_a_stream_gives_what_the_whole_gives_in_either_order(kind: type[ConformerBlock]) -> None:
    model = encoder(depth=1, pattern=Window(3, 0), padding=causal(4), kind=kind)
    x, stage = torch.randn(1, 9, 8), model.stream()
    pieces = [stage.push(piece, last=piece.shape[1] == 1) for piece in x.split(2, 1)]
    torch.testing.assert_close(torch.cat(pieces, 1), model(Tokens(x)).x)


def test_causal_attention_and_convolution_do_not_see_ahead() -> None:
    model = encoder(pattern=Causal(), padding=causal(4))
    x = torch.randn(1, 9, 8)
    y = model(Tokens(x)).x
    x[:, 5:] = torch.randn(1, 4, 8)
    moved = model(Tokens(x)).x
    torch.testing.assert_close(moved[:, :5], y[:, :5])
    assert not moved[:, 5].allclose(y[:, 5])


@pytest.mark.parametrize("norm", NORMS)
def test_every_parameter_gets_a_gradient(norm: Callable[[int], nn.Module]) -> None:
    model = encoder(norm=norm)
    model(Tokens(torch.randn(2, 9, 8), keys=Lengths(torch.tensor([9, 6])))).x[:, :6].sin().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("norm", NORMS)
def test_half_precision_agrees(norm: Callable[[int], nn.Module]) -> None:
    model = encoder(norm=norm).float()
    tokens = Tokens(torch.randn(2, 9, 8).float(), keys=Lengths(torch.tensor([9, 6])))
    valid = tokens.valid()
    y = model(tokens).x[valid]
    with torch.autocast("cpu", torch.bfloat16):
        automatic = model(tokens).x[valid]
    half = model.to(torch.bfloat16)(tokens.with_x(tokens.x.bfloat16())).x[valid]
    assert half.dtype is torch.bfloat16
    for other in (automatic, half):
        assert (other.float() - y).norm() < 0.05 * y.norm()


def test_dropout_acts_in_training_only_and_blocks_can_be_skipped() -> None:
    model = conformer_encoder(8, 3, 2, 12, dropout=0.2, drop_path=0.5)
    x = torch.randn(2, 9, 8)
    assert not model(Tokens(x)).x.equal(model(Tokens(x)).x)
    assert [block.drop_path.probability for block in model.blocks] == [0, 0.25, 0.5]
    model.eval()
    assert model(Tokens(x)).x.equal(model(Tokens(x)).x)


def test_the_default_attention_is_the_papers_and_any_other_can_take_its_place() -> None:
    paper = conformer_encoder(8, 1, 2, 12).blocks[0].attention.position
    assert isinstance(paper, TransformerXLPosition)
    assert paper.project.bias is None
    other = conformer_encoder(8, 1, 2, 12, attention=with_position(Attention, "relative", 9))
    assert isinstance(other.blocks[0].attention.position, TablePosition)
    assert other(Tokens(torch.randn(1, 9, 8))).x.shape == (1, 9, 8)
