"""What is known of a mechanism without training."""

import pytest

from zoo import create
from zoo.bench.attention import facts
from zoo.bench.attention.facts import abilities_of, check_room, kind_of, recurrent_bytes, state_bytes
from zoo.errors import ConfigError


@pytest.mark.parametrize("name", ["linear", "retention", "gla", "ssd", "delta", "performer:8", "window:4"])
def test_the_state_of_what_streams_does_not_grow(name: str) -> None:
    able = abilities_of(name)
    assert able
    assert able.streams
    assert (state_bytes(name, 32, 4) or 0) == state_bytes(name, 64, 4) != 0


def test_full_attention_keeps_every_key_and_value() -> None:
    grown = (state_bytes("full", 64, 1) or 0) - (state_bytes("full", 32, 1) or 0)
    assert grown >= 32 * 2 * facts.DIM * 4


@pytest.mark.parametrize(("name", "states"), [("lstm-micro", 2), ("gru-micro", 1)])
def test_a_recurrent_model_keeps_its_states(name: str, states: int) -> None:
    assert recurrent_bytes(create(name, dim=24)) == states * 24 * 4


def test_a_model_without_recurrence_keeps_no_state_of_one() -> None:
    assert recurrent_bytes(create("bert-micro")) is None


def test_what_cannot_be_causal_has_no_state() -> None:
    for name in ("nystrom:4", "linformer:4,64", "doubly-stochastic"):
        able = abilities_of(name)
        assert able
        assert not able.causal
        assert state_bytes(name, 16, 1) is None


def test_a_whole_model_is_no_attention() -> None:
    assert abilities_of("lstm-micro") is None
    assert kind_of("lstm-micro") == "recurrent"
    assert kind_of("gla") == "recurrent"
    assert kind_of("window:4") == "attention"


def test_what_memory_does_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "available_memory", lambda: 24 * 2**30)
    check_room("doubly-stochastic", 256, 4)
    with pytest.raises(ConfigError, match="GB do not fit"):
        check_room("doubly-stochastic", 1_000_000, 4)
    check_room("linear", 1_000_000, 4)
    check_room("full", 1_000_000, 4)
