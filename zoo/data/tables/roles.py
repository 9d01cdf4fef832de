"""Roles of columns: which column of a table is the picture, the text or the label, as named or as it is usual."""

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.data.tables.table import Table
from zoo.errors import DataError


@dataclass(frozen=True)
class Role:
    """What a column is to a modality.

    Args:
        name: of the role, and of the option that names the column: `?image=photo`.
        kinds: that the column may have; a column that alone has the first kind needs no usual name.
        usual: names of such columns, the most usual first.
        optional: whether a table may lack it.
        also: other names of the option.
    """

    name: str
    kinds: tuple[str, ...]
    usual: tuple[str, ...] = ()
    optional: bool = False
    also: tuple[str, ...] = ()


def choose_columns(table: Table, *roles: Role, options: Sequence[str] = ()) -> dict[str, str]:
    """Choose the column of each role: the one that an option names, else one of usual name, else the only one it fits.

    Args:
        table: whose columns are chosen.
        roles: each gets another column, the first the first.
        options: other options that are understood.

    Returns: the name of the column of each role; an optional one without a column is left out, as it is where its
        option is empty.

    Raises:
        DataError: If an option is none of a role or names no column that fits, or a column cannot be chosen.
    """
    named = {name: role for role in roles for name in (role.name, *role.also)}
    for name in table.options:
        if name not in named and name not in options:
            known = ", ".join((*named, *options))
            raise DataError(
                f"{table.name}: {table.option(name, table.options[name])} is not understood; options are {known}"
            )
    chosen = {
        role.name: _named(table, role, table.options[name]) for name, role in named.items() if name in table.options
    }
    for role in roles:
        if role.name not in chosen:
            taken = {column for column in chosen.values() if column}
            chosen[role.name] = _guessed(table, role, [name for name in table.kinds if name not in taken])
    return {role.name: chosen[role.name] for role in roles if chosen[role.name]}


def described(table: Table) -> str:
    """List the columns with what they hold."""
    return ", ".join(f"{name} ({kind})" for name, kind in table.kinds.items())


def _named(table: Table, role: Role, column: str) -> str:
    if not column and role.optional:
        return ""
    if column not in table.kinds:
        raise DataError(f"{table.name} has no column {column!r} for {role.name}; it has {described(table)}")
    if table.kinds[column] not in role.kinds:
        raise DataError(
            f"{table.name}: column {column!r} holds {table.kinds[column]}, and {role.name} is {' or '.join(role.kinds)}"
        )
    return column


def _guessed(table: Table, role: Role, columns: Sequence[str]) -> str:
    fitting = [column for column in columns if table.kinds[column] in role.kinds]
    short = {column.rpartition(".")[2].lower(): column for column in reversed(fitting)}
    alone = [column for column in fitting if table.kinds[column] == role.kinds[0]]
    found = [short[name] for name in role.usual if name in short] or (alone if len(alone) == 1 else [])
    if found:
        return found[0]
    if role.optional:
        return ""
    raise DataError(
        f"{table.name} has columns {described(table)}, and which one is {role.name} ({' or '.join(role.kinds)}) is "
        f"not clear: {table.advice(role.name)}"
    )
