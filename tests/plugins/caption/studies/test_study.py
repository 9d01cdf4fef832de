"""`zoo bench captions`."""

import pytest

from zoo import ConfigError
from zoo.plugins.caption.studies.study import STUDY, VARIANTS, runs
from zoo.plugins.caption.studies.training import VARIANTS as TRAININGS


def test_every_variant_has_the_same_budget_and_hard_attention_more_steps() -> None:
    budgets = [{key: value for key, value in config.items() if key != "variant"} for config in runs()]
    assert len(budgets) == 3 * len(VARIANTS)
    usual = [budget for budget in budgets if budget["steps"] == 1200]
    assert all(usual.count(budget) == len(VARIANTS) - 1 for budget in usual)
    assert {config["variant"] for config in runs() if config["steps"] == 2000} == {"hard"}
    assert set(VARIANTS) == set(TRAININGS)


def test_quick_trains_each_once_and_shorter() -> None:
    assert len(list(runs(fast=True))) == len(VARIANTS)
    assert next(runs(fast=True))["steps"] < next(runs())["steps"]


def test_another_variant_is_refused() -> None:
    with pytest.raises(ConfigError, match="--variants gentle: those there are: soft, hard"):
        list(runs(variants="soft,gentle"))
    assert STUDY.title.startswith("Where does a captioning model look")
