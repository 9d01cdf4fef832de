import os
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.errors import WeightsError
from zoo.training.resume import checkpoint
from zoo.training.resume.checkpoint import Snapshot, read, write


def snapshot(step: int) -> Snapshot:
    tensors = {"model": {"w": torch.full((2,), float(step))}, "optimizer": {"0.0.step": torch.tensor(float(step))}}
    return Snapshot(step, tensors, {"history": [[step, 0.1]], "seed": step})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "state") is None
    write(tmp_path / "state", snapshot(7))
    found = read(tmp_path / "state")
    assert found is not None
    assert (found.step, found.facts) == (7, {"history": [[7, 0.1]], "seed": 7})
    assert torch.equal(found.tensors["model"]["w"], torch.tensor([7.0, 7.0]))
    assert found.tensors["optimizer"]["0.0.step"] == 7


def test_the_newest_is_read_and_old_ones_are_removed(tmp_path: Path) -> None:
    for step in (5, 10, 100_000_000, 20):
        write(tmp_path, snapshot(step), keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000020", "step-100000000"]
    found = read(tmp_path)
    assert found is not None
    assert found.step == 100_000_000


@pytest.mark.parametrize("breaks", ["save_file", "write_text", "sync"])
def test_a_crash_at_any_file_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    write(tmp_path, snapshot(1))

    def crash(*args: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, breaks, crash)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, snapshot(2))
    found = read(tmp_path)
    assert found is not None
    assert found.step == (2 if breaks == "sync" and (tmp_path / "step-00000002").exists() else 1)
    write(tmp_path, snapshot(3))
    assert not list(tmp_path.glob(".writing-*"))


def test_a_pair_of_files_is_never_of_two_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crash behind each replacement of a file, in turn: what is read is always whole."""
    write(tmp_path, snapshot(1))
    replace = os.replace
    for crash_at in (1, 2):
        count = 0

        def counted(old: Any, new: Any, crash_at: int = crash_at) -> None:
            nonlocal count
            replace(old, new)
            count += 1
            if count == crash_at:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", counted)
            with pytest.raises(KeyboardInterrupt):
                write(tmp_path, snapshot(1 + crash_at))
        found = read(tmp_path)
        assert found is not None
        assert float(found.tensors["model"]["w"][0]) == float(found.tensors["optimizer"]["0.0.step"]) == found.step


def test_a_file_that_was_cut_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, snapshot(1))
    path = write(tmp_path, snapshot(2)) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    found = read(tmp_path)
    assert found is not None
    assert found.step == 1
    (tmp_path / "step-00000001" / "state.json").write_text("{")
    with pytest.raises(WeightsError, match="cannot be read, and no older checkpoint can: start with --overwrite"):
        read(tmp_path)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    path = write(tmp_path, snapshot(1))
    assert {file.suffix for file in path.iterdir()} == {".safetensors", ".json"}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(WeightsError, match=r"Cannot write the checkpoint '.*state"):
        write(tmp_path / "state", snapshot(1))
