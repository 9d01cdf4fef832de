from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plugin_is_written_and_what_comes_next_is_told(run: Run) -> None:
    code, out, _ = run("new", "plugin", "gait", "--with", "source,weights")
    assert code == 0
    assert "zoo_gait/plugin.py" in out
    assert "cd zoo-gait" in out
    assert Path("zoo-gait/zoo_gait/weights.py").is_file()
    code, out, _ = run("new", "model", "gait-linear", "--plugin", "zoo-gait")
    assert (code, len(out.splitlines())) == (0, 3)
    assert run("new", "attention", "gait-sharp", "--plugin", "zoo-gait")[0] == 0
    assert '"gait-sharp"' in Path("zoo-gait/zoo_gait/plugin.py").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plugin", "3d"), "'3d'"),
        (("plugin", "vision"), "'vision' is taken"),
        (("plugin", "gait", "--with", "sorce"), "'source'"),
        (("plugin", "gait", "--out", "."), "already"),
        (("model", "gait-large"), "no pyproject.toml"),
    ],
)
def test_a_word_that_does_not_fit_ends_with_code_2_and_what_to_do(words: tuple[str, ...], told: str, run: Run) -> None:
    code, _, err = run("new", *words)
    assert code == 2
    assert told in err
    assert "Traceback" not in err
