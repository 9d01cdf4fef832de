import json
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import typer

import zoo
from zoo import ConfigError, Registry, hookimpl
from zoo.cli.app import build, keep_chosen
from zoo.registry.lookup import using

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("toys")


@pytest.fixture(autouse=True)
def _warnings_are_shown() -> None:
    warnings.simplefilter("default")


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"zoo {zoo.__version__}\n", "")


def test_typer_reads_the_chosen_command_only_and_all_where_none_is_chosen() -> None:
    for words, commands, groups in (
        (["list", "train"], {"list"}, set()),
        (["bench"], set(), {"bench"}),
        (["plugins", "check"], set(), {"plugins"}),
        (["lst"], None, None),
        (["--help"], None, None),
        ([], None, None),
    ):
        app = build()
        every = {command.name for command in app.registered_commands}, {group.name for group in app.registered_groups}
        keep_chosen(app, words)
        kept = {command.name for command in app.registered_commands}, {group.name for group in app.registered_groups}
        assert kept == (every if commands is None else (commands, groups))


def test_a_misspelt_command_is_refused_with_a_near_one(run: Run) -> None:
    code, _, err = run("lst")
    assert code == 2
    assert "No such command 'lst'" in err
    assert "list" in err


def test_list_gives_one_line_for_each_model_in_natural_order(run: Run) -> None:
    code, out, _ = run("list")
    lines = out.splitlines()
    assert code == 0
    assert re.split(r"\s{2,}", lines[0]) == ["name", "modality", "kind", "parameters", "weights", "plugin"]
    assert [line.split()[0] for line in lines[1:]] == zoo.list_models()


def test_list_takes_a_wildcard_and_a_modality(run: Run) -> None:
    assert [line.split()[0] for line in run("list", "toy-*", "--modality", "nodes")[1].splitlines()[1:]] == [
        "toy-large"
    ]


def test_list_gives_json(run: Run) -> None:
    listed = json.loads(run("list", "toy-small", "--json")[1])
    assert [(each["name"], each["config"]["dim"], each["plugin"]) for each in listed] == [("toy-small", 8, "toys")]


def test_a_wildcard_that_matches_nothing_suggests(run: Run) -> None:
    code, out, err = run("list", "toy-smal")
    assert (code, out) == (1, "")
    assert err.startswith("No model matches 'toy-smal'. Did you mean 'toy-small'")
    assert err.endswith("A wildcard is written like '*toy-smal*'.\n")
    assert run("list", "zzz*")[2] == "No model matches 'zzz*'.\n"


def test_info_describes_a_model(run: Run) -> None:
    out = run("info", "toy-small")[1]
    assert "toys:toy-small" in out
    assert "first (hf-hub:toys/first)" in out
    assert json.loads(run("info", "toy-small", "--json")[1])["modality"] == "points"


def test_an_error_is_a_message_and_code_2(run: Run) -> None:
    code, out, err = run("info", "toy-smal")
    assert (code, out) == (2, "")
    assert err.startswith("zoo: Unknown model (toy-smal). Did you mean 'toy-small'")
    assert "Traceback" not in err


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(zoo.UnknownModelError):
        run("info", "toy-smal", "--debug")
    monkeypatch.setenv("ZOO_DEBUG", "1")
    with pytest.raises(zoo.UnknownModelError):
        run("info", "toy-smal")


def test_plugins_shows_status_and_cause(run: Run) -> None:
    with using(Registry(plugins=["zoo.registry.builtin", "zoo_nowhere"], autoload=False)):
        code, out, err = run("plugins", "--debug")
        facts = json.loads(run("plugins", "--json")[1])
    assert code == 0
    assert re.search(r"zoo-nowhere\s+failed\s+0\s+ModuleNotFoundError: No module named 'zoo_nowhere'", out)
    assert "Traceback (most recent call last)" in out
    assert err.startswith("warning: Plugin 'zoo-nowhere' is left out")
    assert [(fact["name"], fact["status"]) for fact in facts] == [("builtin", "ok"), ("zoo-nowhere", "failed")]


def test_a_broken_plugin_leaves_the_list_working(run: Run, toy_spec: Any, toy_plugin: Any) -> None:
    with using(Registry(plugins=["zoo_nowhere", toy_plugin(toy_spec())], autoload=False)):
        code, out, err = run("list")
    assert code == 0
    assert "toy-small" in out
    assert err.count("is left out") == 1


def test_plugins_add_commands(run: Run) -> None:
    class Adds:
        @hookimpl
        def zoo_commands(self, app: typer.Typer) -> None:
            @app.command()
            def greet(name: str) -> None:
                typer.echo(f"hello {name}")

            @app.command()
            def refuse() -> None:
                raise ConfigError("not today")

    with using(Registry(plugins=[Adds()], autoload=False)):
        assert run("greet", "you")[1] == "hello you\n"
        assert run("refuse") == (2, "", "zoo: not today\n")


def test_a_plugin_whose_commands_fail_leaves_the_others(run: Run) -> None:
    class Fails:
        @hookimpl
        def zoo_commands(self, app: typer.Typer) -> None:
            raise RuntimeError("no commands")

    with using(Registry(plugins=["zoo.registry.builtin", Fails()], autoload=False)):
        code, out, err = run("plugins")
    assert code == 0
    assert "no commands" in err
    assert re.search(r"fails\s+failed", out)


def test_the_benchmarks_are_mounted(run: Run) -> None:
    assert "bench" in run("--help")[1]
    assert run("bench", "--help")[0] == 0


@pytest.mark.parametrize(
    ("position", "told"),
    [
        ("learned", "512 tokens: its positions are learned"),
        ("rotary", "any number of tokens: max_len bounds learned positions only"),
    ],
)
def test_info_says_how_long_an_input_may_be(
    run: Run, toy_spec: Callable[..., Any], toy_plugin: Callable[..., Any], position: str, told: str
) -> None:
    spec = toy_spec(config={"position": position, "max_len": 512})
    with using(Registry(plugins=[toy_plugin(spec)], autoload=False)):
        assert re.search(rf"^longest input +{told}$", run("info", "toy-small")[1], re.MULTILINE)
    assert "longest input" not in run("info", "toy-small")[1]
