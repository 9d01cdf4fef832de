import functools
import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import zoo
from zoo import ModelSpec, Registry, WeightsError
from zoo.core import Causal
from zoo.registry.lookup import using
from zoo.weights import fetch
from zoo.weights.checkpoint import save

pytestmark = pytest.mark.usefixtures("toys")


def to_ours(state: dict[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    return {key.removeprefix("theirs."): value for key, value in state.items()}


def same(left: nn.Module, right: nn.Module) -> bool:
    a, b = left.state_dict(), right.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.fixture
def model() -> nn.Module:
    return zoo.create("toy-small")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put models into a local cache of the hub, as a download would leave it, and switch the network off."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def publish(model: nn.Module, repository: str, save: Callable[..., Any] = save) -> Path:
        folder = cache / f"models--{repository.replace('/', '--')}"
        snapshot = folder / "snapshots" / ("0" * 40)
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text("0" * 40)
        snapshot.parent.mkdir()
        save(model, snapshot)
        return snapshot

    return publish


def test_a_saved_model_is_loaded_from_its_folder_and_its_file(model: nn.Module, tmp_path: Path) -> None:
    folder = save(model, tmp_path / "new" / "folder")
    for weights in (folder, str(folder / "model.safetensors"), f"local-dir:{folder}", model.state_dict()):
        assert same(zoo.create("toy-small", weights=weights), model)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (nn.Linear(2, 3), r"weights=Linear\(…\) is a module; .* state dict: write weights=module.state_dict\(\)"),
        (3, "weights=3 is of type int; it takes a file, a folder, 'hf-hub:org/name' or a state dict"),
        (True, "weights=True .* pretrained=True loads the published weights"),
    ],
)
def test_what_is_no_weights_is_told_what_is(weights: Any, text: str) -> None:
    with pytest.raises(WeightsError, match=text):
        zoo.create("toy-small", weights=weights)


def test_saving_leaves_two_whole_files_and_the_configuration(model: nn.Module, tmp_path: Path) -> None:
    save(model, tmp_path)
    save(model, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["config.json", "model.safetensors"]
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {
        "architecture": "toy-small", "num_classes": 3, "num_features": 8,
        "model_args": {"channels": 3, "dim": 8, "depth": 2}, "pretrained_cfg": {"num_classes": 3},
        "modality": "points", "zoo_version": zoo.__version__, "plugin": "toys",
    }  # fmt: skip


def test_tensors_that_share_memory_are_saved(model: nn.Module, tmp_path: Path) -> None:
    model.encoder.blocks[1] = model.encoder.blocks[0]
    assert same(zoo.create("toy-small", weights=save(model, tmp_path)), model)


def test_a_folder_that_cannot_be_written_is_named(model: nn.Module, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WeightsError, match=r"Cannot save to .*file"):
        save(model, tmp_path / "file")


def test_only_models_made_by_name_are_saved(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="Linear has no spec"):
        save(nn.Linear(1, 1), tmp_path)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin"])
@pytest.mark.parametrize("wrapper", [None, "state_dict", "model"])
def test_files_of_torch_are_read_with_their_wrappers(
    suffix: str, wrapper: str | None, model: nn.Module, tmp_path: Path
) -> None:
    state: dict[str, Any] = dict(model.state_dict())
    if wrapper:
        state = {wrapper: state, "epoch": 3}
    torch.save(state, tmp_path / f"file{suffix}")
    assert same(zoo.create("toy-small", weights=tmp_path / f"file{suffix}"), model)


PREFIXES = ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "module.module."]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors", None])
def test_what_wrappers_put_before_keys_is_stripped(
    prefix: str, suffix: str | None, model: nn.Module, tmp_path: Path
) -> None:
    state = {f"{prefix}{key}": value for key, value in model.state_dict().items()}
    path = tmp_path / f"file{suffix}"
    if suffix:
        (torch.save if suffix == ".pt" else save_file)(state, path)
    assert same(zoo.create("toy-small", weights=path if suffix else state), model)


