import ast
from typing import Any

import pytest

from zoo import ConfigError
from zoo.scaffold.plugin_file import importing, with_record

RECORD = '        ModelSpec(\n            name="new",\n        ),\n'


def names(source: str) -> list[str]:
    """Run a plugin's file and list the names of its models."""
    space: dict[str, Any] = {}
    code = source.replace("from zoo import", "from types import SimpleNamespace as ModelSpec #").replace(
        "@hookimpl", ""
    )
    exec(code, space)
    return [each.name for each in space["zoo_models"]()]


@pytest.mark.parametrize(
    "body",
    [
        'return [ModelSpec(name="old")]',
        'return [\n        ModelSpec(\n            name="old",\n        ),\n    ]',
        'return [ModelSpec(name=name) for name in ("old",)]',
        'return (ModelSpec(name="old"),)',
        "return OLD",
        'yield ModelSpec(name="old")',
        'for name in ("old",):\n        yield ModelSpec(name=name)',
    ],
)
def test_a_record_is_added_behind_those_that_are_there(body: str) -> None:
    head = '"""Doc."""\n\nfrom zoo import ModelSpec, hookimpl\n\nOLD = (ModelSpec(name="old"),)\n\n\n'
    source = f"{head}@hookimpl\ndef zoo_models():\n    {body}\n"
    assert names(with_record(source, "zoo_models", "ModelSpec", RECORD)) == ["old", "new"]


def test_imports_stand_behind_those_from_the_future() -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\n\nX = 1\n'
    changed = importing(source, "zoo", ("ModelSpec",))
    compile(changed, "plugin.py", "exec")
    assert "from zoo import ModelSpec" in changed


def test_a_hook_that_is_not_there_is_written_with_its_imports() -> None:
    changed = with_record('"""Doc."""\n\nX = 1\n', "zoo_models", "ModelSpec", RECORD)
    assert names(changed) == ["new"]
    assert "from zoo import ModelSpec, hookimpl" in changed


def test_an_empty_list_and_text_that_is_not_ascii_are_no_trouble() -> None:
    source = '"""É."""\n\nfrom zoo import ModelSpec, hookimpl\n\n\n@hookimpl\ndef zoo_models():\n    É = 1; return []\n'
    assert names(with_record(source, "zoo_models", "ModelSpec", RECORD)) == ["new"]


def test_several_returns_are_left_to_the_author_who_is_given_the_record() -> None:
    source = "def zoo_models():\n    if X:\n        return []\n    return [1]\n"
    with pytest.raises(ConfigError, match="2 returns") as caught:
        with_record(source, "zoo_models", "ModelSpec", RECORD)
    assert RECORD in str(caught.value)


def test_names_join_an_import_that_is_there() -> None:
    changed = importing("from zoo import hookimpl\n", "zoo", ("ModelSpec", "hookimpl"))
    assert changed == "from zoo import ModelSpec, hookimpl\n"
    assert importing(changed, "zoo", ("hookimpl",)) == changed
    assert ast.parse(importing("", "zoo", ("hookimpl",)))
