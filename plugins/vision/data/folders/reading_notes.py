"""`ReadingNotes`: which pictures of a folder cannot be read or are constant, told across processes by a file."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zoo.plugins.vision.read_image import constant_note, listed


class ReadingNotes:
    """Collect what was found while pictures were read, by this process and by others that write to the same file.

    Args:
        file: lines of JSON; it need not exist, and need not be writable.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.own: dict[str, str] = {}

    def unreadable(self, name: str, why: str) -> None:
        """Note that a picture cannot be read, and why."""
        self._add(name, why)

    def constant(self, name: str) -> None:
        """Note that all pixels of a picture are equal."""
        self._add(name, "")

    def texts(self, total: int) -> tuple[str, ...]:
        """Count and name the pictures that were found so far, of so many files."""
        found = dict(sorted((dict(self._lines()) | self.own).items()))
        broken, constant = [name for name in found if found[name]], [name for name in found if not found[name]]
        what = "image" if len(broken) == 1 else "images"
        texts = [f"{len(broken)} unreadable {what} skipped so far: {listed(broken)}"] if broken else []
        return tuple(texts + ([constant_note(constant, total, "files")] if constant else []))

    def _add(self, name: str, why: str) -> None:
        if name in self.own:
            return
        self.own[name] = why
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(descriptor, (json.dumps([name, why]) + "\n").encode())
            finally:
                os.close(descriptor)

    def _lines(self) -> Iterator[tuple[str, str]]:
        with suppress(OSError):
            for line in self.file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # half a line, of a full disk
                    name, why = json.loads(line)
                    yield name, why
