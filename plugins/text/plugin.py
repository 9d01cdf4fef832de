"""The names of the text plugin: one table of sizes for each family, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import Any

from zoo import ComparisonSpec, Kind, ModelSpec, SourceSpec, StudySpec, SuiteSpec, hookimpl
from zoo.plugins.text.sources import SACREBLEU, SOURCES, TOKENIZERS

TRANSLATOR = "models.transformer:Transformer"
BASE: dict[str, Any] = {
    "vocab_size": 41_000,
    "dim": 512,
    "depth": 6,
    "num_heads": 8,
    "mlp_dim": 2048,
    "dropout": 0.1,
    "label_smoothing": 0.1,
    "position": "sinusoidal",
    "max_len": 512,
}

# name: (what differs from base, parameters, million that are printed); arXiv:1706.03762 table 3. The paper gives no
# vocabulary: with 41,000 all rows of base, (B) and (C) round to what it prints; big does with its 37,000 (sec. 5.1)
# but for one million, and would have 218 with 41,000.
TRANSFORMER: dict[str, tuple[dict[str, Any], int, int]] = {
    "transformer-base": ({}, 65_130_496, 65),
    "transformer-h1": ({"num_heads": 1}, 65_130_496, 65),
    "transformer-h4": ({"num_heads": 4}, 65_130_496, 65),
    "transformer-h16": ({"num_heads": 16}, 65_130_496, 65),
    "transformer-h32": ({"num_heads": 32}, 65_130_496, 65),
    "transformer-dk16": ({"head_dim": 16, "value_dim": 64}, 58_038_784, 58),
    "transformer-dk32": ({"head_dim": 32, "value_dim": 64}, 60_402_688, 60),
    "transformer-n2": ({"depth": 2}, 35_704_832, 36),
    "transformer-n4": ({"depth": 4}, 50_417_664, 50),
    "transformer-n8": ({"depth": 8}, 79_843_328, 80),
    "transformer-d256": ({"dim": 256}, 27_858_944, 28),
    "transformer-d1024": ({"dim": 1024}, 167_985_152, 168),
    "transformer-ff1024": ({"mlp_dim": 1024}, 52_535_296, 53),
    "transformer-ff4096": ({"mlp_dim": 4096}, 90_320_896, 90),
    "transformer-p0": ({"dropout": 0.0}, 65_130_496, 65),
    "transformer-p20": ({"dropout": 0.2}, 65_130_496, 65),
    "transformer-ls0": ({"label_smoothing": 0.0}, 65_130_496, 65),
    "transformer-ls20": ({"label_smoothing": 0.2}, 65_130_496, 65),
    "transformer-learned-positions": ({"position": "learned"}, 65_392_640, 65),
    "transformer-big": (
        {"vocab_size": 37_000, "dim": 1024, "num_heads": 16, "mlp_dim": 4096, "dropout": 0.3},
        214_245_376,
        213,
    ),
}

# the same in small, for two cores: post-norm, the vocabulary of bytes
TINY = {"vocab_size": 260, "dim": 128, "depth": 3, "num_heads": 4, "mlp_dim": 512}
TRANSFORMER_TINY = {"transformer-tiny": (TINY, 1_421_824)}

# name: (what differs from base, parameters); arXiv:1711.02132 sec. 4: base and big of arXiv:1706.03762, branched
WEIGHTED: dict[str, tuple[dict[str, Any], int]] = {
    "weighted-transformer-base": ({}, 65_155_264),
    "weighted-transformer-large": (TRANSFORMER["transformer-big"][0], 214_393_216),
}

# name: (what differs from base, parameters); arXiv:1711.02281 sec. 5.1: base of arXiv:1706.03762, and the classifier of
# lengths
NAT = {"nat-base": ({"length": "predicted"}, 65_151_529)}

# name: (class, sizes, parameters, source); recurrent encoder and decoder, for two cores: the vocabulary of bytes
RECURRENT_TINY: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "rnn-tiny": (
        "RecurrentTranslator",
        {"vocab_size": 260, "dim": 128, "depth": 1, "cell": "lstm", "dropout": 0.1, "label_smoothing": 0.1},
        330_496, "arXiv:1409.3215",
    ),
    "rnn-attention-tiny": (
        "AttentionTranslator",
        {"vocab_size": 260, "dim": 128, "depth": 1, "cell": "lstm", "dropout": 0.1, "label_smoothing": 0.1,
         "score": "additive", "local": "", "feeding": True, "gate": False, "copy": False, "choice": "soft",
         "bidirectional": False},
        461_696, "arXiv:1409.0473, arXiv:1508.04025",
    ),
}  # fmt: skip

# name: (what differs from base, parameters); the models of OPUS-MT from English to German, by Marian; their ids come
# from SentencePiece models of their own, so there is nothing that reads texts for them
MARIAN: dict[str, tuple[dict[str, Any], int]] = {
    "marian-base": (
        {"vocab_size": 58_101, "position": "learned", "activation": "silu", "output_bias": True, "eps": 1e-5,
         "symbols": [58_100, 58_100, 0]},
        74_206_453,
    )
}  # fmt: skip

# name: (dim, depth, heads, mlp, parameters with pooler, repository); arXiv:1810.04805 sec. 3, arXiv:1908.08962 table 1
BERT = {
    "bert-tiny": (128, 2, 2, 512, 4_385_920, "google/bert_uncased_L-2_H-128_A-2"),
    "bert-mini": (256, 4, 4, 1024, 11_170_560, "google/bert_uncased_L-4_H-256_A-4"),
    "bert-small": (512, 4, 8, 2048, 28_763_648, "google/bert_uncased_L-4_H-512_A-8"),
    "bert-medium": (512, 8, 8, 2048, 41_373_184, "google/bert_uncased_L-8_H-512_A-8"),
    "bert-base": (768, 12, 12, 3072, 109_482_240, "google-bert/bert-base-uncased"),
    "bert-large": (1024, 24, 16, 4096, 335_141_888, "google-bert/bert-large-uncased"),
}

# the same in small, for learning curves: the vocabulary of bytes, normed queries and keys
BERT_MICRO = {
    "bert-micro": (
        {"vocab_size": 260, "dim": 64, "depth": 2, "num_heads": 4, "mlp_dim": 128, "max_len": 256,
         "attention": "qk-norm"},
        104_512,
    )
}  # fmt: skip

# name: (file and class, kind, sizes, parameters, source); of about the parameters of bert-micro
CONVOLUTIONAL: dict[str, tuple[str, Kind, dict[str, Any], int, str]] = {
    "textcnn-micro": (
        "convolutional:TextCnn", "convolution",
        {"dim": 64, "widths": [3, 4, 5], "feature_maps": 100, "dropout": 0.5},
        93_740, "arXiv:1408.5882",
    ),
    "gatedcnn-micro": (
        "convolutional:GatedCnn", "convolution",
        {"dim": 64, "depth": 3, "kernel_size": 3, "position": "learned", "max_len": 256, "dropout": 0.1},
        107_136, "arXiv:1705.03122",
    ),
    "text-hybrid-micro": (
        "convolutional:TextHybrid", "hybrid",
        {"dim": 64, "depth": 2, "convolutions": 1, "kernel_size": 3, "num_heads": 4, "mlp_dim": 128,
         "position": "learned", "max_len": 256, "dropout": 0.1, "attention": "qk-norm"},
        124_928, "arXiv:1705.03122, arXiv:1706.03762",
    ),
}  # fmt: skip

# name: (file and class, kind, sizes, parameters, source); without attention, to compare with: a body of about the
# parameters of bert-micro's, 67 thousand
RECURRENT: dict[str, tuple[str, Kind, dict[str, Any], int, str]] = {
    "lstm-micro": (
        "recurrent:Recurrent", "recurrent",
        {"dim": 64, "depth": 2, "cell": "lstm"}, 83_200, "Hochreiter and Schmidhuber 1997",
    ),
    "gru-micro": (
        "recurrent:Recurrent", "recurrent",
        {"dim": 74, "depth": 2, "cell": "gru"}, 85_840, "arXiv:1406.1078",
    ),
    "dilated-cnn-micro": (
        "dilated:DilatedCnn", "convolution",
        {"dim": 38, "depth": 8, "kernel_size": 3}, 79_800, "arXiv:1610.10099",
    ),
}  # fmt: skip

# name: (dim, depth, heads, mlp, parameters, repository); Radford et al. 2019, table 2
GPT2 = {
    "gpt2-small": (768, 12, 12, 3072, 124_439_808, "openai-community/gpt2"),
    "gpt2-medium": (1024, 24, 16, 4096, 354_823_168, "openai-community/gpt2-medium"),
}

MASKED = ("classify", "multi-label", "tag", "features", "masked-token")
"""Tasks of BERT."""

# the same in small, for two cores: the vocabulary of bytes, rotary positions (arXiv:2104.09864), so of any length
DECODER_TINY = {
    "decoder-tiny": (
        {"vocab_size": 260, "dim": 128, "depth": 5, "num_heads": 4, "mlp_dim": 512, "max_len": 512,
         "position": "rotary", "dropout": 0.1},
        1_024_896,
    )
}  # fmt: skip

# name: (what differs from RECURRENT_LM_BASE, parameters, source); tiny has about the parameters of decoder-tiny
RECURRENT_LM_BASE: dict[str, Any] = {"vocab_size": 260, "depth": 2, "max_len": 512, "dropout": 0.1}
LSTM_LM, GRU_LM = "arXiv:1409.2329", "arXiv:1406.1078, arXiv:1409.2329"
RECURRENT_LM: dict[str, tuple[dict[str, Any], int, str]] = {
    "lstm-lm-micro": ({"cell": "lstm", "dim": 64}, 83_200, LSTM_LM),
    "lstm-lm-tiny": ({"cell": "lstm", "dim": 256}, 1_119_232, LSTM_LM),
    "lstm-lm-small": ({"cell": "lstm", "dim": 512, "depth": 3}, 6_436_864, LSTM_LM),
    "gru-lm-micro": ({"cell": "gru", "dim": 74}, 85_840, GRU_LM),
    "gru-lm-tiny": ({"cell": "gru", "dim": 288}, 1_073_664, GRU_LM),
    "gru-lm-small": ({"cell": "gru", "dim": 592, "depth": 3}, 6_472_928, GRU_LM),
}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every text model."""
    yield from _translators()
    yield from _encoders()
    yield from _decoders()


