"""`zoo plugins`: the list of plugins; `zoo plugins check`: what is wrong with one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli.models import listing
from zoo.names import counted
from zoo.plugin_check.finding import Finding

app = typer.Typer(invoke_without_command=True)


@app.callback()
def plugins(context: typer.Context, as_json: listing.Json = False) -> None:
    """List plugins with their status, and why one failed; with --debug the tracebacks. `check` finds faults."""
    if context.invoked_subcommand is None:
        listing.plugins(as_json)


@app.command()
def check(
    name: Annotated[
        str, typer.Argument(help="Plugin, distribution or module, such as zoo_mine.plugin; by default all installed.")
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Warnings end with exit code 1, too.")] = False,
    as_json: listing.Json = False,
) -> None:
    """Find what is wrong with a plugin and how to mend it; exit code 1 if there are errors."""
    from zoo.plugin_check.check import candidates, check_plugin

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a module of the author's that is not installed
    found = {}
    for candidate in candidates(name):
        if not as_json:
            typer.echo(f"{candidate} …", err=True)
        found[str(candidate) if candidate.name in found else candidate.name] = check_plugin(candidate)
    if as_json:
        typer.echo(json.dumps({plugin: [asdict(each) for each in each_found] for plugin, each_found in found.items()}))
    else:
        _tell(found)
    levels = {each.level for each_found in found.values() for each in each_found}
    if "error" in levels or (strict and levels):
        raise typer.Exit(1)


def _tell(found: dict[str, list[Finding]]) -> None:
    """Print each fault with what to do below it."""
    if not found:
        typer.echo("No plugins of others are installed; name a module, such as zoo plugins check zoo_mine.plugin")
    for plugin, findings in found.items():
        errors = sum(each.level == "error" for each in findings)
        told = f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}" if findings else "no faults"
        typer.echo(f"{plugin}: {told}")
        for each in findings:
            typer.echo(f"  {each.level}: {each.where}: {each.fault}\n      {each.mend}")
