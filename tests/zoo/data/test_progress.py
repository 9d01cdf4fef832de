"""What takes long is shown, and nothing is lost or read ahead."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from zoo.data import progress
from zoo.data.progress import shown


@pytest.mark.parametrize("patience", [0.0, 100.0])
@pytest.mark.parametrize("terminal", [True, False])
def test_every_item_comes_once_and_in_order(patience: float, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", patience)
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal)
    assert list(shown(iter(range(5)), 5, "counting", console)) == [0, 1, 2, 3, 4]
    assert ("counting" in out.getvalue()) is (patience == 0)


def test_items_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            yield number

    source = shown(numbers(), 5, "counting", Console(file=io.StringIO()))
    next(source), next(source)
    assert made == [0, 1]


def test_nothing_is_nothing() -> None:
    assert list(shown([], 0, "counting")) == []


def test_items_of_unequal_size_fill_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    assert list(shown([1, 4, 5], 10, "counting", console, size=float)) == [1, 4, 5]
    assert "100%" in out.getvalue()
