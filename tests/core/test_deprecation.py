import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from zoo.core import Layout, Lengths, Tokens, deprecated


@deprecated(since="0.2", until="0.4", instead="`new(x)`")
def old(x: int) -> int:
    """Give x."""
    return x


class Holder:
    @property
    @deprecated(since="0.2", until="0.4", instead="`value`")
    def number(self) -> int:
        """Give the number."""
        return 1


@deprecated(since="0.2", until="0.4", instead="`Holder`")
class Old:
    """Hold x."""

    def __init__(self, x: int) -> None:
        self.x = x


def test_what_is_deprecated_works_and_says_since_when_until_when_and_what_instead() -> None:
    with pytest.warns(DeprecationWarning, match=r"^old is deprecated since 0\.2 and goes in 0\.4: write `new\(x\)`$"):
        assert old(3) == 3
    with pytest.warns(DeprecationWarning, match=r"Holder\.number .* write `value`"):
        assert Holder().number == 1
    with pytest.warns(DeprecationWarning, match="Old is deprecated"):
        assert Old(2).x == 2


SCRIPT = """
from zoo.core.deprecation import deprecated
mark = deprecated(since="0.2", until="0.4", instead="new")
old, Old = mark(lambda: 1), mark(type("Old", (), {}))
old()
Old()
"""


def test_the_warning_names_the_callers_line(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(SCRIPT)
    # a process of its own: checks of types at run time, as in these tests, stand between
    done = subprocess.run([sys.executable, "-W", "always", tmp_path / "caller.py"], capture_output=True, text=True)
    assert [line.split(":")[1] for line in done.stderr.splitlines() if "caller.py:" in line] == ["5", "6"], done.stderr


def test_signature_and_help_stay_and_the_help_tells() -> None:
    assert list(inspect.signature(old).parameters) == ["x"]
    assert old.__doc__ == "Give x.\n\nDeprecated since 0.2, until 0.4: write `new(x)`."
    assert "Deprecated since 0.2" in (Old.__doc__ or "")


def test_the_names_of_the_move_still_work_and_warn() -> None:
    tokens = Tokens(torch.zeros(2, 3, 1), keys=Lengths(torch.tensor([3, 1])))
    with pytest.warns(DeprecationWarning, match=r"write `valid\(\)`"):
        assert torch.equal(tokens.there(), tokens.valid())  # type: ignore[arg-type]
    layout = Layout("a", {"b": "a"})
    with pytest.warns(DeprecationWarning, match=r"write `peer\(state\)`"):
        assert layout.theirs({"b": torch.ones(1)}).keys() == {"a"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokens.valid()
