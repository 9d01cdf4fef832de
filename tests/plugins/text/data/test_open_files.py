import gzip
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import models
from torch import Tensor, nn

from zoo.data import fingerprint
from zoo.data.corpus import Corpus
from zoo.errors import ConfigError, DataError
from zoo.factory.create import info
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data import open_files
from zoo.plugins.text.data.labelled_corpus import TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import LinesCorpus, MaskedCorpus, choose
from zoo.plugins.text.data.open_files import open_labelled, open_lines, open_parallel, open_tagged
from zoo.plugins.text.data.parallel_corpus import ParallelCorpus
from zoo.plugins.text.data.text_stream import TextStream
from zoo.plugins.text.io.entries import encoder, prompt, source
from zoo.spec import ModelSpec, Reads, Task

PAIRS = [(f"{number} apples", f"{number} {'Äpfel ' * (number % 7 + 1)}") for number in range(60)]
Write = Callable[[str, str], str]


def spec(form: Reads, task: Task = "generate", **config: Any) -> ModelSpec:
    return ModelSpec(
        name=f"made-{form}",
        entry="m:a",
        modality="text",
        example="m:e",
        task=task,
        config=config,
        preprocess=f"zoo.plugins.text.io.entries:{form}",
        reads=form,
    )


SOURCE, PROMPT, ENCODER = spec("source"), spec("prompt"), spec("encoder", "classify")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return str(tmp_path / name)

    return make


@pytest.fixture
def pairs(write: Write) -> str:
    return write("pairs.tsv", "".join(f"{one}\t{other}\n" for one, other in PAIRS))


def everything(corpus: Any) -> Tensor:
    return torch.arange(corpus.sizes["train"])


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Mute(nn.Module):
    """Find every token equally likely, and write what it was told."""

    max_len: int | None = None

    def __init__(self, vocab_size: int, told: Callable[[Tensor, Tensor], list[list[int]]] | None = None) -> None:
        super().__init__()
        self.vocab_size, self.told = vocab_size, told
        self.asked: list[int] = []

    def forward(self, ids: Tensor, valid: Tensor, *written: Tensor) -> Tensor:
        assert not self.training
        return torch.zeros(*(written[-1] if written else ids).shape, self.vocab_size)

    def generate(self, ids: Tensor, valid: Tensor, max_len: int) -> "Mute":
        assert not torch.is_grad_enabled()
        assert self.told
        self.asked.append(max_len)
        self.written = self.told(ids, valid)
        return self

    def best(self) -> list[list[int]]:
        return self.written


def knowing(corpus: ParallelCorpus, wrong: str = "") -> Mute:
    """Make a model that knows all targets, but of one source."""
    known = {}
    for split, each in corpus.parts.items():
        for place, pair in enumerate(each):
            answer = corpus.targets[split][place][1:-1]
            known[tuple(corpus.sources[split][place])] = answer[:-3] if pair.source == wrong else answer

    def told(ids: Tensor, valid: Tensor) -> list[list[int]]:
        mask = valid if valid.dtype == torch.bool else torch.arange(ids.shape[1]) < valid[:, None]
        return [known[tuple(row[kept].tolist())] for row, kept in zip(ids, mask, strict=True)]

    return Mute(corpus.tokenizer.vocab_size, told)


def test_every_corpus_is_one(pairs: str, write: Write) -> None:
    found: list[Any] = [
        open_parallel(pairs, SOURCE, 0, "byte"),
        open_labelled(write("labels.tsv", "a\tx\nb\ty\nc\tx\nd\ty\n"), ENCODER, 0, "byte"),
        open_tagged(write("a.conll", "a X\n\nb Y\n\nc X\n\nd Y\n"), ENCODER, 0, "byte"),
        open_lines(pairs, PROMPT, 0, "byte"),
        open_lines(pairs, ENCODER, 0, "byte"),
    ]
    assert all(isinstance(corpus, Corpus) for corpus in found)
    assert [sum(corpus.sizes.values()) for corpus in found[1:3]] == [4, 4]


