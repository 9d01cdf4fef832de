"""The command `zoo`: puts the commands together, and shows the zoo's own errors as messages."""

import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from zoo.cli import bench, evaluate, train
from zoo.cli.answering import chat, generate, predict, serve
from zoo.cli.authoring import new, plugins
from zoo.cli.looking import attention, explore
from zoo.cli.models import export, listing, plan, push
from zoo.cli.option_names import in_options
from zoo.cli.starting import tell_if_slow
from zoo.errors import ConfigError, ZooError
from zoo.factory.keyword_aliases import alias_of
from zoo.registry.lookup import registry
from zoo.version import __version__


class Command(TyperCommand):
    """Command that suggests its own option for one of another library."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        own = {str(parameter.name) for parameter in self.params}
        options = args[: args.index("--")] if "--" in args else args
        for option in (each.partition("=")[0] for each in options if each.startswith("--")):
            word = option.removeprefix("--").replace("-", "_")
            if word not in own and (name := alias_of(word, own)):
                raise ConfigError(f"there is no {option}: it is --{name.replace('_', '-')} here")
        return super().parse_args(ctx, args)


def main() -> None:
    """Run the command line; a `ZooError` ends it with its message and exit code 2."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1 or os.environ.get("ZOO_DEBUG", "") not in ("", "0")
    if debug:
        os.environ["ZOO_DEBUG"] = "1"
    warnings.showwarning = _show_warning
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")  # torch_geometric uses it when it is imported
    tell_if_slow()
    try:
        app = build()
        keep_chosen(app, arguments)
        app(arguments)
    except ZooError as error:
        if debug:
            raise
        typer.echo(f"zoo: {in_options(str(error), _command(app, arguments))}", err=True)
        raise SystemExit(2) from None


def build() -> typer.Typer:
    """Make the application from the zoo's commands and those of plugins."""
    app = typer.Typer(
        name="zoo",
        help="A model zoo of many modalities on one attention engine.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    app.command("list")(listing.list_)
    app.command("info")(listing.info)
    app.command("plan")(plan.plan)
    app.command("train", cls=Command)(train.train)
    app.command("generate", cls=Command)(generate.generate)
    app.command("chat", cls=Command)(chat.chat)
    app.command("predict")(predict.predict)
    app.command("evaluate", cls=Command)(evaluate.evaluate)
    app.command("attention")(attention.attention)
    app.command("explore")(explore.explore)
    app.command("export")(export.export)
    app.command("serve")(serve.serve)
    app.command("push")(push.push)
    app.add_typer(bench.app, name="bench")
    app.add_typer(plugins.app, name="plugins")
    app.add_typer(new.app, name="new")
    registry().call("zoo_commands", app=app)
    return app


def keep_chosen(app: typer.Typer, arguments: list[str]) -> None:
    """Leave out the other commands where the first argument names one: typer reads the signatures of all it has."""
    commands = [command for command in app.registered_commands if command.name in arguments[:1]]
    groups = [group for group in app.registered_groups if group.name in arguments[:1]]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups


def _command(app: typer.Typer, arguments: list[str]) -> Any:
    """Find the command that arguments name."""
    command: Any = typer.main.get_command(app)
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def _version(wanted: bool | None) -> None:
    if wanted:
        typer.echo(f"zoo {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool | None, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors; may stand anywhere.")] = False,
) -> None:
    pass


def _show_warning(message: Any, *where: Any, **more: Any) -> None:
    typer.echo(f"warning: {in_options(str(message))}", err=True)
