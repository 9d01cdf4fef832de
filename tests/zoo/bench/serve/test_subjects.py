"""Models and requests that are measured."""

from pathlib import Path

import pytest

from zoo.bench.serve.subjects import subject
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline


@pytest.mark.parametrize("name", ["vit-micro", "bert-micro"])
def test_a_model_and_its_inputs_are_made(name: str, tmp_path: Path) -> None:
    made = subject(name, tmp_path)
    first, second = (Pipeline(str(tmp_path)).answers([made.raw(number)])[0] for number in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second
    assert made.body(0) == made.body(64) != made.body(1)


def test_models_of_other_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--models decoder-tiny: only classifiers"):
        subject("decoder-tiny", tmp_path)
