"""The lock of a run folder: who holds it is told, a killed process holds none, and nothing of it is left."""

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from zoo.errors import ConfigError, DataError, FolderInUseError
from zoo.locking import HOLDER, LOCK, MARKER, locked, read_holder

HOLD = """
import sys, time
from pathlib import Path
from zoo.locking import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the lock until its input ends."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process


def write_holder(folder: Path, host: str) -> None:
    holder = {"pid": 17, "host": host, "since": "2026-01-02T03:04:05+00:00"}
    (folder / HOLDER).write_text(json.dumps(holder), encoding="utf-8")


def test_a_second_process_is_told_who_works_there_since_when_and_what_to_do(tmp_path: Path) -> None:
    with holding(tmp_path / "run") as process, pytest.raises(FolderInUseError) as told, locked(tmp_path / "run"):
        pass
    holder = f"process {process.pid} on host {socket.gethostname()!r}, since 2"
    assert holder in str(told.value)
    assert f"stop it (kill {process.pid}), or give another out" in str(told.value)
    assert isinstance(told.value, ConfigError)


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        process.kill()
        process.wait()
        left = read_holder(tmp_path)
        assert left is not None
        assert left.pid == process.pid
        with locked(tmp_path):
            now = read_holder(tmp_path)
            assert now is not None
            assert now.pid == os.getpid()


def test_nothing_is_left_of_a_lock_that_was_released(tmp_path: Path) -> None:
    with locked(tmp_path / "made" / "deep" / "run"):
        (tmp_path / "made" / "other").touch()
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["other"]
    with locked(tmp_path / "new" / "run"):
        pass
    assert not (tmp_path / "new").exists()


def test_a_folder_that_was_there_or_that_was_written_to_stays(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    with locked(tmp_path / "run"):
        (tmp_path / "run" / "result").touch()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["result"]


def test_the_holder_cannot_take_its_lock_twice(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(FolderInUseError, match=f"process {os.getpid()} "), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_lock_left_by_another_host_is_taken_over_with_a_warning(tmp_path: Path) -> None:
    write_holder(tmp_path, "elsewhere")
    told = "process 17 on host 'elsewhere', since 2026-01-02.* stop one of the two"
    with pytest.warns(UserWarning, match=told), locked(tmp_path):
        now = read_holder(tmp_path)
    assert now is not None
    assert now.host == socket.gethostname()


def test_an_unreadable_holder_is_another_process(tmp_path: Path) -> None:
    with locked(tmp_path):
        (tmp_path / HOLDER).write_text("{", encoding="utf-8")
        with pytest.raises(FolderInUseError, match="in use by another process: wait until it ends"), locked(tmp_path):
            pass


def test_a_folder_that_cannot_be_written_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    told = r"out='.*file/run' cannot be written: .*give another out"
    with pytest.raises(DataError, match=told), locked(tmp_path / "file" / "run"):
        pass

    def read_only(*args: object, **options: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(DataError, match=r"cannot be written: .*Read-only"), locked(tmp_path):
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
@pytest.mark.filterwarnings("ignore:flock not supported")
def test_without_locks_of_the_file_system_a_marker_is_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()
        with pytest.raises(FolderInUseError, match=f"process {os.getpid()} "), locked(tmp_path):
            pass
    assert not list(tmp_path.iterdir())
    marker = tmp_path / (LOCK if code == errno.ENOSYS else MARKER)  # for ENOSYS, filelock turns one into the other
    marker.write_text("17\nelsewhere\n", encoding="utf-8")
    write_holder(tmp_path, "elsewhere")
    told = r"process 17 on host 'elsewhere'.* if it has ended .* remove the files .*\.lock\*"
    with pytest.raises(FolderInUseError, match=told), locked(tmp_path):
        pass
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    marker.write_text(f"{dead.pid}\n{socket.gethostname()}\n", encoding="utf-8")
    write_holder(tmp_path, socket.gethostname())
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_the_module_imports_no_lock_library_before_it_locks() -> None:
    code = "import sys, zoo.locking; sys.exit('filelock' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