def test_an_encoder_decoder_reads_the_source_and_the_target_shifted(pairs: str) -> None:
    corpus = open_parallel(pairs, SOURCE, 0, "byte")
    tokenizer = corpus.tokenizer
    (ids, lengths, shifted), target = corpus.batch(everything(corpus), draw())
    for row, pair in enumerate(corpus.parts["train"]):
        read, asked = ids[row, : lengths[row]], target[row][target[row] != -100]
        assert read[-1] == tokenizer.eos
        assert tokenizer.decode(read) == pair.source
        assert asked[-1] == tokenizer.eos
        assert tokenizer.decode(asked) == pair.target
        assert shifted[row, 0] == tokenizer.bos
        assert shifted[row, 1 : len(asked)].tolist() == asked[:-1].tolist()
        assert (ids[row, lengths[row] :] == tokenizer.pad).all()
        assert (shifted[row, len(asked) :] == tokenizer.pad).all()


def test_a_decoder_alone_is_asked_for_the_target_only(pairs: str) -> None:
    corpus = open_parallel(pairs, PROMPT, 0, "byte")
    tokenizer = corpus.tokenizer
    (ids, lengths), target = corpus.batch(everything(corpus), draw())
    for row, pair in enumerate(corpus.parts["train"]):
        asked = target[row] != -100
        assert tokenizer.decode(target[row][asked]) == pair.target
        assert target[row][asked][-1] == tokenizer.eos
        before = ids[row, : int(asked.nonzero()[0]) + 1]
        assert before.tolist() == [tokenizer.bos, *tokenizer.rows([pair.source])[0], tokenizer.eos]
        assert asked.nonzero()[-1] + 1 == lengths[row]
        after = ids[row, len(before) : lengths[row]]
        assert after.tolist() == target[row][asked][:-1].tolist()


@pytest.mark.parametrize(("made", "prepare"), [(SOURCE, source), (PROMPT, prompt)])
def test_what_is_saved_prepares_a_source_as_training_saw_it(
    pairs: str, tmp_path: Path, made: ModelSpec, prepare: Any
) -> None:
    corpus = open_parallel(pairs, made, 0, "bpe:300")
    corpus.save(tmp_path)
    config = {"repository": f"local-dir:{tmp_path}", **corpus.overrides()}
    texts = [pair.source for pair in corpus.parts["test"]]
    ids, valid = prepare(config, False)(texts)
    wanted, wanted_valid = corpus.prompts("test", list(range(len(texts))))
    assert torch.equal(ids, wanted)
    assert torch.equal(valid, wanted_valid)


def test_an_epoch_has_each_example_once_and_little_padding(pairs: str) -> None:
    corpus = open_parallel(pairs, SOURCE, 0, "byte")
    batches = corpus.epoch(draw(), 8)
    assert torch.cat(list(batches)).sort().values.tolist() == everything(corpus).tolist()
    assert [batch.tolist() for batch in corpus.epoch(draw(), 8)] == [batch.tolist() for batch in batches]
    assert [batch.tolist() for batch in corpus.epoch(draw(1), 8)] != [batch.tolist() for batch in batches]

    def computed(order: Sequence[Tensor]) -> int:
        return sum(corpus.batch(batch, draw()).target.numel() for batch in order)

    needed = int((corpus.batch(everything(corpus), draw()).target != -100).sum())
    assert computed(batches) < 1.25 * needed
    assert computed(list(torch.randperm(corpus.sizes["train"], generator=draw()).split(8))) > 1.25 * needed


def test_held_out_examples_come_once_each(pairs: str) -> None:
    corpus = open_parallel(pairs, SOURCE, 0, "byte")
    texts = [corpus.tokenizer.decode(row[row != -100]) for batch in corpus.held_out("test", 4) for row in batch.target]
    assert sorted(texts) == sorted(pair.target for pair in corpus.parts["test"])
    with pytest.raises(ConfigError, match="split='valid' is not one of train, validation, test"):
        list(corpus.held_out("valid", 4))


