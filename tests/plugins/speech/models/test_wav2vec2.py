"""wav2vec 2.0 as a model: alone and in a batch, its count of vectors, its positions, and what is refused."""

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch.nn.functional import conv1d, gelu

import zoo
from zoo.errors import ConfigError, InputError
from zoo.plugins.shared.audio.lengths import cleared
from zoo.plugins.shared.audio.stems.wave_stem import Convolution, NormedConvolution, normalised
from zoo.plugins.speech.models.wav2vec2 import PositionalConvolution

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"dim": 32, "depth": 2, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}
LAYER: dict[str, Any] = {"conv_norm": "layer", "norm": "pre", "normalise": "utterance"}


def wav2vec2(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("wav2vec2-base", **{**SIZES, **options}).eval()


def sounds(b: int = 1, t: int = 4_000) -> Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(1))


POSITIONS = ["convolution", "rotary", "transformer-xl", "relative", "alibi", "shaw", "sinusoidal", "none"]


@pytest.mark.parametrize("options", [{}, LAYER, *({"position": position} for position in POSITIONS[1:])])
def test_a_sound_in_a_batch_is_answered_as_alone(options: dict[str, Any]) -> None:
    model = wav2vec2(num_classes=3, **options)
    torch.nn.init.ones_(model.head.linear.bias)
    lengths = torch.tensor([4_000, 3_999, 2_000, 400])
    x = sounds(4)
    for row, t in enumerate(lengths.tolist()):
        x[row, t:] = torch.nan
    y = model(x, lengths)
    for row, (t, n) in enumerate(zip(lengths.tolist(), [12, 12, 6, 1], strict=True)):
        torch.testing.assert_close(y[row, :n], model(x[row : row + 1, :t])[0])
        assert not y[row, n:].any()


def test_every_length_is_carried_exactly() -> None:
    stem = wav2vec2().stem
    for t in range(400, 1_700, 83):
        count = int(stem.count(torch.tensor([t])))
        assert stem(sounds(1, t)).x.shape[1] == stem.count(t) == count == (t - 400) // 320 + 1


def test_what_lies_behind_a_sound_reaches_no_gradient() -> None:
    x = sounds()
    x[0, 3_000:] = torch.nan
    wav2vec2()(x.requires_grad_(), torch.tensor([3_000])).square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert x.grad[0, :3_000].any()
    assert not x.grad[0, 3_000:].any()


def test_loudness_makes_no_difference_where_time_or_samples_are_normed() -> None:
    x = 10 * sounds()
    for options in ({}, LAYER):
        model = wav2vec2(**options)
        torch.testing.assert_close(model(3 * x + 0.5), model(x), atol=1e-3, rtol=0)
    plain = wav2vec2(**LAYER | {"normalise": "none"})
    assert (plain(3 * x + 0.5) - plain(x)).abs().max() > 1e-2


def test_samples_are_normed_as_before_the_published_models() -> None:
    x = [(0.02 + scale * sounds()[0, :t]).numpy() for scale, t in ((1, 900), (0.01, 500))]
    make: Any = transformers.Wav2Vec2FeatureExtractor
    theirs = make(do_normalize=True, return_attention_mask=True)
    wanted = theirs(x, sampling_rate=16_000, padding=True, return_tensors="pt").input_values
    padded = torch.full((2, 900, 1), torch.nan)
    for row, sound in zip(padded, x, strict=True):
        row[: len(sound), 0] = torch.from_numpy(sound)
    lengths = torch.tensor([900, 500])
    found = normalised(cleared(padded, lengths), lengths)[..., 0]
    torch.testing.assert_close(found, wanted.double(), atol=1e-5, rtol=0)  # theirs is float32


@pytest.mark.parametrize("options", [{}, LAYER])
def test_silence_is_answered(options: dict[str, Any]) -> None:
    model, lengths = wav2vec2(**options), torch.tensor([600])
    y = model(torch.zeros(1, 800), lengths)
    torch.testing.assert_close(y[:, :1], model(torch.zeros(1, 600)))
    assert not y[:, 1:].any()


def test_channels_normed_over_time_are_a_group_norm() -> None:
    layer = NormedConvolution(2, 6, 4, 3)
    torch.nn.init.normal_(layer.norm.weight)
    torch.nn.init.normal_(layer.norm.bias)
    x = torch.randn(2, 30, 2) + 3
    wanted = gelu(layer.norm(conv1d(x.mT, layer.weight, stride=3))).mT
    torch.testing.assert_close(layer(x), wanted)
    torch.testing.assert_close(layer(x, torch.tensor([30, 30])), wanted)
    short = layer(x, torch.tensor([30, 12]))
    torch.testing.assert_close(short[1, :3], layer(x[1:, :12])[0])


