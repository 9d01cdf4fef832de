from pathlib import Path

import numpy as np

import zoo
from zoo.plugins.caption.data.pictures import Pictures

SPEC = zoo.info("caption-tiny")


def test_pixels_and_files_of_them_are_the_same_picture(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (20, 20, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    (one, _), (other, known) = Pictures([pixels], SPEC).read([0]), Pictures([tmp_path / "a.png"], SPEC).read([0])
    assert (one == other).all()
    assert known.all()


def test_a_batch_of_which_nothing_can_be_read_is_zeros_that_count_nowhere(tmp_path: Path) -> None:
    pictures = Pictures([tmp_path / "gone.png"], SPEC)
    found, known = pictures.read([0])
    assert found.shape == Pictures([np.eye(20, dtype=np.uint8)[..., None].repeat(3, 2)], SPEC).read([0])[0].shape
    assert not found.any()
    assert not known.any()
    assert "gone.png" in pictures.notes()[0]