def _translators() -> Iterator[ModelSpec]:
    paper = "arXiv:1706.03762"
    for name, (changes, parameters, printed) in TRANSFORMER.items():
        yield _translator(name, TRANSLATOR, parameters, BASE | changes, f"{paper} table 3", peer="torch_peer",
                          description=f"{printed} million parameters in the paper.")  # fmt: skip
    for name, (changes, parameters) in TRANSFORMER_TINY.items():
        yield _translator(name, TRANSLATOR, parameters, BASE | changes, paper, peer="torch_peer",
                          description="For two cores.")  # fmt: skip
    for name, (made, config, parameters, source) in RECURRENT_TINY.items():
        yield _translator(
            name, f"models.recurrent_translator:{made}", parameters, config, source, kind="recurrent", convert=None
        )
    for name, (changes, parameters) in MARIAN.items():
        yield _translator(name, TRANSLATOR, parameters, BASE | changes, "OPUS-MT", reads="", postprocess=None,
                          description="For weights of OPUS-MT: give vocab_size= and symbols= of the pair.")  # fmt: skip
    for name, (changes, parameters) in WEIGHTED.items():
        yield _translator(
            name, "models.weighted_transformer:WeightedTransformer", parameters, BASE | changes, "arXiv:1711.02132"
        )
    for name, (changes, parameters) in NAT.items():
        yield _translator(
            name,
            "models.non_autoregressive:NonAutoregressiveTransformer",
            parameters,
            BASE | changes,
            "arXiv:1711.02281",
        )