def test_a_compiled_part_is_read_and_a_compiled_model_is_saved_as_if_it_were_not(tmp_path: Path) -> None:
    model: Any = zoo.create("toy-small")
    keys = model.state_dict().keys()
    compiled: Any = torch.compile(model)
    save(compiled, tmp_path)
    assert load_file(tmp_path / "model.safetensors").keys() == keys
    model.encoder = torch.compile(model.encoder)
    assert any(key.startswith("encoder._orig_mod.") for key in model.state_dict())
    again: Any = zoo.create("toy-small", weights=model.state_dict())
    assert torch.equal(again.stem.proj.weight, model.stem.proj.weight)


def test_every_key_that_does_not_fit_is_listed(model: nn.Module) -> None:
    state = dict(model.state_dict())
    state["one.more"], state["and.another"] = torch.zeros(1), torch.zeros(1)
    del state["stem.proj.bias"], state["head.linear.bias"]
    state["stem.proj.weight"] = torch.zeros(7, 8)
    with pytest.raises(WeightsError) as caught:
        zoo.create("toy-small", weights=state)
    assert str(caught.value).splitlines() == [
        "Weights of the state dict do not fit 'toy-small':",
        "  2 missing: stem.proj.bias, head.linear.bias",
        "  2 left over: one.more, and.another",
        "  1 of another shape: stem.proj.weight is (7, 8), the model's is (8, 3)",
    ]


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


def test_pickled_code_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Bomb()}, "bomb.pt")
    with pytest.raises(WeightsError, match=r"'bomb.pt' is refused: it holds pickled code") as caught:
        zoo.create("toy-small", weights="bomb.pt")
    assert isinstance(caught.value.__cause__, pickle.UnpicklingError)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_damaged_file_is_named(suffix: str, model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / f"half{suffix}"
    torch.save(model.state_dict(), path) if suffix == ".pt" else save_file(model.state_dict(), path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(WeightsError, match=f"half{suffix}' cannot be read"):
        zoo.create("toy-small", weights=path)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("none.pt", None, "There is no file"),
        ("file.onnx", {}, "weights are .safetensors, .pt, .pth or .bin files"),
        ("file.pt", [1, 2], "is no state dict"),
        ("file.pt", {"lr": 0.1}, "is no state dict"),
    ],
)
def test_what_is_no_checkpoint_is_refused(name: str, content: Any, text: str, tmp_path: Path) -> None:
    if content is not None:
        torch.save(content, tmp_path / name)
    with pytest.raises(WeightsError, match=text):
        zoo.create("toy-small", weights=tmp_path / name)


def test_a_folder_without_weights_says_what_it_looked_for(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"holds none of model.safetensors, model.pth"):
        zoo.create("toy-small", weights=tmp_path)


def test_foreign_layouts_are_converted(toy_spec: Callable[..., ModelSpec], toy_plugin: Any) -> None:
    spec = toy_spec(convert=f"{__name__}:to_ours")
    with using(Registry(plugins=[toy_plugin(spec)], autoload=False)):
        model = zoo.create("toy-small")
        theirs = {f"theirs.{key}": value for key, value in model.state_dict().items()}
        assert same(zoo.create("toy-small", weights=theirs), model)


def test_pretrained_takes_the_first_weights_or_those_of_the_tag(hub: Callable[..., Path]) -> None:
    first, second = zoo.create("toy-small"), zoo.create("toy-small")
    hub(first, "toys/first")
    hub(second, "toys/second")
    assert same(zoo.create("toy-small", pretrained=True), first)
    assert same(zoo.create("toy-small.second", pretrained=True), second)
    assert same(zoo.create("toy-large", weights="hf-hub:toys/second"), second)


def save_as_timm(model: nn.Module, folder: Path) -> None:
    timm.models.save_for_hf(model, str(folder), safe_serialization=True)


