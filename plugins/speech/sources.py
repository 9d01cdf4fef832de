"""The data sources of this plugin, by name, and the libraries it may need; nothing heavy is imported."""

from typing import Any

from zoo import Requirement, SourceSpec

TORCHAUDIO = Requirement(module="torchaudio", distribution="torchaudio", install="attention-zoo[speech]")
SOUNDFILE = Requirement(module="soundfile", distribution="soundfile", install="attention-zoo[speech]")
TOKENIZERS = Requirement(module="tokenizers", distribution="tokenizers", install="attention-zoo[speech]")


def _source(name: str, entry: str, takes: str, description: str, **reading: Any) -> SourceSpec:
    return SourceSpec(
        name=name,
        modality="speech",
        corpus=f"zoo.plugins.speech.{entry}",
        takes=takes,
        description=description,
        requires=(TORCHAUDIO, SOUNDFILE, TOKENIZERS),
        **reading,
    )


SOURCES = (
    _source(
        "spoken-digits",
        "data.synthetic.spoken_digits:open_spoken_digits",
        "[words|strings|frames][?train=N]",
        "digits that espeak-ng speaks, strings of them, or a label for each 40 ms; tested in voices never trained on",
        drawn=True,
    ),
    _source(
        "spoken-numbers",
        "data.synthetic.spoken_numbers:open_spoken_numbers",
        "[FROM-TO]",
        "numbers up to 999 that espeak-ng says in one language, written in another (en-de, de-en); tested on other "
        "numbers in other voices",
        drawn=True,
        tasks=("generate",),
    ),
    _source(
        "one-voice",
        "data.synthetic.tts_corpus:open_one_voice",
        "",
        "strings of digits that one voice says, for models that speak",
    ),
    _source(
        "recordings",
        "data.recordings:open_recordings",
        "PATH",
        "your sounds: a folder with one sub-folder for each class, or a manifest.jsonl with audio and text or label",
        reads=(".jsonl", ".json"),
        folder=True,
        tables="zoo.plugins.speech.data.sound_table:open_table",
        pairs="zoo.plugins.speech.data.sound_pairs:open_pairs",
    ),
    _source(
        "librispeech",
        "data.datasets:open_librispeech",
        "DIR",
        "LibriSpeech from where it was unpacked; DIR/train-clean-360 names what is trained on",
    ),
    _source(
        "speech-commands", "data.datasets:open_speech_commands", "DIR", "Speech Commands from where it was unpacked"
    ),
)
