from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import zoo
from zoo.core import cross_entropy
from zoo.data.corpus import open_corpus
from zoo.errors import ConfigError
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus, adapt
from zoo.plugins.vision.data import open_digits
from zoo.plugins.vision.data.augmentation import BASES, EXTRAS, Augmentation, _seeded, _seeds

Draw = Callable[..., Path]
TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
NAMES = [*BASES, "crop+erasing", "rand,mixup,erasing", "none+cutmix", "trivial+mixup+cutmix"]


@pytest.fixture
def corpora(draw: Draw) -> tuple[ImageCorpus, ImageCorpus]:
    """Give pictures of a folder, and digits in memory."""
    folder: Any = open_corpus(str(draw({"cats": 12, "dogs": 12}, size=(40, 30))), zoo.info("vit-micro"))
    return folder, adapt(open_digits(), zoo.info("vit-micro"), 0)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("names", NAMES)
def test_a_batch_follows_from_its_generator_and_nothing_else(
    names: str, corpora: tuple[ImageCorpus, ImageCorpus]
) -> None:
    for plain in corpora:
        corpus = plain.with_augmentation(names)
        index = torch.tensor([3, 0, 7, 2, 9, 4])
        torch.manual_seed(0)
        (one,), target = corpus.batch(index, generator())
        drawn = torch.rand(1)
        torch.manual_seed(1)
        corpus.batch(torch.arange(9), generator(5))
        (two,), again = corpus.batch(index, generator())
        assert torch.equal(one, two)
        assert torch.equal(target, again)
        assert one.shape == (6, plain.source.channels, 24, 24)
        torch.manual_seed(0)
        assert torch.equal(torch.rand(1), drawn), "the generator of dropout goes on as if nothing was drawn"
        if names != "none":
            assert not torch.equal(one, corpus.batch(index, generator(1)).inputs[0])


