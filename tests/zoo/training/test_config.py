"""The fields of `Settings` and `Devices` are the keywords of `zoo.train` and the options of `zoo train`."""

import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

import zoo
from zoo.cli.train import train as command
from zoo.errors import ConfigError
from zoo.training.config import Devices, Settings, check_type, split_off

FIELDS = (*fields(Settings), *fields(Devices))


@pytest.mark.parametrize("function", [zoo.train, command])
def test_each_field_is_a_keyword_with_its_default(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert {each.name: parameters[each.name].default for each in FIELDS} == {each.name: each.default for each in FIELDS}


def test_each_field_is_documented_by_its_help() -> None:
    lines = (zoo.train.__doc__ or "").splitlines()
    for each in FIELDS:
        assert f"        {each.name}: {each.metadata['help']}" in lines


def test_keywords_of_a_dataclass_are_split_off() -> None:
    given = {"steps": 3, "dim": 8}
    assert split_off(Settings, given) == Settings(steps=3)
    assert given == {"dim": 8}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"steps": 0}, "steps=0: at least 1 is needed"),
        ({"batch_size": -1}, "batch_size=-1: at least 1"),
        ({"learning_rate": 0.0}, r"learning_rate=0\.0: more than 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: more than 0"),
        ({"epochs": float("inf")}, "epochs=inf: a finite number"),
        ({"guided_attention": -1.0}, r"guided_attention=-1\.0: a finite number of at least 0"),
        ({"scheduled_sampling": 1.5}, r"scheduled_sampling=1\.5: a rate in \[0, 1\]"),
        ({"label_smoothing": 1.0}, r"label_smoothing=1\.0 is not in \[0, 1\)"),
        ({"seed": -1}, "seed=-1 is negative"),
        ({"optimizer": "lbfgs"}, "optimizer='lbfgs' is not one of adam"),
        ({"schedule": "step"}, "schedule='step' is not one of constant"),
        ({"steps": 5, "epochs": 1.0}, r"steps=5 and epochs=1\.0: give one of them"),
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        Settings(**values)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("steps", 1.5, "steps=1.5: a whole number is wanted"),
        ("lora", 8, "lora=8: a string is wanted, such as lora='8'"),
        ("freeze", ["stem", "head"], "freeze=['stem', 'head']: a string is wanted, such as freeze='stem,head'"),
        ("class_weights", [1, 2], "class_weights=[1, 2]: a string is wanted"),
        ("learning_rate", "fast", "learning_rate='fast': a number is wanted"),
        ("batch_size", True, "batch_size=True: a whole number is wanted"),
        ("probe", 1, "probe=1: True or False is wanted"),
        ("metric", object(), "metric=object: a string is wanted"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_type_that_is_wanted(name: str, value: Any, told: str) -> None:
    declared = {each.name: each.type for each in fields(Settings)}
    with pytest.raises(ConfigError, match=re.escape(told)):
        check_type(name, value, declared[name])


def test_whole_numbers_are_numbers_and_none_is_what_is_chosen_later() -> None:
    declared = {each.name: each.type for each in fields(Settings)}
    for name, value in (("learning_rate", 1), ("clip", 2), ("steps", None)):
        check_type(name, value, declared[name])
