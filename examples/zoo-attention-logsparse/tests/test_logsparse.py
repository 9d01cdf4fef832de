from collections.abc import Iterator

import pytest
import torch
import zoo_attention_logsparse.plugin
from zoo_attention_logsparse.pattern import LogSparse

import zoo
from zoo import ConfigError, Registry
from zoo.core import Lengths, Tokens, attend, plan
from zoo.plugins.text import plugin as text
from zoo.plugins.vision import plugin as vision
from zoo.registry import using
from zoo.testing import PluginConformance

BOTH = pytest.mark.parametrize("both", [False, True], ids=["back", "both"])


class TestNames(PluginConformance):
    plugin = zoo_attention_logsparse.plugin


@pytest.fixture
def _all() -> Iterator[None]:
    mine = ["zoo.registry.builtin", text, vision, zoo_attention_logsparse.plugin]
    with using(Registry(mine, autoload=False)):
        yield


def test_the_pattern_reads_distances_that_are_powers_of_two() -> None:
    at = torch.arange(20)
    read = [j for j in range(20) if LogSparse().allows(at[19], at[j])]
    assert read == [3, 11, 15, 17, 18, 19]
    assert LogSparse(both=True).allows(at[3], at[11])
    assert not LogSparse().allows(at[3], at[11])


@BOTH
@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 9, 33])
def test_its_offsets_are_the_pairs_of_its_mask(both: bool, length: int) -> None:
    pattern = LogSparse(both)
    pairs = sum(0 <= i - step < length for i in range(length) for step in pattern.offsets(length))
    assert pairs == pattern.pairs(length, length)


@BOTH
@pytest.mark.parametrize("length", [1, 2, 7, 33])
@pytest.mark.parametrize("padded", [False, True])
def test_the_backend_gives_the_values_and_gradients_of_the_reference(both: bool, length: int, padded: bool) -> None:
    torch.manual_seed(0)
    heads = (4, 2, 2)  # queries, and keys and values that two of them share
    tensors = [torch.randn(3, length, h, 5, dtype=torch.float64, requires_grad=True) for h in heads]
    keys = Lengths(torch.tensor([length, length // 2, 0])) if padded else None
    found = []
    for backend in ("log_gather", "reference"):
        y = attend(*tensors, LogSparse(both), keys, backend=backend)
        found.append((y, *torch.autograd.grad((y * y.detach().cos()).sum(), tensors)))
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted)


def test_the_planner_chooses_it_for_long_rows_alone() -> None:
    size = {"heads": 4, "head_dim": 16}
    assert plan(LogSparse(), queries=8_000, keys=8_000, **size).backend == "log_gather"
    assert plan(LogSparse(), queries=16, keys=16, **size).backend != "log_gather"
    assert plan(LogSparse(), queries=1, keys=8_000, start=7_999, **size).backend != "log_gather"


@pytest.mark.usefixtures("_all")
@pytest.mark.parametrize("attention", ["log-sparse:both", "cosine:5", "log-sparse"])
def test_models_of_any_modality_take_it(attention: str) -> None:
    for name in ("vit-micro", "bert-tiny"):
        model = zoo.create(name, attention=attention, depth=1).eval()
        assert model(*zoo.example(name)).isfinite().all()


@pytest.mark.usefixtures("_all")
@pytest.mark.parametrize("attention", ["log-sparse", "cosine"])
def test_a_decoder_gives_token_by_token_what_it_gives_at_once(attention: str) -> None:
    torch.manual_seed(0)
    model = zoo.create("decoder-tiny", attention=attention, depth=2).eval()
    ids = torch.randint(5, 200, (1, 12))
    written = model.generate(ids, max_len=6).ids[0, 0]
    for _ in range(6):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], 1)
    assert written.tolist() == ids[0, 12 : 12 + len(written)].tolist()


def test_cosine_attention_reads_directions_only_and_learns_its_scale() -> None:
    from zoo_attention_logsparse.cosine import cosine

    torch.manual_seed(0)
    layer, tokens = cosine()(8, 2), Tokens(torch.randn(1, 5, 8))
    with torch.no_grad():
        layer.qkv.bias.zero_()
    short = layer.weights(tokens)
    torch.testing.assert_close(layer.weights(tokens.with_x(3 * tokens.x)), short)
    (layer(tokens) ** 3).sum().backward()
    assert layer.q_norm.log_scale.grad.abs().min() > 0


@pytest.mark.usefixtures("_all")
@pytest.mark.parametrize("attention", ["log-sparse:ahead", "cosine:0", "cosine:x", "cosine:101"])
def test_what_does_not_fit_is_told_as_it_was_written(attention: str) -> None:
    with pytest.raises(ConfigError, match=attention):
        zoo.create("vit-micro", attention=attention)
