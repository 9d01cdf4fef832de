"""The data sources of this plugin, by name, and the libraries it may need; nothing heavy is imported."""

from zoo.spec import Requirement, SourceSpec

SKLEARN = Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]")
TIMM = Requirement(module="timm", distribution="timm", install="attention-zoo[vision]")
PILLOW = Requirement(module="PIL", distribution="pillow", install="attention-zoo[vision]")

ADAPTER = "zoo.plugins.vision.image_corpus:open_pictures"
"""Makes a corpus for training of any data source of images."""

SOURCES = (
    SourceSpec(
        name="cards",
        entry="zoo.plugins.vision.data:open_cards",
        modality="vision",
        adapter=ADAPTER,
        description="pictures of one to four handwritten digits and a coloured cue that says which one counts",
        requires=(SKLEARN,),
    ),
    SourceSpec(
        name="digits",
        entry="zoo.plugins.vision.data:open_digits",
        modality="vision",
        adapter=ADAPTER,
        description="scikit-learn's 1,797 handwritten digits",
        requires=(SKLEARN,),
    ),
    SourceSpec(
        name="folder",
        entry="zoo.plugins.vision.data:open_folder",
        modality="vision",
        adapter=ADAPTER,
        takes="PATH",
        folder=True,
        description="your pictures: a folder with one sub-folder for each class",
        requires=(PILLOW,),
    ),
    SourceSpec(
        name="npz",
        entry="zoo.plugins.vision.data:open_npz",
        modality="vision",
        adapter=ADAPTER,
        takes="PATH",
        reads=(".npz",),
        description="your arrays: a NumPy archive with pictures `x` (count, height, width[, channels]) and labels `y`",
    ),
)
