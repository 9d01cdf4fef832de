"""`zoo bench parallel-decoding`."""

import pytest

from zoo import ConfigError
from zoo.plugins.text.studies.study import DATA, STUDY, VARIANTS, runs


def test_every_model_has_the_same_budget_on_each_task() -> None:
    found = list(runs())
    assert len(found) == 3 * len(DATA) * len(VARIANTS)
    assert len({(each["steps"], each["batch_size"]) for each in found}) == 1
    assert len(list(runs(fast=True, data="dates"))) == len(VARIANTS)
    assert next(runs(fast=True))["steps"] < next(runs())["steps"]


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ConfigError, match="--variants parallel: those there are: autoregressive"):
        list(runs(variants="parallel"))
    with pytest.raises(ConfigError, match="--data times: those there are: numbers:en, dates"):
        list(runs(data="times"))
    assert STUDY.title.startswith("What does writing all tokens at once cost")
