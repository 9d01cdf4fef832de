"""`zoo bench attention`: which efficient attention, for what?"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any

import typer

from zoo.bench.attention import training
from zoo.bench.attention.facts import DIM
from zoo.bench.attention.mechanisms import DEFAULT, check
from zoo.bench.attention.own_data import content_of, is_own, task_of
from zoo.bench.attention.report import report
from zoo.bench.attention.text_file import TextFile
from zoo.bench.speed.stored import here
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.options import names_in, numbers_in
from zoo.data.sequences.named import task_named
from zoo.errors import ConfigError

TASKS = "mqar:4,32,32 induction:32 neighbours:32"
QUICK_TASKS = "mqar:4,32,32 neighbours:32"
RATES, QUICK_RATES = "3e-3,1e-2", "1e-2"
LENGTHS, QUICK_LENGTHS = "256,1024,4096", "256,1024"
PARTS = {"score": training.train, "cost": training.cost, "untrained": training.untrained}


def execute(config: dict[str, Any]) -> dict[str, Any]:
    """Do a run of any part: the work of the grid."""
    return PARTS[config["part"]](config)


def measures_time(config: Mapping[str, Any]) -> bool:
    """Tell whether a run measures time."""
    return config["part"] != "score"


def runs(
    tasks: Annotated[
        str,
        typer.Option(help=f"Tasks, with spaces between: '{TASKS}', with --quick '{QUICK_TASKS}'.", show_default=False),
    ] = "",
    data: Annotated[
        str,
        typer.Option(
            help="Your own data in place of the tasks: text:FILE asks for the next character of a long text,"
            " labelled:FILE, or what else zoo train opens, for the class of a text; with the length behind a comma:"
            " text:notes.txt,512 (256 if not given)."
        ),
    ] = "",
    mechanisms: Annotated[
        str, typer.Option(help=f"Attentions or models, with spaces between: '{' '.join(DEFAULT)}'.", show_default=False)
    ] = "",
    rates: Annotated[
        str, typer.Option(help=f"Learning rates of AdamW: {RATES}, with --quick {QUICK_RATES}.", show_default=False)
    ] = "",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each rate: 3, with --quick 1.", show_default=False)
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Optimizer steps at most: 225, with --quick 180.", show_default=False)
    ] = None,
    self_pretrain: Annotated[
        bool,
        typer.Option(
            "--self-pretrain",
            help="Train each model a second time, after it has told masked or next tokens of the same sequences for"
            " as many steps, and show both (arXiv:2310.02980).",
        ),
    ] = False,
    heads: Annotated[int, typer.Option(min=1, help="Heads of an attention; 64 channels are cut among them.")] = 1,
    lengths: Annotated[
        str,
        typer.Option(
            help=f"Lengths at which untrained models are measured: {LENGTHS}, with --quick {QUICK_LENGTHS}.",
            show_default=False,
        ),
    ] = "",
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study.")] = False,
) -> Iterator[dict[str, Any]]:
    """Which efficient attention, for what?

    Ten mechanisms of about the same number of parameters on tasks whose sequences are drawn anew in each step:
    accuracy at equal steps and at equal seconds, beside what a shortcut reaches, what a step costs, what untrained
    models cost over length, and what each mechanism cannot do.
    """
    asked = tasks.split() + [data] * bool(data) or (QUICK_TASKS if fast else TASKS).split()
    compared = mechanisms.split() or DEFAULT
    if data and not is_own(data):
        raise ConfigError(f"--data {data}: give text:FILE or labelled:FILE; tasks by their name go to --tasks")
    for task in asked:
        if task != data:
            task_named(task)
    for mechanism in compared:
        check(mechanism)
    if DIM % heads:
        raise ConfigError(f"--heads {heads}: {DIM} channels are no multiple of it; give 1, 2, 4, 8, 16, 32 or 64")
    tried = rates_in(rates or (QUICK_RATES if fast else RATES))
    long = numbers_in(lengths or (QUICK_LENGTHS if fast else LENGTHS), "--lengths")
    known = {"steps": steps or (180 if fast else 225), "heads": heads}
    if self_pretrain and data and isinstance(task_of(data), TextFile):
        raise ConfigError(
            f"--self-pretrain: {data} already asks for each next token; give it with labelled:FILE or tasks"
        )
    content = {"content": content_of(data)} if data else {}
    for task, mechanism in product(asked, compared):
        own = content if task == data else {}
        for seed, rate in product(range(seeds or (1 if fast else 3)), tried):
            same = {"mechanism": mechanism, "task": task, "seed": seed, **own}
            score = {"part": "score", **same, "learning_rate": rate, **known}
            yield score
            if self_pretrain:
                yield score | {"self_pretrain": True}
        yield {"part": "cost", "mechanism": mechanism, "task": task, "heads": heads, **own, **here()}
    for mechanism, length in product(compared, long):
        yield {"part": "untrained", "mechanism": mechanism, "length": length, "heads": heads, **here()}


def rates_in(text: str) -> list[float]:
    """Read learning rates with commas between.

    Raises:
        ConfigError: If a part is no number above 0.
    """
    try:
        found = [float(part) for part in names_in(text)]
    except ValueError as error:
        raise ConfigError(f"--rates {text}: write numbers with commas between, such as {RATES}") from error
    if not found or not all(0 < rate < float("inf") for rate in found):
        raise ConfigError(f"--rates {text}: a rate is a number above 0, such as {RATES}")
    return found


STUDY = GridStudy(
    name="attention",
    work="zoo.bench.attention.study:execute",
    configs=runs,
    report=report,
    alone=measures_time,
)
