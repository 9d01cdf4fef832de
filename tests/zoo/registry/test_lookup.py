import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from zoo import (
    AmbiguousNameError,
    AttentionSpec,
    ConfigError,
    DataError,
    ModelSpec,
    PluginError,
    Registry,
    UnknownModelError,
    hookimpl,
)
from zoo.registry import discovery
from zoo.registry.discovery import built_in
from zoo.registry.lookup import registry, using

Spec = Callable[..., ModelSpec]
Install = Callable[..., None]
OFFER = """
from zoo import ModelSpec, hookimpl
@hookimpl
def zoo_models():
    return [ModelSpec(name={name!r}, entry="a:b", modality="m", example="a:c")]
"""


def alone(*plugins: Any) -> Registry:
    return Registry(plugins=plugins, autoload=False)


def failed(registry: Registry) -> str:
    """Discover, check that exactly one plugin was left out, with one warning, and give the cause."""
    with pytest.warns(UserWarning, match="is left out") as said:
        infos = registry.plugins()
    assert len(said) == 1
    assert [info.status for info in infos].count("failed") == 1
    assert not list(registry.models)
    return next(info.cause for info in infos if info.status == "failed")


def test_nothing_is_imported_before_the_first_use(install: Install) -> None:
    install("zoo-late", "late", OFFER.format(name="late-small"))
    late = Registry()
    assert "zoo_late_module" not in sys.modules
    assert "late-small" in late.models.names()
    assert "zoo_late_module" in sys.modules


def test_plugins_are_asked_once(toy_spec: Spec) -> None:
    asked = []

    class Counts:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            asked.append(1)
            return [toy_spec()]

    counts = alone(Counts())
    counts.find("toy-small")
    counts.models.names()
    assert asked == [1]


@pytest.mark.parametrize("backwards", [False, True])
def test_builtins_come_first_then_distributions_by_name(
    backwards: bool, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    for distribution in ("zoo-zebra", "zoo-ant"):
        install(distribution, f"{distribution}-plugin", OFFER.format(name=distribution))
    found = sorted(entry_points(group="zoo.plugins"), key=lambda entry: entry.name, reverse=backwards)
    monkeypatch.setattr(discovery, "entry_points", lambda group: found)
    names = [info.name for info in Registry().plugins()]
    assert names[:2] == ["builtin", "vision"]
    assert [name for name in names if name.endswith("-plugin")] == ["zoo-ant-plugin", "zoo-zebra-plugin"]


def test_names_that_are_no_hooks_are_never_touched(toy_spec: Spec) -> None:
    class Lazy:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec()]

        @hookimpl
        def another_projects_hook(self) -> None:
            """Marked as pluggy marks hooks, but none of ours."""

        @property
        def heavy(self) -> None:
            raise AssertionError("a property was read")

    assert alone(Lazy()).models.names() == ["toy-small"]


def test_a_misspelt_hook_is_refused() -> None:
    class Misspelt:
        @hookimpl
        def zoo_modles(self) -> list[ModelSpec]:
            return []

    assert "unknown hook 'zoo_modles'" in failed(alone(Misspelt()))


def test_a_misspelt_hook_does_not_harm_the_next_plugin(toy_spec: Spec, toy_plugin: Any) -> None:
    class Misspelt:
        @hookimpl
        def zoo_modles(self) -> list[ModelSpec]:
            return []

    next_one = alone(Misspelt(), toy_plugin(toy_spec()))
    with pytest.warns(UserWarning, match="zoo_modles"):
        assert next_one.models.names() == ["toy-small"]


def test_a_hook_argument_with_a_default_is_refused() -> None:
    class Defaults:
        @hookimpl
        def zoo_resolve(self, name: str = "") -> None:
            return None

    assert "zoo_resolve has a default for name" in failed(alone(Defaults()))


