"""Images are read by the depth, the alpha and the orientation of their own file, wherever they are read."""

import re
import struct
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

import zoo
from zoo import InputError
from zoo.plugins.vision.data import open_folder, open_npz
from zoo.plugins.vision.data.folders.lazy_images import LazyImages
from zoo.plugins.vision.read_image import constant_note, is_constant, name_of, pixels_of, read_image

GREY = np.linspace(0, 255, 48).round().astype(np.uint8).reshape(6, 8)
"""What every file below shows, black to white."""
Write = Callable[[Path], Path]


def tiff(path: Path, pixels: NDArray[Any], bits: int, sample_format: int, photometric: int = 1) -> Path:
    """Write an uncompressed TIFF by hand, of the types that Pillow reads and does not write."""
    data = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    height, width = GREY.shape
    entries = [
        (256, width),
        (257, height),
        (258, bits),
        (259, 1),
        (262, photometric),
        (273, 8),
        (277, 1),
        (278, height),
    ]
    entries += [(279, len(data)), (339, sample_format)]
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    start = struct.pack("<2sHI", b"II", 42, 8 + len(data))
    path.write_bytes(start + data + struct.pack("<H", len(entries)) + directory + struct.pack("<I", 0))
    return path


def saved(name: str, image: Any, **options: Any) -> Write:
    """Make what writes an image by Pillow."""

    def write(folder: Path) -> Path:
        made = image if isinstance(image, Image.Image) else Image.fromarray(image)
        made.save(folder / name, **options)
        return folder / name

    return write


def twelve_bits(folder: Path) -> Path:
    """Write two pixels in three bytes, as 12-bit cameras do."""
    values = (GREY.astype(np.uint32) * 4095 / 255).round().astype(np.uint32).reshape(-1, 2)
    packed = np.stack([values[:, 0] >> 4, (values[:, 0] & 15) << 4 | values[:, 1] >> 8, values[:, 1] & 255], 1)
    return tiff(folder / "a.tif", packed.astype(np.uint8), 12, 1)


