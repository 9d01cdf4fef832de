"""Keywords in errors as the options of a command."""

import click
import pytest

from zoo.cli.option_names import in_options

COMMAND = click.Command(
    "train",
    params=[
        click.Option(["--weights"]),
        click.Option(["--batch-size"]),
        click.Option(["--freeze"]),
        click.Option(["--cache/--no-cache"]),
        click.Option(["--overwrite"], is_flag=True),
        click.Argument(["model"]),
    ],
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("weights='a b': none", "--weights 'a b': none"),
        ("leave weights= out", "leave --weights out"),
        ("give weights=, or batch_size=8", "give --weights, or --batch-size 8"),
        ("freeze=['a']", "--freeze ['a']"),
        ("cache=True, cache=False", "--cache, --no-cache"),
        ("`overwrite=True` or overwrite=False", "`--overwrite` or overwrite=False"),
        ("--set freeze=a of decoder.freeze=a at data?freeze=1&cache=2", None),
        ("zoo.train('a', weights='b') and model=3, truncate=True", None),
        ("weights_of='a'", None),
    ],
)
def test_keywords_are_options(text: str, wanted: str | None) -> None:
    assert in_options(text, COMMAND) == (wanted or text)


def test_the_running_command_is_meant() -> None:
    assert in_options("weights=3") == "weights=3"
    with click.Context(COMMAND):
        assert in_options("weights=3") == "--weights 3"