@torch.no_grad()
def test_pretrained_reads_what_timm_publishes(hub: Callable[..., Path]) -> None:
    torch.manual_seed(0)
    theirs: Any = timm.create_model("vit_tiny_patch16_224", num_classes=1000).eval()
    nn.init.normal_(theirs.head.weight, std=0.05)
    config = json.loads(
        (hub(theirs, "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k", save_as_timm) / "config.json").read_text()
    )
    assert config["architecture"] == "vit_tiny_patch16_224"
    theirs, images = theirs.double(), torch.randn(1, 3, 224, 224).double()
    with using(Registry(plugins=["zoo.registry.builtin", "zoo.plugins.vision.plugin"], autoload=False)):
        ours = zoo.create("vit-tiny", pretrained=True).double().eval()
        torch.testing.assert_close(ours(images), theirs(images))
        fresh: Any = zoo.create("vit-tiny", pretrained=True, num_classes=7).double().eval()
    assert fresh(images).shape == (1, 7)
    torch.testing.assert_close(fresh.forward_features(images), theirs.forward_features(images))


def test_a_model_without_published_weights_says_so_as_timm_does() -> None:
    with pytest.raises(WeightsError, match="No pretrained weights exist for toy-large: leave out pretrained=True"):
        zoo.create("toy-large", pretrained=True)


@pytest.mark.parametrize("heads", [{"num_classes": 7}, {"task": "tag"}, {"num_classes": 0}, {"task": "features"}])
def test_another_classifier_is_fresh_on_the_same_backbone(heads: dict[str, Any], hub: Callable[..., Path]) -> None:
    published = zoo.create("toy-small")
    hub(published, "toys/first")
    model = zoo.create("toy-small", pretrained=True, **heads)
    theirs, ours = published.state_dict(), model.state_dict()
    backbone = [key for key in ours if not key.startswith("head")]
    assert all(torch.equal(ours[key], theirs[key]) for key in backbone)
    assert "head.linear.weight" not in ours or not torch.equal(ours["head.linear.weight"], theirs["head.linear.weight"])


def test_a_fresh_classifier_excuses_no_other_key(hub: Callable[..., Path]) -> None:
    folder = hub(zoo.create("toy-small"), "toys/first")
    state = load_file(folder / "model.safetensors") | {"one.more": torch.zeros(1)}
    save_file(state, folder / "model.safetensors")
    with pytest.raises(WeightsError, match=r"1 left over: one.more"):
        zoo.create("toy-small", pretrained=True, num_classes=7)


def test_the_number_of_labels_is_that_of_the_checkpoint(hub: Callable[..., Path]) -> None:
    published = zoo.create("toy-small", num_classes=21)
    hub(published, "toys/first")
    model = zoo.create("toy-small", pretrained=True)
    assert same(model, published)
    assert model.spec.config["num_classes"] == 21


def test_without_a_configuration_the_number_of_labels_is_read_off_the_classifier(tmp_path: Path) -> None:
    theirs: Any = zoo.create("toy-small", num_classes=21)
    torch.save(theirs.state_dict(), tmp_path / "file.pt")
    for weights in (tmp_path / "file.pt", theirs.state_dict()):
        assert same(zoo.create("toy-small", weights=weights), theirs)
        for num_classes in (0, 7, 21):
            model: Any = zoo.create("toy-small", weights=weights, num_classes=num_classes)
            assert model.num_classes == num_classes
            assert torch.equal(model.stem.proj.weight, theirs.stem.proj.weight)
            assert same(model, theirs) == (num_classes == 21)


