"""The data sources of this plugin, by name, and the libraries it may need; nothing heavy is imported."""

from typing import Any

from zoo import Requirement, SourceSpec

TOKENIZERS = Requirement(module="tokenizers", distribution="tokenizers", install="attention-zoo[text]")
SACREBLEU = Requirement(module="sacrebleu", distribution="sacrebleu", install="attention-zoo[text]")


def _also_packed(*endings: str) -> tuple[str, ...]:
    return tuple(ending + packed for ending in endings for packed in ("", ".gz", ".zst"))


TABLES = _also_packed(".tsv", ".csv", ".jsonl", ".json")
"""Files of pairs for models that write, of texts with labels for the others."""
SYNTHETIC = "data.synthetic.tasks"


def _source(name: str, takes: str, description: str, module: str = "data.open_files", **reading: Any) -> SourceSpec:
    return SourceSpec(
        name=name,
        modality="text",
        corpus=f"zoo.plugins.text.{module}:open_{name.replace('-', '_')}",
        takes=takes,
        description=description,
        requires=(TOKENIZERS, SACREBLEU),
        **reading,
    )


def _drawn(name: str, takes: str, description: str) -> SourceSpec:
    return _source(name, takes, description, SYNTHETIC, drawn=True)


def _seq2seq(name: str, takes: str, description: str) -> SourceSpec:
    module = f"data.seq2seq.{name.replace('-', '_')}"
    return _source(name, takes, description, module, drawn=True, tasks=("generate",))


def _task(name: str, takes: str, description: str) -> SourceSpec:
    return _source(name, f"[{takes}]", description, "data.synthetic.sequence_tasks", drawn=True)


def _opinion(name: str, description: str) -> SourceSpec:
    return _source(name, "", description, "data.synthetic.opinion_tasks", drawn=True)


SOURCES = (
    _source(
        "parallel",
        "FILE",
        "your pairs of texts: two columns (.tsv, .csv), two keys (.jsonl), two files A,B line by line, or a folder of "
        "train, valid and test; FILE?source=en&target=de names columns or keys",
        reads=TABLES,
        folder=True,
        pair=True,
        tasks=("generate",),
    ),
    _source(
        "labelled",
        "FILE",
        "your texts, each with a label: text<TAB>label (.tsv), or keys or columns text and label (.jsonl, .csv); with "
        "any number of labels by FILE?labels=A,B,C, columns of 0 and 1, or FILE?separator=, for several in one column; "
        "or a folder of texts for each class, train/pos/*.txt, as IMDb has",
        reads=TABLES,
        folder=True,
        tables="zoo.plugins.text.data.text_table:open_table",
        pairs="zoo.plugins.text.data.text_pairs:open_pairs",
        tasks=("classify", "multi-label", "tag", "masked-token", "link", "features"),
    ),
    _source(
        "tagged",
        "FILE",
        "your sentences, a label for each word: CoNLL columns, a blank line between sentences",
        reads=_also_packed(".conll", ".conllu", ".iob"),
    ),
    _source(
        "lines",
        "FILE",
        "your texts, one in each line or JSON object, for models of language and masked tokens; a pattern such as "
        "'corpus/*.txt.gz' or a folder names many; FILE?pack=no gives each text of a decoder its own row",
        reads=_also_packed(".txt"),
    ),
    _drawn("reverse", "[MIN-MAX]", "strings of 3 to 12 letters, written backwards"),
    _drawn("copy", "[MIN-MAX]", "strings of 3 to 12 letters, written again"),
    _source("numbers", "LANGUAGE", "the numbers 1 to 99,999 in words: en or de", SYNTHETIC),
    _source(
        "dates",
        "",
        "dates such as 1987-03-05 in words, in one of three styles at random; any of them is right",
        "data.synthetic.dates",
        drawn=True,
    ),
    _drawn("parse", "", "sentences of a small English grammar, with their trees in brackets"),
    _drawn("tags", "", "sentences of a small English grammar, with the parts of speech"),
    _seq2seq(
        "phonemes",
        "[FILE][?language=en-us]",
        "words with their phonemes: drawn words, or a list of yours (.txt), by espeak-ng; or your table "
        "word<TAB>phonemes (.tsv, .csv), or CMUdict (.dict)",
    ),
    _seq2seq(
        "dialogue",
        "[FILE]",
        "dialogues whose answers depend on earlier turns, for `zoo chat`; FILE: yours, a JSON object with messages "
        "(role, content) or turns in each line (.jsonl)",
    ),
    _seq2seq(
        "questions",
        "[FILE]",
        "questions about made passages, with their answers; FILE: yours, SQuAD's JSON or a table of question, context "
        "and answer (.tsv, .csv, .jsonl)",
    ),
    _task("mqar", "PAIRS,LENGTH", "16 keys with values, then keys that ask for them (arXiv:2312.04927)"),
    _task("selective-copy", "LETTERS,LENGTH", "8 letters in noise, to be told in their order (arXiv:2312.00752)"),
    _task("induction", "LENGTH", "what followed a mark is asked for at the end (arXiv:2312.00752)"),
    _task(
        "listops",
        "lra",
        "nested lists of digits (arXiv:1804.06028); lra: those of the Long Range Arena",
    ),
    _task("pathfinder", "SIZE", "pictures as grey levels: are two dots joined? 32 by 32 (arXiv:1810.08214)"),
    _opinion("sentiment", "reviews with negation, contrast and hedges, negative or positive; a bag of words fails"),
    _opinion("toxicity", "comments with mild insults: of somebody (toxic) or negated, quoted, of a thing (civil)"),
    _drawn("topics", "", "short texts, with all their topics: written in alphabetical order, or as labels"),
)
