"""What prepares an image for a model."""

from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from timm.data import create_transform, resolve_data_config

import zoo
from zoo import InputError


def picture(height: int = 60, width: int = 80) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize(("name", "architecture"), [("vit-small", "vit_small_patch16_224"), ("resnet-50", "resnet50")])
def test_evaluation_is_timms_transform(name: str, architecture: str) -> None:
    theirs = create_transform(**resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(architecture).to_dict()))
    torch.testing.assert_close(zoo.preprocess(name)(picture(300, 250)), theirs(picture(300, 250)))


def test_training_augments_and_evaluation_does_not() -> None:
    train, test = zoo.preprocess("vit-micro", train=True), zoo.preprocess("vit-micro")
    assert not torch.equal(train(picture()), train(picture()))
    assert torch.equal(test(picture()), test(picture()))


def test_paths_arrays_tensors_and_lists_are_images(tmp_path: Path) -> None:
    prepare = zoo.preprocess("vit-micro")
    image = picture()
    image.save(tmp_path / "cat.png")
    array = np.asarray(image)
    expected = prepare(image)
    assert expected.shape == (3, 24, 24)
    for same in (tmp_path / "cat.png", str(tmp_path / "cat.png"), array, torch.tensor(array).permute(2, 0, 1)):
        torch.testing.assert_close(prepare(same), expected)
    torch.testing.assert_close(prepare([image, image]), torch.stack([expected, expected]))


def test_grey_images_become_colour() -> None:
    grey = picture().convert("L")
    torch.testing.assert_close(zoo.preprocess("vit-micro")(grey), zoo.preprocess("vit-micro")(grey.convert("RGB")))


def test_the_model_reads_what_preprocess_gives() -> None:
    model, image = zoo.create("vit-micro").eval(), picture()
    first, second = model(zoo.preprocess("vit-micro")([image, image.rotate(180)]))
    assert first.shape == (10,)
    assert not torch.allclose(first, second)


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(InputError, match=r"ndarray of float64 \(4, 4, 3\) is no image"):
        zoo.preprocess("vit-micro")(np.zeros((4, 4, 3)))


def test_a_network_of_timm_is_prepared_as_its_folder_says(tmp_path: Path) -> None:
    told = {"input_size": [3, 40, 40], "mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6]}
    folder = zoo.weights.save(zoo.create("resnet-18", num_classes=2), tmp_path, told)
    found = zoo.preprocess(f"local-dir:{folder}").portable()  # type: ignore[attr-defined]
    assert tuple(found["input_size"]) == (3, 40, 40)
    assert [*found["mean"], *found["std"]] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert zoo.preprocess("resnet-18").portable()["mean"] != found["mean"]  # type: ignore[attr-defined]
