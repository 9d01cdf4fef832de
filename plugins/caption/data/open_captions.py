"""The source `captions`: drawn scenes, or the user's pictures with captions."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Skipped, complete, fingerprint, parse, shown
from zoo.plugins.caption.data.absent import notes_of
from zoo.plugins.caption.data.caption_files import FileCaption, read_captions
from zoo.plugins.caption.data.corpus import EXACT, UNSEEN, CaptionCorpus, Captioned
from zoo.plugins.caption.data.scenes import draw_scene
from zoo.plugins.caption.sources import SKLEARN
from zoo.plugins.shared.images.digits import Split, read_digits
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.registry import require

SIZES: dict[str, int] = {"train": 8000, "validation": 300, "test": 1000, UNSEEN: 1000}
"""Scenes of each part."""
_OF: dict[str, Split] = {"train": "train", "validation": "validation", "test": "test", UNSEEN: "test"}
"""From which digits the scenes of a part are drawn, so that no digit of the test was trained on."""


def open_captions(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> CaptionCorpus:
    """Open drawn scenes, or a file of the user, see `read_captions`.

    Raises:
        DataError: If the file cannot be used, or none of its pictures is there.
    """
    if argument:
        return _of_file(argument, spec, seed, tokenizer)
    require("captions", (SKLEARN,))
    parts = {part: _drawn(part, seed) for part in SIZES}
    chosen = choose_tokenizer(tokenizer, "word", [item.texts[0] for item in parts["train"]])
    about = DatasetInfo(
        "captions",
        f"`captions` are {SIZES['train']:,} drawn scenes of one or two handwritten digits on coloured cards, each "
        f"with its sentence; {SIZES[UNSEEN]:,} further scenes show pairs of colour and number that no training scene "
        "shows.",
        fingerprint(["captions-1", str(seed), chosen.content]),
    )
    return CaptionCorpus(about, spec, chosen, parts, metric=EXACT)


@lru_cache(maxsize=8)
def _drawn(part: str, seed: int) -> Sequence[Captioned]:
    digits, rng = read_digits(_OF[part], seed), np.random.default_rng((seed, list(SIZES).index(part)))
    scenes = [draw_scene(digits, rng, part == UNSEEN) for _ in range(SIZES[part])]
    return [Captioned(each.pixels.transpose(1, 2, 0), (each.text,), each.boxes) for each in scenes]


def _of_file(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> CaptionCorpus:
    name, options = parse(argument, ("images",))
    path = Path(name).expanduser()
    captions = read_captions(path)
    folder = Path(options["images"]).expanduser() if "images" in options else path.parent
    if not folder.is_dir():
        raise DataError(f"captions:{argument}: there is no folder {str(folder)!r}")
    found, skipped = _present(captions, folder)
    total = len({each.picture for each in captions})
    notes = notes_of(skipped, total, str(path), "; ?images=FOLDER says where they are")
    parts = complete(_parts(found), lambda item: str(item.picture), seed, str(path)).by_name()
    texts = [text for item in parts["train"] for text in item.texts]
    chosen = choose_tokenizer(tokenizer, "bpe:8000", texts)
    several = f", {len(texts):,} captions of them to train on" if len(texts) != len(parts["train"]) else ""
    pieces = (f"{item.picture} {item.texts}" for part in parts.values() for item in part)
    about = DatasetInfo(
        f"captions:{argument}", f"`{path.name}` has {total - len(skipped):,} pictures with captions{several}.",
        fingerprint([*pieces, chosen.content]),
    )  # fmt: skip
    return CaptionCorpus(about, spec, chosen, parts, known_notes=notes)


def _present(captions: Sequence[FileCaption], folder: Path) -> tuple[dict[str, list[FileCaption]], list[Skipped]]:
    """Give the captions of each picture that is there, and the pictures that are not, or of which nothing is said."""
    of: dict[str, list[FileCaption]] = {}
    for each in captions:
        of.setdefault(each.picture, []).append(each)
    found: dict[str, list[FileCaption]] = {}
    skipped: list[Skipped] = []
    for picture, said in shown(of.items(), len(of), "looking for pictures"):
        texts = [each for each in said if each.text]
        if not said[0].listed:
            skipped.append(Skipped(picture, f"{said[0].place} describes it, and no picture of the file has this id"))
        elif not (folder / picture).is_file():
            skipped.append(Skipped(picture, f"there is no such file in {folder}"))
        elif not texts:
            skipped.append(Skipped(picture, f"{said[0].place}: an empty caption"))
        else:
            found[picture] = [each._replace(picture=str(folder / picture)) for each in texts]
    return found, skipped


def _parts(found: dict[str, list[FileCaption]]) -> dict[str, list[Captioned]]:
    """Put pictures into the parts that the file names; those that it does not are for training."""
    parts: dict[str, list[Captioned]] = {"train": []}
    for said in found.values():
        texts = tuple(dict.fromkeys(each.text for each in said))
        item = Captioned(Path(said[0].picture), texts, place=said[0].place)
        parts.setdefault(said[0].part or "train", []).append(item)
    return parts