@pytest.mark.parametrize("names", ["crop", "rand+erasing", "trivial"])
def test_what_happens_to_an_image_depends_on_no_other(names: str, corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    for plain in corpora:
        corpus = plain.with_augmentation(names)
        (together,), _ = corpus.batch(torch.tensor([3, 0, 7]), generator())
        (reordered,), _ = corpus.batch(torch.tensor([7, 3]), generator())
        assert torch.equal(reordered, together[[2, 0]])


def test_shift_is_the_default(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    for plain in corpora:
        one, two = (each.batch(torch.arange(8), generator()) for each in (plain, plain.with_augmentation("shift")))
        assert torch.equal(one.inputs[0], two.inputs[0])
        source = plain.source
        (prepared,), _ = plain.with_augmentation("none").batch(torch.arange(8), generator())
        assert torch.equal(source.augment(prepared, generator()), one.inputs[0])


def test_crops_are_those_of_torchvision_on_whole_pictures(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    folder, _ = corpora
    sizes = []

    class Crop(v2.RandomResizedCrop):  # type: ignore[misc]
        def make_params(self, flat_inputs: list[Any]) -> Any:
            (image,) = flat_inputs
            sizes.append(tuple(image.shape[:0:-1]) if isinstance(image, torch.Tensor) else image.size)
            return super().make_params(flat_inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(v2, "RandomResizedCrop", Crop)
        folder.with_augmentation("crop").batch(torch.tensor([0, 1]), generator())
        folder.with_augmentation("crop").with_cache(True).batch(torch.tensor([0, 1]), generator())
    assert sizes == [(40, 30)] * 2 + [(28, 28)] * 2  # 28 of 24 as 256 of 224


def test_crops_of_cached_pictures_are_those_of_torchvision(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    folder = corpora[0].with_augmentation("crop").with_cache(True)
    (found,), _ = folder.packed_batch(torch.tensor([3]), generator())
    inputs = folder.train.inputs
    image = inputs.reader.image(int(inputs.places[3]))
    crop = v2.Compose([v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip()])
    draw = torch.randint(2**62, (3,), generator=generator()).tolist()
    with _seeded(_seeds(torch.tensor([3]), draw[0])[0]):
        assert torch.equal(found.values[0], crop(image))


def test_a_cache_that_nobody_asked_for_changes_no_crop(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    folder, _ = corpora
    one, two = folder.with_augmentation("crop"), folder.with_augmentation("crop").with_cache(False)
    assert torch.equal(
        one.batch(torch.arange(8), generator()).inputs[0], two.batch(torch.arange(8), generator()).inputs[0]
    )


def test_digits_are_not_mirrored(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(v2, "RandomHorizontalFlip")
        corpora[1].with_augmentation("crop").batch(torch.arange(4), generator())
        with pytest.raises(AttributeError):
            corpora[0].with_augmentation("crop").batch(torch.arange(4), generator())


@pytest.mark.parametrize("names", ["mixup", "cutmix", "none+mixup+cutmix"])
def test_mixed_images_have_shares_of_classes_as_targets(names: str, corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    corpus = corpora[1].with_augmentation(names)
    index = torch.arange(8)
    (_,), shares = corpus.batch(index, generator())
    assert shares.shape == (8, 10)
    torch.testing.assert_close(shares.sum(1), torch.ones(8))
    labels = corpus.train.labels[index]
    kept = shares[torch.arange(8), labels] + 0
    partner = labels.roll(1)
    assert torch.equal((shares > 0).sum(1), 1 + (partner != labels).int()) or bool((kept == 1).all())
    answer = torch.randn(8, 10)
    torch.testing.assert_close(corpus.loss(answer, shares, 0.1), cross_entropy(answer, shares, 0.1))


def test_a_mixture_is_that_of_its_target(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    corpus, index = corpora[1], torch.tensor([0, 1])
    assert corpus.train.labels[0] != corpus.train.labels[1]
    (plain,), labels = corpus.with_augmentation("none").batch(index, generator())
    (mixed,), shares = corpus.with_augmentation("none+mixup").batch(index, generator())
    own = shares[[0, 1], labels][:, None, None, None]
    torch.testing.assert_close(mixed, own * plain + (1 - own) * plain.flip(0))


def test_a_quarter_of_the_images_has_a_rectangle_at_the_mean(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    corpus = corpora[1]
    index = torch.arange(400)
    (plain,), _ = corpus.with_augmentation("none").batch(index, generator())
    (erased,), _ = corpus.with_augmentation("none+erasing").batch(index, generator())
    changed = (plain != erased).flatten(1).any(1)
    assert 60 < int(changed.sum()) < 140
    assert not erased[plain != erased].any()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "crop+blur",
            r"augment='crop\+blur': there is no 'blur'; give one of none, shift, crop, rand, trivial, and any",
        ),
        ("crop+rand", "give one of none"),
        ("mixup,mixup", "give one of none"),
        ("", "there is no ''"),
    ],
)
def test_names_that_make_no_augmentation(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Augmentation.parse(text)


def test_names_are_read_in_any_order_and_spelling() -> None:
    assert Augmentation.parse("Erasing, CROP +mixup") == Augmentation("crop", frozenset({"erasing", "mixup"}))
    assert Augmentation.parse("mixup").base == "shift"
    assert all(Augmentation.parse(name).base == "shift" for name in EXTRAS)


def test_colours_of_other_channels_are_not_changed() -> None:
    corpus = adapt(replace(open_digits(), channels=2), zoo.info("vit-micro"), 0)
    with pytest.raises(ConfigError, match="augment='rand' of images with 2 channels: it changes 1 or 3"):
        corpus.with_augmentation("rand")


def test_images_in_memory_need_no_cache(corpora: tuple[ImageCorpus, ImageCorpus]) -> None:
    with pytest.raises(ConfigError, match="cache=True: the images of 'digits' are in memory, and need no cache"):
        corpora[1].with_cache(True)
    assert corpora[1].with_cache(False) is corpora[1]


@pytest.mark.parametrize("options", [{"accumulate": 2}, {"label_smoothing": 0.1}], ids=str)
def test_a_training_with_soft_targets_and_a_cache(draw: Draw, tmp_path: Path, options: dict[str, Any]) -> None:
    data = f"folder:{draw({'cats': 12, 'dogs': 12})}"
    trained = zoo.train(
        "vit-micro", data, out=tmp_path / "out", steps=2, batch_size=4, augment="rand+mixup+erasing", cache=True,
        validations=1, precision="32-true", **options, **TINY,
    )  # fmt: skip
    assert np.isfinite(trained.outcome.history[0].loss)
    assert trained.settings.augment == "rand+mixup+erasing"
    with pytest.raises(ConfigError, match="augment: 'rand\\+mixup\\+erasing' before, None now"):
        zoo.train(
            "vit-micro", data, out=tmp_path / "out", resume=True, steps=2, batch_size=4, cache=True, validations=1,
            precision="32-true", **options, **TINY,
        )  # fmt: skip
