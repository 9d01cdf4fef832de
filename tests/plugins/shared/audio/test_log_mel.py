"""The features: as torchaudio's, of whole batches, counted exactly."""

import pytest
import torch
from torchaudio.compliance.kaldi import fbank

from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio import log_mel
from zoo.plugins.shared.audio.log_mel import LogMel


def sounds(b: int, t: int, seed: int = 0) -> torch.Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(seed)) + 0.02


@pytest.mark.parametrize("rate", [16_000, 8_000, 22_050])
@pytest.mark.parametrize("bands", [80, 40])
def test_features_are_those_of_kaldi(rate: int, bands: int) -> None:
    x = sounds(2, 9_000).double()
    theirs = torch.stack([fbank(row[None], num_mel_bins=bands, sample_frequency=rate) for row in x])
    torch.testing.assert_close(LogMel(bands, rate)(x), theirs, atol=1e-4, rtol=0)  # their bands are float32


def test_features_of_long_sounds_come_from_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sounds(2, 8_000).double()
    whole = LogMel()(x)
    monkeypatch.setattr(log_mel, "BLOCK", 10)
    torch.testing.assert_close(LogMel()(x), whole)


@pytest.mark.parametrize("samples", [0, 399, 400, 559, 560, 561, 16_000, 16_079, 16_080])
def test_frames_are_counted_exactly(samples: int) -> None:
    layer = LogMel()
    assert layer(torch.zeros(1, samples)).shape == (1, layer.count(samples), 80)
    assert layer.count(torch.tensor([samples])).tolist() == [layer.count(samples)]


def test_silence_has_finite_features() -> None:
    y = LogMel()(torch.zeros(1, 800))
    torch.testing.assert_close(y, torch.full_like(y, torch.finfo(torch.float32).eps).log())


def test_features_stay_exact_in_a_bfloat16_model_and_under_autocast() -> None:
    x = sounds(1, 1_000)
    exact = LogMel()(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(LogMel().bfloat16()(x), exact)


def test_features_have_gradients() -> None:
    x = sounds(1, 800).requires_grad_()
    LogMel()(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert x.grad.abs().sum() > 0


def test_frames_without_samples_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"bands=80, rate=10, length=25\.0 ms"):
        LogMel(rate=10)
