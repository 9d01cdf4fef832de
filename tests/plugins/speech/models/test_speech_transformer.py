"""The speech encoder: truncated and full, alone and in a batch, back only and a little ahead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.core import Generator, Joint, Window, flops
from zoo.core.engine.tracing import watch
from zoo.errors import ConfigError, InputError
from zoo.plugins.shared.audio.ctc_alignment import align
from zoo.weights.checkpoint import save

pytestmark = pytest.mark.usefixtures("float64")

SIZES = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 48}


def speech(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("speech-tiny", **{**SIZES, **options}).eval()


def sounds(b: int, t: int) -> torch.Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(1))


POSITIONS = ["rotary", "transformer-xl", "alibi", "shaw", "sinusoidal", "none"]


@pytest.mark.parametrize("position", POSITIONS)
def test_a_window_wider_than_the_sound_changes_nothing(position: str) -> None:
    short, full = speech(position=position, window=400), speech(position=position, window="full")
    full.load_state_dict(short.state_dict())
    x = sounds(2, 6_000)  # 9 vectors
    torch.testing.assert_close(short.forward_features(x), full.forward_features(x))
    x = sounds(1, 12_000)
    assert (short.forward_features(x) - full.forward_features(x)).abs().max() > 1e-4


@pytest.mark.parametrize("position", [*POSITIONS, "relative"])
@pytest.mark.parametrize("window", [80, [160, 0], [160, 40], "full"])
def test_a_sound_in_a_batch_is_answered_as_alone(
    answers_alone: Callable[[Any], None], position: str, window: Any
) -> None:
    answers_alone(speech(position=position, window=window, task="tag", num_classes=3))


def test_looking_back_only_reads_no_later_sample() -> None:
    model = speech(window=[120, 0], normalise="running")
    x = sounds(1, 12_000)
    with torch.no_grad():
        usual = model.forward_features(x)
        last = model.stem.features.length + 4 * 7 * model.stem.features.step  # samples of the frames of vector 7
        x[:, last:] = sounds(1, 12_000 - last).flip(1)
        changed = model.forward_features(x)
    torch.testing.assert_close(changed[:, :8], usual[:, :8])
    assert (changed[:, 8] - usual[:, 8]).abs().max() > 1e-4


@pytest.mark.parametrize(("window", "reach"), [([120, 40], (6, 2)), ([40, 80], (2, 4)), ([0, 0], (0, 0))])
def test_a_vector_reads_as_far_as_its_windows_reach_together(window: list[int], reach: tuple[int, int]) -> None:
    model = speech(window=window)
    tokens = model.stem(sounds(1, 16_000))
    x = tokens.x.detach().requires_grad_()
    model.encoder(tokens.with_x(x)).x[0, 12].square().sum().backward()
    assert x.grad is not None
    read = x.grad[0].abs().sum(1).nonzero()[:, 0].tolist()
    assert read == list(range(12 - reach[0], 12 + reach[1] + 1))


def test_an_attention_narrows_the_window_and_does_not_widen_it() -> None:
    x = sounds(1, 8_000)
    assert (speech(window=120, attention="window:1").attention_maps(x)[0][0, 0, 6] > 0).sum() == 3
    assert (speech(window=120, attention="full").attention_maps(x)[0][0, 0, 6] > 0).sum() == 7


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("position", ["rotary", "transformer-xl"])
def test_a_long_sound_is_read_by_the_band(training: bool, position: str) -> None:
    model, used = speech(window=160, position=position).train(training), []
    with watch(lambda plan, problem: used.append(plan.backend)), torch.set_grad_enabled(training):
        model(sounds(1, 400_000))
    assert used == ["banded", "banded"]


def test_twice_the_sound_costs_twice_as_much() -> None:
    model = speech(window=640)
    one, two = (flops.count(model, sounds(1, 16_000 * seconds)).total for seconds in (40, 80))
    assert two / one < 2.05
    full = speech(window="full")
    one, two = (flops.count(full, sounds(1, 16_000 * seconds)).attention for seconds in (40, 80))
    assert two / one > 3.5


def test_features_are_answered_as_the_samples_they_are_of() -> None:
    model, (x, lengths) = speech(num_classes=3), zoo.example("speech-tiny")
    frames = model.stem.features
    torch.testing.assert_close(model(frames(x), frames.count(lengths)), model(x, lengths))


def test_each_task_has_its_answer() -> None:
    x = sounds(2, 8_000)
    assert speech(num_classes=5)(x).shape == (2, 5)
    assert speech(task="tag", num_classes=5)(x).shape == (2, 12, 5)
    assert speech(task="features")(x).shape == (2, 12, 24)
    assert speech(task="generate", vocab_size=9)(x).shape == (2, 12, 9)
    torch.testing.assert_close(speech()(x), speech().forward_features(x).mean(1))


@pytest.mark.parametrize(("by", "kind"), [("attention", Generator), ("joint", Joint)])
def test_a_decoder_writes_transcripts_behind_the_encoder(by: str, kind: type[Generator]) -> None:
    model = speech(task="generate", by=by, vocab_size=9, decoder_depth=1)
    assert isinstance(model, kind)
    assert len(model.decoder.blocks) == 1
    assert model(sounds(2, 8_000), torch.tensor([8_000, 5_000]), torch.tensor([[1, 3], [1, 8]])).shape == (2, 2, 9)
    found = model.generate(sounds(2, 8_000), beam=3, n_best=2, max_len=6)
    assert found.scores.shape == (2, 2)
    assert found.scores.isfinite().all()


def test_a_transcript_stands_in_its_sound() -> None:
    model, x, lengths = speech(task="generate", vocab_size=9), sounds(2, 16_000), torch.tensor([16_000, 9_000])
    scores, counts = model.emit(x, lengths)
    first, second = align(scores, counts, [[3, 5, 5], [8]])
    assert [each.token for each in first] == [3, 5, 5]
    assert 0 <= second[0].start_ms < second[0].end_ms <= 40 * int(model.stem.count(lengths)[1])
    with pytest.raises(InputError, match="row 1: a transcript of 15 tokens"):
        align(scores, counts, [[3], [4, 5, 6] * 5])


def test_what_vectors_emit_can_be_told_while_the_sound_comes() -> None:
    model, x = speech(task="generate", window=[160, 40], normalise="running", vocab_size=9), sounds(1, 16_000)
    with torch.no_grad(), model.stream() as stream:
        chunks = [stream.push(chunk) for chunk in x.split(3_000, dim=1)]
    torch.testing.assert_close(torch.cat([*chunks, stream.rest], dim=1), model(x))


def test_an_encoder_that_transcribed_labels_with_a_fresh_head(tmp_path: Path) -> None:
    model = speech(task="generate", vocab_size=9, by="joint")
    x = sounds(1, 8_000)
    with pytest.warns(UserWarning, match=r"no weights for head\.linear\.weight, head\.linear\.bias: they are new"):
        tagger = speech(task="tag", num_classes=3, weights=save(model, tmp_path), vocab_size=9, by="joint")
    torch.testing.assert_close(tagger.forward_features(x), model.encode(x).x)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"window": 100}, "window=100: milliseconds are multiples of 40"),
        ({"normalise": "batch"}, "normalise='batch' is not one of"),
        ({"position": "learned"}, "position='learned': sounds have no greatest length"),
        ({"position": "rotory"}, "position='rotory' is not one of"),
        ({"task": "generated"}, "task='generated'"),
        ({"task": "generate", "by": "cct"}, "by='cct' is not one of ctc, attention, joint"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        speech(**options)


def test_the_window_of_the_vectors_is_in_steps_of_40_milliseconds() -> None:
    assert speech(window=640).stem(sounds(1, 8_000)).pattern == Window(16, 16)
    assert speech(window="full").stem(sounds(1, 8_000)).pattern is None