def _encoders() -> Iterator[ModelSpec]:
    bert: dict[str, Any] = {"num_classes": 0, "position": "learned", "dropout": 0.1}
    for name, (dim, depth, heads, mlp, parameters, repository) in BERT.items():
        config = {"vocab_size": 30_522, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "max_len": 512}
        yield _encoder(
            name, "models.transformer:Bert", parameters, "arXiv:1810.04805", config=config | bert,
            weights={"uncased": f"hf-hub:{repository}"}, peer="bert_peer", tasks=MASKED, preprocess="encoder_of_pairs",
        )  # fmt: skip
    for name, (small, parameters) in BERT_MICRO.items():
        yield _encoder(
            name, "models.transformer:Bert", parameters, "arXiv:1810.04805", config=small | bert, convert=None,
            tasks=MASKED, preprocess="encoder_of_pairs",
        )  # fmt: skip
    for name, (made, kind, own, parameters, source) in (CONVOLUTIONAL | RECURRENT).items():
        config = {"vocab_size": 260, "num_classes": 0, **own}
        yield _encoder(
            name, f"models.{made}", parameters, source, config=config, kind=kind, convert=None,
            tasks=("classify", "multi-label", "tag", "features"),
        )  # fmt: skip


def _encoder(name: str, entry: str, parameters: int, source: str, **fields: Any) -> ModelSpec:
    own = {"example": "encoder_example", "reads": "encoder", "classifier": ("head.linear.",)}
    return _text_model(name, entry, parameters, source=source, **(own | fields))


