"""wav2vec 2.0, with the same weights, in torchaudio, for `zoo bench speed --peer`."""

import copy
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import Lengths, Model, PreNormBlock, Tokens
from zoo.plugins.shared.audio.stems.wave_stem import KERNELS, normalised
from zoo.plugins.speech.convert import to_torchaudio


class Wav2Vec2Peer(nn.Module):
    """Torchaudio's model before our head; answers are the same where sounds are of one length, and see `Wav2Vec2`.

    Args:
        ours: the model whose head it copies.
        net: theirs.
    """

    def __init__(self, ours: Model, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.normalised = ours.stem.normalised
        self.head = copy.deepcopy(ours.head)
        self.train(ours.training)

    def forward(self, sounds: Float[Tensor, "b t"], lengths: Int[Tensor, " b"] | None = None) -> Tensor:
        """Give the answer of the model's task."""
        if self.normalised:
            sounds = normalised(sounds[..., None], lengths)[..., 0]
        x, count = self.net(sounds, lengths)
        return self.head(Tokens(x, None, None if count is None else Lengths(count)))


def peer(model: Model) -> nn.Module:
    """Make torchaudio's model with the weights of a `Wav2Vec2`; its attention drops no weights.

    Raises:
        ConfigError: If a weight has no name there.
    """
    from torchaudio.models import wav2vec2_model

    first: Any = model.encoder.blocks[0]
    stem, rate = model.stem, first.dropout.p
    layer_norms = isinstance(stem.convolutions[0].norm, nn.LayerNorm)
    net = wav2vec2_model(
        extractor_mode="layer_norm" if layer_norms else "group_norm",
        extractor_conv_layer_config=[(stem.project.in_features, *kernel) for kernel in KERNELS],
        extractor_conv_bias=layer_norms,
        encoder_embed_dim=model.num_features,
        encoder_projection_dropout=rate,
        encoder_pos_conv_kernel=stem.position.direction.shape[2],
        encoder_pos_conv_groups=stem.position.groups,
        encoder_num_layers=len(model.encoder.blocks),
        encoder_num_heads=first.attention.num_heads,
        encoder_attention_dropout=0.0,
        encoder_ff_interm_features=first.mlp.up.out_features,
        encoder_ff_interm_dropout=rate,
        encoder_dropout=rate,
        encoder_layer_norm_first=isinstance(first, PreNormBlock),
        encoder_layer_drop=0.0,
        aux_num_out=None,
    )
    state = to_torchaudio(model)
    net.load_state_dict({key: value for key, value in state.items() if not key.startswith("aux.")})
    return Wav2Vec2Peer(model, net)
