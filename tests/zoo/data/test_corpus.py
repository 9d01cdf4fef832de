from pathlib import Path
from typing import Any

import pytest

from zoo import ConfigError, DataError, ModelSpec, Registry, SourceSpec, hookimpl
from zoo.data.corpus import find_source, open_corpus
from zoo.factory import create
from zoo.registry.lookup import using


def model(task: Any = "classify", modality: str = "letters") -> ModelSpec:
    return ModelSpec(name="toy", entry="a:b", example="a:b", modality=modality, task=task)


def source(name: str, takes: str = "FILE", modality: str = "letters", **reading: Any) -> SourceSpec:
    return SourceSpec(name=name, modality=modality, takes=takes, corpus="zoo.training.nowhere:open", **reading)


@pytest.fixture(autouse=True)
def _sources() -> Any:
    class Letters:
        @hookimpl
        def zoo_sources(self) -> list[SourceSpec]:
            tables = (".tsv", ".csv", ".jsonl")
            return [
                source("parallel", reads=tables, folder=True, pair=True, tasks=("generate",)),
                source("labelled", reads=tables, tasks=("classify", "masked-token")),
                source("tagged", reads=(".conll",)),
                source("lines", reads=(".txt",)),
                source("recordings", "PATH", "speech", reads=(".jsonl",), folder=True),
                source("spell", "[MIN-MAX]"),
                source("noise", ""),
                source("folder", "PATH", "vision", folder=True),
                source("described", "FILE", "vision", reads=(".tsv",), tasks=("generate",)),
                source("csv", "FILE", "", reads=(".tsv", ".csv")),
                source("npz", "PATH", "vision", reads=(".npz",)),
            ]

    with using(Registry(plugins=[Letters()], autoload=False)):
        yield


@pytest.mark.parametrize(
    ("file", "task", "expected"),
    [
        ("pairs.tsv", "generate", "parallel"),
        ("pairs.JSONL", "generate", "parallel"),
        ("texts.csv", "classify", "labelled"),
        ("texts.jsonl", "masked-token", "labelled"),
        ("words.conll", "tag", "tagged"),
        ("book.txt", "generate", "lines"),
    ],
)
def test_the_kind_of_a_file_is_guessed_by_its_ending_and_the_task(
    tmp_path: Path, file: str, task: str, expected: str
) -> None:
    (tmp_path / file).write_text("")
    found, argument = find_source(str(tmp_path / file), model(task))
    assert (found.name, argument) == (expected, str(tmp_path / file))


@pytest.mark.parametrize(("task", "expected"), [("generate", "described"), ("classify", "csv")])
def test_a_source_of_the_modality_that_has_another_task_is_no_guess(tmp_path: Path, task: str, expected: str) -> None:
    (tmp_path / "a.tsv").write_text("")
    assert find_source(str(tmp_path / "a.tsv"), model(task, "vision"))[0].name == expected


@pytest.mark.parametrize("place", ["", "/manifest.jsonl"])
def test_sounds_are_recordings_in_a_folder_or_a_manifest(tmp_path: Path, place: str) -> None:
    (tmp_path / "manifest.jsonl").write_text("")
    path = f"{tmp_path}{place}"
    for task in ("classify", "generate"):
        for text in (path, f"folder:{path}", f"recordings:{path}"):
            found, argument = find_source(text, model(task, "speech"))
            assert (found.name, argument) == ("recordings", path)
    (tmp_path / "a.wav").write_text("")
    with pytest.raises(DataError, match=r"its kind cannot be guessed.*, as SOURCE:.*one of csv, recordings"):
        find_source(str(tmp_path / "a.wav"), model("classify", "speech"))


def test_two_files_are_parallel_text(tmp_path: Path) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("")
    both = f"{tmp_path / 'a.en'},{tmp_path / 'a.de'}"
    assert find_source(both, model("generate"))[0].name == "parallel"
    with pytest.raises(DataError, match=r"there is no file or folder '.*a.fr'"):
        find_source(f"{tmp_path / 'a.en'},{tmp_path / 'a.fr'}", model("generate"))


def test_a_folder_holds_pictures_or_parts_of_a_text(tmp_path: Path) -> None:
    assert find_source(str(tmp_path), model(modality="vision"))[0].name == "folder"
    assert find_source(str(tmp_path), model("generate"))[0].name == "parallel"


def test_a_folder_source_is_that_of_the_models_modality(tmp_path: Path) -> None:
    assert find_source(f"folder:{tmp_path}", model("generate"))[0].name == "parallel"
    assert find_source(f"folder:{tmp_path}", model(modality="vision"))[0].name == "folder"


