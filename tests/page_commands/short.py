"""What makes a command short, and the trainings that a page takes for granted."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from tests.page_commands.not_run import TO_RUN

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
    "zoo bench data-size *--shard*": "--sizes 20",
    "zoo bench fine-tuning*": f"--examples 2 --pretraining-steps 2 {FEW}",
    "zoo bench length*": f"--distances 8 --lengths 64 {FEW}",
    "zoo bench parallel-decoding*": FEW,
    "zoo bench rows-trees*": FEW,
    "zoo bench window-error*": "--seeds 1 --workers 0",
}
"""What stands behind a command of a pattern to make it short: of two values of an option the last holds."""
AS_IT_IS = "zoo train * --probe"
"""Commands that are short as they stand, and refuse what makes others short."""
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
    "zoo.plugins.text.data.synthetic.string_tasks._PER_LENGTH": {"train": 20, "validation": 2, "test": 2},
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


def needed(page: str) -> Iterator[tuple[str, str]]:
    """Give folder and training of what a page takes for granted."""
    every = [INSTEAD.get(command, command) for command in TO_RUN[page]]
    words = {word.removeprefix("local-dir:") for command in every for word in command.split()}
    for folder, given in RUNS.items():
        if folder in words and not any(f"--out {folder}" in command for command in TO_RUN[page]):
            yield folder, f"zoo train {given} --out {folder}"


def shortened(command: str) -> str:
    """Make a command short."""
    if fnmatchcase(command, AS_IT_IS):
        return command
    behind = [words for pattern, words in SHORT.items() if fnmatchcase(command, pattern)]
    return " ".join([INSTEAD.get(command, command), *behind])
