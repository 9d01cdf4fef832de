"""The data source of this plugin, and the libraries that it may need; nothing heavy is imported."""

from zoo import Requirement, SourceSpec

SKLEARN = Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]")
TIMM = Requirement(module="timm", distribution="timm", install="attention-zoo[vision]")
TOKENIZERS = Requirement(module="tokenizers", distribution="tokenizers", install="attention-zoo[text]")
SACREBLEU = Requirement(module="sacrebleu", distribution="sacrebleu", install="attention-zoo[text]")

SOURCES = (
    SourceSpec(
        name="captions",
        modality="vision",
        corpus="zoo.plugins.caption.data.open_captions:open_captions",
        takes="[FILE]",
        description=(
            "pictures with captions: drawn scenes of digits, or yours: COCO's captions_*.json, the splits of "
            "dataset_coco.json, path<TAB>text (.tsv), Flickr's .token file; FILE?images=FOLDER says where pictures are"
        ),
        pairs="zoo.plugins.caption.data.caption_pairs:open_pairs",
        tasks=("generate",),
        reads=(".tsv", ".token"),
        requires=(TIMM, TOKENIZERS, SACREBLEU),
    ),
)
