"""Keyword aliases: names of other libraries and the names here, which errors suggest."""

from collections.abc import Container

from zoo.core.generation.keywords import ALIASES

_ALIASES = {
    "activation": ("hidden_act", "activation_function"),
    "depth": ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers"),
    "dim": ("hidden_size", "d_model", "n_embd", "embed_dim", "hidden_dim"),
    "dropout": ("hidden_dropout_prob", "resid_pdrop", "embd_pdrop", "drop_rate"),
    "eps": ("layer_norm_eps", "layer_norm_epsilon"),
    "image_size": ("img_size",),
    "in_chans": ("in_channels", "num_channels"),
    "max_len": ("max_position_embeddings", "n_positions"),
    "mlp_dim": ("intermediate_size", "dim_feedforward", "n_inner", "d_ff", "encoder_ffn_dim"),
    "num_classes": ("num_labels",),
    "num_heads": ("num_attention_heads", "n_head", "n_heads", "nhead", "encoder_attention_heads"),
    "pool": ("global_pool",),
    "vocab_size": ("vocab",),
    # training
    "accumulate": ("gradient_accumulation_steps",),
    "batch_size": ("per_device_train_batch_size", "train_batch_size"),
    "clip": ("max_grad_norm",),
    "epochs": ("num_train_epochs", "num_epochs"),
    "label_smoothing": ("label_smoothing_factor",),
    "learning_rate": ("lr",),
    "metric": ("metric_for_best_model", "monitor"),
    "optimizer": ("optim",),
    "out": ("output_dir",),
    "patience": ("early_stopping_patience",),
    "schedule": ("lr_scheduler_type",),
    "steps": ("max_steps",),
    "warmup": ("warmup_steps",),
}
KEYWORD_ALIASES = ALIASES | {alias: name for name, aliases in _ALIASES.items() for alias in aliases}
"""Keywords of Hugging Face transformers, `torch.nn.Transformer` and timm, each with the one here."""


def alias_of(word: str, known: Container[str]) -> str:
    """Return the keyword here for another library's, where it is one of those known; else an empty text."""
    name = KEYWORD_ALIASES.get(word, "")
    return name if name in known else ""
