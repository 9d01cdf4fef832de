"""`SkipLog`: examples that could not be read, told by whichever process met them, in a file that all share."""

import json
import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from zoo.data import Skipped


class SkipLog:
    """Collect what the processes of a training skip; a copy in a worker writes into the same file.

    The file is removed with the first of them, in the process that made it.
    """

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="zoo-skipped-", suffix=".jsonl")
        os.close(handle)
        self.path, self._told = Path(name), set[str]()
        weakref.finalize(self, _remove, self.path, os.getpid())

    def add(self, example: Skipped) -> None:
        """Tell of an example, once in each process."""
        if example.name in self._told:
            return
        self._told.add(example.name)
        with suppress(FileNotFoundError):  # a worker may outlive the log
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, f"{json.dumps([example.name, example.why])}\n".encode())
            finally:
                os.close(descriptor)

    def found(self) -> list[Skipped]:
        """Give the examples, each once, by name."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        found = {name: Skipped(name, why) for name, why in map(json.loads, lines)}
        return [found[name] for name in sorted(found)]


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        path.unlink(missing_ok=True)
