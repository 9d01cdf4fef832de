"""Attention as a linear recurrence: steps are the whole, and what it cannot read it refuses."""

from typing import Any

import pytest
import torch
from torch.nn.functional import normalize, silu, softplus
from torch.utils.flop_counter import FlopCounterMode

import zoo
from zoo.core import (
    Attention,
    Causal,
    ConfigError,
    Decoder,
    InputError,
    Lengths,
    RecurrentAttention,
    Rotary,
    Segments,
    Steps,
    Tokens,
    Valid,
    Window,
    chunked,
    recurrent,
)
from zoo.core.layers.position_factory import with_position
from zoo.core.mechanisms.recurrence.delta import DeltaAttention, GatedDeltaAttention
from zoo.core.mechanisms.recurrence.gated_linear import GatedLinearAttention
from zoo.core.mechanisms.recurrence.retention import Retention
from zoo.core.mechanisms.recurrence.state_space import StateSpaceAttention, StepSizes
from zoo.weights.checkpoint import save

MECHANISMS: dict[str, type[Any]] = {
    "retention": Retention,
    "gla": GatedLinearAttention,
    "ssd": StateSpaceAttention,
    "delta": DeltaAttention,
    "gated-delta": GatedDeltaAttention,
}
every = pytest.mark.parametrize("name", MECHANISMS)
on_device = pytest.mark.usefixtures("on_device")


def layer(name: str, dim: int = 8, heads: int = 2, **options: Any) -> RecurrentAttention:
    torch.manual_seed(0)
    made: RecurrentAttention = MECHANISMS[name](dim, heads, **options).double().eval()
    return made


def draw(n: int, b: int = 2, dim: int = 8) -> torch.Tensor:
    drawn = torch.randn(b, n, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(n), device="cpu")
    return drawn.to(torch.get_default_device())


@on_device
@every
@pytest.mark.parametrize("position", ["none", "rotary"])
@torch.no_grad()
def test_pieces_give_what_the_whole_gives_and_the_state_keeps_its_size(name: str, position: str) -> None:
    torch.manual_seed(0)
    model = Decoder(8, 2, 2, 12, attention=with_position(MECHANISMS[name], position, 8)).double().eval()
    x, state, sizes, answers = draw(70), model.state(2), [], []
    for piece in x.split([3, 1, 0, 65, 1], 1):
        answers.append(model(Tokens(piece), state=state).x)
        sizes.append(state.stored)
    torch.testing.assert_close(torch.cat(answers, 1), model(Tokens(x)).x, rtol=0, atol=1e-10)
    assert set(sizes) == {2 * 2 * 2 * 4 * 4}  # layers, rows, heads, channels of keys and of values


@on_device
@every
@pytest.mark.parametrize("front", [True, False])
@torch.no_grad()
def test_rows_of_any_length_go_on_as_if_alone_in_any_order(name: str, front: bool) -> None:
    model, x = Decoder(8, 1, 2, 12, attention=lambda dim, heads: layer(name, position=Rotary(4))).double(), draw(6)
    valid = torch.tensor([[True, True, True, True], [False, False, True, True]])
    valid = valid if front else valid.flip(1)
    state = model.state(2)
    keys = Valid(valid) if front else Lengths(valid.sum(1))
    model(Tokens(x[:, :4], keys=keys, position=valid.long().cumsum(1) - 1), state=state)
    state.reorder(torch.tensor([1, 0, 1]))
    assert state.next.tolist() == [2, 4, 2]
    got = [model(Tokens(x[[1, 0, 1], t : t + 1]), state=state).x for t in (4, 5)]
    for place, row in enumerate([1, 0, 1]):
        alone = torch.cat([x[row, :4][valid[row]], x[row, 4:]])[None]
        torch.testing.assert_close(torch.cat(got, 1)[place], model(Tokens(alone)).x[0, -2:])


@on_device
@every
def test_every_weight_learns_and_autocast_and_half_precision_stay_near_float32(name: str) -> None:
    made, x = layer(name).float(), draw(90).float()
    wanted = made(Tokens(x))
    wanted.square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in made.parameters() if p.ndim > 1)
    with torch.autocast(x.device.type, torch.bfloat16):
        assert bool((made(Tokens(x)).float() - wanted).square().mean().sqrt() < 0.02)
    for dtype in (torch.bfloat16, torch.float16):
        state = made.to(dtype).state(2)
        y = made(Tokens(x.to(dtype)), None, state)
        assert y.dtype == dtype
        assert state.tensors["state"].dtype == torch.float32
        assert bool((y.float() - wanted).square().mean().sqrt() < 0.02)


