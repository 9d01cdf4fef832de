"""Files are whole or not there, on a full disk too."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.atomic_write import atomic_path, write_bytes, write_text


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_text_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "facts.json", "before")

    def crash(handle: int) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "fsync", crash)
    for name in ("facts.json", "new.json"):
        with pytest.raises(OSError, match="disk full"):
            write_text(tmp_path / name, "after")
    assert contents(tmp_path) == {"facts.json": "before"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()])
def test_a_writer_that_stops_leaves_the_file_as_it_was(tmp_path: Path, error: BaseException) -> None:
    write_bytes(tmp_path / "figure.png", b"before")

    def stop() -> None:
        with atomic_path(tmp_path / "figure.png") as scratch:
            scratch.write_bytes(b"ha")
            raise error

    with pytest.raises(type(error)):
        stop()
    assert contents(tmp_path) == {"figure.png": "before"}


def test_the_scratch_file_has_the_ending_that_libraries_read_the_format_from(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "said.wav") as scratch:
        assert (scratch.suffix, scratch.parent) == (".wav", tmp_path)
        scratch.write_text("sound")
    assert contents(tmp_path) == {"said.wav": "sound"}


def test_a_limit_on_the_size_of_files_leaves_the_file_before(tmp_path: Path) -> None:
    write_text(tmp_path / "table.csv", "before")
    code = (
        "import resource\nfrom pathlib import Path\nfrom zoo.atomic_write import write_text\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"try:\n    write_text(Path({str(tmp_path / 'table.csv')!r}), 'x' * 5000)\n"
        "except OSError as error:\n    print(error.strerror)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"
    assert contents(tmp_path) == {"table.csv": "before"}


def test_a_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    write_text(tmp_path / "ours", "")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_and_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
