"""From sounds to vectors of 40 ms: samples or features, lengths, and what is refused."""

from typing import Any

import pytest
import torch

from zoo.core.errors import ConfigError, InputError
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.shared.audio.stems.subsample import Subsample2d

pytestmark = pytest.mark.usefixtures("float64")


def stem(**options: Any) -> FrameStem:
    torch.manual_seed(0)
    return FrameStem(SoundConfig(dim=8, **options)).eval()


def sounds(b: int = 2, t: int = 4_000) -> torch.Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(1))


class Erased(torch.nn.Module):
    """Leaves nothing of features, and keeps how many frames it was told of."""

    def forward(self, x: torch.Tensor, count: torch.Tensor | None) -> torch.Tensor:
        self.count = count
        return torch.zeros_like(x)


@pytest.mark.parametrize("normalise", ["utterance", "running", "none"])
def test_a_sound_in_a_batch_gives_the_same_vectors_as_alone(normalise: str) -> None:
    layer = stem(normalise=normalise)
    lengths = torch.tensor([4_000, 3_999, 3_120, 561, 400])
    x = sounds(5)
    for row, t in enumerate(lengths.tolist()):
        x[row, t:] = torch.nan
    tokens = layer(x, lengths)
    valid = tokens.valid()
    assert valid is not None
    assert valid.sum(1).tolist() == layer.count(lengths).tolist() == [6, 6, 5, 1, 1]
    for row, t in enumerate(lengths.tolist()):
        torch.testing.assert_close(tokens.x[row, valid[row]], layer(x[row : row + 1, :t]).x[0])


def test_what_lies_behind_a_sound_reaches_no_gradient() -> None:
    x = sounds(1)
    x[0, 3_000:] = torch.nan
    stem()(x.requires_grad_(), torch.tensor([3_000])).x.square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert x.grad[0, :2_960].any()
    assert not x.grad[0, 2_960:].any()


def test_every_length_is_carried_exactly() -> None:
    layer = stem()
    for t in range(400, 2_000, 53):
        frames = 1 + (t - 400) // 160
        assert layer(sounds(1, t)).x.shape[1] == layer.count(torch.tensor([t])).item() == -(-frames // 4)


def test_features_are_read_as_the_samples_they_are_of() -> None:
    layer, x, lengths = stem(), sounds(), torch.tensor([4_000, 2_500])
    by_samples = layer(x, lengths)
    by_features = layer(layer.features(x), layer.features.count(lengths))
    torch.testing.assert_close(by_features.x, by_samples.x)
    assert torch.equal(by_features.keys.t, by_samples.keys.t)


def test_features_are_changed_in_training_only() -> None:
    layer = stem()
    layer.augment = Erased()
    usual = layer(sounds()).x
    assert not torch.equal(layer.train()(sounds()).x, usual)
    torch.testing.assert_close(layer.eval()(sounds()).x, usual)


def test_what_changes_features_is_told_how_many_frames_are_there() -> None:
    layer, lengths = stem().train(), torch.tensor([4_000, 1_000])
    layer.augment = Erased()
    layer(sounds(), lengths)
    torch.testing.assert_close(layer.augment.count, layer.features.count(lengths))


def test_positions_are_added_where_they_are_sinusoidal() -> None:
    plain, placed = stem(), stem(position="sinusoidal")
    assert placed.position is not None
    torch.testing.assert_close(placed(sounds()).x - plain(sounds()).x, placed.position((6,)).expand(2, -1, -1))


def test_positions_are_not_learned() -> None:
    with pytest.raises(ConfigError, match="position='learned': sounds have no greatest length"):
        stem(position="learned")


@pytest.mark.parametrize("sound", [torch.zeros(1, 4_000), torch.full((1, 4_000), 0.5), 2 * torch.ones(1, 4_000)])
def test_silence_and_what_does_not_change_is_read(sound: torch.Tensor) -> None:
    vectors = stem()(sound).x
    assert vectors.isfinite().all()
    torch.testing.assert_close(vectors[:, 1:-2], vectors[:, 2:-1])  # equal frames give equal vectors inside


@pytest.mark.parametrize(
    ("x", "lengths", "text"),
    [
        (torch.zeros(4_000), None, r"shape \(4000,\) are neither samples .* sound\[None\]"),
        (torch.zeros(1, 30, 40), None, r"shape \(1, 30, 40\) are neither samples .* \(batch, frames, 80\)"),
        (torch.zeros(1, 4_000, dtype=torch.int16), None, "sounds are torch.int16"),
        (torch.zeros(0, 4_000), None, "a batch of 0 sounds"),
        (torch.zeros(1, 399), None, "sounds of 399 samples, .* which is 400 samples, 25 ms"),
        (torch.zeros(1, 0, 80), None, "sounds of 0 frames, .* at least one frame$"),
        (torch.zeros(2, 4_000), torch.tensor([4_000, 4_001]), "sound 1 of 4001 samples: there are 4000"),
        (torch.zeros(2, 4_000), torch.tensor([399, 4_000]), "sound 0 of 399 samples: .* 400 samples, 25 ms"),
        (torch.zeros(2, 9, 80), torch.tensor([9, 10]), "sound 1 of 10 frames: there are 9"),
        (torch.zeros(2, 4_000), torch.tensor([4_000]), r"lengths of shape \(1,\) .* for 2 sounds"),
        (torch.zeros(1, 4_000), torch.tensor([1.0]), "torch.float32 for 1 sounds: one whole number each"),
        (torch.zeros(1, 4_000).index_fill(1, torch.tensor(7), torch.nan), None, "nan at place 7 of sound 0"),
        (torch.zeros(1, 4_000).index_fill(1, torch.tensor(8), torch.inf), None, "inf at place 8 of sound 0"),
    ],
)
def test_what_is_no_sound_is_refused(x: torch.Tensor, lengths: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        stem()(x, lengths)


def test_the_stem_has_the_options() -> None:
    config = SoundConfig(bands=20, dim=8, window=[80, 0], spec_augment=[1, 4, 1, 5], normalise="none")
    stem = FrameStem(config, ahead=False, subsample=Subsample2d)
    assert stem.pattern == config.pattern
    assert stem.augment is not None
    assert isinstance(stem.subsample, Subsample2d)
    assert stem(torch.zeros(1, 8_000)).x.shape[2] == 8