def test_a_file_that_only_another_modality_reads_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("")
    with pytest.raises(ConfigError, match="are of modality 'vision', and 'toy' reads 'letters'"):
        open_corpus(str(tmp_path / "a.npz"), model())


def test_a_file_that_two_sources_read_wants_its_source_in_front(tmp_path: Path) -> None:
    class Others:
        @hookimpl
        def zoo_sources(self) -> list[SourceSpec]:
            return [source("columns", reads=(".conll", ".tab")), source("tagged", reads=(".conll",))]

    (tmp_path / "a.conll").write_text("")
    (tmp_path / "a.tab").write_text("")
    with using(Registry(plugins=[Others()], autoload=False)):
        assert find_source(str(tmp_path / "a.tab"), model("tag"))[0].name == "columns"
        with pytest.raises(DataError, match=r"cannot be guessed; .* where SOURCE is one of columns, tagged"):
            find_source(str(tmp_path / "a.conll"), model("tag"))


def test_a_packed_file_is_found_by_both_its_endings(tmp_path: Path) -> None:
    with using(Registry()):
        for name, reader, found in (
            ("a.txt.gz", "decoder-tiny", "lines"),
            ("a.jsonl.zst", "bert-tiny", "labelled"),
            ("a.csv.gz", "bert-tiny", "labelled"),
            ("a.csv.gz", "graph-tiny", "csv"),
        ):
            (tmp_path / name).write_text("")
            assert find_source(str(tmp_path / name), create.info(reader))[0].name == found


def test_columns_may_be_named_behind_a_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("")
    text = f"{tmp_path / 'pairs.tsv'}?source=en&target=de"
    assert find_source(text, model("generate"))[1] == text


def test_a_source_that_is_named_is_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noise").mkdir()
    assert find_source("noise", model())[0].name == "noise"
    assert find_source(f"lines:{tmp_path}/a.tsv", model("generate"))[0].name == "lines"
    assert [find_source(text, model())[1] for text in ("spell", "spell:2-5")] == ["", "2-5"]


def test_what_cannot_be_guessed_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_text("")
    with pytest.raises(DataError, match=r"as SOURCE:.*data.bin, where SOURCE is one of csv, labelled, lines, parallel"):
        find_source(str(tmp_path / "data.bin"), model())
    with pytest.raises(DataError, match=r"data '\./gone\.tsv': there is no file or folder"):
        find_source("./gone.tsv", model())
    with pytest.raises(DataError, match=r"Unknown source \(spel\).* Did you mean 'spell'"):
        find_source("spel", model())


def test_an_argument_is_given_where_one_is_taken() -> None:
    with pytest.raises(DataError, match="write 'lines:FILE'"):
        find_source("lines", model())
    with pytest.raises(DataError, match="write 'noise', it takes no argument after a colon"):
        find_source("noise:3", model())


def test_data_of_another_modality_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"'noise' are of modality 'letters', and 'toy' reads 'vision': .* are csv, described, folder"
    ):
        open_corpus("noise", model(modality="vision"))


def test_pictures_have_no_vocabulary() -> None:
    with using(Registry()), pytest.raises(ConfigError, match="tokenizer='byte' with data 'digits', which hold no text"):
        open_corpus("digits", create.info("vit-micro"), tokenizer="byte")


def test_a_source_of_studies_needs_an_adapter_of_its_modality() -> None:
    class Dots:
        @hookimpl
        def zoo_sources(self) -> list[SourceSpec]:
            return [SourceSpec(name="dots", modality="dots", entry="a:b")]

    with (
        using(Registry(plugins=[Dots()], autoload=False)),
        pytest.raises(ConfigError, match=r"'dots' of modality 'dots' has no `corpus`, and no source .* an `adapter`"),
    ):
        open_corpus("dots", model(modality="dots"))
    with using(Registry(plugins=[Dots()])), pytest.raises(ConfigError, match="'dots' of modality 'dots' has no"):
        open_corpus("dots", model(modality="dots"))


def test_a_source_names_what_opens_it() -> None:
    class Dots:
        @hookimpl
        def zoo_sources(self) -> list[SourceSpec]:
            return [SourceSpec(name="dots", modality="vision")]

    with (
        using(Registry(plugins=[Dots()])),
        pytest.raises(ConfigError, match="'dots' has neither `corpus` nor `entry`"),
    ):
        open_corpus("dots", model(modality="vision"))
