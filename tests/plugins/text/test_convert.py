"""Weights of Hugging Face's text models and of torch's transformer: the same answers, in both directions."""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub import constants
from torch import Tensor, nn

import zoo
from zoo import ConfigError, WeightsError
from zoo.core import Encoder, EncoderDecoder, Tokens
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.convert import to_hf, to_torch, to_zoo
from zoo.plugins.text.models.transformer import Bert, Gpt, Transformer
from zoo.plugins.text.peers import bert_peer, gpt2_peer, torch_peer
from zoo.weights.checkpoint import save

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"vocab_size": 40, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 16}
LENGTHS = torch.tensor([9, 4, 1])
VALID = torch.arange(9) < LENGTHS[:, None]


def randomised(model: Any) -> Any:
    """Move every parameter and buffer with fractions from where it starts, so that a mix-up shows."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for x in {id(x): x for x in [*model.parameters(), *model.buffers()] if x.is_floating_point()}.values():
            x.add_(torch.randn(x.shape, generator=generator) * 0.2)
    return model.eval()


def ids(n: int = 9, seed: int = 0) -> Tensor:
    return torch.randint(0, 40, (3, n), generator=torch.Generator().manual_seed(seed))


def same(ours: Tensor, theirs: Tensor) -> None:
    assert ours.abs().max() > 0.1
    torch.testing.assert_close(ours, theirs)


def there_and_back(ours: nn.Module, back: Callable[[Any], Mapping[str, Tensor]], theirs: nn.Module) -> None:
    """Load weights into the peer again, key by key."""
    state, wanted = back(ours), theirs.state_dict()
    assert state.keys() == wanted.keys()
    assert all(torch.equal(state[key], wanted[key]) for key in wanted)


def bert_config(**options: Any) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32,
        max_position_embeddings=16, **options,
    )  # fmt: skip


def hf_bert(task: str, num_labels: int) -> Any:
    config = bert_config(num_labels=num_labels or 2)
    kinds: dict[tuple[str, bool], Any] = {
        ("classify", False): transformers.BertModel,
        ("classify", True): transformers.BertForSequenceClassification,
        ("tag", True): transformers.BertForTokenClassification,
        ("masked-token", False): transformers.BertForMaskedLM,
    }
    if task == "features":
        return randomised(transformers.BertModel(config, add_pooling_layer=False))
    return randomised(kinds[task, num_labels > 0](config))


@pytest.mark.parametrize(
    ("task", "labels", "answer"),
    [
        ("classify", 0, "pooler_output"),
        ("classify", 5, "logits"),
        ("tag", 4, "logits"),
        ("features", 0, "last_hidden_state"),
        ("masked-token", 0, "logits"),
    ],
)
def test_bert_answers_as_hugging_face_and_its_weights_return(task: str, labels: int, answer: str) -> None:
    theirs = hf_bert(task, labels)
    ours: Any = Bert(**SIZES, task=task, num_classes=labels).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    x, segments = ids(), ids(seed=1) % 2
    for given in (None, segments):
        got = ours(x, LENGTHS, given)
        wanted = theirs(input_ids=x, attention_mask=VALID, token_type_ids=given)[answer]
        same(got if got.ndim == 2 else got[VALID], wanted if got.ndim == 2 else wanted[VALID])
    there_and_back(ours, to_hf, theirs)
    peer = bert_peer(ours)
    same(peer(x, LENGTHS)[0], ours(x, LENGTHS)[0])


def test_gpt2_answers_as_hugging_face_and_its_weights_return() -> None:
    config = transformers.GPT2Config(
        vocab_size=40, n_embd=24, n_layer=2, n_head=3, n_inner=32, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    theirs: Any = randomised(transformers.GPT2LMHeadModel(config))
    ours: Any = Gpt(**SIZES).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    x = ids()
    same(ours(x, LENGTHS)[VALID], theirs(input_ids=x, attention_mask=VALID).logits[VALID])
    left = VALID.flip(1)
    position = (left.long().cumsum(1) - 1).clamp(min=0)
    same(ours(x, left)[left], theirs(input_ids=x, attention_mask=left, position_ids=position).logits[left])
    there_and_back(ours, to_hf, theirs)
    same(gpt2_peer(ours)(x, LENGTHS)[VALID], ours(x, LENGTHS)[VALID])


def hf_marian() -> Any:
    return randomised(transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=40, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=16,
        activation_function="swish", scale_embedding=True, pad_token_id=39, eos_token_id=0, forced_eos_token_id=0,
        decoder_start_token_id=39,
    )))  # fmt: skip


MARIAN: dict[str, Any] = {"position": "learned", "activation": "silu", "output_bias": True, "eps": 1e-5}


def test_marian_answers_as_hugging_face_and_its_weights_return() -> None:
    theirs = hf_marian()
    for stack in (theirs.model.encoder, theirs.model.decoder):  # which the model keeps equal: sines and cosines
        stack.embed_positions.weight.data.copy_(theirs.model.encoder.embed_positions.weight.data)
    ours: Any = Transformer(**SIZES, **MARIAN, symbols=(39, 39, 0)).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    source, target = ids(), ids(6, seed=2)
    wanted = theirs(input_ids=source, attention_mask=VALID, decoder_input_ids=target).logits
    same(ours(source, LENGTHS, target), wanted)
    there_and_back(ours, to_hf, theirs)


def test_sinusoids_of_ours_are_written_down_for_marian() -> None:
    ours: Any = randomised(Transformer(**SIZES | {"max_len": 512}, activation="silu", eps=1e-5))
    config = hf_marian().config
    config.max_position_embeddings = 512
    theirs: Any = transformers.MarianMTModel(config)
    theirs.load_state_dict(to_hf(ours))
    theirs.eval()
    source, target = ids(), ids(6, seed=2)
    wanted = theirs(input_ids=source, attention_mask=VALID, decoder_input_ids=target).logits
    same(ours(source, LENGTHS, target), wanted)


def torch_transformer(norm_first: bool) -> Any:
    theirs: Any = nn.Transformer(24, 3, 2, 2, 32, batch_first=True, norm_first=norm_first, activation="relu")
    theirs.encoder.enable_nested_tensor = False
    return randomised(theirs)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm", ["pre", "post-last"])
def test_torchs_transformer_answers_between_embedding_and_output(norm: str) -> None:
    theirs = torch_transformer(norm == "pre")
    ours: Any = Transformer(**SIZES, norm=norm, eps=1e-5).eval()
    state = to_zoo(theirs.state_dict() | {"target.embed.weight": ours.target.embed.weight}, ours)
    ours.load_state_dict(state)
    source, target = ids(), ids(6, seed=2)
    given, written = ours.target(source, LENGTHS), ours.target(target)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    masks: dict[str, Any] = {"src_key_padding_mask": ~VALID, "memory_key_padding_mask": ~VALID, "tgt_mask": later}
    same(ours.forward_features(source, LENGTHS, target), theirs(given.x, written.x, **masks))
    there_and_back(ours, to_torch, theirs)


@pytest.mark.parametrize("norm", ["post", "pre", "post-last"])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_the_peer_of_a_transformer_is_the_same_function(norm: str, activation: str) -> None:
    ours: Any = randomised(Transformer(**SIZES, norm=norm, activation=activation, position="learned", output_bias=True))
    source, target = ids(), ids(6, seed=2)
    peer = torch_peer(ours)
    same(peer(source, LENGTHS, target), ours(source, LENGTHS, target))
    assert sum(p.numel() for p in peer.parameters()) == sum(p.numel() for p in ours.parameters())


def test_older_names_and_what_is_no_weight_are_read_too() -> None:
    theirs = hf_bert("masked-token", 0)
    ours = Bert(**SIZES, task="masked-token")
    now = to_zoo(theirs.state_dict(), ours)
    older = {
        re.sub(r"LayerNorm\.bias", "LayerNorm.beta", re.sub(r"LayerNorm\.weight", "LayerNorm.gamma", key)): value
        for key, value in theirs.state_dict().items()
        if not key.startswith("cls.predictions.decoder")
    }
    older |= {"bert.embeddings.position_ids": torch.arange(16)[None], "cls.seq_relationship.weight": torch.ones(2, 24)}
    older |= {"bert.pooler.dense.weight": torch.ones(24, 24), "bert.pooler.dense.bias": torch.ones(24)}
    then = to_zoo(older, ours)
    assert "bert.embeddings.LayerNorm.gamma" in older
    assert then.keys() == now.keys()
    assert all(torch.equal(then[key], now[key]) for key in now)
    gpt, buffers = Gpt(**SIZES), {"h.0.attn.bias": torch.ones(1, 1, 9, 9), "h.0.attn.masked_bias": torch.tensor(-1e4)}
    bare = {key.removeprefix("transformer."): value for key, value in to_hf(gpt).items() if key != "lm_head.weight"}
    back = to_zoo(bare | buffers, gpt)
    assert back.keys() == gpt.state_dict().keys()
    assert all(torch.equal(back[key], value) for key, value in gpt.state_dict().items())


def test_an_output_that_is_not_the_embedding_is_no_copy() -> None:
    state = to_hf(Gpt(**SIZES)) | {"lm_head.weight": torch.ones(40, 24)}
    assert "lm_head.weight" in to_zoo(state, Gpt(**SIZES))
    masked = to_hf(Bert(**SIZES, task="masked-token")) | {"cls.predictions.decoder.weight": torch.ones(40, 24)}
    assert "cls.predictions.decoder.weight" in to_zoo(masked, Bert(**SIZES, task="masked-token"))
    assert to_zoo(masked, Bert(**SIZES, task="tag")).keys() == Bert(**SIZES, task="tag").state_dict().keys()


def test_our_own_layout_and_unknown_keys_pass_untouched() -> None:
    for ours in (Bert(**SIZES, num_classes=3), Gpt(**SIZES), Transformer(**SIZES)):
        state = ours.state_dict() | {"surprise": torch.zeros(1)}
        assert to_zoo(state, ours).keys() == state.keys()
    assert "surprise" in to_zoo(hf_bert("classify", 0).state_dict() | {"surprise": torch.zeros(1)}, Bert(**SIZES))


def test_positions_beyond_the_models_are_cut() -> None:
    short: Any = Gpt(**SIZES | {"max_len": 5}).eval()
    long: Any = randomised(Gpt(**SIZES))
    short.load_state_dict(to_zoo(to_hf(long), short))
    x = ids(5)
    same(short(x), long(x))


def test_what_others_have_no_name_for_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no name for encoder.blocks.0.attention.q_norm.weight"):
        to_hf(zoo.create("bert-tiny", attention="qk-norm", device="meta"))
    with pytest.raises(ConfigError, match=r"8 heads of 16 and 64 channels over 512"):
        to_torch(zoo.create("transformer-dk16", device="meta"))
    with pytest.raises(ConfigError, match=r"Encoder is no text model"):
        to_hf(Encoder(8, 1, 2, 16))


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Put models into a local cache of the hub, as a download would leave it, and switch the network off."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def write(model: Any, repository: str) -> None:
        folder = tmp_path / f"models--{repository.replace('/', '--')}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text("0" * 40)
        model.save_pretrained(folder / "snapshots" / ("0" * 40))
        assert json.loads((folder / "snapshots" / ("0" * 40) / "config.json").read_text())["model_type"]

    return write


SMALL = {key: SIZES[key] for key in ("vocab_size", "dim", "depth", "num_heads", "mlp_dim", "max_len")}


def test_pretrained_reads_bert_as_it_is_published(publish: Callable[[Any, str], None]) -> None:
    theirs: Any = randomised(transformers.BertForPreTraining(bert_config()))
    publish(theirs, "google-bert/bert-base-uncased")
    x = ids()
    wanted = theirs.bert(input_ids=x, attention_mask=VALID)
    for name in ("bert-base", "bert-base.uncased"):
        same(zoo.create(name, pretrained=True, **SMALL).eval()(x, LENGTHS), wanted.pooler_output)
    features = zoo.create("bert-base", pretrained=True, task="features", **SMALL).eval()(x, LENGTHS)
    same(features[VALID], wanted.last_hidden_state[VALID])
    masked = zoo.create("bert-base", pretrained=True, task="masked-token", **SMALL).eval()
    scores = theirs(input_ids=x, attention_mask=VALID).prediction_logits
    same(masked(x, LENGTHS)[VALID], scores[VALID])
    for task in ("classify", "tag"):
        with pytest.warns(UserWarning, match=r"no weights for head\.linear\.weight, head\.linear\.bias: they are new"):
            fresh: Any = zoo.create("bert-base", pretrained=True, task=task, num_classes=7, **SMALL).eval()
        same(fresh.forward_features(x, LENGTHS)[VALID], wanted.last_hidden_state[VALID])
        assert fresh(x, LENGTHS).shape == ((3, 7) if task == "classify" else (3, 9, 7))


def test_weights_of_another_task_keep_their_head_where_that_task_is_asked_for(tmp_path: Path) -> None:
    theirs = hf_bert("tag", 4)
    x = ids()
    ours: Any = zoo.create("bert-tiny", weights=theirs.state_dict(), task="tag", **SMALL).eval()
    same(ours(x, LENGTHS)[VALID], theirs(input_ids=x, attention_mask=VALID).logits[VALID])
    again = zoo.create("bert-tiny", weights=save(ours, tmp_path), task="tag", **SMALL).eval()
    same(again(x, LENGTHS)[VALID], ours(x, LENGTHS)[VALID])
    with pytest.warns(UserWarning, match=r"has no weights for head\.pooler\.weight, head\.pooler\.bias: they are new"):
        fresh: Any = zoo.create("bert-tiny", weights=tmp_path, num_classes=4, **SMALL).eval()
    same(fresh.forward_features(x, LENGTHS)[VALID], ours.forward_features(x, LENGTHS)[VALID])
    assert not torch.equal(fresh.head.linear.weight, ours.head.linear.weight)


@pytest.mark.parametrize(
    ("net", "wanted", "new"),
    [
        ("BertForMaskedLM", {"num_classes": 3}, ["linear", "pooler"]),
        ("BertForMaskedLM", {"num_classes": 3, "task": "tag"}, ["linear"]),
        ("BertForMaskedLM", {}, ["pooler"]),
        ("BertModel", {"num_classes": 3}, ["linear"]),
        ("BertModel", {"task": "masked-token"}, ["transform", "norm", "scores"]),
        ("BertForTokenClassification", {"num_classes": 3}, ["pooler"]),
        ("BertForMaskedLM", {"task": "masked-token"}, []),
        ("BertForMaskedLM", {"task": "features"}, []),
        ("BertForTokenClassification", {"num_classes": 3, "task": "tag"}, []),
    ],
)
def test_a_head_that_the_weights_lack_is_new_and_named(
    net: str, wanted: dict[str, Any], new: list[str], tmp_path: Path
) -> None:
    theirs: Any = randomised(getattr(transformers, net)(bert_config()))
    theirs.save_pretrained(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours: Any = zoo.create("bert-tiny", weights=tmp_path, **wanted, **SMALL).eval()
    named = [key for warning in caught for key in re.findall(r"head\.\w+\.\w+", str(warning.message))]
    assert len(caught) == bool(new)
    assert sorted(named) == sorted(
        key for key in ours.state_dict() if key.startswith(tuple(f"head.{part}." for part in new))
    )
    base = getattr(theirs, "bert", theirs)
    vectors = base(input_ids=ids(), attention_mask=VALID).last_hidden_state
    same(ours.forward_features(ids(), LENGTHS)[VALID], vectors[VALID])


def test_pretrained_reads_gpt2_as_it_is_published(publish: Callable[[Any, str], None]) -> None:
    config = transformers.GPT2Config(
        vocab_size=40, n_embd=24, n_layer=2, n_head=3, n_inner=32, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    theirs: Any = randomised(transformers.GPT2LMHeadModel(config))
    publish(theirs, "openai-community/gpt2")
    x = ids()
    same(zoo.create("gpt2-small", pretrained=True, **SMALL).eval()(x), theirs(x).logits)


@torch.no_grad()
def test_an_added_padding_and_another_end_are_read_and_kept(tmp_path: Path) -> None:
    config = transformers.GPT2Config(
        vocab_size=41, n_embd=24, n_layer=2, n_head=3, n_inner=32, n_positions=16,
        pad_token_id=40, bos_token_id=3, eos_token_id=None,
    )  # fmt: skip
    theirs: Any = randomised(transformers.GPT2LMHeadModel(config))
    end = theirs.generate(torch.tensor([[0]]), max_length=4, do_sample=False)[0, -1].item()  # so that it is written
    theirs.config.eos_token_id = theirs.generation_config.eos_token_id = end
    theirs.save_pretrained(tmp_path / "theirs")
    sizes = SMALL | {"vocab_size": 41}
    ours: Any = zoo.create("gpt2-small", weights=tmp_path / "theirs", **sizes).eval()
    assert ours.symbols == (40, 3, end)
    zoo.weights.save(ours, tmp_path / "ours")
    assert zoo.create(f"local-dir:{tmp_path}/ours").symbols == (40, 3, end)
    assert zoo.create("gpt2-small", weights=tmp_path / "ours", **sizes).symbols == (40, 3, end)
    assert zoo.create("gpt2-small", weights=tmp_path / "theirs", symbols=[1, 2, 3], **sizes).symbols == (1, 2, 3)
    assert zoo.create("gpt2-small", weights=theirs.state_dict(), **sizes).symbols == (0, 1, 2)
    ends = 0
    for start in range(6):
        (row,) = theirs.generate(torch.tensor([[start]]), max_length=12, do_sample=False).tolist()
        (found,) = ours.generate(torch.tensor([[start]]), max_len=11).best()
        assert found == [token for token in row[1:] if token not in (end, 40)]
        ends += row[-1] == end
    assert ends


def test_an_encoder_decoder_begins_as_its_configuration_says(tmp_path: Path) -> None:
    config = transformers.MarianConfig(
        vocab_size=40, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=16,
        pad_token_id=39, eos_token_id=7, decoder_start_token_id=38, bos_token_id=4,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config)
    theirs.save_pretrained(tmp_path)  # without positions, which are computed
    ours: Any = zoo.create("marian-base", weights=tmp_path, **SMALL)
    assert ours.symbols == (39, 38, 7)
    same(ours.target.position.table, theirs.model.encoder.embed_positions.weight)


@pytest.mark.parametrize(
    ("vocab_size", "end"), [(50_257, 50_256), (50_258, 50_256), (50_304, 50_256), (50_256, 2), (60_000, 2)]
)
def test_a_vocabulary_with_tokens_added_to_gpt2_s_ends_as_it(vocab_size: int, end: int) -> None:
    assert zoo.create("gpt2-small", vocab_size=vocab_size, device="meta").symbols.eos == end


def test_weights_that_do_not_fit_are_named_key_by_key() -> None:
    with pytest.raises(WeightsError, match=r"(?s)missing: decoder.blocks.1.*of another shape: target.embed.weight is"):
        zoo.create("gpt2-small", weights=to_hf(Gpt(**SIZES | {"depth": 1})), **SMALL | {"vocab_size": 41})


def test_the_engines_encoder_and_decoder_take_torchs_weights() -> None:
    ours: Any = Transformer(**SIZES, norm="pre", eps=1e-5)
    both: Any = EncoderDecoder(ours.encoder, ours.decoder).eval()
    state = to_torch(both)
    assert to_zoo(state, both).keys() == both.state_dict().keys()
    assert both(Tokens(torch.randn(1, 3, 24)), Tokens(torch.randn(1, 2, 24))).x.shape == (1, 2, 24)


def test_a_folder_of_transformers_becomes_a_model_that_reads_texts(tmp_path: Path) -> None:
    config = bert_config(num_labels=3)
    config.vocab_size = 260
    theirs = randomised(transformers.BertForSequenceClassification(config))
    theirs.save_pretrained(tmp_path / "theirs")
    with pytest.raises(WeightsError, match=r"whose weights a name takes: zoo\.create") as caught:
        zoo.create(f"local-dir:{tmp_path}/theirs", pretrained=True)
    ours: Any = eval("zoo.create" + str(caught.value).partition("zoo.create")[2])  # as the user does who is told so
    zoo.weights.save(ours, tmp_path / "mine")
    Tokenizer.byte_level().save(tmp_path / "mine" / "tokenizer.json")
    name = f"local-dir:{tmp_path}/mine"
    ids, lengths = zoo.preprocess(name)(["a text", "b"])
    valid = torch.arange(ids.shape[1]) < lengths[:, None]
    same(zoo.create(name, pretrained=True).eval()(ids, lengths), theirs(ids, valid.long()).logits)


def test_names_are_whole_and_weights_on_meta_are_named_as_others() -> None:
    model = Gpt(**SIZES)
    on_meta = {key: value.to("meta") for key, value in to_hf(model).items()}
    assert to_zoo(on_meta, model).keys() == model.state_dict().keys()
    assert to_zoo({"unshared.weight": torch.ones(1)}, model).keys() == {"unshared.weight"}
