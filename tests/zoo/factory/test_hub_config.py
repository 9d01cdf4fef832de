import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.errors import ConfigError, UnknownModelError, WeightsError
from zoo.version import __version__

BERT: dict[str, Any] = {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30_522, "max_position_embeddings": 512,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None, "n_positions": 1024,
    "vocab_size": 50_300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (BERT, r"a 'bert' of Hugging Face transformers, whose weights .*: zoo.create\('bert-base', weights='{}'\)"),
        (GPT2, r"a 'gpt2' .*: zoo.create\('gpt2-small', weights='{}', vocab_size=50300\)"),
        (BERT | {"hidden_size": 96}, r"zoo.create\('bert-base', weights='{}', dim=96\)"),
        ({"model_type": "roberta"}, "a 'roberta' of Hugging Face transformers, and no model here is of that family"),
    ],
)  # fmt: skip
def test_a_folder_of_transformers_says_which_name_takes_it(config: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=told.format(tmp_path)):
        zoo.create(f"local-dir:{tmp_path}", pretrained=True)


SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
VERSIONS = rf"\(written by zoo 9\.9\.9, this is zoo {__version__}\)"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., str]:
    """Save a model and change its configuration: keywords of the model, then what is around them."""

    def change(model_args: Any, **others: Any) -> str:
        zoo.weights.save(zoo.create("decoder-tiny", **SIZES), tmp_path)
        path = tmp_path / "config.json"
        config = json.loads(path.read_text()) | others
        config["model_args"] = config["model_args"] | model_args if isinstance(model_args, dict) else model_args
        path.write_text(json.dumps(config))
        return f"local-dir:{tmp_path}"

    return change


@pytest.mark.parametrize(
    ("model_args", "others", "told"),
    [
        ({"flash": 1}, {}, "'decoder-tiny' has no keyword 'flash'"),
        ({"dim": "wide"}, {}, "dim='wide' of model 'decoder-tiny' is a text"),
        ({"dim": [16]}, {}, r"dim=\[16\] of model 'decoder-tiny' is a list"),
        ({"task": "sing"}, {}, "task='sing', and the tasks of 'decoder-tiny' are 'generate'"),
        ({"attention": "warp:3"}, {}, r"Unknown attention \(warp:3\)"),
        ({"symbols": 7}, {}, "'symbols': 7.*Type"),
        ({"dim": None}, {}, "'dim': None.*Type"),
        ("x", {}, "model_args='x', which is no object"),
        ({}, {"num_classes": "3"}, "num_classes='3', which is no number"),
        ({}, {"architecture": 3}, "architecture=3, which is no string"),
        ({}, {"plugin": ["text"]}, r"plugin=\['text'\], which is no string"),
        ({}, {"pretrained_cfg": 1}, "pretrained_cfg=1, which is no object"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is of a newer version")
def test_a_configuration_of_another_version_is_named_with_its_key_its_file_and_both_versions(
    model_args: Any, others: dict[str, Any], told: str, changed: Callable[..., str]
) -> None:
    name = changed(model_args, zoo_version="9.9.9", **others)
    with pytest.raises(WeightsError, match=f"config.json.*{VERSIONS}") as caught:
        zoo.create(name)
    assert re.search(told, str(caught.value), re.DOTALL)
    assert repr(name) in str(caught.value)


def test_an_architecture_of_another_version_is_named_with_both_versions(changed: Callable[..., str]) -> None:
    name = changed({}, zoo_version="9.9.9", architecture="decoder-huge")
    with pytest.raises(UnknownModelError, match=rf"(?s)'decoder-tiny'.*config.json of '{name}' {VERSIONS}"):
        zoo.info(name)


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"flash": 1, "license": "mit"}, "config.json has 'flash', 'license', which is not read"),
        ({"zoo_version": "9.9.9"}, rf"config.json is of a newer version: .* {VERSIONS}"),
        ({"zoo_version": "0.0.1"}, ""),
        ({"label_names": ["a"]}, ""),
    ],
)
def test_what_does_not_matter_is_one_warning(others: dict[str, Any], told: str, changed: Callable[..., str]) -> None:
    name = changed({}, **others)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert zoo.create(name).spec.config["dim"] == 16
    assert len(caught) == bool(told)
    assert all(re.search(told, str(warning.message)) for warning in caught)


def test_a_keyword_of_the_caller_is_still_his_own_mistake(changed: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"dim=16 is not a multiple of num_heads=3$"):
        zoo.create(changed({}), num_heads=3)
