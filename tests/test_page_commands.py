"""Each shell command of README.md and docs/ runs, with few steps, or stands in a list with the reason why not."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from glob import glob
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from zoo.cli.app import build

ROOT = Path(__file__).parents[1]
PROGRAM = (
    "(?:zoo|uv|python3?|pip|curl|bash|sh|ray|arecord|espeak-ng|ffmpeg|git|docker|make|mkdocs|pytest|sbatch|srun|torchrun|"
    "conda|npm|wget|hf|apt-get)"
)
COMMAND = rf"^(?:\$ |uv run )?((?:[A-Z_]+=\S+ )*{PROGRAM} \S.*?)(?:  +.*)?$"
MENTION = rf"(?<![\w/.-]){PROGRAM} \S"
SHELL = {"", "bash", "sh", "console", "shell"}
"""Languages of the blocks in which commands stand."""
OTHER = {"python", "mermaid"}
"""Languages of all other blocks."""
ELSEWHERE = {
    "docs/new-modality.md": "tests/test_plugin_pages.py",
    "docs/ten-commands.md": "tests/zoo/weights/test_sharing.py",
}
"""Pages whose commands another test runs."""


class NotRun(NamedTuple):
    """Commands that no test runs as they stand.

    Args:
        patterns: of the commands.
        reason: why they are not run here.
        tests: what tests the same instead; empty where nothing can.
    """

    patterns: tuple[str, ...]
    reason: str
    tests: str


NOT_RUN = (
    NotRun(("pip install *",), "installs packages: .ci/run does, into a fresh environment", ".ci/run"),
    NotRun(("ZOO_RANDOM_CASES=* uv run pytest *",), "runs tests for an hour", "tests/core/engine/test_laws.py"),
    NotRun(("zoo serve *", "curl *"), "serves until it is stopped", "tests/zoo/serve/test_routes.py"),
    NotRun(("ray start *", "* --executor ray *"), "needs a cluster", "tests/zoo/bench/grid/test_ray_executor.py"),
    NotRun(("* --shard *",), "is a task of Slurm", "tests/zoo/bench/learning_curve/test_execution.py"),
    NotRun(("bash .ci/gpu", "pytest -m gpu", "* --device cuda"), "needs a GPU", "tests/zoo/bench/gpu/test_engine.py"),
    NotRun(("zoo push *", "* hf-hub:org/name*"), "asks the Hugging Face Hub", "tests/zoo/weights/test_sharing.py"),
    NotRun(("* --pretrained *",), "downloads weights", "tests/zoo/cli/test_train.py"),
    NotRun(("zoo predict bert-base *",), "downloads weights", "tests/zoo/cli/answering/test_predict.py"),
    NotRun(("* wav2vec2-base.960h *",), "downloads weights", "tests/plugins/speech/cli/test_transcribe.py"),
    NotRun(
        ("*hf:imdb*", "*hf:opus_books*", "*hf:imagenet-1k*"),
        "downloads data",
        "tests/zoo/data/tables/sources/test_hub.py",
    ),
)
FEW = "--steps 1 --seeds 1 --workers 0"
SHORT = {
    "zoo train *": "--steps 2 --validations 1 --batch-size 4",
    "zoo train vit-small *": "--set depth=1 --set dim=48 --set num_heads=3 --set mlp_dim=96",
    "zoo train speech-synthesis-tiny *": "--set max_steps=8",
    "zoo evaluate *": "--samples 20",
    "zoo attention runs/captions picture.png *": "--max-len 4",
    "zoo * --example *": "--example 1",
    "zoo bench attention*": f"--rates 0.003 --lengths 64 {FEW}",
    "zoo bench attention": "--tasks mqar:16 --mechanisms full",
    "zoo bench attention --quick": "--tasks mqar:16 --mechanisms full",
    "zoo bench captions*": FEW,
    "zoo bench data-size*": f"--sizes 40 --no-sweep {FEW}",
    "zoo bench fine-tuning*": f"--examples 2 --pretraining-steps 2 {FEW}",
    "zoo bench length*": f"--distances 8 --lengths 64 {FEW}",
    "zoo bench parallel-decoding*": FEW,
}
"""What stands behind a command of a pattern to make it short: of two values of an option the last holds."""
SMALL: dict[str, Any] = {
    "zoo.bench.attention.training.BATCH": 4,
    "zoo.bench.attention.training.HELD_OUT": 8,
    "zoo.bench.length.costs.LAYER_LENGTHS": (16, 32),
    "zoo.bench.length.costs.MOST": 0.0,
    "zoo.bench.length.costs.LAYER_DIMS": (8, 16),
    "zoo.bench.length.report.LAYER_DIMS": (8, 16),
    "zoo.bench.length.report.LAYER_LENGTHS": (16, 32),
    "zoo.bench.length.recall.BATCH": 4,
    "zoo.bench.length.recall.HELD_OUT": 8,
    "zoo.plugins.caption.data.open_captions.SIZES": {"train": 40, "validation": 8, "test": 8, "unseen": 8},
    "zoo.plugins.caption.studies.study.BATCH": 4,
    "zoo.plugins.caption.studies.training.SHOWN": 1,
    "zoo.plugins.graph.descriptions.open_descriptions.SIZES": (60, 8, 8),
    "zoo.plugins.speech.data.synthetic.spoken_digits.SIZES": {"words": (100, 8, 8), "strings": (100, 8, 8)},
    "zoo.plugins.speech.data.synthetic.spoken_numbers.SIZES": (30, 8, 8),
    "zoo.plugins.text.data.seq2seq.dialogue.SIZES": (100, 2, 4),
    "zoo.plugins.text.data.seq2seq.phonemes.SIZES": (100, 8, 8),
    "zoo.plugins.text.data.seq2seq.questions.SIZES": (100, 8, 8),
    "zoo.plugins.text.data.synthetic.tasks.NUMBERS": (400, 8, 8),
    "zoo.plugins.text.data.synthetic.tasks.SIZES": (300, 8, 8),
    "zoo.plugins.text.studies.study.BATCH": 4,
    "zoo.plugins.vision.corpora.image_corpus.UNLIMITED": 100,
    "zoo.plugins.vision.data.drawn.cards_dataset._BLOCK": 50,
}
"""Constants by name with a small value: parts of what is drawn, and batches of studies."""
DRAWN = ("zoo.plugins.vision.data.drawn.cards.Cards", "zoo.plugins.vision.data.drawn.contours.Contours")
"""Sources of drawn pictures, of which 20 are held out."""
INSTEAD = {"zoo export vit-small": "zoo export runs/small --out vit-small-onnx"}
"""What a command is replaced by: the same with a small model, where no option makes it small."""
RUNS = {
    "runs/small": "vit-micro --data digits",
    "runs/numbers": "transformer-tiny --data numbers:en",
    "runs/words": "decoder-tiny --data lines:books.txt",
    "runs/tags": "bert-tiny --data tags",
    "runs/parse": "transformer-tiny --data parse",
    "runs/pairs": "bert-micro --data topics",
    "runs/pictures": "vit-micro --data digits",
    "runs/dialogue": "transformer-tiny --data dialogue",
    "PATH": "speech-tiny --data spoken-digits:strings --set by=ctc",
}
"""Trainings of what a page takes for granted; a page that trains the same folder itself does not get it."""
TYPED = {"zoo chat *": "my cat is black\nwhere is my cat\n", "zoo predict runs/tags *": "the walks match the test\n"}
"""What stands on standard input of a command of a pattern."""
PIPED = {"espeak-ng": "742.wav", "arecord": "742.wav", "ffmpeg": "742.raw"}
"""What a program that is not here, or hears, would write to its standard output."""


def write_pictures() -> None:
    """Write pictures: single ones, a folder for each class, a table and an array."""
    import datasets
    import numpy as np
    from PIL import Image
    from sklearn.datasets import load_digits

    draw = np.random.default_rng(0)
    folders = [f"pictures/{label}/{number}.png" for label in ("left", "right") for number in range(20)]
    for name in ("cat.png", "dog.png", "photo.jpg", "picture.png", *folders):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 255, (32, 32, 3), np.uint8)).save(name)
    pictures = [str(Path(name).absolute()) for name in folders]
    table = datasets.Dataset.from_dict({"image": pictures, "species": ["cat", "dog"] * 20})
    datasets.disable_progress_bars()
    table.cast_column("image", datasets.Image()).to_parquet("pets/0.parquet")
    digits = load_digits()
    np.savez("own.npz", x=(digits.images * 15).astype(np.uint8), y=digits.target)


def write_sounds() -> None:
    """Write sounds: single ones, raw ones, and those of a table and of a manifest."""
    import numpy as np
    import soundfile

    draw = np.random.default_rng(0)
    for name in ("a.wav", "b.flac", "seven.wav", "742.wav"):
        soundfile.write(name, 0.1 * draw.standard_normal(16_000), 16_000)
    Path("742.raw").write_bytes((1000 * draw.standard_normal((48_000, 2))).astype("<i2").tobytes())
    clips = [(f"speaker-{number % 9}", f"{number}.wav", f"one {'two' * (number % 2)}") for number in range(40)]
    rows = [("client_id", "path", "sentence"), *clips]
    Path("clips.tsv").write_text("".join("\t".join(each) + "\n" for each in rows), encoding="utf-8")
    Path("DIR").mkdir()
    for _, path, _ in clips:
        shutil.copy("a.wav", path)
        shutil.copy("a.wav", f"DIR/{path}")
    manifest = [{"audio": path, "text": text, "speaker": speaker} for speaker, path, text in clips]
    Path("DIR/manifest.jsonl").write_text("".join(json.dumps(each) + "\n" for each in manifest), encoding="utf-8")


def write_texts() -> None:
    """Write texts: lines, a table with labels, pairs, tagged words; and a table of molecules."""
    words = [(number, word) for number in range(20) for word in ("cat", "dog", "soup")]
    texts = [f"the {word} of {number} is here" for number, word in words]
    labels = [("good" if number % 2 else "bad", "north" if word == "cat" else "south") for number, word in words]
    rows = [f"{text},{label},{shop}" for text, (label, shop) in zip(texts, labels, strict=True)]
    marked = ["".join(f"{word} X{len(word)}\n" for word in text.split()) for text in texts]
    files = {
        "texts.txt": texts,
        "books.txt": [f"{text}. it was" for text in texts],
        "reviews.csv": ["text,label,shop", *rows],
        "pairs.tsv": [f"{text}\tit is {label}" for text, (label, _) in zip(texts, labels, strict=True)],
        "tags.conll": marked,
        "molecules.csv": ["smiles,logp", *(f"{'C' * number}1{'C' * number}N1,{number}.5" for number in range(1, 21))],
    }
    for name, lines in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def fences(page: str) -> list[tuple[str, str]]:
    """Give language and code of what a page shows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^([ \t]*)```([^\s`]*)[^\n`]*\n(.*?)^\1```[ \t]*$", text, re.DOTALL | re.MULTILINE)
    return [(language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)) for indent, language, code in found]


