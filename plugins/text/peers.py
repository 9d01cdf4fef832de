"""The same models, with the same weights, in the libraries to compare with, for `zoo bench speed --peer`."""

import copy
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core import (
    ACTIVATIONS,
    ConfigError,
    Features,
    Generator,
    MaskedToken,
    Model,
    PreNormBlock,
    Tag,
    ValidMask,
    as_keys,
)
from zoo.plugins.text.convert import to_hf, to_torch


class HuggingFacePeer(nn.Module):
    """Let a model of Hugging Face take our inputs and give our answer.

    Args:
        net: the model.
        answer: the name of the answer in what it gives.
    """

    def __init__(self, net: nn.Module, answer: str) -> None:
        super().__init__()
        self.net = net
        self.answer = answer

    def forward(self, ids: Int[Tensor, "b n"], valid: ValidMask = None) -> Tensor:
        """Run the model on ids with a padding mask."""
        given = self.net(input_ids=ids, attention_mask=mask(ids, valid))
        return getattr(given, self.answer)


class TorchPeer(nn.Module):
    """An embedding for source, target and output around `torch.nn.Transformer`.

    Args:
        ours: the model whose sizes and weights it takes; its positions are added to the vectors, or are none.
    """

    def __init__(self, ours: Generator) -> None:
        super().__init__()
        first: Any = ours.decoder.blocks[0]
        self.embed = copy.deepcopy(ours.target.embed)
        self.position = copy.deepcopy(ours.target.position)
        self.scale = ours.target.scale
        self.dropout = nn.Dropout(ours.target.dropout.p)
        self.net = torch_transformer(ours)
        self.net.load_state_dict(to_torch(ours))
        self.bias = None if ours.head.bias is None else nn.Parameter(ours.head.bias.detach().clone())
        self.train(first.training)

    def forward(
        self, source: Int[Tensor, "b n"], valid: ValidMask, target: Int[Tensor, "b m"]
    ) -> Float[Tensor, "b m vocab"]:
        """Give the scores of the token that follows on each of the target's."""
        absent = mask(source, valid)
        absent = None if absent is None else ~absent
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        x = self.net(
            self.vectors(source),
            self.vectors(target),
            tgt_mask=later,
            src_key_padding_mask=absent,
            memory_key_padding_mask=absent,
            tgt_is_causal=True,
        )
        return nn.functional.linear(x, self.embed.weight, self.bias)

    def vectors(self, ids: Int[Tensor, "b n"]) -> Float[Tensor, "b n d"]:
        """Embed ids and add their positions."""
        x = self.embed(ids) * self.scale
        return self.dropout(x if self.position is None else x + self.position((ids.shape[1],)))


def torch_transformer(ours: Generator) -> nn.Module:
    """Make `torch.nn.Transformer` of the same sizes, with norms behind the stacks where ours has them.

    Its attention drops no weights, as ours.
    """
    block: Any = ours.encoder.blocks[0]
    dim, eps = ours.num_features, block.norm1.eps
    sizes = (dim, block.attention.num_heads, block.mlp.up.out_features, block.dropout.p)
    options: dict[str, Any] = {
        "activation": _functional(block.mlp.activation),
        "layer_norm_eps": eps,
        "batch_first": True,
        "norm_first": isinstance(block, PreNormBlock),
    }
    norms = [nn.LayerNorm(dim, eps=eps) if next(stack.norm.parameters(), None) is not None else None
             for stack in (ours.encoder, ours.decoder)]  # fmt: skip
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(*sizes, **options), len(ours.encoder.blocks), norms[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, **options), len(ours.decoder.blocks), norms[1])
    whole = nn.Transformer(*sizes[:2], custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    for part in whole.modules():
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0
    return whole


def bert_peer(model: Model) -> nn.Module:
    """Make Hugging Face's model of the same task with the weights of a `Bert`; its attention drops no weights."""
    import transformers

    first: Any = model.encoder.blocks[0]
    stem = model.stem
    config = transformers.BertConfig(
        vocab_size=stem.tokens.embed.num_embeddings,
        hidden_size=model.num_features,
        num_hidden_layers=len(model.encoder.blocks),
        num_attention_heads=first.attention.num_heads,
        intermediate_size=first.mlp.up.out_features,
        max_position_embeddings=len(stem.tokens.position.table),
        layer_norm_eps=first.norm1.eps,
        hidden_dropout_prob=stem.dropout.p,
        attention_probs_dropout_prob=0.0,
    )
    config.num_labels = model.num_classes or 2
    net: Any
    if isinstance(model.head, MaskedToken):
        net, answer = transformers.BertForMaskedLM(config), "logits"
    elif isinstance(model.head, Features) or (isinstance(model.head, Tag) and not model.num_classes):
        net, answer = transformers.BertModel(config, add_pooling_layer=False), "last_hidden_state"
    elif isinstance(model.head, Tag):
        net, answer = transformers.BertForTokenClassification(config), "logits"
    elif model.num_classes:
        net, answer = transformers.BertForSequenceClassification(config), "logits"
    else:
        net, answer = transformers.BertModel(config), "pooler_output"
    net.load_state_dict(to_hf(model))
    return HuggingFacePeer(net, answer).train(model.training)


def gpt2_peer(model: Generator) -> nn.Module:
    """Make `GPT2LMHeadModel` with the weights of a `Gpt`; its attention drops no weights."""
    import transformers

    first: Any = model.decoder.blocks[0]
    config = transformers.GPT2Config(
        vocab_size=model.num_classes,
        n_positions=len(model.target.position.table),
        n_embd=model.num_features,
        n_layer=len(model.decoder.blocks),
        n_head=first.attention.num_heads,
        n_inner=first.mlp.up.out_features,
        layer_norm_epsilon=first.norm1.eps,
        resid_pdrop=first.dropout.p,
        embd_pdrop=model.target.dropout.p,
        attn_pdrop=0.0,
        bos_token_id=model.symbols.bos,
        eos_token_id=model.symbols.eos,
        pad_token_id=model.symbols.pad,
    )
    net: Any = transformers.GPT2LMHeadModel(config)
    net.load_state_dict(to_hf(model))
    return HuggingFacePeer(net, "logits").train(model.training)


def torch_peer(model: Generator) -> nn.Module:
    """Make `torch.nn.Transformer`, between embedding and output, with the weights of a `Transformer`."""
    return TorchPeer(model)


def mask(ids: Int[Tensor, "b n"], valid: ValidMask) -> Bool[Tensor, "b n"] | None:
    """Return the padding mask of ids; None without padding."""
    keys = as_keys(valid)
    return None if keys is None else keys.valid(len(ids), ids.shape[1], ids.device)


def _functional(activation: Any) -> Any:
    """Give torch's function for one of ours, which overwrites what it is given."""
    named = {ours: name for name, ours in ACTIVATIONS.items()}
    activations = {"relu": nn.functional.relu, "gelu": nn.functional.gelu, "silu": nn.functional.silu}
    if named.get(activation) in activations:
        return activations[named[activation]]
    raise ConfigError(f"{activation} has no counterpart for torch.nn.Transformer")
