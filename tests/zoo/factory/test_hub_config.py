import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

import zoo
from zoo.errors import ConfigError, UnknownModelError, WeightsError
from zoo.plugins.text.convert import to_hf
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
        (GPT2 | {"n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 99}, r"zoo.create\('gpt2-small', weights='{}', "
         r"dim=64, depth=2, num_heads=2, mlp_dim=256, vocab_size=99\)"),
        ({"model_type": "roberta"}, "a 'roberta' of Hugging Face transformers, and no model here is of that family"),
    ],
)  # fmt: skip
def test_a_folder_of_transformers_says_which_name_takes_it(config: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=told.format(tmp_path)):
        zoo.create(f"local-dir:{tmp_path}", pretrained=True)


def test_weights_that_do_not_fit_say_by_which_call_they_do(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 1, "mlp_dim": 16, "vocab_size": 20, "max_len": 8}
    theirs = to_hf(zoo.create("bert-tiny", **sizes))
    config = {"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1,
              "intermediate_size": 16, "vocab_size": 20, "max_position_embeddings": 8}  # fmt: skip
    save_file({key: value.clone() for key, value in theirs.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = ", ".join(f"{key}={value}" for key, value in sizes.items())
    call = re.escape(f"zoo.create('bert-tiny', weights='{tmp_path}', {words})")
    for name in ("bert-tiny", "bert-base", "gpt2-small"):
        with pytest.raises(WeightsError, match=rf"do not fit '{name}'(?s:.)*\n'local-dir:.*a 'bert' .*: {call}$"):
            zoo.create(name, weights=tmp_path)
    assert zoo.create("bert-tiny", weights=tmp_path, **sizes).spec.config["dim"] == 16
    zoo.weights.save(zoo.create("decoder-tiny", **SIZES), tmp_path)
    with pytest.raises(
        WeightsError, match=rf"\nzoo.create\('local-dir:{tmp_path}'\) makes the model that is saved there$"
    ):
        zoo.create("decoder-tiny", weights=tmp_path)


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
        ("x", {}, "model_args='x' where a JSON object, {…} belongs"),
        ({}, {"num_classes": "3"}, "num_classes='3' where a number belongs"),
        ({}, {"architecture": 3}, "architecture=3 where a string belongs"),
        ({}, {"plugin": ["text"]}, r"plugin=\['text'\] where a string belongs"),
        ({}, {"pretrained_cfg": 1}, "pretrained_cfg=1 where a JSON object, {…} belongs"),
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


@pytest.mark.parametrize(
    ("wrote", "advice"), [("9.9.9", "take it out, or use the version that wrote it"), (__version__, "take it out")]
)
@pytest.mark.filterwarnings("ignore:.* is of a newer version")
def test_another_version_is_advised_only_where_there_is_one(
    wrote: str, advice: str, changed: Callable[..., str]
) -> None:
    with pytest.raises(WeightsError, match=rf"no keyword 'flash'.*(?s:.)It is a keyword .*: {advice}\.$"):
        zoo.create(changed({"flash": 1}, zoo_version=wrote))


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


def test_a_value_that_no_model_has_is_named_with_its_file_where_the_classifier_is_read_from_the_weights(
    tmp_path: Path,
) -> None:
    zoo.weights.save(zoo.create("vit-micro", num_classes=2), tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["zoo"]["model_args"]["depth"] = -1
    path.write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=r"(?s)depth=-1.*made of config.json in 'local-dir:.*, zoo "):
        zoo.create(f"local-dir:{tmp_path}")


def test_a_keyword_of_the_caller_is_still_his_own_mistake(changed: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"dim=16 is not a multiple of num_heads=3$"):
        zoo.create(changed({}), num_heads=3)
