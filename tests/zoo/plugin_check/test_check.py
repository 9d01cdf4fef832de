"""`zoo plugins check`: each fault is found, named, and told with what to do; a sound plugin has none."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zoo import ConfigError
from zoo.plugin_check.check import candidates, check_plugin
from zoo.plugin_check.finding import Finding

Found = Callable[..., list[Finding]]
HEAD = "import zoo\nZOO_PLUGIN_API = 1\n"
NET = """
import torch
from zoo.core import Classify, Encoder, Model, Tokens

class Stem(torch.nn.Linear):
    def forward(self, points):
        return Tokens(super().forward(points))

def net(num_classes=3, dim=8):
    return Model(Stem(2, dim), Encoder(dim, 1, 2, dim), Classify(dim, num_classes, "mean"))

def anything(**keywords):
    return net(**keywords)

def needy(dim):
    return net(dim=dim)

def broken(dim=8):
    raise RuntimeError("no net")

def example(config, batch_size, seed):
    return (torch.randn(batch_size, 5, 2, generator=torch.Generator().manual_seed(seed)),)

def preprocess(config):
    return lambda raw: raw

NUMBER = 1
"""
SPEC = 'name="mine", modality="points", config={{}}, entry="checked_net:net", example="checked_net:example"{more}'
PARAMETERS = 24 + 16 + 16 + (8 * 24 + 24) + (8 * 8 + 8) + 2 * (8 * 8 + 8) + 16 + (8 * 3 + 3)


def models(more: str = f", parameters={PARAMETERS}", a: tuple[str, str] = ("", "")) -> str:
    """Write a plugin with one model, some of whose fields are others."""
    text = SPEC.format(more=more)
    assert a[0] in text
    if a[0]:
        text = text.replace(*a)
    return f"{HEAD}@zoo.hookimpl\ndef zoo_models():\n    return [zoo.ModelSpec({text})]\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Found]:
    """Check a plugin with this code; what it costs to list it is measured where that is asked for."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "checked_net.py").write_text(NET)
    (tmp_path / "broken_library.py").write_text("raise OSError('lib.so is missing')\n")

    def check(code: str, cost: bool = False) -> list[Finding]:
        if not cost:
            monkeypatch.setattr("zoo.plugin_check.check.check_cost", lambda module, needed: [])
        (tmp_path / "zoo_checked.py").write_text(code)
        sys.modules.pop("zoo_checked", None)
        (candidate,) = candidates("zoo_checked")
        return check_plugin(candidate)

    yield check
    for name in ("zoo_checked", "checked_net"):
        sys.modules.pop(name, None)


def test_a_sound_plugin_has_no_fault(found: Found) -> None:
    assert found(models(), cost=True) == []