def test_a_backbone_alone_fits_the_classifier_that_is_asked_for_and_the_new_one_is_named() -> None:
    backbone = zoo.create("toy-small", num_classes=0).state_dict()
    for asked, labels in (({"num_classes": 7}, 7), ({}, 3), ({"task": "tag"}, 3)):
        with pytest.warns(UserWarning, match=r"no weights for head.linear.weight, head.linear.bias: they are new"):
            model: Any = zoo.create("toy-small", weights=backbone, **asked)
        assert model.num_classes == labels
        assert torch.equal(model.stem.proj.weight, backbone["stem.proj.weight"])
    assert zoo.create("toy-small", weights=backbone, num_classes=0).num_classes == 0


def test_half_a_head_and_any_other_part_that_is_missing_are_errors() -> None:
    whole = dict(zoo.create("toy-small", num_classes=7).state_dict())
    for missing in ("head.linear.bias", "stem.proj.bias"):
        state = {key: value for key, value in whole.items() if key != missing}
        with pytest.raises(WeightsError, match=rf"1 missing: {missing}$"):
            zoo.create("toy-small", weights=state)
    backbone = {key: value for key, value in whole.items() if not key.startswith(("head.", "stem.proj.bias"))}
    with pytest.raises(WeightsError, match=r"3 missing: stem.proj.bias, head.linear.weight, head.linear.bias"):
        zoo.create("toy-small", weights=backbone)


@pytest.mark.parametrize("keywords", [{"attention": Causal()}, {"position": Causal()}])
def test_a_model_made_with_an_object_is_not_saved(keywords: dict[str, Any], tmp_path: Path) -> None:
    text = rf"'toy-small' was made with {next(iter(keywords))}=Causal\(\): an object cannot be saved.* with a name"
    with pytest.raises(WeightsError, match=text):
        save(zoo.create("toy-small", **keywords), tmp_path)
    save(zoo.create("toy-small", attention="causal"), tmp_path)


@pytest.mark.parametrize("content", ["<!DOCTYPE html><title>404</title>", "version https://git-lfs.github.com/spec/v1"])
def test_a_web_page_is_not_accused_of_code(content: str, tmp_path: Path) -> None:
    (tmp_path / "page.pt").write_text(content)
    with pytest.raises(WeightsError, match=f"page.pt' is no checkpoint: it begins with b'{content[:20]}'"):
        zoo.create("toy-small", weights=tmp_path / "page.pt")


def test_a_repository_is_a_name(hub: Callable[..., Path]) -> None:
    published: Any = zoo.create("toy-small", depth=1, num_classes=4, attention="causal", task="tag")
    folder = hub(published, "me/mine")
    other = zoo.create("toy-small", depth=1, num_classes=4, task="tag")
    for name in ("hf-hub:me/mine", f"local-dir:{folder}"):
        model: Any = zoo.create(name)
        assert same(model, published)
        assert same(zoo.create(name, pretrained=True), published)
        assert model.spec.config == {**published.spec.config, "num_classes": 4}
        assert model.spec.task == "tag"
        assert not same(zoo.create(name, pretrained=False), published)
        assert same(zoo.create(name, weights=other.state_dict()), other)
    assert zoo.info("hf-hub:me/mine").name == "toy-small"


def test_no_network_and_no_cache_says_what_to_do(hub: Callable[..., Path], tmp_path: Path) -> None:
    expected = (
        "a file of weights of 'hf-hub:toys/first' is not in the cache .* and HF_HUB_OFFLINE is set: fetch it once"
    )
    with pytest.raises(WeightsError, match=expected) as caught:
        zoo.create("toy-small", pretrained=True)
    assert "weights='PATH.safetensors'" in str(caught.value)


def test_a_tokenizer_that_is_not_in_the_cache_is_not_called_weights(hub: Callable[..., Path]) -> None:
    with pytest.raises(WeightsError, match=r"^tokenizer\.json of 'hf-hub:toys/first' is not in the cache") as caught:
        fetch("hf-hub:toys/first", ("tokenizer.json",))
    assert "weights" not in str(caught.value)


