"""`GridStudy`: a study as a grid of independent runs, defined once for the command line and for Python."""

import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.bench.grid.engine import Grid, Record, SupportsSubmit
from zoo.bench.grid.shard import shards_in
from zoo.bench.study.execution import Execution, complete, folder_of, gathered, results_in
from zoo.bench.study.options import words_of
from zoo.bench.study.progress import NoProgress, Progress
from zoo.bench.study.report import Report, table_of_runs, write_report
from zoo.errors import ConfigError
from zoo.locking import locked
from zoo.names import counted, did_you_mean


def _never(config: Mapping[str, Any]) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class GridStudy:
    """A study that `zoo bench NAME` runs, where a plugin names it as the entry of a `StudySpec`.

    The command has the study's own options and those of every study: `--out`, `--workers`, `--retry-failed`,
    `--executor`, `--address` and `--shard`. A finished run is stored at once, and the same command goes on from there.

    Args:
        name: of the study; its results are in `runs/NAME` where the user names no folder.
        work: `package.module:function` from the configuration of a run to its result, JSON values both.
        configs: from the study's own options, keywords with defaults and typer's annotations, to the configurations.
            Its docstring, without its arguments, is the help of the command. All that decides a result belongs in the
            configuration, by which a stored result is known again.
        report: makes the report of the records of finished runs, which are not all where some failed or are not done;
            by default a table of all.
        alone: tells of a configuration whether its run measures time, so that no other may run beside it. Such runs
            come last, one after another in one process on the machine of the command, and are in no shard.
        unit: what a run is called: `training`.
    """

    name: str
    work: str
    configs: Callable[..., Iterable[Mapping[str, Any]]]
    report: Callable[[Sequence[Record]], Report] = table_of_runs
    alone: Callable[[Mapping[str, Any]], bool] = _never
    unit: str = "run"

    @property
    def folder(self) -> Path:
        """Where the results are if the user names no folder."""
        return Path("runs") / self.name

    @property
    def title(self) -> str:
        """The first line of the help."""
        return self.help.partition("\n")[0]

    @property
    def help(self) -> str:
        """The docstring of `configs`, without its sections."""
        text = inspect.getdoc(self.configs) or f"Run the study {self.name}."
        for section in ("Args:", "Returns:", "Yields:", "Raises:"):
            text = text.partition(f"\n{section}\n")[0]
        return text.strip()

    def run(
        self,
        out: str | Path | None = None,
        *,
        workers: int | None = None,
        executor: SupportsSubmit | None = None,
        retry_failed: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> list[Record]:
        """Run what is not done yet, write the report, and give the records of all runs, as `zoo bench` does.

        Args:
            out: folder of the results and the report; `runs/NAME` by default.
            workers: processes, by default one for each core; 0 for none.
            executor: that runs the configurations instead, see `run_grid`.
            retry_failed: do runs again that failed for a cause of their own.
            progress: whether to show progress.
            options: of the study, keywords of `configs`.

        Raises:
            ConfigError: If there is no such option, or a value does not fit.
            FolderInUseError: If another process works in the folder.
            DataError: If the folder cannot be used.
        """
        how = Execution(workers=workers, executor=executor, retry_failed=retry_failed)
        shown = Progress(unit=self.unit) if progress else NoProgress()
        folder = Path(out) if out is not None else self.folder
        records = self.execute(self.configurations(options), folder, how, shown)
        write_report(self.found(records), records, folder, self.title, self.command_with(options, folder))
        return records

    def configurations(self, options: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Give the configurations for the study's own options.

        Raises:
            ConfigError: If there is no such option, or a value does not fit, or nothing is to be run.
        """
        known = inspect.signature(self.configs).parameters
        for option in options.keys() - known.keys():
            raise ConfigError(
                f"{option}={options[option]!r}: {self.name} has no such option.{did_you_mean(option, known)}"
            )
        if not (configs := [dict(config) for config in self.configs(**options)]):
            given = ", ".join(f"{key}={value!r}" for key, value in options.items())
            raise ConfigError(f"the study {self.name} has no runs with {given or 'its defaults'}")
        return configs

    def execute(
        self, configs: Sequence[Mapping[str, Any]], folder: Path, how: Execution, progress: NoProgress
    ) -> list[Record]:
        """Run what is not done yet, and give the records; where shards have begun, those that they have made.

        Raises:
            FolderInUseError: If another process works in the folder.
        """
        beside = [config for config in configs if not self.alone(config)]
        alone = [config for config in configs if self.alone(config)]
        with locked(folder_of(folder, how.shard)):
            store = results_in(folder, how.shard)
            if store.message:
                progress.say(store.message)
            options: dict[str, Any] = {"retry_failed": how.retry_failed}
            grid = Grid(self.work, beside, store, shard=how.shard, **options)
            if how.shard is None and shards_in(folder):
                found = gathered(grid, progress)
            else:
                found = complete(grid, how, progress) if beside else []
            if not alone or how.shard:
                return found
            timed = Grid(self.work, alone, store, **options)
            if grid.unfinished_shards():
                progress.say(f"{counted(len(timed.todo), 'run')} that measure time wait until all shards are done")
                return [*found, *timed.records]
            one = replace(how, ray=False, executor=None, workers=1 if how.workers is None else min(how.workers, 1))
            found = [*found, *complete(timed, one, progress)]
        return found

    def found(self, records: Sequence[Record]) -> Report:
        """Make the report of the finished runs.

        Raises:
            ConfigError: If there is none.
        """
        finished = [record for record in records if "error" not in record]
        if not finished:
            failed = f": {records[0]['error']}" if records else ""
            raise ConfigError(f"no {self.unit} of {self.name} is finished, so there is no report{failed}")
        return self.report(finished)

    def command_with(self, options: Mapping[str, Any], folder: Path) -> str:
        """Write the command that repeats the study."""
        words = ["zoo", "bench", self.name, *words_of(self.configs, options)]
        return shlex.join([*words, "--out", str(folder)] if folder != self.folder else words)
