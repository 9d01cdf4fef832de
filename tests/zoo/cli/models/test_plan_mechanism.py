"""`zoo plan MECHANISM`."""

import re

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

from zoo import ConfigError
from zoo.cli.app import build
from zoo.cli.models.plan_mechanism import Sizes, cost_of, cost_of_full
from zoo.core import Tokens
from zoo.factory.attention_argument import attention

SIZES = Sizes(batch=1, length=64, heads=2, head_dim=8, dtype=torch.float32, grad=False)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(build(), ["plan", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.output)


@pytest.mark.parametrize(
    "name", ["linformer:16,64", "nystrom:8", "reformer:8,2", "synthesizer:dense,64", "doubly-stochastic", "sinkhorn:16"]
)
def test_operations_are_those_that_a_counter_sees(name: str) -> None:
    layer = attention(name)(16, 2).eval()
    with FlopCounterMode(display=False) as counter:
        layer(Tokens(torch.randn(1, 64, 16)))
    projections = sum(2 * 64 * each.weight.numel() for each in layer.modules() if isinstance(each, torch.nn.Linear))
    assert counter.get_total_flops() - projections == pytest.approx(cost_of(name, SIZES).operations, rel=0.02)


def test_a_mechanism_stands_beside_full_attention() -> None:
    out = run("linformer:16,64", "--length", "64", "--heads", "2", "--head-dim", "8")
    share = cost_of("linformer:16,64", SIZES).operations / cost_of_full(SIZES).operations
    assert share == 0.5  # two projections to 16 places, and two products with them, for two products with 64
    assert re.search(rf"^linformer:16,64 .* x {share:g} ", out, re.MULTILINE)
    assert re.search(r"^full .* x 1 ", out, re.MULTILINE)
    assert "causal: no, padding exact: yes, any length: no" in out


def test_operations_and_memory_grow_with_the_batch_and_bytes_with_the_number() -> None:
    one, four = cost_of("gla", SIZES), cost_of("gla", Sizes(**(vars(SIZES) | {"batch": 4, "dtype": torch.float64})))
    assert four.operations == 4 * one.operations
    assert four.bytes == 8 * one.bytes


def test_whole_layers_are_timed_on_request() -> None:
    out = run("gla", "--length", "16", "--heads", "2", "--head-dim", "4", "--grad", "--measure", "--dtype", "fp64")
    assert re.search(r"^gla .* ms  x \d.*\(", out, re.MULTILINE)
    assert re.search(r"^full .* ms", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["linformer:16,64", "--length", "65"], "a row of 65 .*length=64"),
        (["qk-norm"], "'qk-norm' does not say what it costs"),
        (["hard"], "'hard' does not say what it costs"),
        (["gla", "--bias", "dense"], r"--bias dense belongs to patterns, and 'gla' is a mechanism: leave it out"),
        (["gla & causal"], "combines 'gla', which is no pattern"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(*arguments)
