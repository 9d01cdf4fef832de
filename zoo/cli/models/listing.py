"""`zoo list`, `zoo info` and `zoo plugins`: lists of models and plugins, without importing torch."""

import json
import os
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from zoo.cli.models import attention_listing
from zoo.factory import create
from zoo.names import did_you_mean
from zoo.spec import ModelSpec, PluginInfo

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_(
    wildcard: Annotated[
        str,
        typer.Argument(
            help="Wildcard of model names, such as 'vit-*'; by default all models. 'attention=' lists what attention= "
            "can name."
        ),
    ] = "",
    modality: Annotated[str | None, typer.Option(help="Only models of this modality, a column of the table.")] = None,
    as_json: Json = False,
) -> None:
    """List models with modality, kind, number of parameters and weights; or what `attention=` can name."""
    if wildcard == attention_listing.PREFIX:
        return _print_attentions(as_json)
    names = create.list_models(wildcard, modality=modality)
    specs = {name: create.info(name) for name in names}
    if as_json:
        _print_json([{"name": name, **_facts(spec)} for name, spec in specs.items()])
    elif names:
        _print_table(
            ("name", "modality", "kind", "parameters", "weights", "plugin"),
            [(n, s.modality, s.kind, _count(s.parameters), ", ".join(s.weights), s.plugin) for n, s in specs.items()],
        )
    else:
        near = did_you_mean(wildcard, create.list_models())
        inside = "" if "*" in wildcard else f" A wildcard is written like '*{wildcard}*'."
        typer.echo(f"No model matches '{wildcard}'.{near}{inside}", err=True)
        raise typer.Exit(1)


def info(
    name: Annotated[str, typer.Argument(help="Model, such as vit-small, or attention=NAME, such as attention=gla.")],
    as_json: Json = False,
) -> None:
    """Describe a model: size, task, configuration, weights, requirements; or what an attention can do."""
    if name.startswith(attention_listing.PREFIX):
        facts = attention_listing.facts(name.removeprefix(attention_listing.PREFIX))
        return _print_json(facts) if as_json else _print_facts(facts)
    spec = create.info(name)
    if as_json:
        return _print_json(spec.to_dict())
    shown = {
        "name": spec.full_name,
        "description": spec.description,
        "modality": spec.modality,
        "kind": spec.kind,
        "parameters": "" if spec.parameters is None else f"{spec.parameters:,}",
        "task": f"{spec.task} (also {', '.join(task for task in spec.tasks if task != spec.task) or 'none'})",
        "longest input": _longest(spec),
        "config": ", ".join(f"{key}={value}" for key, value in spec.config.items()),
        "weights": ", ".join(f"{tag} ({place})" for tag, place in spec.weights.items()),
        "needs": ", ".join(requirement.distribution for requirement in spec.requires),
        "claims": ", ".join(spec.claims),
        "source": spec.source,
        "code": spec.entry,
    }
    _print_facts(shown)


def plugins(as_json: Json = False) -> None:
    """List plugins with their status, and why one failed; with --debug the tracebacks."""
    infos = create.plugins()
    if as_json:
        return _print_json([asdict(each) for each in infos])
    _print_table(("plugin", "distribution", "version", "status", "models", "cause"), [_row(each) for each in infos])
    if os.environ.get("ZOO_DEBUG"):
        for each in infos:
            if each.traceback:
                typer.echo(f"\nPlugin '{each.name}':\n{each.traceback}")


def _print_attentions(as_json: bool) -> None:
    found = attention_listing.described()
    if as_json:
        return _print_json(found)
    _print_table(tuple(found[0]), [tuple(each.values()) for each in found])


def _print_facts(facts: dict[str, Any]) -> None:
    """Print what is not empty; an ability that is missing is said."""
    words = {True: "yes", False: "no"}
    rows = [(key.replace("_", " "), words[value] if isinstance(value, bool) else value) for key, value in facts.items()]
    _print_table(("field", "value"), [(key, value) for key, value in rows if value])


def _row(plugin: PluginInfo) -> tuple[str, ...]:
    return plugin.name, plugin.distribution, plugin.version, plugin.status, str(plugin.models), plugin.cause


def _facts(spec: ModelSpec) -> dict[str, Any]:
    return {key: value for key, value in spec.to_dict().items() if key != "name"}


def _longest(spec: ModelSpec) -> str:
    """Say what `max_len` means: it bounds what is read where positions are learned, and nothing elsewhere."""
    if "max_len" not in spec.config or "position" not in spec.config:
        return ""
    if spec.config["position"] == "learned":
        return f"{spec.config['max_len']} tokens: its positions are learned"
    return "any number of tokens: max_len bounds learned positions only"


def _count(parameters: int | None) -> str:
    if parameters is None:
        return ""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if parameters >= size:
            return f"{parameters / size:.1f} {unit}"
    return str(parameters)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


def _print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print columns, numbers to the right; a pipe gets one line for each row, a terminal folds what is too wide."""
    right = [title in ("parameters", "models") for title in header]
    if sys.stdout.isatty():
        return _print_rich(header, rows, right)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        typer.echo("  ".join(cells).rstrip())


def _print_rich(header: tuple[str, ...], rows: list[tuple[str, ...]], right: list[bool]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for at, title in enumerate(header):
        table.add_column(title, justify="right" if right[at] else "left", no_wrap=at == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
