"""`new_plugin`: a complete package of a plugin in a new folder, written whole or not at all."""

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from zoo.errors import ConfigError
from zoo.scaffold.naming import Names, check_free, check_parts, legal
from zoo.scaffold.render import rendered, template

PARTS = ("source", "study", "weights", "attention", "command")
_NEEDS = {"study": ("source",)}
"""Parts that a part needs: a study trains on data."""
_ALWAYS = (
    *(f"root/{name}" for name in ("pyproject.toml", "README.md", "conftest.py")),
    *(f"package/{name}.py" for name in ("__init__", "plugin", "models", "processing")),
    *(f"tests/test_{name}.py" for name in ("plugin", "processing")),
)
_FILES = {
    "source": ("package/source.py", "package/sample.py", "tests/test_source.py"),
    **{part: (f"package/{part}.py", f"tests/test_{part}.py") for part in PARTS[1:]},
}
_RECORDS = {"source": "SourceSpec", "study": "StudySpec", "attention": "AttentionSpec"}


def new_plugin(name: str, parts: str = "source", folder: str | Path | None = None) -> Path:
    """Write the package of a new plugin.

    Args:
        name: of the plugin and its modality, `gait`; the distribution is then `zoo-gait`, the package `zoo_gait`.
        parts: of `PARTS`, separated by commas; a study brings a source.
        folder: to write, which may not be there; `zoo-NAME` here if None.

    Returns: the folder.

    Raises:
        ConfigError: If the name is no identifier or taken, a part is unknown, or the folder is there or not writable.
    """
    names, wanted = legal(name, "plugin"), check_parts(parts, PARTS)
    wanted |= {needed for part in wanted for needed in _NEEDS.get(part, ())}
    target = Path(names.distribution if folder is None else folder).expanduser()
    check_absent(target)
    check_free(names)
    write_folder(target, plugin_files(names, wanted))
    return target


def plugin_files(names: Names, parts: Collection[str]) -> dict[str, str]:
    """Give path and text of each file of a plugin with these parts."""
    records = sorted(["ModelSpec", *(record for part, record in _RECORDS.items() if part in parts)])
    values = names.values() | {
        "records": ", ".join([*records, "hookimpl"]),
        "plugin": f"{names.module}.plugin",
        "attention": f"{names.name}-temperature",
        "file": "attention",
    }
    places = {"root": "", "package": f"{names.module}/", "tests": "tests/"}
    found = {}
    for path in (*_ALWAYS, *(each for part in PARTS if part in parts for each in _FILES[part])):
        room, _, file = path.partition("/")
        found[places[room] + file] = rendered(template(path), values, parts)
    return found


def check_absent(target: Path, otherwise: str = "name another with --out") -> None:
    """Check that nothing would be overwritten.

    Args:
        target: file or folder.
        otherwise: what else can be done, for the error.

    Raises:
        ConfigError: If something is there.
    """
    if target.exists():
        kind = "folder" if target.is_dir() else "file"
        raise ConfigError(f"there is a {kind} {str(target)!r} already: remove it, or {otherwise}")


def write_folder(target: Path, texts: Mapping[str, str]) -> None:
    """Write files to a new folder: beside it first, so that a failure leaves nothing.

    Raises:
        ConfigError: If it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".zoo-new-") as beside:
            made = Path(beside) / target.name
            for path, text in texts.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_text(text, encoding="utf-8")
            made.rename(target)
    except OSError as error:
        raise ConfigError(f"{str(target)!r} cannot be written: {error.strerror or error}") from error
