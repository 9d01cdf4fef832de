import math

import pytest

from zoo.errors import ConfigError
from zoo.training.precision import bf16_gain, profitable_precision, resolve_precision


@pytest.mark.parametrize(("gain", "expected"), [(1.9, "32-true"), (2.0, "bf16-mixed"), (8.0, "bf16-mixed")])
def test_precision_follows_the_measured_gain(monkeypatch: pytest.MonkeyPatch, gain: float, expected: str) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    monkeypatch.setattr("zoo.training.precision.bf16_gain", lambda: gain)
    assert profitable_precision.__wrapped__() == expected


def test_the_gain_is_a_ratio_of_two_times() -> None:
    assert 0 < bf16_gain.__wrapped__(side=64, repeats=1) < math.inf


def test_what_is_named_is_taken() -> None:
    assert resolve_precision("bf16-mixed", "cpu") == "bf16-mixed"


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"precision='bf16' is not one of .*Did you mean 'bf16-true'"):
        resolve_precision("bf16", "cpu")
    with pytest.raises(ConfigError, match="precision='16-mixed' on a CPU"):
        resolve_precision("16-mixed", "cpu")
