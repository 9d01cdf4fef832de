"""The suite `int8`: its cases are listed, and both sides write as many tokens."""

import re
from typing import Any, cast

import pytest

import zoo
from zoo.bench.speed.suite import find_cases
from zoo.core import is_quantized
from zoo.plugins.text.bench import decoding as texts
from zoo.plugins.text.bench.int8 import decoding
from zoo.registry import load


def test_the_cases_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = find_cases("zoo.plugins.text.bench.int8")
    assert len({case.name for case in found}) == len(found) == 4


def test_ours_has_int8_weights_and_both_sides_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    ours: Any = zoo.create("gpt2-small", vocab_size=40, dim=16, depth=1, num_heads=2, mlp_dim=24).eval()
    theirs = load(ours.spec, ours.spec.peer)(ours).eval()
    monkeypatch.setattr(decoding, "pair", lambda name: (ours, theirs))
    for module in (texts, decoding):
        monkeypatch.setattr(module, "VOCABULARY", 40)
    monkeypatch.setattr(texts, "NEW", 3)
    monkeypatch.setattr(decoding, "LONG", 5)
    said = []
    for built, quality in ((decoding.generate(2), decoding.written), (decoding.prefill(), decoding.understood)):
        mine, other = cast(Any, built)
        assert is_quantized(mine.args[0])
        assert other.args[0] in (theirs, theirs.net)
        said.append(cast(Any, quality)(mine(), other()))
    assert re.fullmatch(r"\d of 6 tokens the same", said[0])
    assert re.fullmatch(r"[\d.]+% the same best, error [\d.]+ of the deviation, perplexity [+-]0\.\d\d%", said[1])