def test_a_hook_argument_that_does_not_exist_is_refused() -> None:
    class More:
        @hookimpl
        def zoo_models(self, more: int) -> list[ModelSpec]:
            return []

    assert "more" in failed(alone(More()))


def test_a_plugin_that_fails_on_import_is_named_when_its_model_is_asked_for(install: Install) -> None:
    install("zoo-broken", "broken", "import zoo_nowhere_to_be_found", version="0.3")
    broken = Registry()
    with pytest.warns(UserWarning, match=r"Plugin 'broken' \(zoo-broken 0.3\) is left out"):
        assert "vit-small" in broken.models.names()
    with pytest.raises(UnknownModelError) as caught:
        broken.find("broken-small")
    assert "Plugin 'broken' 0.3 failed to load: ModuleNotFoundError: No module named" in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    info = next(info for info in broken.plugins() if info.name == "broken")
    assert (info.status, info.models) == ("failed", 0)
    assert "import zoo_nowhere_to_be_found" in info.traceback


def test_a_failed_plugin_is_warned_about_once(install: Install) -> None:
    install("zoo-broken2", "broken", "1 / 0")
    broken = Registry()
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        broken.plugins()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        broken.models.names()


def test_a_warning_that_raises_leaves_the_registry_whole(toy_spec: Spec, toy_plugin: Any) -> None:
    half = alone("zoo_nowhere", toy_plugin(toy_spec()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="zoo_nowhere"):
            half.plugins()
    assert half.models.names() == ["toy-small"]


def test_an_unknown_name_with_the_prefix_of_a_healthy_plugin_has_no_foreign_cause(
    toy_spec: Spec, toy_plugin: Any
) -> None:
    with pytest.warns(UserWarning, match="zoo_nowhere"):
        (mixed := alone("zoo_nowhere", toy_plugin(toy_spec()))).plugins()
    with pytest.raises(UnknownModelError) as caught:
        mixed.find("toys:toy-smal")
    assert caught.value.__cause__ is None
    assert "zoo-nowhere" not in str(caught.value)


def test_several_failures_are_all_in_the_cause() -> None:
    with pytest.warns(UserWarning, match="is left out"):
        (two := alone("zoo_nowhere", "zoo_neither")).plugins()
    with pytest.raises(UnknownModelError) as caught:
        two.find("vit-small")
    assert isinstance(caught.value.__cause__, ExceptionGroup)
    assert len(caught.value.__cause__.exceptions) == 2


def test_a_plugin_that_fails_when_asked_is_taken_out_whole(toy_spec: Spec) -> None:
    class Half:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec()]

        @hookimpl
        def zoo_sources(self) -> list[Any]:
            raise RuntimeError("no sources")

    assert "no sources" in failed(alone(Half()))


def test_a_generator_that_fails_halfway_is_taken_out_whole(toy_spec: Spec) -> None:
    class Halfway:
        @hookimpl
        def zoo_models(self) -> Iterator[ModelSpec]:
            yield toy_spec()
            raise RuntimeError("halfway")

    assert "halfway" in failed(alone(Halfway()))


def test_a_plugin_that_ends_the_process_is_taken_out() -> None:
    class Exits:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            raise SystemExit("goodbye")

    assert "goodbye" in failed(alone(Exits()))


def test_a_plugin_that_fails_to_resolve_is_taken_out(toy_spec: Spec) -> None:
    class Resolves:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec()]

        @hookimpl
        def zoo_resolve(self, name: str) -> None:
            raise RuntimeError("resolver broke")

    later = alone(Resolves())
    assert later.models.names() == ["toy-small"]
    with pytest.warns(UserWarning, match="resolver broke"), pytest.raises(UnknownModelError) as caught:
        later.find("nobody")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert later.models.names() == []


