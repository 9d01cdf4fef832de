"""`zoo bench STUDY`: the studies that plugins name; a study's code is imported when it is run."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from zoo.registry.entry_loading import load
from zoo.registry.lookup import registry
from zoo.spec import StudySpec


class _Study(TyperCommand):
    """Stand for a study until its options are read."""

    def __init__(self, spec: StudySpec, name: str) -> None:
        super().__init__(name, help=spec.description, short_help=spec.description)
        self.spec = spec

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Import the study and let its own command read the options."""
        from zoo.bench.study.command import command_of
        from zoo.bench.study.definition import GridStudy

        study = load(self.spec)
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(self.name)(command_of(study) if isinstance(study, GridStudy) else study)
        return typer.main.get_command(app).make_context(*args, **options)


class Studies(TyperGroup):
    """Offer the studies of the registry besides the commands added here."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the studies by name."""
        return [*super().list_commands(ctx), *registry().studies.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a study without importing it."""
        spec = registry().studies.get(cmd_name)
        return _Study(spec, cmd_name) if spec else super().get_command(ctx, cmd_name)


app = typer.Typer(cls=Studies, no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Run a study or benchmark: compare models by accuracy, speed or published results."""