@pytest.mark.parametrize("error", [LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TimeoutError])
def test_without_a_network_one_download_is_tried(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def download(repository: str, name: str, **keywords: Any) -> str:
        tried.append(name)
        raise error("no route to host")

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda url, **keywords: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(WeightsError, match="'hf-hub:toys/first' is not in the cache"):
        zoo.create("toy-small", pretrained=True)
    assert tried == ["model.safetensors"]


def test_a_hub_that_refuses_connections_is_asked_once_and_quietly(tmp_path: Path) -> None:
    with socket.socket() as unused:  # bound and not listening: connections are refused
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        code = "from zoo.weights import fetch; fetch('hf-hub:toys/first', ('a.bin', 'b.bin'))"
        environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "0"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "WeightsError: a.bin or b.bin of 'hf-hub:toys/first' is not in the cache" in done.stderr
    assert "the hub cannot be reached" in done.stderr
    assert "Retry" not in done.stderr


def test_without_a_network_every_file_of_the_cache_is_found(hub: Callable[..., Path]) -> None:
    published = zoo.create("toy-small")
    folder = hub(published, "toys/first")
    torch.save(published.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert same(zoo.create("toy-small", pretrained=True), published)


def test_a_repository_that_names_no_architecture_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"has no config.json that names an architecture"):
        zoo.create(f"local-dir:{tmp_path}")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(WeightsError, match=r"config.json cannot be read"):
        zoo.create(f"local-dir:{tmp_path}")


def test_a_bad_repository_name_is_refused(hub: Callable[..., Path]) -> None:
    with pytest.raises(WeightsError, match="'hf-hub:a/b/c' cannot be read"):
        zoo.create("hf-hub:a/b/c")


@pytest.mark.parametrize("classifier", [("head.linear.",), ()])
@pytest.mark.parametrize(
    ("labels", "heads"),
    [(3, {}), (21, {}), (21, {"num_classes": 7}), (21, {"num_classes": 21}), (21, {"num_classes": 0})],
)
@pytest.mark.parametrize("told", [True, False])
def test_a_checkpoint_is_loaded_into_the_one_model_that_is_built(
    classifier: tuple[str, ...], labels: int, heads: dict[str, Any], told: bool,
    toy_spec: Callable[..., ModelSpec], toy_plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    with using(Registry(plugins=[toy_plugin(toy_spec(classifier=classifier))], autoload=False)):
        theirs: Any = zoo.create("toy-small", num_classes=labels)
        folder = save(theirs, tmp_path)
        built: list[int] = []
        before = type(theirs).__init__

        @functools.wraps(before)
        def counted(self: Any, *arguments: Any, **keywords: Any) -> None:
            built.append(1)
            before(self, *arguments, **keywords)

        monkeypatch.setattr(type(theirs), "__init__", counted)
        model: Any = zoo.create("toy-small", weights=folder if told else theirs.state_dict(), **heads)
    # where neither the plugin names the classifier nor the file its labels, a model without memory shows them
    learnt = not (classifier or told or heads)
    assert len(built) == (2 if learnt else 1)
    assert model.num_classes == heads.get("num_classes", labels)
    assert torch.equal(model.stem.proj.weight, theirs.stem.proj.weight)
    assert same(model, theirs) == (model.num_classes == labels)


def test_a_classifier_is_what_the_record_names() -> None:
    """Without labels a model lacks what its record calls the classifier, and nothing else."""
    with using(Registry()) as registry:
        named = [spec for spec in registry.models if spec.classifier]
        assert {spec.modality for spec in named} == {"graph", "speech", "text", "vision"}
        for spec in named:
            whole, backbone = (
                zoo.create(spec.full_name, num_classes=count, device="meta").state_dict() for count in (5, 0)
            )
            assert {key for key in whole if not key.startswith(spec.classifier)} == backbone.keys(), spec.name
            assert whole.keys() != backbone.keys(), spec.name
        takes = [spec.name for spec in registry.models if "classify" in spec.tasks and not spec.classifier]
        assert not takes
