"""The data sources of this plugin, by name, and the libraries it may need; nothing heavy is imported."""

from typing import Any

from zoo import Requirement, SourceSpec

SKLEARN = Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]")
TIMM = Requirement(module="timm", distribution="timm", install="attention-zoo[vision]")
PILLOW = Requirement(module="PIL", distribution="pillow", install="attention-zoo[vision]")

TORCHVISION = Requirement(module="torchvision", distribution="torchvision", install="attention-zoo[vision]")


def _source(name: str, description: str, *requires: Requirement, **reading: Any) -> SourceSpec:
    own: dict[str, Any] = {
        "corpus": f"zoo.plugins.vision.corpora.image_corpus:{name}",
        "adapter": "zoo.plugins.vision.corpora.image_corpus:adapt",
    }
    return SourceSpec(name=name, modality="vision", description=description, requires=requires, **(own | reading))


SOURCES = (
    _source(
        "cards",
        "pictures of one to four handwritten digits and a coloured cue that says which one counts",
        SKLEARN,
        drawn=True,
    ),
    _source(
        "contours",
        "Pathfinder as pictures: are two dots on the same dashed contour? 32 by 32 (arXiv:1810.08214)",
        takes="[SIZE]",
        drawn=True,
    ),
    _source(
        "cards-digits",
        "pictures of one to four handwritten digits; which digits are there is asked: labels of which any may be right",
        SKLEARN,
        drawn=True,
        corpus="zoo.plugins.vision.corpora.multi_label_corpus:cards_digits",
        adapter="",
    ),
    _source("digits", "scikit-learn's 1,797 handwritten digits", SKLEARN),
    _source(
        "folder",
        "your pictures: a folder with one sub-folder for each class",
        PILLOW,
        takes="PATH",
        folder=True,
        tables="zoo.plugins.vision.corpora.image_table:open_table",
        pairs="zoo.plugins.vision.corpora.image_pairs:open_pairs",
    ),
    _source(
        "npz",
        "your arrays: a NumPy archive with pictures `x` (count, height, width[, channels]) and labels `y`",
        takes="PATH",
        reads=(".npz",),
    ),
)
