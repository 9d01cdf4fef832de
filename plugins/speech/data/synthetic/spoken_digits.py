"""The source `spoken-digits`: digits synthesised by espeak-ng and cached on disk, without a download."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, cached_file, fingerprint, parse, shown
from zoo.plugins.speech.data.audio_store import Joined, map_in_threads
from zoo.plugins.speech.data.corpus import Augmentation, ClipsCorpus, SoundCorpus
from zoo.plugins.speech.data.frame_labels import Concatenated, FramesCorpus, strings
from zoo.plugins.speech.data.synthetic import espeak
from zoo.plugins.speech.data.synthetic.room_simulation import Room
from zoo.plugins.speech.data.synthetic.voices import DIGITS, Utterance, draw, speakers
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus, tokenizer_for
from zoo.plugins.speech.io.preprocess import RATE
from zoo.plugins.speech.io.speed_perturbation import change_speed

SIZES = {"words": (2000, 300, 800), "strings": (3000, 200, 400)}
"""Utterances of training, validation and test."""
KINDS = ("words", "strings", "frames")
TRAIN = (100, 50_000)
"""Bounds of what `train=` may ask for."""
ROOM = Room()
_FORMS = {"words": "single digits", "strings": "strings of 3 to 7 digits", "frames": "digits strung together"}


def trained(sound: Tensor, generator: torch.Generator) -> Tensor:
    """Augment a sound as in training."""
    return ROOM(change_speed(sound, RATE, generator), generator)


AUGMENTATION = Augmentation(trained, ROOM)
IN_PLACE = Room(around=0.0)
"""Moves nothing, so that labels of vectors stay right."""


def open_spoken_digits(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Open single digits, `strings` of them, or `frames`; `?train=5000` says how many are for training.

    Frames are single digits strung together, with a label for every 40 ms: the digit that is heard, or silence.

    Speech is the same for a seed, on every machine with the same version of espeak-ng. Rooms and noise are drawn when a
    sound is asked for: in training others each time, and other speeds, which make other voices, too; in validation and
    test always the same.

    Raises:
        DataError: If the argument is another, or espeak-ng is not there.
    """
    kind, sizes = _options(argument)
    utterances = draw(_spoken_as(kind), sizes, seed)
    sounds = sounds_of(_spoken_as(kind), utterances)
    texts = {split: [each.text for each in part] for split, part in utterances.by_name().items()}
    if kind == "strings":
        chosen = tokenizer_for(tokenizer, "word", texts["train"], spec)
        about = _about(kind, utterances, seed, chosen.content)
        return TranscriptsCorpus(about, spec, chosen, sounds, texts, AUGMENTATION)
    about = _about(kind, utterances, seed)
    classes = {split: torch.tensor([DIGITS.index(text) for text in part]) for split, part in texts.items()}
    if kind == "words":
        return ClipsCorpus(about, spec, sounds, classes, DIGITS, AUGMENTATION)
    rng = random.Random(seed)
    concatenated = {
        split: Concatenated(sounds[split], strings([each.speaker for each in part], len(part), rng))
        for split, part in utterances.by_name().items()
    }
    return FramesCorpus(about, spec, concatenated, classes, DIGITS, Augmentation(IN_PLACE, IN_PLACE))


def _spoken_as(kind: str) -> str:
    """Say what is spoken for a kind of corpus."""
    return "strings" if kind == "strings" else "words"


def _options(argument: str) -> tuple[str, tuple[int, int, int]]:
    kind, options = parse(argument, ("train",))
    kind = kind or KINDS[0]
    if kind not in KINDS:
        raise DataError(f"'spoken-digits:{argument}': {kind!r} is not one of {', '.join(KINDS)}")
    train, validation, test = SIZES[_spoken_as(kind)]
    count, (low, high) = options.get("train", str(train)), TRAIN
    if not count.isdecimal() or not low <= int(count) <= high:
        raise DataError(f"'spoken-digits:{argument}': train={count!r} is no number of {low:,} to {high:,}")
    return kind, (int(count), validation, test)


def sounds_of(kind: str, utterances: Parts[Utterance]) -> Mapping[str, Joined]:
    """Give the sounds of each part; they are spoken if they are not kept yet."""
    every = [each for part in utterances for each in part]
    name = f"spoken-digits-{kind}-{fingerprint([espeak.version(), *map(repr, every)])}.safetensors"
    kept = load_file(cached_file(name, lambda path: _speak(every, path)))
    sounds, found, first = kept["samples"], {}, 0
    ends = kept["lengths"].cumsum(0).tolist()
    place = 0
    for split, part in utterances.by_name().items():
        last = ends[place + len(part) - 1]
        found[split] = Joined(sounds[first:last], kept["lengths"][place : place + len(part)])
        first, place = last, place + len(part)
    return found


def _speak(utterances: Sequence[Utterance], path: Path) -> None:
    spoken = shown(map_in_threads(espeak.speak, utterances), len(utterances), f"{espeak.PROGRAM} speaks")
    samples = [(sound.clamp(-1, 1) * (2**15 - 1)).round().to(torch.int16) for sound in spoken]
    lengths = torch.tensor([len(sound) for sound in samples])
    save_file({"samples": torch.cat(samples), "lengths": lengths}, path)


def _about(kind: str, utterances: Parts[Utterance], seed: int, further: str = "") -> DatasetInfo:
    who = speakers(seed)
    described = (
        f"`spoken-digits` are {len(utterances.train):,} {_FORMS[kind]}, spoken by espeak-ng in {len(who.train)} "
        f"voices, and {len(utterances.test):,} others in {len(who.test)} voices that are not heard in training."
    )
    pieces = [repr(each) for part in utterances for each in part]
    return DatasetInfo(
        f"spoken-digits:{kind}", described, fingerprint([*pieces, espeak.version(), repr(ROOM), further])
    )