def _decoders() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, parameters, repository) in GPT2.items():
        config = {"vocab_size": 50_257, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp,
                  "position": "learned", "max_len": 1024, "dropout": 0.1}  # fmt: skip
        yield _decoder(
            name,
            parameters,
            config,
            "Radford et al. 2019",
            peer="gpt2_peer",
            weights={"openai": f"hf-hub:{repository}"},
        )
    for name, (config, parameters) in DECODER_TINY.items():
        yield _decoder(name, parameters, config, "Radford et al. 2019, arXiv:2104.09864")
    for name, (changes, parameters, source) in RECURRENT_LM.items():
        yield _decoder(
            name,
            parameters,
            RECURRENT_LM_BASE | changes,
            source,
            entry="models.recurrent_language_model:RecurrentLanguageModel",
            kind="recurrent",
            convert=None,
        )


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the data sources of text."""
    return SOURCES


@hookimpl
def zoo_comparisons() -> tuple[ComparisonSpec, ...]:
    """Give the models whose learning curves are compared, and the data."""
    models = ("gatedcnn-micro", "bert-micro", "text-hybrid-micro", "textcnn-micro")
    return (ComparisonSpec(name="text", data="tags", models=models, quick_sizes=(30, 100, 300), quick_steps=200),)


@hookimpl
def zoo_studies() -> tuple[StudySpec, ...]:
    """Give the study of non-autoregressive models."""
    return (
        StudySpec(
            name="parallel-decoding",
            entry="zoo.plugins.text.studies.study:STUDY",
            description="Non-autoregressive against autoregressive Transformers, with and without distillation.",
            requires=(TOKENIZERS, SACREBLEU),
        ),
    )


@hookimpl
def zoo_suites() -> tuple[SuiteSpec, ...]:
    """Give the benchmarks against peer libraries."""
    return (
        SuiteSpec(name="text", package="zoo.plugins.text.bench", title="Text models against their peers"),
        SuiteSpec(name="int8", package="zoo.plugins.text.bench.int8", title="Int8 weights against float32 of peers"),
    )


def _translator(
    name: str, entry: str, parameters: int, config: dict[str, Any], source: str, **fields: Any
) -> ModelSpec:
    own = {"task": "generate", "tasks": ("generate",), "example": "translation_example", "reads": "source"}
    return _text_model(name, entry, parameters, config=config, source=source, **(own | fields))


def _decoder(
    name: str,
    parameters: int,
    config: dict[str, Any],
    source: str,
    entry: str = "models.transformer:Gpt",
    **fields: Any,
) -> ModelSpec:
    own = {"task": "generate", "tasks": ("generate",), "example": "encoder_example", "reads": "prompt"}
    return _text_model(name, entry, parameters, config=config, source=source, claims=("causal",), **(own | fields))


def _text_model(name: str, entry: str, parameters: int, **fields: Any) -> ModelSpec:
    entries = {"example": "io.examples", "preprocess": "io.entries", "postprocess": "io.entries", "peer": "peers"}
    own = {"preprocess": fields["reads"] or None, "postprocess": "postprocess"}
    fields = own | {"convert": "zoo.plugins.text.convert:to_zoo"} | fields
    for key, module in entries.items():
        if fields.get(key) is not None:
            fields[key] = f"zoo.plugins.text.{module}:{fields[key]}"
    return ModelSpec(name=name, entry=f"zoo.plugins.text.{entry}", modality="text", parameters=parameters, **fields)
