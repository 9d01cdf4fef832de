from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given

SPEC = zoo.info("vit-micro").with_config(image_size=8)
PIXELS = np.random.default_rng(0).integers(0, 256, (24, 8, 8, 3), dtype=np.uint8)
LABELS = ["dark" if place % 2 else "bright" for place in range(24)]


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def opened(train: Any, **parts: Any) -> Any:
    return open_given(GivenData({"train": train} | parts), SPEC)


def bytes_of(corpus: Any) -> set[bytes]:
    """Give the pixels of all parts."""
    return {
        picture.tobytes()
        for split in ("train", "validation", "test")
        for picture in corpus.source.splits[split].inputs.read(torch.arange(corpus.sizes[split]))[0].numpy()
    }


def paths(folder: Path) -> list[Path]:
    for place, pixels in enumerate(PIXELS):
        Image.fromarray(pixels).save(folder / f"{place}.png")
    return [folder / f"{place}.png" for place in range(len(PIXELS))]


def test_images_arrays_tensors_and_paths_are_the_same_pictures(tmp_path: Path) -> None:
    wanted = {pixels.transpose(2, 0, 1).tobytes() for pixels in PIXELS}
    tensors = torch.from_numpy(PIXELS).permute(0, 3, 1, 2)
    for inputs in ([*map(Image.fromarray, PIXELS)], PIXELS, PIXELS / 255, tensors, tensors / 255, paths(tmp_path)):
        corpus = opened([*zip(inputs, LABELS, strict=True)])
        assert bytes_of(corpus) == wanted
        assert corpus.labels == ["bright", "dark"]
        assert sum(corpus.sizes.values()) == 24


def test_arrays_of_pictures_and_labels_keep_their_parts() -> None:
    corpus = opened((PIXELS / 255, np.array(LABELS)), validation=(PIXELS[:6] / 255, np.array(LABELS[:6])))
    assert corpus.sizes["validation"] == 6
    assert (corpus.source.validation().inputs.numpy() == PIXELS[:6].transpose(0, 3, 1, 2)).all()
    assert (
        "as (count, height, width, channels) of float64 in 0 … 1; train 24, validation 6 as given" in corpus.description
    )


class Prepared(Dataset[Any]):
    """Hold tensors that were normalised."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, place: int) -> Any:
        return torch.from_numpy(PIXELS[place]).permute(2, 0, 1) / 64 - 2, place % 2


def test_tensors_that_are_normalised_are_read_as_they_are() -> None:
    corpus = opened(Prepared())
    (images,), labels = corpus.batch(torch.tensor([0, 3]), torch.Generator())
    places = [corpus.rows["train"][place][1] for place in (0, 3)]
    assert torch.equal(images, torch.stack([Prepared()[place][0] for place in places]))
    assert labels.tolist() == [place % 2 for place in places]
    assert corpus.overrides() == {"num_classes": 2, "in_chans": 3, "image_size": 8}


def test_pictures_that_cannot_be_read_are_named() -> None:
    good = [*zip(PIXELS, LABELS, strict=True)]
    with pytest.raises(DataError, match=r"train\[24\]: there is no file 'none.png'"):
        opened([*good, ("none.png", "dark")])
    with pytest.raises(
        DataError, match=r"train\[24\]: a picture of float64 from -1 to -0.0235294: floats are of 0 … 1"
    ):
        opened([*good, (PIXELS[0] / 255 - 1, "dark")])


def test_pictures_that_leave_no_part_to_validate_are_too_few() -> None:
    with pytest.raises(DataError, match="3 images to learn from, of which none is left for"):
        opened(list(zip(PIXELS[[0, 1, 2]], ["dark", "bright", "dark"], strict=True)))
