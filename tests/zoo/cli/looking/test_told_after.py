"""Word of what takes long."""

from threading import Event

import pytest

from zoo.cli.looking.told_after import told_after


def test_what_takes_long_is_told_of_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Event()
    lines: list[tuple[str, bool]] = []

    def echo(text: str, err: bool) -> None:
        lines.append((text, err))
        told.set()

    monkeypatch.setattr("zoo.cli.looking.told_after.typer.echo", echo)
    monkeypatch.setattr("zoo.cli.looking.told_after.PATIENCE", 0.0)
    with told_after("running the model"):
        assert told.wait(60)
    monkeypatch.setattr("zoo.cli.looking.told_after.PATIENCE", 600.0)
    with told_after("running it again"):
        pass
    assert lines == [("running the model", True)]
