import ast
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from zoo import ModelSpec, Requirement
from zoo.plugin_check.distribution import check_distribution, distribution_of
from zoo.plugin_check.finding import Finding

Found = Callable[..., list[Finding]]


@pytest.fixture
def found(install: Callable[..., None], tmp_path: Path) -> Found:
    """Check a distribution with this code and these lines of metadata."""

    def check(
        code: str = "", metadata: str = "Requires-Dist: attention-zoo\n", install_text: str = ""
    ) -> list[Finding]:
        install("zoo-mine", "mine", code)
        path = tmp_path / "zoo_mine-1.0.dist-info" / "METADATA"
        path.write_text(path.read_text() + metadata)
        need = Requirement(module="timm", distribution="timm", install=install_text)
        spec = ModelSpec(name="m", modality="x", entry="a:b", example="a:b", requires=(need,) if install_text else ())
        return list(check_distribution(distribution("zoo-mine"), "zoo_mine_module", [spec]))

    return check


def test_a_distribution_that_says_what_it_needs_has_no_fault(found: Found) -> None:
    code = "import json, torch\nimport numpy\ndef f():\n    import zoo.core, timm\n"
    assert found(code, install_text="attention-zoo[vision]") == []


def test_a_library_that_nothing_names_is_told_with_its_file(found: Found) -> None:
    (finding,) = found("def f():\n    import sklearn.svm\n")
    assert (finding.level, finding.where) == ("warning", "zoo_mine_module.py")
    assert "imports sklearn" in finding.fault
    assert "scikit-learn" in finding.mend
    assert "Requirement" in finding.mend


def test_a_library_in_an_extra_is_named(found: Found) -> None:
    metadata = "Requires-Dist: attention-zoo\nProvides-Extra: trees\nRequires-Dist: scikit-learn>=1; extra == 'trees'\n"
    assert found("import sklearn", metadata) == []


def test_a_distribution_that_does_not_need_the_zoo_is_told(found: Found) -> None:
    (finding,) = found(metadata="")
    assert "does not depend on attention-zoo" in finding.fault


def test_an_extra_that_is_not_there_is_told(found: Found) -> None:
    metadata = "Requires-Dist: attention-zoo\nProvides-Extra: trees\n"
    (finding,) = found(metadata=metadata, install_text="zoo-mine[tres]")
    assert "has no extra [tres]. Did you mean 'trees'" in finding.fault


def test_an_extra_of_a_distribution_that_is_not_installed_is_told(found: Found) -> None:
    (finding,) = found(install_text="zoo-mien[trees]")
    assert (finding.level, finding.where) == ("warning", "m")
    assert "tells users to install 'zoo-mien[trees]', and zoo-mien is not installed" in finding.fault
    assert finding.mend == "correct its name"


def test_a_module_that_no_distribution_has_has_none() -> None:
    assert distribution_of("", "zoo_mine_module") is None
    assert distribution_of("not-there", "x") is None


def test_a_file_that_is_no_python_is_told_and_ends_nothing(found: Found) -> None:
    (finding,) = found("def f(:\n")
    assert (finding.level, finding.where) == ("error", "zoo_mine_module.py")
    assert "is no Python" in finding.fault


def test_each_file_is_read_once(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse: Any = ast.parse

    def counted(text: str) -> Any:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(ast, "parse", counted)
    assert found("import json\n") == []
    assert parsed == ["import json\n"]