@pytest.mark.parametrize("made", [SOURCE, PROMPT], ids=["encoder-decoder", "decoder"])
def test_a_model_that_knows_all_scores_full_marks_and_a_mute_one_the_vocabulary(pairs: str, made: ModelSpec) -> None:
    corpus = open_parallel(pairs, made, 0, "byte")
    scores = corpus.score(knowing(corpus), "test", 4)
    assert next(iter(scores)) == corpus.metric == "BLEU"
    assert scores["BLEU"] == pytest.approx(100)
    assert scores["exact match"] == 1
    assert scores["perplexity"] == pytest.approx(260, rel=1e-4)  # e to a sum in float32
    wrong = corpus.parts["test"][0].source
    worse = corpus.score(knowing(corpus, wrong), "test", 4)
    assert worse["exact match"] == pytest.approx(1 - 1 / corpus.sizes["test"])
    assert worse["BLEU"] < 100


def test_scoring_leaves_the_mode_of_the_model_as_it_was(pairs: str) -> None:
    corpus = open_parallel(pairs, SOURCE, 0, "byte")
    model = knowing(corpus).train()
    corpus.score(model, "validation", 4)
    assert model.training


def test_an_output_has_the_room_of_two_sources_but_no_more_than_the_model(pairs: str) -> None:
    corpus = open_parallel(pairs, PROMPT, 0, "byte")
    model = knowing(corpus)
    corpus.score(model, "test", 1)
    longest = int(corpus.targets["train"].lengths.max())
    lengths = sorted(corpus.sources["test"].lengths.tolist())
    assert sorted(model.asked) == [max(longest, 2 * length) for length in lengths]
    model.max_len, model.asked = 30, []
    corpus.score(model, "test", 1)
    assert sorted(model.asked) == sorted(30 - length for length in lengths)


def test_a_model_with_a_loss_of_its_own_is_judged_by_what_it_writes_and_that_loss(pairs: str) -> None:
    corpus = open_parallel(pairs, SOURCE, 0, "byte")
    model = knowing(corpus)
    assert corpus.metrics(model) == ("BLEU", "exact match", "token accuracy", "perplexity")
    model.training_loss = lambda inputs, target, smoothing: 3.0  # type: ignore[assignment]
    scores = corpus.score(model, "test", 4)
    assert tuple(scores) == corpus.metrics(model) == ("BLEU", "exact match", "loss")
    assert scores["loss"] == 3.0


def test_keywords_fit_a_model_to_the_data(pairs: str, write: Write) -> None:
    assert open_parallel(pairs, SOURCE, 0, "byte").overrides() == {"vocab_size": 260}
    vocabulary = Tokenizer(tokenizers.Tokenizer(models.WordLevel({"<|endoftext|>": 0, "a": 1}, "<|endoftext|>")))
    vocabulary.save(write("own.json", ""))
    own = str(Path(pairs).with_name("own.json"))
    assert open_parallel(pairs, PROMPT, 0, own).overrides() == {"vocab_size": 2, "symbols": [0, 0, 0]}
    assert open_parallel(pairs, spec("source", symbols=[9, 9, 9]), 0, "byte").overrides()["symbols"] == [0, 1, 2]
    labelled = open_labelled(write("l.tsv", "a\tx\nb\ty\nc\tx\nd\ty\n"), spec("encoder", "masked-token"), 0, "byte")
    assert labelled.overrides() == {"vocab_size": 260, "task": "classify", "num_classes": 2}


def test_a_pair_longer_than_the_model_reads(pairs: str) -> None:
    said = re.escape("pairs.tsv:1: 9 tokens ('0 apples') are more than the model's max_len=8: make it with max_len=9")
    with pytest.raises(DataError, match=said):
        open_parallel(
            pairs,
            spec("source", max_len=8, position="learned"),
            0,
            "byte",
        )
    open_parallel(pairs, spec("source", max_len=8, position="sinusoidal"), 0, "byte")


