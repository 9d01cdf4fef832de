"""Templates: text files with `$placeholders` (`string.Template`) and parts that are left out if nobody asked for them.

Lines between `#: part` and `#: end` stay if the part is wanted, those behind `#: no part` if it is not.
"""

from collections.abc import Collection, Mapping
from importlib.resources import files
from string import Template

from zoo.errors import ConfigError

_MARK = "#: "


def template(path: str) -> str:
    """Read a template by its path below `zoo/scaffold/templates`, without the ending `.txt`."""
    return files("zoo.scaffold").joinpath("templates", *f"{path}.txt".split("/")).read_text(encoding="utf-8")


def rendered(text: str, values: Mapping[str, str], parts: Collection[str]) -> str:
    """Fill a template.

    Args:
        text: of the template.
        values: placeholder to text.
        parts: those that are wanted.
    """
    return Template(chosen(text, parts)).substitute(values)


def chosen(text: str, parts: Collection[str]) -> str:
    """Leave out the lines of parts that are not wanted, and the marks.

    Raises:
        ConfigError: If a mark is not closed, or one is closed that was not opened.
    """
    kept, wanted, opened = [], True, False
    for line in text.splitlines(keepends=True):
        if not line.startswith(_MARK):
            kept += [line] if wanted else []
            continue
        words = line.removeprefix(_MARK).split()
        if (words == ["end"]) != opened:
            raise ConfigError(
                f"template: {line.strip()!r} {'inside another mark' if opened else 'without a beginning'}"
            )
        opened = not opened
        wanted = not opened or (words[-1] in parts) != (words[0] == "no")
    if opened:
        raise ConfigError("template: a mark has no '#: end'")
    return "".join(kept)
