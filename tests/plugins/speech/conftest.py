import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from zoo.cli import app

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Piped = Callable[[bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a tone to a file, and give its path."""

    def make(name: str, seconds: float = 0.2, rate: int = 16_000, channels: int = 1, **options: Any) -> Path:
        time = np.arange(round(seconds * rate)) / rate
        tone = 0.4 * np.sin(2 * np.pi * 440 * time)
        samples = np.stack([tone * (1 - channel / 2) for channel in range(channels)], axis=1)
        soundfile.write(tmp_path / name, samples, rate, **options)
        return tmp_path / name

    return make


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command as a shell does; give its exit code, what it printed, and its errors."""

    def command(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["zoo", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


@pytest.fixture
def stdin() -> Iterator[Piped]:
    """Pipe something in, and give what that is called."""
    kept = os.dup(0)

    def make(data: bytes) -> str:
        out, into = os.pipe()

        def write() -> None:
            with os.fdopen(into, "wb") as file:
                file.write(data)

        threading.Thread(target=write, daemon=True).start()
        os.dup2(out, 0)
        os.close(out)
        return "-"

    yield make
    os.dup2(kept, 0)
    os.close(kept)
