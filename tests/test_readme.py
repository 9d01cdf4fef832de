"""What the README shows runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
FILES = {match[1]: block for block in BLOCKS if (match := re.match(r"# ((?:test_)?zoo_points\w*\.py)", block))}


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.slow
def test_the_plugin_of_the_readme_passes_the_conformance_kit(tmp_path: Path) -> None:
    assert list(FILES) == ["zoo_points.py", "zoo_points_net.py", "test_zoo_points.py"]
    for name, code in FILES.items():
        (tmp_path / name).write_text(code)
    # A user's pytest: no configuration, so an unregistered mark would warn, and here fail.
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error::pytest.PytestWarning", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_export" not in done.stdout
    assert re.search(r"\d+ passed", done.stdout), done.stdout


def test_the_plugin_of_the_readme_has_fifteen_lines() -> None:
    lines = [line for name in list(FILES)[:2] for line in FILES[name].splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 15


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))])
def test_every_function_that_is_shown_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in set(re.findall(r"\bzoo\.([a-z_.A-Z]+)\(", text)):
        assert resolve_name(f"zoo.{name}")


@pytest.mark.slow
def test_the_first_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    done = run("-c", BLOCKS[0], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^# (.*)$", BLOCKS[0], re.MULTILINE)


PRELUDE = """
import torch, zoo
q, k, v = (torch.randn(2, 300, 4, 16) for _ in range(3))
lengths, steps = torch.tensor([300, 200]), torch.randn(3, 2, 1, 64)
"""


@pytest.mark.slow
def test_the_engine_does_what_readme_and_its_page_show(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    blocks += [block for block in BLOCKS if "from zoo.core import Globals" in block]
    assert len(blocks) == 6
    done = run("-c", "\n".join([PRELUDE, *blocks]), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_study_of_ones_own_runs_as_its_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "data-size.md").read_text(encoding="utf-8")
    work, study, cluster = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_study.py").write_text(work)
    done = run("-c", study, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    results = re.findall(r"^((?:vit|resnet)-micro) ([01]) 0\.\d+$", done.stdout, re.MULTILINE)
    assert results == [(model, seed) for model in ("vit-micro", "resnet-micro") for seed in "01"], done.stdout
    pool = "import concurrent.futures, types\ndistributed = submitit = types.SimpleNamespace()\n"
    pool += "distributed.Client = lambda address: types.SimpleNamespace(get_executor=concurrent.futures.Executor)\n"
    pool += "submitit.AutoExecutor = lambda folder: concurrent.futures.Executor()\n"
    again = run("-c", pool + study + cluster, folder=tmp_path)  # nothing is left that an executor would run
    assert again.returncode == 0, again.stderr
    assert "4 of 4 runs are done already." in again.stdout


SPEECH = """
import numpy, soundfile, zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer
soundfile.write("seven.wav", 0.1 * numpy.random.default_rng(0).standard_normal(8_000), 16_000)
digits = zoo.create("speech-tiny", task="generate", by="ctc", depth=1)
voice = zoo.create("speech-synthesis-tiny", depth=1, max_steps=5)
for model, folder in ((digits, "runs/digits"), (voice, "runs/voice")):
    Tokenizer.byte_level().save(zoo.weights.save(model, folder) / "tokenizer.json")
"""


@pytest.mark.slow
def test_sounds_are_heard_and_made_as_their_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "speech.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    done = run("-c", "\n".join([SPEECH, *blocks, "print(len(samples), 'samples')"]), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    skipped, tokens, stream, spoken = done.stdout.splitlines()
    assert "lost.wav" in skipped
    assert tokens.count("(") == len("seven")
    assert "of real time" in stream
    assert spoken.endswith("samples")