def lines(page: str) -> list[str]:
    """Give the lines of the blocks in which commands stand, long ones joined."""
    shell = "\n".join(code for language, code in fences(page) if language in SHELL)
    return re.sub(r"\\\n *", "", shell).splitlines()


def commands(page: str) -> list[str]:
    """Give the shell commands of a page."""
    return [match[1] for line in lines(page) if (match := re.match(COMMAND, line))]


PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
ALL = {page: found for page in PAGES if (found := commands(page))}


def is_run(command: str) -> bool:
    """Say whether a command is run here."""
    return not any(fnmatchcase(command, pattern) for each in NOT_RUN for pattern in each.patterns)


TO_RUN = {page: [each for each in found if is_run(each)] for page, found in ALL.items() if page not in ELSEWHERE}
EVERY = [command for page, found in ALL.items() if page not in ELSEWHERE for command in found]


def idle(patterns: Iterable[str], among: Iterable[str]) -> list[str]:
    """Give the patterns that no command has."""
    return [pattern for pattern in patterns if not any(fnmatchcase(command, pattern) for command in among)]


@pytest.mark.parametrize("page", PAGES)
def test_each_block_of_a_page_is_read_and_its_language_is_known(page: str) -> None:
    marks = re.findall(r"^[ \t>]*(?:```|~~~)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(marks) == 2 * len(fences(page))
    assert {language for language, _ in fences(page)} <= SHELL | OTHER


def test_commands_are_read_in_blocks_of_each_language_of_shells_and_in_lists(tmp_path: Path) -> None:
    blocks = [f"```{language}\nzoo list {language}x\n```\n" for language in sorted(SHELL | OTHER)]
    (tmp_path / "page.md").write_text(
        "".join(blocks) + "- a list\n\n  ```bash title=here\n  $ zoo train \\\n    net  # why\n  ```\n",
        encoding="utf-8",
    )
    wanted = [f"zoo list {language}x" for language in sorted(SHELL)]
    assert commands(str(tmp_path / "page.md")) == [*wanted, "zoo train net"]


@pytest.mark.parametrize("page", PAGES)
def test_no_line_of_a_page_names_a_program_and_is_not_read_as_a_command(page: str) -> None:
    assert [line for line in lines(page) if re.search(MENTION, line) and not re.match(COMMAND, line)] == []


def test_what_is_not_run_stands_on_a_page_and_is_tested_elsewhere() -> None:
    assert idle([pattern for each in NOT_RUN for pattern in each.patterns], EVERY) == []
    assert all(each.reason and (ROOT / each.tests).is_file() for each in NOT_RUN)
    assert all(page in ALL and Path(page).name in (ROOT / test).read_text() for page, test in ELSEWHERE.items())


def test_what_makes_commands_short_is_for_a_command_that_is_run() -> None:
    run = [command for found in TO_RUN.values() for command in found]
    for kind in (SHORT, INSTEAD, TYPED, [f"{program} *" for program in PIPED]):
        assert idle(kind, run) == []
    given = {name for page in TO_RUN for name, _ in needed(page)}
    assert given == set(RUNS)


def needed(page: str) -> Iterator[tuple[str, str]]:
    """Give folder and training of what a page takes for granted."""
    every = [INSTEAD.get(command, command) for command in TO_RUN[page]]
    words = {word.removeprefix("local-dir:") for command in every for word in command.split()}
    for folder, given in RUNS.items():
        if folder in words and not any(f"--out {folder}" in command for command in TO_RUN[page]):
            yield folder, f"zoo train {given} --out {folder}"


def shortened(command: str) -> str:
    """Make a command short."""
    return " ".join(
        [INSTEAD.get(command, command), *(behind for pattern, behind in SHORT.items() if fnmatchcase(command, pattern))]
    )


@contextmanager
def standard_input(content: bytes, path: Path) -> Iterator[None]:
    """Let standard input be a file."""
    path.write_bytes(content)
    before, given = os.dup(0), os.open(path, os.O_RDONLY)
    os.dup2(given, 0)
    sys.stdin, usual = os.fdopen(0, closefd=False), sys.stdin
    try:
        yield
    finally:
        sys.stdin = usual
        os.dup2(before, 0)
        os.close(before)
        os.close(given)


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few examples be drawn."""
    for name, value in SMALL.items():
        module, _, constant = name.rpartition(".")
        monkeypatch.setattr(import_module(module), constant, value)
    for drawn in DRAWN:
        module, _, source = drawn.rpartition(".")
        make = getattr(import_module(module), source).__init__
        monkeypatch.setitem(unwrap(make).__kwdefaults__, "held_out", (20, 20))
    forget()


def forget() -> None:
    """Forget what was drawn, since it is kept by its seed, whatever its size."""
    for name in (*SMALL, *DRAWN):
        for value in vars(import_module(name.rpartition(".")[0])).values():
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files of which pages speak, once."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for write in (write_pictures, write_sounds, write_texts):
            write()
    (folder / "docs").mkdir()
    return folder


@pytest.fixture
def run(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Run a command in this process, in a folder of files of which pages speak; give its error, mostly none."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_CACHE", str(files / "cache"))
    make_small(monkeypatch)
    app = build()

    def once(command: str) -> str:
        *before, last = command.split(" | ")
        typed = next((TYPED[each] for each in TYPED if fnmatchcase(command, each)), "").encode()
        for each in before:
            program, *words = shlex.split(each)
            speaks = program == "espeak-ng" and shutil.which(program)
            typed = subprocess.check_output([program, *words]) if speaks else Path(PIPED[program]).read_bytes()
        program, *words = shlex.split(last.removeprefix("uv run "))
        words = [path for word in words for path in (sorted(glob(word)) if word.startswith("*.") else [word])]
        monkeypatch.setattr(sys, "argv", words if program == "python" else [program, *words])
        try:
            with standard_input(typed, tmp_path / "typed"):
                if program == "python":
                    runpy.run_path(words[0], run_name="__main__")
                    return ""
                code = app(words, standalone_mode=False)
        except (Exception, SystemExit) as error:
            return "" if isinstance(error, SystemExit) and not error.code else f"{type(error).__name__}: {error}"
        return f"code {code}" if code else ""

    yield once
    monkeypatch.undo()
    forget()


def run_all(every: Iterable[str], run: Callable[[str], str]) -> tuple[list[tuple[str, str]], str]:
    """Run commands one after another; give those that fail, with their errors, and the processor time of each."""
    wrong, seconds = [], []
    for command in every:
        begun = time.process_time()
        if error := run(shortened(command)):
            wrong.append((command, error))
        seconds.append(f"{time.process_time() - begun:6.1f} s  {command}\n")
    return wrong, "".join(seconds)


def test_a_command_that_fails_once_is_told_though_it_succeeds_later() -> None:
    results = iter(["no folder", "", ""])
    wrong, seconds = run_all(["zoo list", "zoo new", "zoo list"], lambda command: next(results))
    assert wrong == [("zoo list", "no folder")]
    assert len(seconds.splitlines()) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("unchecked_shapes", "one_thread")
@pytest.mark.parametrize("page", [page for page, found in TO_RUN.items() if found])
def test_the_commands_of_a_page_run(page: str, run: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run them one after another in one folder; `-rP` shows the processor time of each."""
    if shutil.which("espeak-ng") is None and re.search("spoken|one-voice|phonemes", " ".join(TO_RUN[page])):
        pytest.skip("espeak-ng is not installed, which speaks the data of this page")
    for language, code in fences(page):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", code)):
            Path(name[1]).write_text(code, encoding="utf-8")
    wrong, seconds = run_all([*(each for _, each in needed(page)), *TO_RUN[page]], run)
    capsys.readouterr()
    print(seconds)
    assert not wrong, json.dumps(wrong, indent=2)
