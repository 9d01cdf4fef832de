import pytest
import torch

from zoo.core import ConfigError, cross_attention_maps
from zoo.plugins.caption.models.transformer import TransformerCaptioner


@pytest.mark.parametrize("stem", ["patches", "cnn"])
def test_each_layer_of_the_decoder_reads_the_places_of_the_picture(stem: str) -> None:
    model = TransformerCaptioner(vocab_size=9, image_size=8, dim=16, depth=2, num_heads=2, mlp_dim=16, stem=stem).eval()
    images, ids = torch.randn(2, 3, 8, 8), torch.randint(4, 9, (2, 5))
    maps = cross_attention_maps(model, images, ids)
    assert [tuple(each.shape) for each in maps] == [(2, 2, 5, 4)] * 2
    assert len(model.attention_maps(images, ids)) == 6


def test_another_stem_is_refused() -> None:
    with pytest.raises(ConfigError, match="stem='vit' is not one of cnn, patches"):
        TransformerCaptioner(stem="vit")
