"""Conformers of transformers and torchaudio load at once: what their checkpoints tell, and what is asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torchaudio.models import Conformer

import zoo
from zoo import WeightsError

LETTERS = ["<pad>", "|", *"ABC"]
POSITIONS = {"relative": "transformer-xl", "rotary": "rotary-input", None: "none"}


def randomised(module: Any) -> Any:
    """Move parameters and statistics from where they start, so that a mix-up shows; values of float32, in float64."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for x in module.parameters():
            x.add_(0.1 * torch.randn(x.shape, generator=generator))
        for name, x in module.named_buffers():
            if "running" in name:
                x.uniform_(0.5, 2, generator=generator)
    return module.eval()


def theirs(folder: Path, position: str | None = "relative", norm: str = "group") -> Any:
    """Save a Wav2Vec2ConformerForCTC with its vocabulary."""
    torch.manual_seed(0)
    config = transformers.Wav2Vec2ConformerConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[8] * 7,
        feat_extract_norm=norm, conv_bias=norm == "layer", conv_depthwise_kernel_size=5, hidden_act="swish",
        position_embeddings_type=position, vocab_size=len(LETTERS), pad_token_id=0,
    )  # fmt: skip
    model = randomised(transformers.Wav2Vec2ConformerForCTC(config))
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(LETTERS)}))
    (folder / "preprocessor_config.json").write_text(json.dumps({"do_normalize": False}))
    return model.double()


def torchaudios(**options: Any) -> Any:
    torch.manual_seed(0)
    return randomised(Conformer(16, 4, 24, 2, 5, **options)).double()


def sounds() -> torch.Tensor:
    return 0.1 * torch.randn(2, 4_000, generator=torch.Generator().manual_seed(0)).double()


@pytest.mark.parametrize("norm", ["group", "layer"])
@pytest.mark.parametrize("position", POSITIONS)
def test_a_folder_of_transformers_recognises_as_there(position: str | None, norm: str, tmp_path: Path) -> None:
    net = theirs(tmp_path, position, norm)
    name = f"local-dir:{tmp_path}"
    ours: Any = zoo.create(name, dtype="float64").eval()
    x = sounds()
    wanted = net(x).logits
    assert wanted.abs().max() > 0.1
    tight = {"rotary": 1e-5, "relative": 1e-6}.get(position or "", 1e-9)  # theirs are computed in float32
    torch.testing.assert_close(ours(x), wanted, atol=tight, rtol=0)
    assert {"position": POSITIONS[position], "kernel_size": 5, "stem": "wave", "conv_norm": norm}.items() <= (
        ours.spec.config.items()
    )
    path = [torch.unique_consecutive(row.argmax(-1)).tolist() for row in wanted]
    texts = ["".join(LETTERS[place] for place in row if place).replace("|", " ").strip() for row in path]
    assert zoo.postprocess(name)(ours.generate(x)) == texts
    named: Any = zoo.create("conformer-small", weights=str(tmp_path), task="generate", dtype="float64")
    assert torch.equal(named.eval()(x), ours(x))


def test_padding_is_left_out(tmp_path: Path) -> None:
    theirs(tmp_path, "rotary", "layer")
    ours: Any = zoo.create(f"local-dir:{tmp_path}", dtype="float64").eval()
    x = sounds()
    found = ours(x, torch.tensor([4_000, 2_000]))
    torch.testing.assert_close(found[1, :6], ours(x[1:, :2_000])[0], atol=1e-9, rtol=0)


