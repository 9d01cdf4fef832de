"""Changes of a plugin's `plugin.py`: one more record in what a hook returns, one more name imported from `zoo`."""

import ast
import textwrap

from zoo.errors import ConfigError

_HOOK = '''

@hookimpl
def {hook}() -> list[{kind}]:
    """Name what the zoo finds here."""
    return [
{record}    ]
'''


def with_record(source: str, hook: str, kind: str, record: str) -> str:
    """Add a record to what a hook returns; the hook too, if there is none.

    Args:
        source: of `plugin.py`.
        hook: such as `zoo_models`.
        kind: class of the record, such as `ModelSpec`.
        record: its text, indented by eight spaces, with a comma at the end.

    Raises:
        ConfigError: If the hook is written in a way that cannot be extended; the text holds the record.
    """
    function = _function(source, hook)
    if function is None:
        changed = source.rstrip() + "\n" + _HOOK.format(hook=hook, kind=kind, record=record)
    else:
        changed = _extended(source, function, record)
    return importing(changed, "zoo", (kind, "hookimpl"))


def importing(source: str, module: str, names: tuple[str, ...]) -> str:
    """Import names from a module where they are not imported yet."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and node.module == module]
    present = {alias.name for node in found for alias in node.names}
    lacking = {*names} - present
    if not lacking:
        return source
    if not found:
        lines = source.splitlines(keepends=True)
        at = _behind_docstring(source)
        return "".join([*lines[:at], f"\nfrom {module} import {', '.join(sorted(lacking))}\n", *lines[at:]])
    node = found[0]
    own = {ast.unparse(alias) for alias in node.names} | lacking
    return _replaced(source, node, f"from {module} import {', '.join(sorted(own))}")


def _function(source: str, hook: str) -> ast.FunctionDef | None:
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and node.name == hook]
    return found[0] if found else None


def _extended(source: str, function: ast.FunctionDef, record: str) -> str:
    """Put a record behind those of a function that returns or yields them."""
    nodes = list(ast.walk(function))
    returned = [node for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        last = function.body[-1]
        new = textwrap.indent(textwrap.dedent(record).strip().removesuffix(","), "    ").strip()
        return _inserted(source, last, f"\n{' ' * function.body[0].col_offset}yield {new}")
    if len(returned) != 1:
        raise ConfigError(f"{function.name} has {len(returned)} returns, so add this record yourself:\n{record}")
    value = returned[0].value
    assert value is not None
    text = ast.get_source_segment(source, value) or ""
    if isinstance(value, ast.List):
        inside = text[1:-1].strip().removesuffix(",")
        before = f"        {inside},\n" if inside else ""
        return _replaced(source, value, f"[\n{before}{record}    ]")
    return _replaced(source, value, f"[\n        *{textwrap.indent(text, '    ').strip()},\n{record}    ]")


def _replaced(source: str, node: ast.stmt | ast.expr, text: str) -> str:
    start, end = _offset(source, node.lineno, node.col_offset), _end(source, node)
    return source[:start] + text + source[end:]


def _inserted(source: str, node: ast.stmt, text: str) -> str:
    return source[: _end(source, node)] + text + source[_end(source, node) :]


def _end(source: str, node: ast.stmt | ast.expr) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return _offset(source, node.end_lineno, node.end_col_offset)


def _offset(source: str, line: int, column: int) -> int:
    """Turn a line from 1 and a column in bytes into a place in the text."""
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _behind_docstring(source: str) -> int:
    """Give the lines of the docstring and of what is imported from `__future__`, which stand first."""
    at = 0
    for place, node in enumerate(ast.parse(source).body):
        documents = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (documents or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
        at = node.end_lineno or 0
    return at