GREYS: dict[str, Write] = {
    "8 bits": saved("a.png", GREY),
    "16-bit PNG": saved("a.png", GREY.astype(np.uint16) * 257),
    "16-bit TIFF": saved("a.tif", GREY.astype(np.uint16) * 257),
    "16-bit PGM": saved("a.ppm", GREY.astype(np.uint16) * 257),
    "12-bit TIFF": twelve_bits,
    "16-bit TIFF, signed": lambda folder: tiff(folder / "a.tif", (GREY / 255 * 32767).round().astype(np.int16), 16, 2),
    "16-bit TIFF, white is 0": lambda folder: tiff(folder / "a.tif", (255 - GREY).astype(np.uint16) * 257, 16, 1, 0),
    "32-bit TIFF of 16 bits": saved("a.tif", GREY.astype(np.int32) * 257),
    "32-bit TIFF of 8 bits": saved("a.tif", GREY.astype(np.int32)),
    "32-bit TIFF": lambda folder: tiff(folder / "a.tif", (GREY * np.float64(2**31 - 1) / 255).astype(np.int32), 32, 2),
    "32-bit TIFF, unsigned": lambda folder: tiff(folder / "a.tif", GREY.astype(np.uint32) * (2**32 // 255), 32, 1),
    "float TIFF to 1": saved("a.tif", GREY.astype(np.float32) / 255),
    "float TIFF to 255": saved("a.tif", GREY.astype(np.float32)),
    "float TIFF, white is 0": lambda folder: tiff(folder / "a.tif", (1 - GREY / 255).astype(np.float32), 32, 3, 0),
    "grey and opaque alpha": saved("a.png", Image.fromarray(GREY).convert("LA")),
    "colour": saved("a.png", Image.fromarray(GREY).convert("RGB")),
    "palette": saved("a.png", Image.fromarray(GREY).convert("P")),
    "CMYK": saved("a.tif", Image.fromarray(GREY).convert("RGB").convert("CMYK")),
}


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("write", GREYS.values(), ids=GREYS)
def test_the_same_picture_is_the_same_at_every_depth(write: Write, mode: str, tmp_path: Path) -> None:
    read = read_image(write(tmp_path), mode)
    assert read.mode == mode
    expected = np.asarray(Image.fromarray(GREY).convert(mode), np.int16)
    assert np.abs(np.asarray(read, np.int16) - expected).max() <= 1


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("pixels", [GREY > 99, GREY.astype(np.uint16) * 257, GREY], ids=["bool", "uint16", "uint8"])
def test_arrays_and_tensors_are_scaled_by_their_type(pixels: NDArray[Any], mode: str) -> None:
    expected = np.asarray(
        Image.fromarray(np.where(GREY > 99, 255, 0).astype(np.uint8) if pixels.dtype == bool else GREY).convert(mode)
    )
    for same in (pixels, pixels[..., None], torch.from_numpy(pixels)[None], torch.from_numpy(np.stack([pixels] * 3))):
        np.testing.assert_array_equal(np.asarray(read_image(same, mode)), expected)


def test_what_is_no_image_is_told_in_short() -> None:
    with pytest.raises(InputError, match=r"^a list of 1000000 \(int, int, .*\) is no image: give a path") as told:
        read_image([0] * 10**6)
    assert len(str(told.value)) < 200


def test_a_column_of_pixels_is_an_image() -> None:
    assert read_image(np.zeros((5, 1, 3), np.uint8)).size == (1, 5)


def logo(colour: int) -> Image.Image:
    """Draw a square on nothing; what alpha hides is black, as most programs write it."""
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[2:6, 2:6] = [colour, colour, colour, 255]
    return Image.fromarray(pixels)


def palette_logo() -> Image.Image:
    """Draw the black logo with a palette of two blacks, one transparent."""
    image = Image.fromarray((np.asarray(logo(0))[..., 3] > 0).astype(np.uint8)).convert("P")
    image.putpalette([0, 0, 0] * 2)
    return image


SHAPE = np.where(np.asarray(logo(0))[..., 3] > 0, 0, 255).astype(np.uint8)
LOGOS: dict[str, Write] = {
    "RGBA": saved("a.png", logo(0)),
    "RGBA WebP": saved("a.webp", logo(0), lossless=True),
    "LA": saved("a.png", logo(0).convert("LA")),
    "PA": saved("a.tif", logo(0).convert("PA")),
    "palette": saved("a.png", palette_logo(), transparency=0),
    "palette of alphas": saved("a.png", palette_logo(), transparency=bytes([0, 255])),
    "GIF": saved("a.gif", palette_logo(), transparency=0),
    "one grey": saved("a.png", 200 - SHAPE // 255 * 100 - 100 * (SHAPE == 0).astype(np.uint8) * 2, transparency=100),
    "one grey of 16 bits": saved("a.png", (SHAPE // 255).astype(np.uint16) * 700, transparency=700),
    "one colour": saved("a.png", Image.fromarray(SHAPE // 2).convert("RGB"), transparency=(127, 127, 127)),
}


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("write", LOGOS.values(), ids=LOGOS)
def test_a_black_logo_on_nothing_is_black_on_white(write: Write, mode: str, tmp_path: Path) -> None:
    expected = np.asarray(Image.fromarray(SHAPE).convert(mode))
    np.testing.assert_array_equal(np.asarray(read_image(write(tmp_path), mode)), expected)


def test_alpha_is_kept_for_models_that_read_it() -> None:
    np.testing.assert_array_equal(np.asarray(read_image(logo(9), "RGBA")), np.asarray(logo(9)))


def test_half_transparent_is_half_white() -> None:
    assert read_image(Image.new("RGBA", (1, 1), (0, 100, 200, 128))).getpixel((0, 0)) == (127, 177, 227)


@pytest.mark.parametrize("mode", ["1", "La", "LAB", "HSV", "YCbCr", "RGBa", "RGBX", "I;16B"])
@pytest.mark.parametrize("wanted", ["L", "RGB", "RGBA"])
def test_every_mode_of_pillow_is_read(mode: str, wanted: str) -> None:
    assert read_image(Image.new(mode, (2, 3)), wanted).mode == wanted


def test_one_bit_is_black_and_white(tmp_path: Path) -> None:
    path = saved("a.png", Image.fromarray(SHAPE).convert("1"))(tmp_path)
    np.testing.assert_array_equal(np.asarray(read_image(path, "L")), SHAPE)


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp", "a.tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_upright(orientation: int, name: str, tmp_path: Path) -> None:
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # orientation: PIL.Image.Transpose that brings it about
    upright = Image.fromarray(GREY.repeat(8, 0).repeat(8, 1)).convert("RGB")
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose(undo[orientation]))
    exif = Image.Exif()
    exif[274] = orientation
    stored.save(tmp_path / name, exif=exif)
    for photo in (tmp_path / name, Image.open(tmp_path / name)):
        read = read_image(photo)
        assert read.size == upright.size
        assert np.abs(np.asarray(read, np.int16) - np.asarray(upright, np.int16)).mean() < 4


def test_broken_exif_leaves_a_photo_as_it_is() -> None:
    photo = Image.fromarray(GREY)
    photo.info["exif"] = b"Exif\0\0nothing of the kind"
    np.testing.assert_array_equal(np.asarray(read_image(photo, "L")), GREY)


@pytest.mark.parametrize(
    ("pixels", "text"),
    [
        (np.full((2, 2), -1.0, np.float32), "pixels from -1 to -1: write them from 0 to 1, 255, 65535"),
        (np.full((2, 2), 1e6, np.float32), "pixels from 1e+06 to 1e+06"),
        (np.array([[0, np.nan]], np.float32), "pixels from nan to nan"),
        (np.array([[-5, 7]], np.int32), "pixels from -5 to 7"),
    ],
)
def test_pixels_without_a_depth_are_refused(pixels: NDArray[Any], text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        read_image(Image.fromarray(pixels))


@pytest.mark.parametrize(("low", "high", "warns"), [(-5.8e-9, 1.0, 0), (-0.01, 1.009, 0), (0, 1.05, 1), (-0.1, 1.5, 1)])
def test_floats_that_overshoot_are_clipped_and_named_once(low: float, high: float, warns: int, tmp_path: Path) -> None:
    pixels = (GREY / 255).astype(np.float32)
    pixels[0, 0], pixels[-1, -1] = low, high
    path = saved("over.tif", pixels)(tmp_path)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        read = np.asarray(read_image(path, "L"), np.int16)
    assert np.abs(read - (pixels.clip(0, 1) * 255)).max() <= 1
    assert ["over.tif: pixels from" in str(each.message) for each in warned] == [True] * warns


def test_floats_of_bytes_that_overshoot_are_clipped() -> None:
    pixels = GREY.astype(np.float32)
    pixels[0, 0] = 300
    assert np.abs(np.asarray(read_image(Image.fromarray(pixels), "L"), np.int16) - pixels.clip(0, 255)).max() <= 1


def test_constant_images_are_found_and_named() -> None:
    plain, spotted = Image.new("RGB", (3, 3), "red"), Image.new("RGB", (3, 3), "red")
    spotted.putpixel((1, 1), (255, 0, 1))
    assert is_constant(plain)
    assert not is_constant(spotted)
    assert is_constant(Image.new("L", (2, 2)))
    assert name_of(Path("a.png"), 3) == "a.png"
    assert name_of(plain, 3) == "image 3"
    assert constant_note(["a"], 9) == "1 of 9 images is constant, all pixels equal after reading: a"
    assert constant_note(list("abcdefg"), 9).endswith(
        "7 of 9 images are constant, all pixels equal after reading: a, b, c, d, e and 2 more"
    )


@pytest.mark.parametrize("name", ["vit-micro", "resnet-micro"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("written", ["16-bit PNG", "float TIFF to 1", "one grey of 16 bits"])
def test_models_are_given_what_the_reader_reads(name: str, channels: int, written: str, tmp_path: Path) -> None:
    path = (GREYS | LOGOS)[written](tmp_path)
    prepare = zoo.preprocess(name) if channels == 3 else None
    if prepare is None:
        zoo.weights.save(zoo.create(name, in_chans=1), tmp_path / "grey")
        prepare = zoo.preprocess(f"local-dir:{tmp_path / 'grey'}")
    plain = Image.fromarray(GREY if written in GREYS else SHAPE)
    torch.testing.assert_close(prepare(path), prepare(plain), atol=0.02, rtol=0)


def test_preprocessing_warns_once_of_constant_images(tmp_path: Path) -> None:
    Image.new("RGB", (9, 9)).save(tmp_path / "black.png")
    given = [str(tmp_path / "black.png"), Image.fromarray(GREY), np.zeros((4, 4), np.uint8)]
    with pytest.warns(UserWarning, match=r"2 of 3 images are constant, .*black\.png, image 2") as warned:
        zoo.preprocess("vit-micro")(given)
    assert len(warned) == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write class folders of every kind of file, and a black picture."""
    for place, write in enumerate([*GREYS.values(), *LOGOS.values()]):
        (tmp_path / "data" / str(place % 2) / str(place)).mkdir(parents=True)
        write(tmp_path / "data" / str(place % 2) / str(place))
    Image.new("L", (5, 5)).save(tmp_path / "data" / "1" / "black.png")
    return tmp_path / "data"


def test_folders_are_read_by_the_same_reader(folder: Path) -> None:
    source = open_folder(str(folder), image_size=8).cached(True)
    parts = [source.splits[part].inputs for part in ("train", "validation", "test")]
    pictures = torch.cat([part.read(torch.arange(len(part)))[0] for part in parts if isinstance(part, LazyImages)])
    assert source.notes == (f"1 of {len(pictures)} files is constant, all pixels equal after reading: 1/black.png",)
    assert int((pictures.amin((1, 2, 3)) == pictures.amax((1, 2, 3))).sum()) == 1
    assert open_folder(str(folder)).notes == open_folder(str(folder)).resized(24).notes == source.notes


def test_a_training_warns_once_of_the_files_it_cannot_use(folder: Path, tmp_path: Path) -> None:
    (folder / "0" / "broken.png").write_bytes(b"no picture")
    tiny: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    with pytest.warns(UserWarning, match="folder:data") as warned:
        zoo.train("vit-micro", str(folder), out=tmp_path / "out", steps=1, validations=1, precision="32-true", **tiny)
    assert sorted(str(each.message) for each in warned) == [
        "folder:data: 1 of 30 files is constant, all pixels equal after reading: 1/black.png",
        "folder:data: 1 unreadable image skipped so far: 0/broken.png",
    ]


def test_a_class_that_cannot_be_read_says_why(folder: Path) -> None:
    (folder / "2").mkdir()
    for name in "abc":
        Image.fromarray(np.full((2, 2), -1, np.float32)).save(folder / "2" / f"{name}.tif")
    source = open_folder(str(folder))
    train = source.splits["train"]
    assert isinstance(train.inputs, LazyImages)
    told = r"class '2' has no readable images \(.*\.tif' cannot be read: pixels from -1 to -1.*\) to train on: replace"
    with pytest.raises(zoo.DataError, match=told):
        train.inputs.read((train.labels == 2).nonzero().flatten())


@pytest.mark.parametrize("white", [np.uint16(65535), np.float32(1), np.uint8(255), np.bool_(True)], ids=str)
def test_archives_are_scaled_by_their_type(white: Any, tmp_path: Path) -> None:
    pictures = np.zeros((20, 4, 4), white.dtype)
    pictures[1:, 0] = white
    np.savez(tmp_path / "a.npz", x=pictures, y=np.arange(20) % 2)
    source = open_npz(str(tmp_path / "a.npz"))
    assert source.test().inputs.unique().tolist() in ([0, 255], [0])
    assert source.train(10, 0).inputs.unique().tolist() == [0, 255]
    assert source.notes == ("1 of 20 images is constant, all pixels equal after reading: picture 0",)


def test_the_size_is_read_from_the_header_alone(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    assert pixels_of(tmp_path / "a.png") == 40 * 30
    data = (tmp_path / "a.png").read_bytes()
    assert pixels_of(BytesIO(data[:-30])) == 40 * 30  # truncated: no pixel is decoded
    with pytest.raises(InputError, match="cannot be read"):
        pixels_of(BytesIO(b"no picture"))


def test_pixels_are_counted_beyond_those_that_pillow_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (40, 30)).save(file := BytesIO(), "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)
    assert pixels_of(file) == 40 * 30
    with pytest.raises(InputError, match="exceeds limit of 1000 pixels"):
        read_image(file)


def test_bytes_of_formats_that_run_programs_are_refused(tmp_path: Path) -> None:
    picture = Image.fromarray(GREY).convert("RGB")
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM"):
        picture.save(file := BytesIO(), kind)
        assert read_image(file).size == (8, 6)
        assert pixels_of(file) == 8 * 6
    picture.save(file := BytesIO(), "EPS")
    with pytest.raises(InputError, match="cannot identify"):
        pixels_of(file)
    with pytest.raises(OSError, match="cannot identify"):
        read_image(file)