@pytest.mark.parametrize(
    ("code", "level", "where", "fault", "mend"),
    [
        ("1 / 0", "error", "entry point", r"ZeroDivisionError: .*zoo_checked.py, line 1", "mend that line"),
        ("raise SystemExit(3)", "error", "entry point", "SystemExit: 3", "mend"),
        ("import broken_library", "error", "entry point", r"lib.so is missing .*broken_library.py, line 1", "mend"),
        ("import zoo", "warning", "ZOO_PLUGIN_API", "is not set", "ZOO_PLUGIN_API = 1"),
        (
            "ZOO_PLUGIN_API = 1",
            "error",
            "hooks",
            r"there are none: it is .*zoo_checked.py",
            "the module with the hooks",
        ),
        ("ZOO_PLUGIN_API = 2", "error", "ZOO_PLUGIN_API", "is 2, this zoo has 1", "--upgrade attention-zoo"),
        ("ZOO_PLUGIN_API = 0", "error", "ZOO_PLUGIN_API", "is 0, this zoo has 1", "docs/plugins.md"),
        ("ZOO_PLUGIN_API = '1'", "error", "ZOO_PLUGIN_API", "no whole number", "ZOO_PLUGIN_API = 1"),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_modles(): return []",
            "error",
            "zoo_modles",
            "Did you mean 'zoo_models'",
            "name",
        ),
        (HEAD + "def zoo_modles(): return []", "warning", "zoo_modles", "Did you mean 'zoo_models'", "@zoo.hookimpl"),
        (HEAD + "def zoo_models(): return []", "error", "zoo_models", "not marked", "@zoo.hookimpl"),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_quarks(x): return []",
            "error",
            "zoo_quarks",
            "no hook of this zoo",
            "newer zoo",
        ),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_commands(app, shell): pass",
            "error",
            "zoo_commands",
            "'shell'; the zoo gives app",
            "remove",
        ),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_commands(app=None): pass",
            "error",
            "zoo_commands",
            "default for 'app'",
            "without a default",
        ),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_models(): return [1]",
            "error",
            "zoo_models",
            "ModelSpec records only",
            "legal",
        ),
        (
            HEAD + "@zoo.hookimpl\ndef zoo_models(): 1 / 0",
            "error",
            "zoo_models",
            "ZeroDivisionError",
            r"zoo_models\(\)",
        ),
        (
            models(", parmeters=1"),
            "error",
            "zoo_models",
            "no field 'parmeters'. Did you mean 'parameters'",
            "fields are",
        ),
        (models(a=(', example="checked_net:example"', "")), "error", "zoo_models", "lacks 'example'", "example"),
        (models(a=('"mine"', '"Mine"')), "error", "zoo_models", "'Mine' is not legal", "legal names"),
        (models(a=('"mine"', '"bert-tiny"')), "error", "bert-tiny", "'text' has a model of this name", "rename"),
        (models(a=("_net:net", "_net:nett")), "error", "mine.entry", "AttributeError", "correct the entry"),
        (models(a=("_net:net", "_net.net")), "error", "mine.entry", "package.module:attribute", "correct the entry"),
        (
            models(', preprocess="checked_net:preprocess"'),
            "error",
            "mine.preprocess",
            "with 2 arguments",
            "docs/plugins",
        ),
        (models(', preprocess="checked_net:NUMBER"'), "error", "mine.preprocess", "is a int", "a function"),
        (models(", parameters=7"), "error", "mine", "declares 7 parameters and has", f"parameters={PARAMETERS}"),
        (models(""), "warning", "mine", "declares no number", f"parameters={PARAMETERS}"),
        (models(a=("_net:net", "_net:anything")), "warning", "mine", r"takes \*\*keywords", "name every keyword"),
        (
            models(a=("config={}", "config={'dmi': 8}")),
            "error",
            "mine",
            "'dmi', which .* Did you mean 'dim'",
            "signature",
        ),
        (
            models(a=("config={}", "config={'dim': (1,)}")),
            "error",
            "mine",
            "changes when it is written",
            "lists for tuples",
        ),
        (models(a=("config={}", "config={'dim': {1}}")), "error", "mine", "is no JSON", "lists and dictionaries"),
        (
            models(a=("_net:net", "_net:needy")),
            "error",
            "mine",
            "needs 'dim', which config lacks",
            "add them to config",
        ),
        (
            models(a=("_net:net", "_net:broken")),
            "error",
            "mine",
            "cannot be built: RuntimeError: no net",
            r"zoo\.create\('mine', device='meta'\)",
        ),
        (
            models(a=('name="mine"', "name=mine()")).replace("ZOO_PLUGIN_API = 1", "ZOO_PLUGIN_API = 1; mine = None"),
            "error",
            "zoo_models",
            "raises 'NoneType' object is not callable",
            r"run zoo_models\(\) alone",
        ),
        (models(', task="generate"'), "error", "mine", "not among tasks", "add 'generate'"),
        (models(', claims=("causel",)'), "error", "mine", "'causel' is not known. Did you mean 'causal'", "causal"),
        (models(', weights={"a": "org/name"}'), "error", "mine", "'org/name'", "hf-hub:org/name"),
        (
            models(', requires=(zoo.Requirement(module="absent_x", distribution="absent-x", install="zoo-x[a]"),)'),
            "warning",
            "mine",
            "needs absent-x",
            "install it",
        ),
    ],
)
def test_a_fault_is_told_with_what_to_do(
    code: str, level: str, where: str, fault: str, mend: str, found: Found
) -> None:
    told = found(code)
    fitting = [
        each
        for each in told
        if (each.level, each.where.startswith(where)) == (level, True)
        and re.search(fault, each.fault, re.DOTALL)
        and re.search(mend, each.mend)
    ]
    assert fitting, told


def test_all_faults_are_told_at_once(found: Found) -> None:
    told = found(models(', task="generate", claims=("x",), weights={"a": "b"}') + "\ndef zoo_modles(): pass\n")
    assert len(told) >= 4


def test_a_plugin_is_found_by_name_distribution_and_module(install: Callable[..., None]) -> None:
    install("zoo-mine", "mine", "")
    for name in ("mine", "zoo-mine", "Zoo_Mine"):
        assert [each.name for each in candidates(name)] == ["mine"]
    assert "mine" in [each.name for each in candidates()]
    assert [each.name for each in candidates("vision")] == ["vision"]
    with pytest.raises(ConfigError, match=r"no plugin 'mien' is installed\. Did you mean 'mine'"):
        candidates("mien")


@pytest.mark.parametrize(
    ("name", "told"), [("my plugin", "'my plugin' is not legal"), ("hf-hub", "is a reserved name")]
)
def test_an_entry_point_whose_name_nobody_can_write_is_told(name: str, told: str, install: Callable[..., None]) -> None:
    distribution = f"zoo-called-{name.replace(' ', '-')}"
    install(distribution, name, HEAD)
    (candidate,) = candidates(distribution)
    found = [each for each in check_plugin(candidate) if each.where == f"entry point '{name}'"]
    assert [(each.level, told in each.fault) for each in found] == [("error", True)], found
    assert "rename it in pyproject.toml" in found[0].mend


def test_two_distributions_with_one_name_are_told(install: Callable[..., None]) -> None:
    install("zoo-a", "mine", "")
    install("zoo-b", "mine", "")
    told = [each.fault for each in check_plugin(candidates("zoo-a")[0])]
    assert any("zoo-b" in each and "neither is loaded" in each for each in told)
