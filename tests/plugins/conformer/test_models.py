"""The Conformer as a model: alone and in a batch, truncated and full, back only, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import zoo
from zoo.core.engine.tracing import watch
from zoo.errors import ConfigError

pytestmark = pytest.mark.usefixtures("float64")

SIZES = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 48, "kernel_size": 5}


def conformer(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("conformer-tiny", **{**SIZES, **options}).eval()


def sounds(b: int, t: int) -> torch.Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("convolution", ["same", "causal"])
@pytest.mark.parametrize("norm", ["batch", "layer", "group"])
@pytest.mark.parametrize("options", [{"kernel_size": 6}, {"window": 80}, {"position": "rotary"}])
def test_a_sound_in_a_batch_is_answered_as_alone(
    answers_alone: Callable[[Any], None], convolution: str, norm: str, options: dict[str, Any]
) -> None:
    answers_alone(conformer(convolution=convolution, norm=norm, task="tag", num_classes=3, **options))


def test_a_window_wider_than_the_sound_changes_nothing() -> None:
    short, full = conformer(window=400), conformer()
    x = sounds(2, 6_000)
    torch.testing.assert_close(short.forward_features(x), full.forward_features(x))
    x = sounds(1, 12_000)
    assert (short.forward_features(x) - full.forward_features(x)).abs().max() > 1e-4


def test_an_attention_by_name_truncates() -> None:
    x = sounds(1, 12_000)
    by_window, by_name = conformer(window=80), conformer(attention="window:2")
    torch.testing.assert_close(by_name.forward_features(x), by_window.forward_features(x))


def test_a_long_sound_is_read_by_the_band() -> None:
    used: list[str] = []
    with watch(lambda plan, problem: used.append(plan.backend)), torch.no_grad():
        conformer(window=160)(sounds(1, 400_000))
    assert used == ["banded", "banded"]


@pytest.mark.parametrize("kernel_size", [5, 6])
def test_looking_back_only_reads_no_later_sample(kernel_size: int) -> None:
    options = {"window": [120, 0], "normalise": "running", "kernel_size": kernel_size}
    x = sounds(1, 12_000)
    changed = x.clone()
    last = 400 + 4 * 7 * 160  # samples of the frames of vector 7
    changed[:, last:] = changed[:, last:].flip(1)
    for convolution, near in (("causal", True), ("same", False)):
        model = conformer(convolution=convolution, **options)
        before, after = model.forward_features(x)[:, :8], model.forward_features(changed)[:, :8]
        assert torch.allclose(before, after, atol=1e-6) is near


@pytest.mark.parametrize("by", ["ctc", "attention", "joint"])
def test_a_sound_is_transcribed_each_way(by: str) -> None:
    model = conformer(task="generate", by=by, vocab_size=9)
    x, lengths = sounds(2, 9_000), torch.tensor([9_000, 5_000])
    together, alone = model.generate(x, lengths, max_len=5), model.generate(x[1:, :5_000], max_len=5)
    assert together.best()[1] == alone.best()[0]
    inputs, target = (x, lengths, torch.tensor([[1, 3], [1, 8]])), torch.tensor([[3, 2], [8, 2]])
    assert by == "attention" or model.training_loss(inputs, target).isfinite()


@pytest.mark.parametrize("keyword", ["convolution", "norm"])
def test_a_word_that_is_none_is_refused(keyword: str) -> None:
    with pytest.raises(ConfigError, match=f"{keyword}='none' is not one of"):
        conformer(**{keyword: "none"})
