"""Words with their phonemes: no stem of the test is trained on, and the nearest pronunciation counts."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ks_2samp

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.shared.text import espeak
from zoo.plugins.text.data.parallel_corpus import GeneratedPair
from zoo.plugins.text.data.seq2seq import phonemes
from zoo.plugins.text.data.seq2seq.phonemes import PronunciationCorpus
from zoo.plugins.text.data.synthetic.spelling import draw_words

said: list[str] = []


def spell(words: Sequence[str], language: str) -> Iterator[str]:
    """Stand for espeak-ng: the letters, the first stressed."""
    said.extend(words)
    return (" ".join("ˈ" + word) for word in words)


@pytest.fixture
def spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few words be spelled, and kept here."""
    said.clear()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(espeak, "pronounce", spell)
    monkeypatch.setattr(espeak, "version", lambda: "1.51")
    monkeypatch.setattr(phonemes, "SIZES", (60, 10, 20))


def opened(text: str = "phonemes", name: str = "transformer-tiny", seed: int = 0) -> PronunciationCorpus:
    corpus: Any = open_corpus(text, zoo.info(name), seed, "")
    return corpus


def scored(corpus: PronunciationCorpus, *texts: str) -> dict[str, float]:
    """Score texts that stand for what is written for the first words of the test."""
    pairs = corpus.parts["test"][: len(texts)]
    return corpus.metrics_of([GeneratedPair(*each, "") for each in zip(pairs, texts, strict=True)])


@pytest.mark.usefixtures("spelled")
def test_words_are_drawn_for_a_seed_and_pronounced_once() -> None:
    one, again, other = opened(), opened(), opened(seed=1)
    assert one.sizes == {"train": 60, "validation": 10, "test": 20}
    assert one.fingerprint == again.fingerprint != other.fingerprint
    assert len(said) == 2 * 90
    words = [pair.source for part in one.parts.values() for pair in part]
    assert len(set(words)) == 90
    assert all(pair.target == " ".join("ˈ" + pair.source) for pair in one.parts["train"])


@pytest.mark.usefixtures("spelled")
def test_parts_have_as_many_short_words(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sorted(draw_words(300, 0).items(), key=lambda pair: len(pair[1]))  # short ones were used up
    monkeypatch.setattr(phonemes, "SIZES", (180, 40, 80))
    monkeypatch.setattr(phonemes, "draw_words", lambda count, seed: dict(drawn))
    train, *held = ([len(pair.source) for pair in opened().parts[part]] for part in ("train", "validation", "test"))
    assert ks_2samp(train, held[0] + held[1]).statistic < 0.25  # else 1


@pytest.mark.usefixtures("spelled")
def test_a_language_is_pronounced_anew() -> None:
    assert opened("phonemes:?language=de").sizes == opened().sizes
    assert len(said) == 2 * 90


@pytest.mark.usefixtures("spelled")
def test_a_decoder_alone_reads_them_too() -> None:
    assert opened(name="decoder-tiny").sizes["train"] == 60


@pytest.mark.usefixtures("spelled")
def test_words_of_a_list_are_pronounced(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("\n".join([*map("word{}".format, "abcdefgh"), "worda"]))
    corpus = opened(f"phonemes:{tmp_path / 'words'}")
    assert sum(corpus.sizes.values()) == len(said) == 8


TABLE = "one\tW AH1 N\ntwo\tT UW1\nread\tR EH1 D\nread\tR IY1 D\nfour\tF AO1 R\nfive\tF AY1 V\n"


def test_a_table_needs_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / "train.tsv").write_text(TABLE)
    (tmp_path / "validation.tsv").write_text("six\tS IH1 K S\n")
    (tmp_path / "test.tsv").write_text("read\tR EH1 D\nread\tR IY1 D\nseven\tS EH1 V AH0 N\n")
    corpus = opened(f"phonemes:{tmp_path}")
    assert corpus.sizes == {"train": 6, "validation": 1, "test": 3}
    assert corpus.metric == "-phoneme error rate"
    scores = scored(corpus, "R IY1 D", "R IY0 D", "S EH1 V N")
    assert scores["-phoneme error rate"] == pytest.approx(-1 / 8)
    assert scores["-phoneme error rate without stress"] == pytest.approx(-1 / 8)
    assert scores["exact match"] == pytest.approx(1 / 2)
    scores = scored(corpus, "R IY0 D", "R IY0 D", "S EH1 V AH0 N")
    assert scores["-phoneme error rate"] == pytest.approx(-1 / 8)
    assert scores["-phoneme error rate without stress"] == 0


def test_all_pronunciations_of_a_word_are_in_one_part(tmp_path: Path) -> None:
    rows = [f"word{place}\t{sounds}\n" for place in range(40) for sounds in ("A B", "A C")]
    (tmp_path / "words.tsv").write_text("".join(rows))
    corpus = opened(f"phonemes:{tmp_path / 'words.tsv'}")
    parts = [{pair.source for pair in part} for part in corpus.parts.values()]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 40


def test_cmudict_is_read(tmp_path: Path) -> None:
    lines = [";;; a comment", "'bout  B AW1 T", "READ  R EH1 D", "READ(2)  R IY1 D # to read", "", "SIX  S IH1 K S"]
    (tmp_path / "cmu.dict").write_text("\n".join(lines))
    corpus = opened(f"phonemes:{tmp_path / 'cmu.dict'}")
    found = {(pair.source, pair.target) for part in corpus.parts.values() for pair in part}
    assert found == {("'bout", "B AW1 T"), ("read", "R EH1 D"), ("read", "R IY1 D"), ("six", "S IH1 K S")}


def test_where_nothing_has_a_space_each_character_is_a_phoneme(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("".join(f"{word}\tˈ{word}\n" for word in ("eins", "zwei", "drei", "vier")))
    corpus = opened(f"phonemes:{tmp_path / 'words.tsv'}")
    (pair,) = corpus.parts["test"]
    assert scored(corpus, pair.target[1:])["-phoneme error rate"] == pytest.approx(-1 / 5)
    assert scored(corpus, pair.target[1:])["-phoneme error rate without stress"] == 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("w.tsv", "one\t \n", r"w\.tsv:1: the phonemes are empty"),
        ("w.tsv", "\tW AH N\n", r"w\.tsv:1: the word is empty"),
        ("w.dict", "one W AH N\ntwo\n", r"w\.dict:2: 'two' has no phonemes"),
    ],
)
def test_a_row_that_lacks_something_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words):
        opened(f"phonemes:{tmp_path / name}")


def test_without_the_program_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DataError, match=r"espeak-ng, and it is not installed: apt-get install espeak-ng"):
        opened()
