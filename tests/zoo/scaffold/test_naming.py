from collections.abc import Callable

import pytest

from zoo import ConfigError, Registry, hookimpl
from zoo.registry.lookup import using
from zoo.scaffold.naming import Names, check_free, check_parts, legal


@pytest.mark.parametrize("word", ["gait", "Gait", "zoo-gait", "ZOO_GAIT"])
def test_the_spellings_of_a_word_are_one_name(word: str) -> None:
    assert legal(word, "plugin") == Names("gait")


@pytest.mark.parametrize("word", ["", "3d", "my gait", "gait!", "a--b", "-a", "a.b", "../a", "zoo-", "é"])
def test_a_word_that_makes_no_identifier_is_refused_as_it_was_written(word: str) -> None:
    with pytest.raises(ConfigError, match="letter first") as caught:
        legal(word, "plugin")
    assert repr(word) in str(caught.value)


def test_a_word_of_python_is_refused() -> None:
    with pytest.raises(ConfigError, match="'lambda' is a word of Python"):
        legal("lambda", "attention")


def test_the_error_offers_a_name_that_is_legal() -> None:
    with pytest.raises(ConfigError, match="such as 'my-gait'"):
        legal("my gait", "plugin")


def test_all_names_are_made_of_one() -> None:
    values = legal("hand-pose", "plugin").values()
    assert (values["module"], values["distribution"]) == ("zoo_hand_pose", "zoo-hand-pose")
    assert (values["Class"], values["file"]) == ("HandPoseTransformer", "hand_pose")
    assert all(values[name].isidentifier() for name in ("module", "file", "Class", "Stem"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("vision", "taken by the plugin of attention-zoo"),
        ("hf-hub", "reserved"),
        ("bert", "there is a model 'bert-tiny' of plugin 'text'"),
        ("csv", "there is a source 'csv'"),
        ("data", "there is a study 'data-size'"),
        ("window", "there is a attention 'window'"),
        ("plugins", "there is a module 'zoo_plugins'"),
    ],
)
def test_a_name_that_is_taken_tells_by_whom(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.scaffold.naming.find_spec", lambda module: module == "zoo_plugins" or None)
    with pytest.raises(ConfigError, match=told):
        check_free(Names(name))


def test_an_installed_plugin_takes_its_name_though_it_fails(install: Callable[..., None]) -> None:
    install("zoo-broken", "broken", "raise RuntimeError('no')")
    with using(Registry()), pytest.warns(UserWarning, match="left out"), pytest.raises(ConfigError, match="zoo-broken"):
        check_free(Names("broken"))


def test_a_modality_is_taken_too() -> None:
    class Other:
        @hookimpl
        def zoo_models(self) -> list[object]:
            from zoo import ModelSpec

            return [ModelSpec(name="net", entry="a:b", example="a:b", modality="gait")]

    with using(Registry([Other()])), pytest.raises(ConfigError, match="'gait' is a modality already"):
        check_free(Names("gait"))


def test_parts_are_read_and_a_misspelt_one_is_told() -> None:
    assert check_parts("source, study", ("source", "study")) == {"source", "study"}
    assert check_parts("", ("source",)) == frozenset()
    with pytest.raises(ConfigError, match=r"'sorce' is not one of source, study\. Did you mean 'source'"):
        check_parts("sorce", ("source", "study"))