def test_a_catalogue_is_made_once_and_again_without_a_plugin_that_failed(toy_spec: Spec, toy_plugin: Any) -> None:
    class Resolves:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec("lost")]

        @hookimpl
        def zoo_resolve(self, name: str) -> None:
            raise OSError("no disk")

    registry = alone(toy_plugin(toy_spec("kept")), Resolves())
    before = registry.models
    assert registry.models is before
    assert before.names() == ["kept", "lost"]
    with pytest.warns(match="no disk"), pytest.raises(UnknownModelError):
        registry.find("other")
    assert registry.models.names() == ["kept"]


def test_strict_mode_raises_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PLUGIN_STRICT", "1")
    strict = alone("zoo_nowhere")
    for _ in range(2):
        with pytest.raises(PluginError, match="zoo-nowhere") as caught:
            strict.plugins()
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_the_allow_list_lets_no_other_plugin_be_imported(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("zoo-wanted", "wanted", OFFER.format(name="wanted-small"))
    install("zoo-other", "other", OFFER.format(name="other-small"))
    monkeypatch.setenv("ZOO_LOAD_PLUGINS", "zoo_wanted")
    status = {info.name: info.status for info in Registry().plugins()}
    assert (status["builtin"], status["wanted"], status["other"]) == ("ok", "ok", "disabled")
    assert "zoo_other_module" not in sys.modules


def test_an_empty_allow_list_leaves_the_builtins(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("zoo-more", "more", OFFER.format(name="more-small"))
    monkeypatch.setenv("ZOO_LOAD_PLUGINS", "")
    infos = Registry().plugins()
    assert {info.name for info in infos if info.status == "ok"} == {one.name for one in built_in()}


@pytest.mark.parametrize("named", ["denied", "Zoo_Denied"])
def test_the_deny_list_is_read_before_a_plugin_is_imported(
    named: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("zoo-denied", "denied", "raise AssertionError('imported')")
    monkeypatch.setenv("ZOO_DISABLE_PLUGINS", f"x, {named}")
    denied = Registry()
    info = next(info for info in denied.plugins() if info.name == "denied")
    assert (info.status, info.cause) == ("disabled", "named in ZOO_DISABLE_PLUGINS")
    with pytest.raises(UnknownModelError, match=r"Plugin 'denied' 1.0 is disabled: named in ZOO_DISABLE_PLUGINS"):
        denied.find("denied:anything")


def test_a_plugin_for_another_version_of_the_hooks_is_incompatible(toy_spec: Spec) -> None:
    class Future:
        ZOO_PLUGIN_API = 2

        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec()]

    future = alone(Future())
    with pytest.warns(UserWarning, match="written for plugin API 2, this zoo has 1"):
        (info,) = future.plugins()
    assert info.status == "incompatible"
    assert info.cause == "written for plugin API 2, this zoo has 1"


def test_a_name_offered_twice_needs_its_plugin(toy_spec: Spec, toy_plugin: Any) -> None:
    twice = alone(toy_plugin(toy_spec(), name="ape"), toy_plugin(toy_spec(), name="bee"))
    with pytest.raises(AmbiguousNameError, match="'ape' and 'bee': write 'ape:toy-small' or 'bee:toy-small'"):
        twice.find("toy-small")
    assert twice.find("bee:Toy_Small")[0].plugin == "bee"
    assert twice.models.names() == ["ape:toy-small", "bee:toy-small"]


def test_the_long_name_works_where_the_short_one_does(toy_spec: Spec, toy_plugin: Any) -> None:
    one = alone(toy_plugin(toy_spec()))
    assert one.find("toys:toy-small") == one.find("TOY_small")


def test_two_distributions_with_one_entry_point_name_are_both_reported(install: Install) -> None:
    install("zoo-left", "same", OFFER.format(name="left-small"))
    install("zoo-right", "same", OFFER.format(name="right-small"))
    clash = Registry()
    with pytest.warns(UserWarning, match="also taken by"):
        infos = [info for info in clash.plugins() if info.name == "same"]
    assert [(info.distribution, info.status) for info in infos] == [("zoo-left", "failed"), ("zoo-right", "failed")]
    assert "zoo-right 1.0" in infos[0].cause
    assert "zoo-left 1.0" in infos[1].cause


def test_disabling_one_of_two_distributions_frees_the_name(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("zoo-here", "both", OFFER.format(name="here-small"))
    install("zoo-there", "both", OFFER.format(name="there-small"))
    monkeypatch.setenv("ZOO_DISABLE_PLUGINS", "zoo-there")
    assert "here-small" in Registry().models.names()


def test_a_plugin_that_takes_a_builtin_name_leaves_the_builtin_alone(install: Install) -> None:
    install("zoo-thief", "vision", OFFER.format(name="stolen"))
    clash = Registry()
    with pytest.warns(UserWarning, match="zoo-thief"):
        names = clash.models.names()
    assert "vit-small" in names
    assert "stolen" not in names


@pytest.mark.parametrize("name", ["hf-hub", "local-dir"])
def test_names_of_sources_are_reserved(name: str, toy_spec: Spec, toy_plugin: Any) -> None:
    assert "reserved" in failed(alone(toy_plugin(toy_spec(), name=name)))


def test_names_equal_after_normalising_are_refused(toy_spec: Spec, toy_plugin: Any) -> None:
    assert "'toy-small' twice" in failed(alone(toy_plugin(toy_spec(), toy_spec())))
    assert "not legal" in failed(alone(toy_plugin(toy_spec(), toy_spec("Toy_Small"))))


def test_illegal_names_are_refused(toy_spec: Spec, toy_plugin: Any) -> None:
    assert "model name 'toy.small' is not legal" in failed(alone(toy_plugin(toy_spec("toy.small"))))


@pytest.mark.parametrize("record", [{"name": "toy"}, "toy", AttentionSpec(name="toy", entry="a:b")])
def test_only_the_right_records_are_taken(record: Any, toy_plugin: Any) -> None:
    assert "it returns ModelSpec records only" in failed(alone(toy_plugin(record)))


def test_a_plugin_may_not_ask_the_registry_that_asks_it() -> None:
    class Asks:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return list(asked.models)

    asked = alone(Asks())
    assert "hooks only return records" in failed(asked)


def test_the_first_line_of_an_unknown_name_suggests_near_ones(toy_spec: Spec, toy_plugin: Any) -> None:
    vits = alone(toy_plugin(*map(toy_spec, ("vit-small", "vit-smalls", "resnet-18"))))
    with pytest.raises(UnknownModelError) as caught:
        vits.find("vit-smal")
    first, second = str(caught.value).splitlines()
    assert first == "Unknown model (vit-smal). Did you mean 'vit-small' or 'vit-smalls'?"
    assert second.startswith("3 models from 1 plugin (zoo ")
    assert second.endswith("zoo.list_models('vit*') shows 2.")
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize("name", ["org/name", "C:\\models\\vit.pt", "nowhere:vit-small", "./vit.pt"])
def test_a_path_or_unknown_prefix_says_how_repositories_are_written(name: str, toys: Registry) -> None:
    with pytest.raises(ValueError, match="hf-hub:org/name") as caught:
        toys.find(name)
    assert "local-dir:" in str(caught.value)
    assert "'toys'" in str(caught.value)


def test_a_folder_or_file_that_is_there_says_how_it_is_written(toys: Registry, tmp_path: Path) -> None:
    with pytest.raises(
        UnknownModelError, match=f"a folder of that name: write 'local-dir:{tmp_path}' for the model in it"
    ):
        toys.find(str(tmp_path))
    (tmp_path / "model.pt").touch()
    with pytest.raises(UnknownModelError, match=f"a file of that name: .*weights='{tmp_path}/model.pt' loads"):
        toys.find(f"{tmp_path}/model.pt")


def test_a_tag_follows_the_name(toys: Registry) -> None:
    assert toys.find("toys:toy_small.Second")[1] == "second"


def test_an_unknown_tag_lists_the_valid_ones(toys: Registry) -> None:
    expected = r"Unknown tag \(secnd\) of model 'toy-small'. Did you mean 'second'\? Valid tags: 'first' and 'second'."
    with pytest.raises(UnknownModelError, match=expected):
        toys.find("toy-small.secnd")
    with pytest.raises(UnknownModelError, match="no published weights"):
        toys.find("toy-large.first")


def test_names_nobody_listed_are_resolved(toy_spec: Spec) -> None:
    class Resolver:
        @hookimpl
        def zoo_resolve(self, name: str) -> ModelSpec | None:
            return toy_spec("toy-small") if name == "other:toy.x_1" else None

    one = alone(Resolver())
    for name in ("other:toy.x_1", "resolver:other:toy.x_1"):
        assert one.find(name)[0].plugin == "resolver"
    spec = one.find("other:toy.x_1")[0]
    assert [replace(spec, name=name).full_name for name in ("other:toy", "resolver:toy")] == [
        "resolver:other:toy",
        "resolver:toy",
    ]
    with pytest.raises(UnknownModelError):
        one.find("other:nothing")


def test_a_plugin_may_have_the_name_that_another_does_not_know(toy_spec: Spec) -> None:
    class Suggests:
        @hookimpl
        def zoo_resolve(self, name: str) -> None:
            raise UnknownModelError(f"Did you mean '{name}s'?")

    class Knows:
        @hookimpl
        def zoo_resolve(self, name: str) -> ModelSpec | None:
            return toy_spec("toy-small") if name == "toy_x" else None

    one = alone(Suggests(), Knows())
    assert one.find("toy_x")[0].plugin == "knows"
    with pytest.raises(UnknownModelError, match="Did you mean 'toy_ys'"):
        one.find("toy_y")


def test_a_resolver_that_returns_no_spec_is_taken_out() -> None:
    class Resolver:
        @hookimpl
        def zoo_resolve(self, name: str) -> Any:
            return {"name": name}

    with pytest.warns(UserWarning, match="returns a ModelSpec or None"), pytest.raises(UnknownModelError):
        alone(Resolver()).find("anything")


def test_an_error_for_the_user_passes_through_a_hook() -> None:
    class Refuses:
        @hookimpl
        def zoo_resolve(self, name: str) -> None:
            raise ConfigError("not like this")

    one = alone(Refuses())
    with pytest.raises(ConfigError, match="not like this"):
        one.find("anything")
    assert [info.status for info in one.plugins()] == ["ok"]


def test_text_is_split_into_record_and_argument(toys: Registry) -> None:
    record, argument = toys.attentions.split("causal:1,2")
    assert (record.name, argument) == ("causal", "1,2")
    assert toys.attentions.split("builtin:Causal:1,2") == (record, argument)
    with pytest.raises(ConfigError, match=r"Unknown attention \(causl:1\). Did you mean 'causal'\?"):
        toys.attentions.split("causl:1")
    with pytest.raises(DataError, match="Unknown source"):
        toys.sources.split("folder:/tmp")


def test_the_global_registry_can_be_replaced(toys: Registry) -> None:
    other = alone()
    with using(other):
        assert registry() is other
    assert registry() is toys


def test_a_distribution_seen_twice_on_the_path_counts_once(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("zoo-once", "once", OFFER.format(name="once-small"))
    copy = tmp_path / "copy"
    (copy / "zoo_once-0.9.dist-info").mkdir(parents=True)
    for file in (tmp_path / "zoo_once-1.0.dist-info").iterdir():
        (copy / "zoo_once-0.9.dist-info" / file.name).write_text(file.read_text())
    monkeypatch.setattr(sys, "path", [*sys.path, str(copy)])
    assert "once-small" in Registry().models.names()
