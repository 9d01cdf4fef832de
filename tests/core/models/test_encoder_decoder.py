"""Encoders before decoders: one embedding, a source of any kind, and sizes that are shared."""

import pytest
import torch
from torch import Tensor, nn

from zoo.core import ConfigError, Generator, InputError, Tokens
from zoo.core.models.encoder_decoder import EncoderDecoderConfig, encoder_decoder_parts, of_vocabulary
from zoo.core.special_tokens import Symbols

pytestmark = pytest.mark.usefixtures("float64")

CONFIG = EncoderDecoderConfig(vocab_size=9, dim=8, depth=2, num_heads=2, mlp_dim=16, dropout=0.0)
IDS = torch.tensor([[1, 3, 5], [1, 4, 4]])


class Points(nn.Module):
    """A stem for sets of points."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(2, 8)

    def forward(self, points: Tensor) -> Tokens:
        return Tokens(self.project(points))


def test_without_a_stem_source_and_target_and_scores_share_one_embedding() -> None:
    model = Generator(**encoder_decoder_parts(CONFIG, CONFIG.encoder(), CONFIG.decoder())).eval()
    assert [name for name, _ in model.named_parameters() if "embed" in name or "head" in name] == [
        "target.embed.weight"
    ]
    scores = model(IDS, IDS)
    assert scores.shape == (2, 3, 9)
    torch.testing.assert_close(scores, model.forward_features(IDS, IDS) @ model.target.embed.weight.T)


def test_any_encoder_with_a_stem_stands_before_the_decoder() -> None:
    torch.manual_seed(0)
    model = Generator(
        **encoder_decoder_parts(CONFIG, CONFIG.encoder(), CONFIG.decoder(), stem=Points(), bias=True)
    ).eval()
    points = torch.randn(2, 4, 2)
    scores = model(points, IDS)
    torch.testing.assert_close(model(points.flip(1), IDS), scores)  # points have no order
    assert not torch.allclose(model(points + 1, IDS), scores)
    assert model.head.bias is not None
    assert len(model.generate(points, max_len=3).best()) == 2


def test_only_learned_positions_limit_the_length() -> None:
    assert CONFIG.limit is None
    learned = EncoderDecoderConfig(vocab_size=9, dim=8, depth=1, num_heads=2, mlp_dim=16, position="learned", max_len=4)
    model = Generator(**encoder_decoder_parts(learned, learned.encoder(), learned.decoder()))
    assert model.max_len == 4
    with pytest.raises(InputError, match="the model holds 4"):
        model.generate(IDS, prompt=torch.ones(4, dtype=torch.long))


@pytest.mark.parametrize("symbols", [(0, 1), (0, 1, 9), (-1, 1, 2)])
def test_symbols_that_are_no_tokens_are_refused(symbols: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"symbols=\[.*\] with vocab_size=9: three tokens of the vocabulary"):
        of_vocabulary(symbols, 9)
    assert of_vocabulary((8, 8, 0), 9) == Symbols(8, 8, 0)