@on_device
@every
@pytest.mark.parametrize(
    ("dtype", "factor"), [(torch.bfloat16, 1e3), (torch.float16, 10.0), (torch.float32, 1e3), (torch.float16, 0.0)]
)
def test_large_inputs_and_none_give_no_nan(name: str, dtype: torch.dtype, factor: float) -> None:
    made = layer(name).to(dtype)
    x = (factor * draw(130)).to(dtype).requires_grad_()
    y = made(Tokens(x))
    y.float().abs().mean().backward()
    assert bool(y.isfinite().all())
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())


@on_device
@every
@torch.no_grad()
def test_it_streams_with_what_it_decodes_with(name: str) -> None:
    made, x = layer(name), draw(9)
    stage, stored = made.stream(), set()
    pieces = []
    for piece in x.split([4, 1, 4], 1):
        pieces.append(stage.push(piece))
        stored.add(stage.stored)
    torch.testing.assert_close(torch.cat(pieces, 1), made(Tokens(x)))
    assert stored == {2 * 2 * 4 * 4}


@every
def test_what_it_cannot_read_is_refused_with_the_reason(name: str) -> None:
    made, x = layer(name), draw(4)
    kind = type(made).__name__
    state = made.state(2, Causal())
    made(Tokens(x), None, state)
    for refused in (
        lambda: made(Tokens(x, Window(2))),
        lambda: made.state(1, Window(2)),
        lambda: made.stream(Window(2)),
    ):
        with pytest.raises(ConfigError, match=rf"{kind} with .*: its state sums up all tokens before"):
            refused()
    with pytest.raises(ConfigError, match=f"{kind} reads its own past in order, so it cannot read another set"):
        made(Tokens(x), Tokens(x))
    with pytest.raises(InputError, match=f"{kind} keeps one state for each row: .* packed in one row"):
        made(Tokens(x, keys=Segments(torch.tensor([[0, 0, 1, 1]] * 2))))
    with pytest.raises(InputError, match=f"a Growing given to {kind}, which keeps sums"):
        made(Tokens(x), None, Attention(8, 2).state(2))
    with pytest.raises(ConfigError, match=r"crop\(1\): a state of constant size holds no single tokens"):
        state.crop(1)
    with pytest.raises(ConfigError, match="keeps sums of keys, so each key's weight is not known"):
        made.weights(Tokens(x), None, state)
    with pytest.raises(ConfigError, match=f"position='alibi' adds to scores, and the recurrence of {kind} makes none"):
        with_position(MECHANISMS[name], "alibi", 4)(8, 2)
    with pytest.raises(ConfigError, match="dim=8 is not a multiple of num_heads=3"):
        MECHANISMS[name](8, 3)