@pytest.mark.parametrize("position", ["relative", "rotary"])
def test_a_state_dict_tells_its_sizes_and_heads_where_it_has_positions(position: str, tmp_path: Path) -> None:
    net = theirs(tmp_path, position)
    options: dict[str, Any] = {"task": "features", "normalise": "none", "dtype": "float64"}
    whole: Any = zoo.create("conformer-small", weights=net.state_dict(), **options).eval()
    torch.testing.assert_close(whole(sounds()), net.wav2vec2_conformer(sounds())[0], atol=1e-5, rtol=0)
    encoder = net.wav2vec2_conformer.encoder
    blocks: Any = zoo.create("conformer-small", weights=encoder.state_dict(), **options).eval()
    vectors = torch.randn(2, 7, 32, dtype=torch.float64)
    torch.testing.assert_close(blocks(vectors), encoder(vectors.clone())[0], atol=1e-5, rtol=0)
    with pytest.raises(WeightsError, match="make the model with num_heads=4"):
        zoo.create("conformer-small", weights=net.state_dict(), num_heads=2, **options)


@pytest.mark.parametrize(("group", "first"), [(False, False), (True, True)])
def test_torchaudios_conformer_is_asked_for_once(group: bool, first: bool, tmp_path: Path) -> None:
    net = torchaudios(use_group_norm=group, convolution_first=first)
    torch.save(net.state_dict(), tmp_path / "conformer.pt")
    options: dict[str, Any] = {"weights": tmp_path / "conformer.pt", "task": "features", "dtype": "float64"}
    with pytest.raises(WeightsError, match=r"give num_heads= \(the heads .*\) and convolution_first= \(True, if"):
        zoo.create("conformer-small", **options)
    model: Any = zoo.create("conformer-small", num_heads=4, convolution_first=first, **options).eval()
    x = torch.randn(2, 9, 16, dtype=torch.float64)
    torch.testing.assert_close(model(x), net(x, torch.tensor([9, 9]))[0], atol=1e-9, rtol=0)
    again: Any = zoo.create(f"local-dir:{zoo.weights.save(model, tmp_path / 'saved')}").eval()
    torch.testing.assert_close(again(x.float()).double(), model(x), atol=1e-4, rtol=0)


@pytest.mark.usefixtures("float64")
def test_weights_of_the_sizes_of_a_name_have_its_heads_and_the_convolution_behind_with_a_warning() -> None:
    net = Conformer(96, 4, 384, 6, 31)
    with pytest.warns(UserWarning, match="give convolution_first=True where they were trained so"):
        model: Any = zoo.create("conformer-tiny", weights=net.state_dict(), task="features").eval()
    assert model.encoder.blocks[0].attention.num_heads == 4
    x = torch.randn(1, 9, 96)
    torch.testing.assert_close(model(x), net.eval()(x, torch.tensor([9]))[0])


def test_all_that_is_not_told_is_asked_for_at_once(tmp_path: Path) -> None:
    net = theirs(tmp_path, None)
    with pytest.raises(WeightsError, match=r"give num_heads= .* and labels=\[…\] \(what the 5 outputs of 'lm_head"):
        zoo.create("conformer-small", weights=net.state_dict(), task="generate")
    zoo.create("conformer-small", weights=net.state_dict(), task="generate", num_heads=4, labels=LETTERS)


def test_what_is_not_made_here_is_named(tmp_path: Path) -> None:
    theirs(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    other = {"rotary_embedding_base": 5, "layer_norm_eps": 1e-3, "hidden_act": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps(config | other))
    with pytest.raises(WeightsError, match=r"hidden_act='gelu' \(here 'swish' or 'silu'\), rotary_embedding_base=5"):
        zoo.create(f"local-dir:{tmp_path}")
    (tmp_path / "config.json").write_text(json.dumps(config | {"position_embeddings_type": "alibi"}))
    with pytest.raises(WeightsError, match="position_embeddings_type='alibi'"):
        zoo.create(f"local-dir:{tmp_path}")
    net = theirs(tmp_path, "rotary")
    state = net.state_dict()
    state["wav2vec2_conformer.encoder.embed_positions.inv_freq"] *= 0.9
    with pytest.raises(WeightsError, match=r"inv_freq is of another rotary_embedding_base"):
        zoo.create("conformer-small", weights=state)
