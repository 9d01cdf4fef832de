"""`new_model` and `new_attention`: one more model or attention in a plugin that is there."""

import ast
import tomllib
from pathlib import Path

from zoo.atomic_write import write_text
from zoo.errors import ConfigError
from zoo.names import normalise
from zoo.registry.discovery import GROUP
from zoo.registry.lookup import registry
from zoo.scaffold.naming import Names, legal
from zoo.scaffold.package import check_absent
from zoo.scaffold.plugin_file import with_record
from zoo.scaffold.render import rendered, template


class PluginFolder:
    """A plugin's folder: its entry point, the file that it names, and what stands there.

    Args:
        folder: that holds `pyproject.toml`.

    Raises:
        ConfigError: If it has none, or none with an entry point whose file is there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.root = Path(folder).expanduser()
        self.entry = _entry_point(self.root)
        path = Path(*self.entry.split("."))
        rooms = [self.root / path.with_suffix(".py"), self.root / "src" / path.with_suffix(".py")]
        found = [place for place in rooms if place.is_file()]
        if not found:
            raise ConfigError(f"{str(self.root)!r} has the entry point {self.entry!r}, and no file {str(rooms[0])!r}")
        if not self.module:
            raise ConfigError(
                f"the plugin in {str(self.root)!r} is one module, {self.entry!r}: make a package of it first, with "
                f"{self.entry}/plugin.py as its entry point, so that there is a place for new files"
            )
        self.file = found[0]
        self.source = self.file.read_text(encoding="utf-8")

    @property
    def module(self) -> str:
        """Import name of the package."""
        return self.entry.rpartition(".")[0]

    def keyword(self, name: str, default: str) -> str:
        """Give the first text that stands as `name="…"` in a record."""
        calls = [node for node in ast.walk(ast.parse(self.source)) if isinstance(node, ast.keyword)]
        texts = [node.value.value for node in calls if node.arg == name and isinstance(node.value, ast.Constant)]
        return str(texts[0]) if texts else default

    def add(self, kind: str, hook: str, record: str, files: dict[Path, str]) -> list[Path]:
        """Write new files and the plugin's own with one more record; give the paths.

        Raises:
            ConfigError: If a file is there already or cannot be written.
        """
        for path in files:
            check_absent(path, "choose another name")
        changed = with_record(self.source, hook, kind, record)
        try:
            for path, text in files.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            write_text(self.file, changed)
        except OSError as error:
            for path in files:
                path.unlink(missing_ok=True)
            raise ConfigError(f"{error.filename!r} cannot be written: {error.strerror}") from error
        return [*files, self.file]


def new_model(name: str, folder: str | Path = ".") -> list[Path]:
    """Add a model to the plugin in a folder: a file, a record in `plugin.py`, a test.

    Returns: the files that were written.

    Raises:
        ConfigError: If the name is no identifier or taken, or the folder holds no plugin.
    """
    plugin, names = PluginFolder(folder), legal(name, "model")
    _check_new(names.name, "model", plugin)
    values = _values(plugin, names) | {"modality": plugin.keyword("modality", plugin.module.removeprefix("zoo_"))}
    files = {
        plugin.file.parent / f"{names.file}.py": rendered(template("package/model.py"), values, ()),
        plugin.root / "tests" / f"test_{names.file}.py": rendered(template("tests/test_model.py"), values, ()),
    }
    record = rendered(template("package/model_record.py"), values, ())
    return plugin.add("ModelSpec", "zoo_models", record, files)


def new_attention(name: str, folder: str | Path = ".") -> list[Path]:
    """Add an attention to the plugin in a folder: a file, a record in `plugin.py`, and a test if it has a model.

    Returns: the files that were written.

    Raises:
        ConfigError: If the name is no identifier or taken, or the folder holds no plugin.
    """
    plugin, names = PluginFolder(folder), legal(name, "attention")
    _check_new(names.name, "attention", plugin)
    values = _values(plugin, names) | {"attention": names.name}
    files = {plugin.file.parent / f"{names.file}.py": rendered(template("package/attention.py"), values, ())}
    test = plugin.root / "tests" / f"test_{names.file}.py"
    files[test] = rendered(template("tests/test_attention.py"), values, ())
    record = rendered(template("package/attention_record.py"), values, ())
    return plugin.add("AttentionSpec", "zoo_attentions", record, files)


def _values(plugin: PluginFolder, names: Names) -> dict[str, str]:
    return names.values() | {"module": plugin.module, "plugin": plugin.entry}


def _check_new(name: str, noun: str, plugin: PluginFolder) -> None:
    if f'name="{name}"' in plugin.source:
        raise ConfigError(f"there is a record '{name}' in {str(plugin.file)!r} already: choose another name")
    catalogue = registry().models if noun == "model" else registry().attentions
    for each in catalogue:
        if normalise(each.name) == name:
            raise ConfigError(f"there is a {noun} '{name}' of plugin '{each.plugin}' already: choose another name")


def _entry_point(root: Path) -> str:
    path = root / "pyproject.toml"
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{str(root)!r} is no plugin, it has no pyproject.toml that can be read: go to the plugin's folder, name "
            "it with --plugin, or write one with `zoo new plugin NAME`"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error}") from error
    entries = read.get("project", {}).get("entry-points", {}).get(GROUP, {})
    if len(entries) != 1:
        told = f"{len(entries)} entry points" if entries else "no entry point"
        raise ConfigError(f'{str(path)!r} has {told} in [project.entry-points."{GROUP}"], and 1 is needed')
    return str(next(iter(entries.values()))).partition(":")[0]