@torch.no_grad()
def test_retention_is_its_definition_token_by_token() -> None:
    made, x = layer("retention", 12, 3), draw(7, 1, 12)
    q, k, v = made.project(Tokens(x), None)
    gate = silu(made.gate(x)) if made.gate is not None else torch.ones(())
    for t in range(7):
        heads = []
        for h in range(3):
            weights = torch.tensor(
                [(1 - 2.0 ** (-5 - h)) ** (t - s) * float(q[0, t, h] @ k[0, s, h]) for s in range(t + 1)]
            )
            y = (weights.double()[:, None] * v[0, : t + 1, h]).sum(0)
            heads.append((y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt())
        torch.testing.assert_close(made(Tokens(x))[0, t], made.out(torch.cat(heads) * gate[0, t]), rtol=1e-6, atol=1e-6)


@torch.no_grad()
def test_gated_delta_whose_gate_is_1_has_the_steps_of_delta() -> None:
    """The layer of another library differed from it (fla-org/flash-linear-attention #104)."""
    gated, plain, x = layer("gated-delta"), layer("delta"), draw(6)
    plain.load_state_dict({name: gated.state_dict()[name] for name in plain.state_dict()})
    assert isinstance(gated, GatedDeltaAttention)
    gated.step_sizes.log_rate.fill_(-torch.inf)
    y = [recurrent(made._steps(Tokens(x), None, None))[0] for made in (gated, plain)]
    torch.testing.assert_close(*y, rtol=0, atol=1e-10)


@torch.no_grad()
def test_gla_and_ssd_whose_gates_are_those_of_retention_are_retention_as_layers() -> None:
    """With softplus(b) = 1 nothing scales the values of ssd; its head norm is the other's, which has a mean."""
    made, x = {name: layer(name) for name in ("retention", "gla", "ssd")}, draw(70)
    gamma = 1 - 2.0 ** (-5 - torch.arange(2, dtype=torch.float64))
    shared = made["retention"].state_dict()
    for other in (made["gla"], made["ssd"]):
        other.load_state_dict({**other.state_dict(), **shared})
    gla, ssd = made["gla"], made["ssd"]
    assert isinstance(gla, GatedLinearAttention)
    assert isinstance(ssd, StateSpaceAttention)
    gla.decay[1].weight.zero_()
    gla.decay[1].bias.copy_((gamma**16).logit().repeat_interleave(4))
    ssd.step_sizes.linear.weight.zero_()
    ssd.step_sizes.bias.fill_(torch.tensor(1.0, dtype=torch.float64).expm1().log())
    ssd.step_sizes.log_rate.copy_((-gamma.log()).log())
    ssd.head_norm = made["retention"].head_norm
    wanted = made["retention"](Tokens(x))
    for other in (gla, ssd):
        torch.testing.assert_close(other(Tokens(x)), wanted, rtol=0, atol=1e-10)


@on_device
@every
@torch.no_grad()
def test_a_row_of_one_token_and_an_empty_row_are_read(name: str) -> None:
    made, x = layer(name), draw(4)
    one = made(Tokens(x, keys=Lengths(torch.tensor([1, 0]))))
    torch.testing.assert_close(one[:1, :1], made(Tokens(x[:1, :1])))
    assert bool(one.isfinite().all())
    assert made(Tokens(x[:, :0])).shape == (2, 0, 8)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gla", "ssd", "gated-delta"])
def test_a_gate_that_falls_to_0_leaves_each_token_what_it_writes_itself(name: str) -> None:
    made, x = layer(name), draw(6)
    steps = made._steps(Tokens(x), None, None)
    assert steps.decay is not None
    for nothing in (-1e30, -torch.inf):
        read = chunked(steps._replace(decay=torch.full_like(steps.decay, nothing)))[0]
        written = steps.v if steps.rate is None else steps.rate * steps.v
        torch.testing.assert_close(read, (steps.q * steps.k).sum(-1, keepdim=True) * written, rtol=0, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("name", ["delta", "gated-delta"])
def test_keys_of_the_delta_rule_have_norm_1_at_most_however_large_the_tokens_are(name: str) -> None:
    """Keys of any norm gave NaN in float16 (fla-org/flash-linear-attention #99, #736)."""
    steps = layer(name)._steps(Tokens(100 * draw(5)), None, None)
    for x in (steps.q, steps.k):
        norm = x.norm(dim=-1)  # almost 0 where every channel is far below 0
        assert float(norm.median()) > 0.999
        assert float(norm.max()) < 1 + 1e-9
    assert steps.rate is not None
    assert bool(((steps.rate >= 0) & (steps.rate <= 1)).all())


@torch.no_grad()
def test_decays_come_from_the_tokens_as_the_papers_say() -> None:
    x = draw(5)
    channels = layer("gla")._steps(Tokens(x), None, None).decay
    heads = layer("ssd")._steps(Tokens(x), None, None).decay
    fixed = layer("retention")._steps(Tokens(x), None, None).decay
    assert channels is not None
    assert heads is not None
    assert fixed is not None
    assert channels.shape == (2, 2, 5, 4)
    assert heads.shape == fixed.shape == (2, 2, 5, 1)
    torch.testing.assert_close(fixed.exp()[0, :, 0, 0], torch.tensor([31 / 32, 63 / 64], dtype=torch.float64))
    assert not torch.allclose(channels[0], channels[1])
    assert not torch.allclose(heads[0], heads[1])
    for decay in (channels, heads, fixed):
        assert bool((decay <= 0).all())


@torch.no_grad()
def test_ssd_writes_values_scaled_by_the_step_and_its_first_steps_are_those_of_mamba() -> None:
    made, x = layer("ssd", 64, 4), draw(3, 1, 64)
    steps, (_, _, v) = made._steps(Tokens(x), None, None), made.project(Tokens(x), None)
    assert isinstance(made, StateSpaceAttention)
    step, _ = made.step_sizes(x)
    torch.testing.assert_close(steps.v, step * v.transpose(1, 2))
    torch.manual_seed(0)
    first = softplus(StepSizes(4, 4000).bias)
    assert float(first.min()) == pytest.approx(1e-3, rel=0.01)
    assert float(first.max()) == pytest.approx(1e-1, rel=0.01)


@torch.no_grad()
def test_ssd_begins_with_rates_between_1_and_16() -> None:
    """As arXiv:2405.21060's code draws them: a head forgets within 1 to 1,000 tokens of a step of .1 to .001."""
    made = layer("ssd", 64, 32)
    assert isinstance(made, StateSpaceAttention)
    rates = made.step_sizes.log_rate.exp()
    assert bool(((rates >= 1) & (rates <= 16)).all())
    assert float(rates.max() / rates.min()) > 4


@torch.no_grad()
def test_gla_takes_a_root_of_its_gates() -> None:
    made, x = layer("gla"), draw(5)
    assert isinstance(made, GatedLinearAttention)
    decay = made._steps(Tokens(x), None, None).decay
    assert decay is not None
    gates = made.decay(x).sigmoid().unflatten(-1, (2, 4)).transpose(1, 2)
    torch.testing.assert_close(decay.exp() ** 16, gates)


@torch.no_grad()
def test_queries_keys_and_rates_of_delta_are_those_of_the_paper() -> None:
    made, x = layer("delta"), draw(5)
    assert isinstance(made, DeltaAttention)
    q, k, v = made.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
    steps = made._steps(Tokens(x), None, None)
    for found, given in ((steps.q, q), (steps.k, k)):
        torch.testing.assert_close(found, normalize(silu(given), dim=-1), rtol=1e-4, atol=1e-4)
    assert torch.equal(steps.v, v)
    assert steps.rate is not None
    torch.testing.assert_close(steps.rate[..., 0], made.rate(x).sigmoid().mT)


@pytest.mark.parametrize(
    ("name", "gated", "mean"),
    [
        ("retention", True, True),
        ("gla", True, True),
        ("ssd", True, False),
        ("delta", False, False),
        ("gated-delta", True, False),
    ],
)
@torch.no_grad()
def test_answers_are_normed_and_gated_as_the_papers_say(name: str, gated: bool, mean: bool) -> None:
    made, x = layer(name), draw(6)
    y = recurrent(made._steps(Tokens(x), None, None))[0].transpose(1, 2)
    y = y - y.mean(-1, keepdim=True) if mean else y
    y = (y * (y.square().mean(-1, keepdim=True) + 1e-5).rsqrt()).flatten(2)
    assert (made.gate is not None) is gated
    torch.testing.assert_close(made(Tokens(x)), made.out(y if made.gate is None else y * silu(made.gate(x))))


@torch.no_grad()
def test_mqar_in_one_layer_delta_keeps_the_newest_value_where_sums_blur() -> None:
    keys = normalize(draw(4, 1, 4)[0] + 3 * torch.eye(4, dtype=torch.float64), dim=-1)
    k, v = keys.repeat(2, 1), draw(8, 1, 4)[0]
    steps = Steps(k, k, v, None, torch.ones(8, 1, dtype=torch.float64))
    newest = [(recurrent(s)[0] - v).norm() for s in (steps, steps._replace(rate=None))]
    assert newest[0] < 1e-10 < 1 < newest[1]


@every
def test_it_is_made_by_name_saved_and_loaded(name: str, tmp_path: Any) -> None:
    model = zoo.create("bert-micro", attention=name, num_classes=3, depth=1).eval()
    inputs = zoo.example("bert-micro")
    save(model, tmp_path)
    again = zoo.create(f"local-dir:{tmp_path}").eval()
    torch.testing.assert_close(again(*inputs), model(*inputs))
    ids = inputs[0].clone()
    ids[:, -1] = (ids[:, -1] + 7) % 100  # the label is read from all tokens, not from the first, which has read none
    assert not torch.allclose(model(ids, *inputs[1:]), model(*inputs))


@every
@torch.no_grad()
def test_the_cost_is_that_of_the_products_that_are_computed(name: str) -> None:
    made, counted = layer(name), []
    for n in (64, 192):
        steps = made._steps(Tokens(draw(n, 1)), None, None)
        with FlopCounterMode(display=False) as counter:
            chunked(steps)
        counted.append(counter.get_total_flops() / 2 / made.cost(n).multiply_adds)
    expected = {"gla": 0.76, "delta": 0.76, "gated-delta": 0.76}.get(name, 1.0)  # half a square; solving is not counted
    assert counted == pytest.approx([expected] * 2, abs=0.01)
