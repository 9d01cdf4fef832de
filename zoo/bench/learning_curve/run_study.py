"""A study from its configuration to its records: planned, learning rates chosen, and run where it is not done."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import shards_in
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.decide import check_target
from zoo.bench.learning_curve.execution import RunOptions, check_pilots, complete, gathered
from zoo.bench.learning_curve.plan import open_data, plan
from zoo.bench.learning_curve.progress import NoProgress
from zoo.bench.learning_curve.results.entries import with_costs
from zoo.bench.learning_curve.results.short_names import short_name, short_names, with_short_names
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.run import Run
from zoo.bench.learning_curve.training.tuning import Budget, Tuning, chosen, described, kept, pilot_budget, pilot_runs
from zoo.bench.study.execution import folder_of, results_in
from zoo.data.corpus_options import with_options
from zoo.locking import locked
from zoo.names import counted

_MODEL = ("model", "data", "optimizer")
_IDENTITY = ("fingerprint", "learning_rate", "class_ratio", "label_noise", "weights")


def run_study(config: StudyConfig, folder: Path, options: RunOptions, progress: NoProgress) -> Study:
    """Plan, and run what is not done yet; where shards have begun, give what they have done.

    Raises:
        FolderInUseError: If another process works in the folder.
    """
    with locked(folder_of(folder, options.shard)):
        return _run_study(config, folder, options, progress)


def _run_study(config: StudyConfig, folder: Path, options: RunOptions, progress: NoProgress) -> Study:
    store = results_in(folder, options.shard)
    if options.cache:
        for corpus in {id(each): each for each in open_data(config).values()}.values():
            with_options(corpus, cache=True)
    study, runs = plan(config, folder, store.records.values())
    if options.target is not None:
        check_target(study.data, options.target)
    for line in filter(None, (store.message, *study.data.notes)):
        progress.say(line)
    study, runs = _tuned(study, runs, store, options, progress)
    if options.sweep_only:
        return study
    if others := _trained_otherwise(runs, store):
        progress.say(
            f"{counted(others, 'run')} in {folder} of these models {'is' if others == 1 else 'are'} not used: the "
            "data, their class ratio or label noise, the learning rates or the weights were others. --no-sweep takes "
            "the recipe's rate"
        )
    if options.shard is None and shards_in(folder):
        records = gathered(runs, store, progress)
    else:
        records = complete(runs, store, options, progress)
    models = [with_costs(entry, records) for entry in study.models]
    return with_short_names(replace(study, records=records, models=models))


def _tuned(
    study: Study, runs: Sequence[Run], store: Store, options: RunOptions, progress: NoProgress
) -> tuple[Study, list[Run]]:
    """Give the models the learning rates that the package keeps for them, and choose those of the others."""
    firsts = {run.model: run for run in runs}
    free = all(entry.recipe.tuned for entry in study.models)
    own = pilot_budget(study.steps, study.seeds)
    known = {model: kept(run, own.steps) for model, run in firsts.items()} if free and not options.lr_sweep else {}
    found: dict[str, Tuning] = {model: tuning for model, tuning in known.items() if tuning}
    if found:
        progress.say(described(_shown(found)))
    others = [run for model, run in firsts.items() if model not in found]
    if others and (free if options.lr_sweep is None else options.lr_sweep):
        found |= _swept(others, pilot_budget(study.steps, study.seeds, found.values()), store, options, progress)
    models = [entry.tuned(found.get(entry.name)) for entry in study.models]
    rates = {entry.name: entry.learning_rate for entry in models}
    return replace(study, models=models), [replace(run, learning_rate=rates[run.model]) for run in runs]


def _shown(found: Mapping[str, Tuning]) -> dict[str, Tuning]:
    names = short_names(found)
    return {names[model]: tuning for model, tuning in found.items()}


def _trained_otherwise(runs: Iterable[Run], store: Store) -> int:
    """Count the finished runs that a user may believe to go on with: of the same models, with others of these."""

    def told(run: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
        return tuple(map(run.get, names))

    wanted = {told(run, _MODEL): told(run, _IDENTITY) for run in (each.to_dict() for each in runs)}
    finished = [record["config"] for record in store.records.values() if "error" not in record]
    given = [(told(run, _MODEL), told(run, _IDENTITY)) for run in finished if not run.get("pilot")]
    return sum(wanted.get(model, identity) != identity for model, identity in given)


def _swept(
    runs: Sequence[Run], budget: Budget, store: Store, options: RunOptions, progress: NoProgress
) -> dict[str, Tuning]:
    """Choose the learning rate of each model by pilot runs."""
    pilots = pilot_runs(runs, budget)
    check_pilots(pilots, store, options)
    whole = replace(options, shard=None, retry_failed=options.retry_failed and not options.shard)
    progress.say(
        f"Learning rates are chosen first, on validation: {len(pilots)} runs at {budget.size:,} examples, as many "
        "rates for each model; --no-sweep leaves that out."
    )
    found = chosen(complete(pilots, store, whole, progress))
    if found:
        progress.say(described(_shown(found)))
    for model in {run.model: run for run in runs if run.model not in found}:
        progress.say(f"Every pilot run of {short_name(model)} failed: it takes the recipe's learning rate.")
    return found