def test_a_folder_of_parts_and_two_files(write: Write, tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        for language in ("en", "de"):
            write(f"{part}.{language}", "".join(f"{part} {language} {number}\n" for number in range(4)))
    corpus = open_parallel(f"{tmp_path}?source=en&target=de", SOURCE, 0, "byte")
    assert corpus.sizes == {"train": 4, "validation": 4, "test": 4}
    assert corpus.parts["test"][0][:2] == ("test en 0", "test de 0")
    assert "your own split" in corpus.description
    again = open_parallel(f"{tmp_path / 'train.en'},{tmp_path / 'train.de'}", SOURCE, 0, "byte")
    assert sum(again.sizes.values()) == 4
    assert again.fingerprint != corpus.fingerprint


def test_a_fingerprint_changes_with_seed_tokenizer_and_texts(pairs: str, write: Write) -> None:
    other = write("other.tsv", "".join(f"{one}\t{other}!\n" for one, other in PAIRS))
    opened = [(pairs, 0, "byte"), (pairs, 1, "byte"), (pairs, 0, "bpe:300"), (other, 0, "byte")]
    prints = [open_parallel(path, SOURCE, seed, tokenizer).fingerprint for path, seed, tokenizer in opened]
    assert len(set(prints)) == 4
    assert open_parallel(pairs, SOURCE, 0, "byte").fingerprint == prints[0]


def test_a_model_of_another_kind_is_refused(pairs: str, write: Write) -> None:
    with pytest.raises(ConfigError, match=r"'pairs.tsv' are pairs of texts, and 'made-encoder' writes none"):
        open_parallel(pairs, ENCODER, 0, "byte")
    with pytest.raises(ConfigError, match="are texts with labels, and 'made-source' gives none: take an encoder"):
        open_labelled(write("labels.tsv", "a\tx\nb\ty\nc\tx\nd\ty\n"), SOURCE, 0, "byte")
    with pytest.raises(ConfigError, match="are lines of text to continue, and 'made-source' is no decoder alone"):
        open_lines(pairs, SOURCE, 0, "byte")


def test_labels_are_classes_in_alphabetical_order(write: Write, tmp_path: Path) -> None:
    path = write(
        "l.csv", "text,label\n" + "".join(f"t{number},{'no' if number % 3 else 'yes'}\n" for number in range(30))
    )
    corpus = open_labelled(path, ENCODER, 0, "byte")
    (ids, lengths), target = corpus.batch(everything(corpus), draw())
    for row, length, number in zip(ids, lengths, target, strict=True):
        assert row[0] == corpus.tokenizer.bos
        assert row[length - 1] == corpus.tokenizer.eos
        text = corpus.tokenizer.decode(row[:length])
        assert corpus.labels[number] == ("no" if int(text[1:]) % 3 else "yes")
    corpus.save(tmp_path)
    assert (tmp_path / "labels.json").read_text() == '[\n "no",\n "yes"\n]\n'
    scores = corpus.score(Constant(corpus, 0), "test", 4)
    right = float((corpus.classes["test"] == 0).float().mean())
    assert scores == {"accuracy": right, "loss": pytest.approx(math.log(1 + math.e) - right)}
    assert tuple(scores) == corpus.metrics(Constant(corpus, 0))


def test_labels_of_which_most_occur_once_are_refused_with_what_may_be_meant(pairs: str) -> None:
    told = (
        rf"{len(PAIRS)} of its {len(PAIRS)} labels occur once, such as '0 Äpfel', .* train a model that generates: "
        rf"zoo train transformer-tiny --data parallel:{re.escape(pairs)}"
    )
    with pytest.raises(DataError, match=told):
        open_labelled(pairs, ENCODER, 0, "byte")


class Constant(nn.Module):
    """Rank one class first, always."""

    def __init__(self, corpus: Any, number: int) -> None:
        super().__init__()
        self.count, self.number, self.set = len(corpus.labels), number, corpus.task == "classify"

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        shape = ids.shape[:1] if self.set else ids.shape
        return torch.eye(self.count)[self.number].expand(*shape, -1)


def test_a_label_that_training_lacks_or_that_is_alone(write: Write, tmp_path: Path) -> None:
    write("train.tsv", "a\tx\nb\ty\nc\tx\nd\tx\ne\ty\n")
    write("test.tsv", "a\tx\nb\tz\n")
    with pytest.raises(DataError, match=r"test.tsv:2: label 'z' is in no training example; they have x, y"):
        open_labelled(str(tmp_path), ENCODER, 0, "byte")
    with pytest.raises(DataError, match=re.escape("l.tsv has 1 label (x): at least 2 are needed")):
        open_labelled(write("l.tsv", "a\tx\nb\tx\nc\tx\n"), ENCODER, 0, "byte")
    with pytest.raises(DataError, match=r"m.tsv:1: the label is empty"):
        open_labelled(write("m.tsv", "a\t \nb\tx\nc\tx\n"), ENCODER, 0, "byte")


@pytest.mark.parametrize("tokenizer", ["byte", "bpe:300", "wordpiece:60"])
def test_the_label_of_a_word_is_at_its_first_token(write: Write, tokenizer: str) -> None:
    sentences = [[(f"w{number}", "N"), ("größer", "V"), (".", "P")][: number % 3 + 1] for number in range(30)]
    text = "\n".join("".join(f"{word} x {tag}\n" for word, tag in each) for each in sentences)
    corpus = open_tagged(write("t.conll", text), ENCODER, 0, tokenizer)
    assert isinstance(corpus, TaggedCorpus)
    (ids, lengths), target = corpus.batch(everything(corpus), draw())
    for row, sentence in enumerate(corpus.rows["train"][place] for place in range(corpus.sizes["train"])):
        asked = target[row] != -100
        assert sentence == ids[row, : lengths[row]].tolist()
        tags = [corpus.labels[number] for number in target[row][asked]]
        assert tags == ["N", "V", "P"][: len(tags)]
        assert len(tags) == len(corpus.tokenizer.decode(ids[row, : lengths[row]]).split())
        assert asked.nonzero()[0] == 1
    accuracy = corpus.score(Constant(corpus, corpus.labels.index("N")), "test", 4)["accuracy"]
    held = [batch.target[batch.target != -100] for batch in corpus.held_out("test", 4)]
    assert accuracy == pytest.approx(float((torch.cat(held) == corpus.labels.index("N")).float().mean()))


def test_a_decoder_is_asked_for_each_token_of_a_line_once_in_pieces(write: Write) -> None:
    path = write("l.txt", "".join(f"{'abcdefgh' * (number % 5)}{number}\n" for number in range(40)))
    corpus = open_lines(path, spec("prompt", max_len=10, position="learned"), 0, "byte")
    assert isinstance(corpus, LinesCorpus)
    (ids, lengths), target = corpus.batch(everything(corpus), draw())
    assert ids.shape[1] <= 10
    text = "".join(corpus.tokenizer.decode(row[row != -100]) for row in target)
    whole = open_lines(path, PROMPT, 0, "byte")
    assert sum((row == corpus.tokenizer.eos).sum() for row in target) == whole.sizes["train"]
    together = whole.batch(everything(whole), draw()).target
    assert len(text) == sum(len(whole.tokenizer.decode(row[row != -100])) for row in together)
    for row, length, wanted in zip(ids, lengths, target, strict=True):
        assert row[1:length].tolist() == wanted[: length - 1].tolist()


def test_uniform_guesses_have_the_perplexity_of_the_vocabulary(write: Write) -> None:
    path = write("l.txt", "".join(f"line {number}\n" for number in range(40)))
    for made in (PROMPT, ENCODER):
        corpus = open_lines(path, made, 0, "byte")
        tokens = corpus.overrides()["vocab_size"]
        scores = corpus.score(Mute(tokens), "test", 3)
        assert tuple(scores) == corpus.metrics(Mute(tokens)) == (corpus.metric, "token accuracy")
        assert scores["-perplexity"] == pytest.approx(-tokens, rel=1e-4)
    assert tokens == 261


def test_hidden_tokens_are_fifteen_in_a_hundred_most_of_them_masks(write: Write) -> None:
    path = write("l.txt", "".join(f"{number} {'abcdefghijklmnop' * 12}\n" for number in range(100)))
    corpus = open_lines(path, ENCODER, 0, "byte")
    assert isinstance(corpus, MaskedCorpus)
    (shown, lengths), target = corpus.batch(everything(corpus), draw())
    hidden = target != -100
    tokens = int(lengths.sum()) - 2 * len(lengths)
    assert int(hidden.sum()) / tokens == pytest.approx(0.15, abs=0.01)
    masked, same = shown[hidden] == corpus.hidden, shown[hidden] == target[hidden]
    assert float(masked.float().mean()) == pytest.approx(0.8, abs=0.03)
    assert float(same.float().mean()) == pytest.approx(0.1, abs=0.02)
    assert (shown[hidden & (shown != corpus.hidden)] >= 4).all()
    whole = torch.where(hidden, target, shown)
    assert (whole[:, 0] == corpus.tokenizer.bos).all()
    assert corpus.tokenizer.decode(whole[0]).endswith("abcdefghijklmnop")
    assert not torch.equal(corpus.batch(everything(corpus), draw(1)).target, target)
    first, second = ([batch.target for batch in corpus.held_out("test", 4)] for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_a_short_row_has_one_hidden_token_at_least_and_an_empty_one_none() -> None:
    allowed = torch.tensor([[False, True, True, False], [False] * 4, [False, False, True, False]])
    for seed in range(20):
        chosen = choose(allowed, draw(seed))
        assert not (chosen & ~allowed).any()
        assert (chosen.sum(1) >= torch.tensor([1, 0, 1])).all()


def test_long_lines_follow_in_pieces_between_begin_and_end(write: Write) -> None:
    path = write("l.txt", "".join(f"{'abcdefgh' * (number % 5)}{number}\n" for number in range(40)))
    corpus = open_lines(path, spec("encoder", max_len=10), 0, "byte")
    (ids, lengths), _ = corpus.batch(everything(corpus), draw())
    assert ids.shape[1] == 10
    assert all(row[length - 1] == corpus.tokenizer.eos for row, length in zip(ids, lengths, strict=True))


def test_a_masked_corpus_prepares_texts_as_it_was_trained(write: Write, tmp_path: Path) -> None:
    corpus = open_lines(write("l.txt", "a b\nc d\ne f\ng h\n"), ENCODER, 0, "wordpiece:60")
    corpus.save(tmp_path)
    prepared = encoder({"repository": f"local-dir:{tmp_path}"}, False)
    assert prepared.frame == corpus.tokenizer.frame
    assert corpus.overrides() == {"vocab_size": corpus.tokenizer.vocab_size, "task": "masked-token"}


@pytest.mark.parametrize("name", ["bytes", "bpe:many", "byte:3", "sentencepiece:8000"])
def test_a_tokenizer_that_nobody_knows(name: str) -> None:
    known = "byte, char, word, bpe:SIZE, wordpiece:SIZE, nor the path of a tokenizer.json"
    said = f"tokenizer={name!r} is not one of {known}"
    with pytest.raises(ConfigError, match=re.escape(said)):
        choose_tokenizer(name, "byte", ["a"])


def test_words_with_spaces_have_one_label(write: Write) -> None:
    text = "".join(f"1\t{number} 000\t_\tNUM\n2\tpommes\t_\tNOUN\n\n" for number in range(20))
    corpus = open_tagged(write("t.conllu", text), ENCODER, 0, "byte")
    (ids, _), target = corpus.batch(everything(corpus), draw())
    for row, classes in zip(ids, target, strict=True):
        first, second = (classes != -100).nonzero()[:, 0].tolist()
        assert corpus.tokenizer.decode(row[first:second]).endswith(" 000 ")
        assert [corpus.labels[classes[place]] for place in (first, second)] == ["NUM", "NOUN"]


def test_a_target_longer_than_the_model_writes_is_quoted_itself(write: Write) -> None:
    path = write("p.tsv", "".join(f"{number}\tone long answer {number}\n" for number in range(5)))
    said = re.escape("tokens ('one long answer ")
    with pytest.raises(DataError, match=said):
        open_parallel(path, spec("source", max_len=8, position="learned"), 0, "byte")


def test_a_pair_with_an_empty_side_names_its_line(write: Write) -> None:
    with pytest.raises(DataError, match=r"p.tsv:2: the target is empty"):
        open_parallel(write("p.tsv", "a\tb\nc\t \ne\tf\n"), SOURCE, 0, "byte")
    one, other = write("p.en", "a\n\n\nd\n"), write("p.de", "a\n\nc\nd\n")
    with pytest.raises(DataError, match=r"p.en:3: the source is empty"):
        open_parallel(f"{one},{other}", SOURCE, 0, "byte")


def digest(corpus: Any) -> str:
    """Give a text that changes with any batch of an epoch, of validation or of the test, short texts first."""
    batches = [corpus.batch(index, draw()) for index in corpus.epoch(draw(), 7)]
    batches += [batch for split in ("validation", "test") for batch in reversed([*corpus.held_out(split, 7)])]
    return fingerprint(repr(each.tolist()) for batch in batches for each in (*batch.inputs, batch.target))


OPENED: list[tuple[Callable[..., Any], str, ModelSpec]] = [
    (open_lines, "l.txt", spec("prompt", max_len=16)),
    (open_lines, "l.txt", spec("encoder", max_len=12)),
    (open_parallel, "p.tsv", SOURCE),
    (open_parallel, "p.tsv", PROMPT),
    (open_labelled, "l.csv", ENCODER),
    (open_tagged, "t.conll", ENCODER),
]
BEFORE = [
    ("852c3473221f4042", "f1a4a5037aaa683b"),
    ("852c3473221f4042", "bb2c4d28b8479985"),
    ("d35e8d53cb426751", "3e02c95bb08944b3"),
    ("d35e8d53cb426751", "cafa4456bf22b75b"),
    ("55efe9ec1f94c513", "8dadab01b968cb65"),
    ("85b56c4a55684cc7", "53d8b30074d5887f"),
]
"""Fingerprints and digests: a training that begins goes on as it began, with a later version too."""


@pytest.fixture
def files(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write("l.txt", "".join(f"{'größer ' * (n % 5)}{n}\n" for n in range(60)))
    write("p.tsv", "".join(f"{n} apples\t{n} {'Äpfel ' * (n % 7 + 1)}\n" for n in range(60)))
    write("l.csv", "text,label\n" + "".join(f"t{n},{'no' if n % 3 else 'yes'}\n" for n in range(60)))
    tagged = ("".join(f"{word}{n} {tag}\n" for word, tag in (("a", "N"), ("b", "V"))[: n % 2 + 1]) for n in range(60))
    write("t.conll", "\n".join(tagged))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("opened", "before"), list(zip(OPENED, BEFORE, strict=True)))
def test_small_files_give_what_they_gave_before(files: Path, opened: Any, before: tuple[str, str]) -> None:
    make, path, made = opened
    corpus = make(path, made, 0, "byte")
    assert (corpus.fingerprint, digest(corpus)) == before


@pytest.fixture
def streamed(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let all files be large, and a third each be held out."""
    monkeypatch.setenv("ZOO_CACHE", str(files / "cache"))
    monkeypatch.setattr(open_files, "LARGE", 0)
    monkeypatch.setattr(TextStream, "held_out", 1 / 3)
    return files


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("tokenizer", ["byte", "bpe:300", "word"])
def test_large_files_give_batches_of_the_same_examples(streamed: Path, opened: Any, tokenizer: str) -> None:
    make, path, made = opened
    first, again = (make(path, made, 0, tokenizer) for _ in range(2))
    assert (first.fingerprint, digest(first)) == (again.fingerprint, digest(again))
    assert first.tokenizer.content == again.tokenizer.content
    assert make(path, made, 1, tokenizer).fingerprint != first.fingerprint
    seen = digest(first)
    os.utime(path, ns=(1, 1))
    changed = make(path, made, 0, tokenizer)
    assert changed.fingerprint != first.fingerprint
    assert digest(changed) == seen


def test_large_and_small_files_hold_the_same(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = open_parallel("p.tsv", SOURCE, 0, "byte")
    monkeypatch.setenv("ZOO_CACHE", str(files / "cache"))
    monkeypatch.setattr(open_files, "LARGE", 0)
    monkeypatch.setattr(TextStream, "held_out", 1 / 3)
    large = open_parallel("p.tsv", SOURCE, 0, "byte")
    assert sum(large.sizes.values()) == sum(small.sizes.values())

    def pairs_of(corpus: ParallelCorpus) -> set[tuple[str, ...]]:
        sides = corpus.sources, corpus.targets
        return {
            tuple(corpus.tokenizer.decode(side[split][place]) for side in sides)
            for split in corpus.sizes
            for place in range(corpus.sizes[split])
        }

    assert pairs_of(large) == pairs_of(small)
    scores = large.score(knowing(large), "test", 4)
    assert scores["BLEU"] == pytest.approx(100)
    assert scores["exact match"] == 1
    assert large.parts["train"] == ()


def test_labels_of_a_large_file_are_those_of_all_examples(streamed: Path) -> None:
    corpus = open_labelled("l.csv", ENCODER, 0, "byte")
    assert corpus.labels == ["no", "yes"]
    for split, rows in corpus.rows.items():
        for place, number in enumerate(corpus.classes[split]):
            text = corpus.tokenizer.decode(rows[place])
            assert corpus.labels[number] == ("no" if int(text[1:]) % 3 else "yes")
    (_, lengths), target = corpus.batch(everything(corpus), draw())
    assert (target.dtype, len(lengths)) == (torch.int64, corpus.sizes["train"])


DECODER = info("decoder-tiny").with_config(max_len=24)


def test_large_lines_are_packed_for_a_decoder_unless_they_are_not_to_be(streamed: Path) -> None:
    packed, alone = open_lines("l.txt", DECODER, 0, "byte"), open_lines("l.txt?pack=no", DECODER, 0, "byte")
    assert isinstance(packed, LinesCorpus)
    assert packed.packed is not None
    assert isinstance(alone, LinesCorpus)
    assert alone.packed is None
    (ids, numbers), target = packed.batch(everything(packed), draw())
    assert ids.shape == numbers.shape == target.shape == (packed.sizes["train"], 24)
    asked = [corpus.batch(everything(corpus), draw()).target for corpus in (packed, alone)]
    one, other = (sorted(target[target != -100].tolist()) for target in asked)
    assert one == other
    assert digest_of_test(packed) == digest_of_test(alone)
    assert packed.fingerprint != alone.fingerprint


def digest_of_test(corpus: Any) -> str:
    return fingerprint(repr(batch) for batch in corpus.held_out("test", 4))


def test_small_lines_are_packed_where_that_is_asked_for(files: Path) -> None:
    assert open_lines("l.txt", DECODER, 0, "byte").packed is None
    packed = open_lines("l.txt?pack=yes", DECODER, 0, "byte")
    assert packed.packed is not None
    assert packed.fingerprint != open_lines("l.txt", DECODER, 0, "byte").fingerprint
    with pytest.raises(DataError, match="pack='maybe' is neither yes nor no"):
        open_lines("l.txt?pack=maybe", DECODER, 0, "byte")


def test_a_model_that_mixes_documents_is_not_packed(streamed: Path) -> None:
    chunks = DECODER.with_config(attention="linear")
    assert open_lines("l.txt", chunks, 0, "byte").packed is None
    with pytest.raises(ConfigError, match="pack=yes, and 'decoder-tiny' does not keep documents of one row apart"):
        open_lines("l.txt?pack=yes", chunks, 0, "byte")


@pytest.mark.parametrize("argument", ["*.txt.gz", "a.txt.gz,b.txt.gz", "folder"])
def test_several_compressed_files_are_one_text(files: Path, argument: str) -> None:
    lines = (files / "l.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (files / "folder").mkdir()
    for folder in (files, files / "folder"):
        for name, part in (("a", lines[:20]), ("b", lines[20:])):
            (folder / f"{name}.txt.gz").write_bytes(gzip.compress("".join(part).encode()))
    found, whole = open_lines(argument, DECODER, 0, "byte"), open_lines("l.txt", DECODER, 0, "byte")
    assert digest(found) == digest(whole)
    assert found.fingerprint != whole.fingerprint  # in which the files are named


def test_folders_and_patterns_of_tables_and_of_columns(files: Path) -> None:
    (files / "more").mkdir()
    for name in ("l.csv", "t.conll", "p.tsv"):
        for number in (1, 2):
            (files / "more" / f"{number}{name}").write_bytes((files / name).read_bytes())
    assert sum(open_labelled("more/*.csv", ENCODER, 0, "byte").sizes.values()) == 120
    assert sum(open_tagged("more/*.conll", ENCODER, 0, "byte").sizes.values()) == 120
    assert sum(open_parallel("more/*.tsv", SOURCE, 0, "byte").sizes.values()) == 120
