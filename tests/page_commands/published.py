"""Repositories of the hub that pages name, with random weights in the layout of their peers."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

SIZES: dict[str, dict[str, Any]] = {
    "bert-base": {"vocab_size": 40, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 64},
}
"""Sizes of a model in place of the published ones, where these would take gigabytes."""


def write_vit(folder: Path) -> None:
    """Write vit-tiny as timm does."""
    import timm
    from timm.models import save_for_hf

    save_for_hf(timm.create_model("vit_tiny_patch16_224.augreg_in21k_ft_in1k"), str(folder), safe_serialization=True)


def write_bert(folder: Path) -> None:
    """Write a small BERT as transformers does, with a tokenizer of word pieces."""
    import transformers

    from zoo.plugins.shared.text.tokenizer import Tokenizer

    size = SIZES["bert-base"]
    config = transformers.BertConfig(
        vocab_size=size["vocab_size"], hidden_size=size["dim"], num_hidden_layers=size["depth"],
        num_attention_heads=size["num_heads"], intermediate_size=size["mlp_dim"],
        max_position_embeddings=size["max_len"],
    )  # fmt: skip
    saved(transformers.BertForPreTraining(config), folder)
    tokenizer = Tokenizer.train(["paris is the capital of france."] * 5, "wordpiece", size["vocab_size"])
    assert tokenizer.vocab_size == size["vocab_size"]
    tokenizer.save(folder / "tokenizer.json")


def write_wav2vec(folder: Path) -> None:
    """Write a small Wav2Vec2ForCTC as transformers does, with its vocabulary."""
    import transformers

    tokens = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
    config = transformers.Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[8] * 7,
        vocab_size=len(tokens), pad_token_id=0,
    )  # fmt: skip
    saved(transformers.Wav2Vec2ForCTC(config), folder)
    (folder / "tokens.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    any_typed: Any = transformers
    reader = any_typed.Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=False)
    any_typed.Wav2Vec2Processor(reader, any_typed.Wav2Vec2CTCTokenizer(str(folder / "tokens.json"))).save_pretrained(
        folder
    )


def saved(model: Any, folder: Path) -> None:
    """Save a model of transformers whose weights all differ from those it starts with."""
    with torch.no_grad():
        for x in model.parameters():
            x.add_(0.1 * torch.randn_like(x))
    model.save_pretrained(folder)


PUBLISHED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "zoo train vit-tiny --pretrained": ("timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k", write_vit),
    " bert-base ": ("google-bert/bert-base-uncased", write_bert),
    " wav2vec2-base.960h": ("facebook/wav2vec2-base-960h", write_wav2vec),
    " hf-hub:org/name": ("org/name", write_wav2vec),
}
"""Repositories by what stands in a command that asks for them."""


def asked_for(commands: Iterable[str]) -> dict[str, Callable[[Path], None]]:
    """Give what writes each repository that commands ask for, and do not push themselves."""
    together = "\n".join(commands)
    found = dict(given for words, given in PUBLISHED.items() if words in together)
    return {name: write for name, write in found.items() if not ("zoo push " in together and f" {name} " in together)}
