"""Samples made of features: they have these features again, about, and the pitch they had."""

import pytest
import torch

from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.griffin_lim import magnitudes, waveform
from zoo.plugins.shared.audio.log_mel import LogMel, mel_banks


def vowel(hertz: float, samples: int = 8_000) -> torch.Tensor:
    """Give a tone with overtones, that rises and falls."""
    time = torch.arange(samples) / 16_000
    loud = torch.sin(torch.pi * time / time[-1])
    return 0.3 * loud * sum(torch.sin(2 * torch.pi * hertz * k * time) / k for k in range(1, 6))


def test_energies_of_frequencies_give_the_energies_of_the_bands() -> None:
    features = LogMel(40)
    frames = features(vowel(200.0)[None].double())
    power = magnitudes(frames, features).square()
    again = (power @ mel_banks(40, features.points, features.rate, frames)).log()
    assert float((again - frames).abs().mean()) < 0.1


@pytest.mark.parametrize("hertz", [150.0, 400.0])
def test_samples_have_the_features_and_the_pitch(hertz: float) -> None:
    features = LogMel(80)
    frames = features(vowel(hertz)[None])
    samples = waveform(frames, features)
    assert samples.shape == (1, (frames.shape[1] - 1) * 160)
    again = features(samples)
    frames_before = frames[:, 1 : 1 + again.shape[1]]
    loud = frames_before > frames_before.amax() - 8
    assert float((again - frames_before)[loud].abs().mean()) < 1.0
    spectrum = torch.fft.rfft(samples[0, 2_000:6_000] * torch.hann_window(4_000)).abs()
    strongest = float(spectrum[: 4_000 * 700 // 16_000].argmax()) * 4
    assert min(abs(strongest - hertz * k) for k in (1, 2, 3)) <= 12


def test_the_same_frames_sound_the_same() -> None:
    features = LogMel(20)
    frames = features(vowel(300.0, 2_000)[None])
    assert torch.equal(waveform(frames, features), waveform(frames, features))


def test_other_bands_and_a_single_frame_are_refused() -> None:
    for frames in (torch.zeros(1, 5, 30), torch.zeros(1, 1, 20)):
        with pytest.raises(ConfigError, match=r"two or more of 20 bands"):
            waveform(frames, LogMel(20))
