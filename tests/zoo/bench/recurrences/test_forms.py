"""The benchmark cases of linear recurrences."""

import pytest
import torch

from zoo.bench.recurrences import forms
from zoo.core import Causal


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TOKENS", 5), ("HEADS", 2), ("HEAD_DIM", 4), ("FEW", 3), ("MANY", 9)):
        monkeypatch.setattr(forms, name, value)


@pytest.mark.parametrize("name", forms.FORMS)
def test_the_jobs_of_the_forms_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    function, channels, target = forms.FORMS[name]

    def watched(q: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        lengths.append(q.shape[2])
        return function(q, *given)

    monkeypatch.setitem(forms.FORMS, name, (watched, tuple(min(size, 4) for size in channels), target))
    for job in (*forms.beside_full(name), *forms.beside_half(name)):
        job()
    assert lengths == [5, 10, 5]


@pytest.mark.parametrize("name", forms.LAYERS)
def test_steps_are_behind_as_many_tokens_as_they_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = forms.LAYERS[name](8, 2)
    state = layer.state(1, Causal())
    monkeypatch.setattr(layer, "state", lambda *_: state)
    forms.step_behind(lambda *_: layer, 9)()
    assert state.lengths.tolist() == [10]
