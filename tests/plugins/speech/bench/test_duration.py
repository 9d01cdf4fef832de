"""The benchmark cases of long recordings."""

import pytest
import torch

import zoo
from zoo.plugins.speech.bench import duration


@pytest.mark.usefixtures("small", "float64")
def test_the_window_and_full_attention_have_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "MINUTES", 0.1)
    ours, full = (job.args[0] for job in duration.beside_full("transformer-xl"))  # type: ignore[attr-defined]
    assert (ours.stem.pattern, full.stem.pattern) == (zoo.core.Window(16, 16), None)
    assert all(a.equal(b) for a, b in zip(ours.parameters(), full.parameters(), strict=True))
    short = duration.sound(0.01)
    torch.testing.assert_close(ours(short), full(short))


@pytest.mark.usefixtures("small")
def test_the_sound_is_twice_as_long_as_its_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "MINUTES", 0.02)
    whole, half = duration.doubled()
    assert whole.args[1].shape[1] == 2 * half.args[1].shape[1] == 19_200  # type: ignore[attr-defined]
    for job in (whole, half):
        job()