@pytest.mark.parametrize("normed", [True, False])
def test_frames_are_convolved_as_by_a_convolution(normed: bool) -> None:
    layer = Convolution(4, 6, 3, 2, normed=normed)
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias)
    x = torch.randn(2, 10, 4)
    wanted = gelu(layer.norm(conv1d(x.mT, layer.weight, layer.bias, stride=2).mT))
    torch.testing.assert_close(layer(x), wanted)


@pytest.mark.parametrize(("kernel", "back", "ahead"), [(8, 4, 3), (5, 2, 2)])
def test_a_position_is_told_by_the_vectors_around_it(kernel: int, back: int, ahead: int) -> None:
    layer = PositionalConvolution(8, kernel, groups=2)
    x = torch.randn(1, 20, 8, requires_grad=True)
    layer(x)[0, 10].square().sum().backward()
    assert x.grad is not None
    assert x.grad[0].abs().sum(1).nonzero()[:, 0].tolist() == list(range(10 - back, 10 + ahead + 1))


def test_the_length_of_each_place_of_the_kernel_is_a_parameter() -> None:
    layer = PositionalConvolution(8, 4, groups=2)
    x = torch.randn(1, 9, 8)
    before = layer(x)
    with torch.no_grad():
        layer.direction.mul_(3)
    torch.testing.assert_close(layer(x), before)
    with torch.no_grad():
        layer.gain[..., 1:] = 0
    y = torch.nn.functional.pad(x, (0, 0, 2, 0))[:, :9]  # the first place stands two before
    assert (layer(x) - before).abs().max() > 1e-3
    kernel = (layer.direction * (layer.gain / layer.direction.norm(dim=(0, 1), keepdim=True)))[..., :1]
    torch.testing.assert_close(layer(x), gelu(conv1d(y.mT, kernel, layer.bias, groups=2)).mT)


def test_each_task_has_its_answer() -> None:
    x = sounds(2)
    assert wav2vec2()(x).shape == (2, 12, 32)
    assert wav2vec2(num_classes=5)(x).shape == (2, 12, 5)
    assert wav2vec2(task="classify", num_classes=5)(x).shape == (2, 5)
    torch.testing.assert_close(wav2vec2(task="features")(x), wav2vec2()(x))


def test_an_attention_by_name_truncates() -> None:
    maps = wav2vec2(attention="window:1").attention_maps(sounds())
    assert (maps[0][0, 0, 6] > 0).sum() == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"conv_norm": "batch"}, "conv_norm='batch' is not one of group, layer"),
        ({"norm": "none"}, "norm='none' is not one of post, pre"),
        ({"normalise": "running"}, "normalise='running' is not one of utterance, none"),
        ({"position": "learned"}, "position='learned': sounds have no greatest length"),
        ({"position": "rotory"}, "position='rotory' is not one of"),
        ({"dim": 24}, "dim=24 is not a multiple of 16"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        wav2vec2(**options)


def test_a_stream_is_refused_with_the_way_on() -> None:
    with pytest.raises(
        ConfigError, match=r"reads a sound whole: .*conformer.*window=\[640, 0\].*answer while it comes"
    ):
        wav2vec2(num_classes=3).stream()


@pytest.mark.parametrize(
    ("x", "lengths", "text"),
    [
        (torch.zeros(4_000), None, r"shape \(4000,\) .* sound\[None\]"),
        (torch.zeros(1, 20, 80), None, r"shape \(1, 20, 80\) .* reads samples"),
        (torch.zeros(1, 4_000, dtype=torch.int16), None, "torch.int16"),
        (torch.zeros(0, 4_000), None, r"shape \(0, 4000\)"),
        (torch.zeros(1, 399), None, "sounds of 399 samples, .* reads 400, 25 ms"),
        (torch.zeros(2, 4_000), torch.tensor([399, 4_000]), "sound 0 of 399 samples"),
        (torch.zeros(2, 4_000), torch.tensor([4_000, 4_001]), "sound 1 of 4001 samples: there are 4000"),
        (torch.zeros(1, 4_000).index_fill(1, torch.tensor(7), torch.nan), None, "nan at place 7 of sound 0"),
    ],
)
def test_what_is_no_sound_is_refused(x: Tensor, lengths: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        wav2vec2()(x, lengths)
