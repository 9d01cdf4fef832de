"""A training of `zoo bench captions`: a captioning model on drawn scenes, its scores, and where it looked."""

import time
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import torch

import zoo
from zoo.core import cross_attention_maps
from zoo.data import open_corpus
from zoo.plugins.caption.data.corpus import POINTING, CaptionCorpus
from zoo.plugins.caption.data.pointing import mean_map

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "soft": ("caption-rnn-tiny", {}),
    "hard": ("caption-rnn-tiny", {"choice": "hard"}),
    "doubly-stochastic": ("caption-rnn-tiny", {"doubly_stochastic": 0.01}),
    "transformer": ("caption-tiny", {}),
}
"""Model and settings by name."""
SHOWN = 4
"""Pictures of the test whose maps are kept, for the figure."""
THINGS = 2
"""In each of these."""


def train(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train a model and judge it on scenes of seen and of unseen pairs.

    The scenes are the same for all; the seed draws the first weights and the order.

    Returns:
        `seen` and `unseen`: exact match, BLEU, and pointing score; `seconds` of the processor; `shown`: pictures with
        what was written, and the weights of the places for each word.
    """
    name, options = VARIANTS[config["variant"]]
    corpus = scenes(name)
    begun = time.process_time()
    trained = zoo.train(
        name,
        corpus,
        steps=config["steps"],
        batch_size=config["batch_size"],
        seed=config["seed"],
        validations=2,
        **options,
    )
    seconds = time.process_time() - begun
    names = corpus.metric, "BLEU", POINTING
    parts = {"seen": "", "unseen": " of unseen pairs"}
    scores = {part: {each: trained.scores[each + suffix] for each in names} for part, suffix in parts.items()}
    return scores | {"seconds": seconds, "shown": looks(trained.model, corpus)}


@lru_cache(maxsize=2)
def scenes(name: str) -> CaptionCorpus:
    """Open the drawn scenes for a model."""
    corpus = open_corpus("captions", zoo.info(name))
    assert isinstance(corpus, CaptionCorpus)
    return corpus


def looks(model: Any, corpus: CaptionCorpus) -> list[dict[str, Any]]:
    """Give test pictures with what the model writes of each, and where it looks for each of its words."""
    wanted = (at for at, item in enumerate(corpus.parts["test"]) if _things(item.boxes) == THINGS)
    return [look(model, corpus, at) for at in islice(wanted, SHOWN)]


def _things(boxes: Any) -> int:
    return len({box for box in boxes if box is not None})


@torch.no_grad()
def look(model: Any, corpus: CaptionCorpus, at: int) -> dict[str, Any]:
    """Let a model describe a test picture, and give the weights of the places while it writes each word."""
    device = next(model.parameters()).device
    images = corpus.pictures["test"].read([at])[0].to(device)
    item, grid = corpus.parts["test"][at], model.stem.grid(images)
    ids = model.generate(images, max_len=2 * max(map(len, corpus.targets["test"]))).best()[0]
    row = [corpus.tokenizer.bos, *map(int, ids)]
    weights = mean_map(cross_attention_maps(model, images, torch.tensor([row], device=device)), grid)[0]
    return {
        "pixels": item.picture.tolist(),
        "wanted": item.texts[0],
        "words": corpus.tokenizer.names(row[1:]),
        "grid": list(grid),
        "weights": [[round(weight, 4) for weight in row] for row in weights[: len(row) - 1].tolist()],
    }
