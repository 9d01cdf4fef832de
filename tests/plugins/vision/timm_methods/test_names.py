"""Names of timm are names here."""

import re

import pytest
import timm

import zoo
from zoo import UnknownModelError
from zoo.plugins.vision.plugin import TIMM_NETS, VIT
from zoo.plugins.vision.timm_methods.names import names_here, spelled


def test_every_model_that_timm_has_too_is_found_by_its_name() -> None:
    names = names_here(VIT, TIMM_NETS)
    assert len(names) == len(VIT) + len(TIMM_NETS)
    for architecture, own in names.items():
        assert zoo.info(architecture).full_name == f"vision:{own}"
        assert timm.is_model(architecture) or own == "vit-small-p8"
    assert zoo.info("ViT-Small-Patch16-224").name == "vit-small"


def test_a_tag_chooses_its_weights() -> None:
    assert list(zoo.info("vit_small_patch16_224.augreg_in1k").weights) == ["augreg_in1k"]
    assert list(zoo.info("vit_small_patch16_224").weights) == list(zoo.info("vit-small").weights)
    with pytest.raises(UnknownModelError, match=r"Unknown tag \(none\) of model 'vit-small', timm's vit_small_patch16"):
        zoo.info("vit_small_patch16_224.none")


def test_other_names_of_timm_need_no_prefix() -> None:
    assert zoo.info("test_convnext").name == zoo.info("timm:test_convnext").name == "timm:test_convnext"
    assert zoo.info("timm:Test-ConvNext").config == zoo.info("timm:test_convnext").config
    assert spelled(" ViT-B ") == "vit_b"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("timm:resnet51", "'timm:resnet50'"),
        ("timm:vit_smal_patch16_224", "'timm:vit_small_patch16_224'"),
        ("vit_smal_patch16_224", "'vit_small_patch16_224'"),
    ],
)
def test_an_unknown_name_of_timm_gets_near_ones(name: str, near: str) -> None:
    with pytest.raises(UnknownModelError, match=re.escape(f"Unknown model ({name}). Did you mean")) as error:
        zoo.info(name)
    assert near in str(error.value)
    with pytest.raises(UnknownModelError, match=re.escape("Unknown model (no_such_net)")):
        zoo.info("no_such_net")
