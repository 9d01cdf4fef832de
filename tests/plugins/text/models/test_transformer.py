"""The text models: the sizes that are printed, their parts, options, and what they refuse."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo import ConfigError, InputError
from zoo.core import Attention, Tokens
from zoo.core.positions.absolute import ADDED
from zoo.core.positions.attention_position import IN_ATTENTION
from zoo.plugins.text.models.non_autoregressive import NonAutoregressiveTransformer
from zoo.plugins.text.models.transformer import Bert, Gpt, Transformer
from zoo.plugins.text.models.weighted_transformer import WeightedTransformer
from zoo.plugins.text.plugin import TRANSFORMER
from zoo.weights.checkpoint import save

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"vocab_size": 20, "dim": 16, "depth": 2, "num_heads": 4, "mlp_dim": 24, "max_len": 12}
SOURCE, LENGTHS, TARGET = torch.randint(3, 20, (2, 7)), torch.tensor([7, 3]), torch.randint(3, 20, (2, 5))


def parameters(name: str, **overrides: Any) -> int:
    return sum(p.numel() for p in zoo.create(name, device="meta", **overrides).parameters())


@pytest.mark.parametrize(
    ("row", "printed"),
    [
        ("base", 65), ("dk16", 58), ("dk32", 60), ("n2", 36), ("n4", 50), ("n8", 80), ("d256", 28), ("d1024", 168),
        ("ff1024", 53), ("ff4096", 90), ("h1", 65), ("h4", 65), ("h16", 65), ("h32", 65), ("p0", 65), ("p20", 65),
        ("ls0", 65), ("ls20", 65), ("learned-positions", 65),
    ],
)  # fmt: skip
def test_rows_of_table_3_round_to_what_is_printed(row: str, printed: int) -> None:
    assert round(parameters(f"transformer-{row}", vocab_size=41_000) / 1e6) == printed
    assert zoo.info(f"transformer-{row}").config["vocab_size"] == 41_000
    assert TRANSFORMER[f"transformer-{row}"][2] == printed


def test_big_has_one_million_more_than_printed() -> None:
    assert parameters("transformer-big") == 214_245_376


@pytest.mark.parametrize(
    ("row", "option", "value"),
    [
        ("base", "dropout", 0.1), ("big", "dropout", 0.3), ("p0", "dropout", 0.0), ("p20", "dropout", 0.2),
        ("base", "label_smoothing", 0.1), ("ls0", "label_smoothing", 0.0), ("ls20", "label_smoothing", 0.2),
    ],
)  # fmt: skip
def test_rows_d_differ_in_what_training_does(row: str, option: str, value: float) -> None:
    model: Any = zoo.create(f"transformer-{row}", device="meta")
    if option == "label_smoothing":
        assert model.label_smoothing == value
    else:
        assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {value}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("bert-tiny", 4_385_920), ("bert-mini", 11_170_560), ("bert-small", 28_763_648), ("bert-medium", 41_373_184),
        ("bert-base", 109_482_240), ("bert-large", 335_141_888), ("gpt2-small", 124_439_808),
    ],
)  # fmt: skip
def test_published_counts_are_exact(name: str, count: int) -> None:
    assert parameters(name) == zoo.info(name).parameters == count


def test_heads_of_keys_and_values_differ_in_size_where_the_table_says_so() -> None:
    model: Any = zoo.create("transformer-dk16", device="meta")
    for block in (model.encoder.blocks[0], model.decoder.blocks[0]):
        assert (block.attention.head_dim, block.attention.value_dim) == (16, 64)
    assert model.decoder.blocks[0].cross.qkv.out_features == 8 * (16 + 16 + 64)


def test_source_target_and_output_share_one_embedding() -> None:
    model = Transformer(**SIZES)
    assert [key for key, x in model.state_dict().items() if 20 in x.shape] == ["target.embed.weight"]
    model.eval()
    before = model(SOURCE, LENGTHS, TARGET)
    with torch.no_grad():
        model.target.embed.weight.mul_(2)
        wanted = 2 * torch.nn.functional.linear(
            model.forward_features(SOURCE, LENGTHS, TARGET), model.target.embed.weight / 2
        )
    torch.testing.assert_close(model(SOURCE, LENGTHS, TARGET), wanted)
    assert not torch.allclose(before, wanted)


def test_embedded_tokens_have_the_size_of_their_positions() -> None:
    model = Transformer(**SIZES | {"vocab_size": 500, "dim": 64, "dropout": 0.0}, position="none")
    assert float(model.target(torch.arange(500)[None]).x.detach().std()) == pytest.approx(1, abs=0.05)


MODELS: dict[str, Any] = {
    "transformer": Transformer,
    "weighted": WeightedTransformer,
    "nat": NonAutoregressiveTransformer,
    "bert": Bert,
    "gpt": Gpt,
}


def inputs(name: str) -> tuple[Tensor, ...]:
    return (SOURCE, LENGTHS) if name in ("bert", "gpt") else (SOURCE, LENGTHS, TARGET)


@pytest.mark.parametrize("position", [*ADDED, *IN_ATTENTION])
@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_takes_every_position(name: str, position: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name](**SIZES | {"depth": 1}, position=position).eval()
    assert model(*inputs(name)).isfinite().all()
    if name == "bert" or (name == "nat" and position == "none"):
        return
    answer = model.generate(SOURCE, LENGTHS, max_len=3)
    assert answer.ids.shape[0] == 2
    if name in ("transformer", "weighted", "gpt"):
        repeated = uncached(model, name, answer.ids.shape[2])
        for row, wanted in zip(answer.best(), repeated, strict=True):
            assert row == wanted[: len(row)]


@pytest.mark.parametrize("name", ["bert", "gpt", "transformer"])
@torch.no_grad()
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap_over_batches_of_ids_answers_as_one_by_one(name: str) -> None:
    model, batch = MODELS[name](**SIZES).eval(), inputs(name)
    several = [torch.stack([x, x.flip(0)]) for x in batch]
    one_by_one = torch.stack([model(*(x[place] for x in several)) for place in range(2)])
    torch.testing.assert_close(torch.vmap(model)(*several), one_by_one)


def uncached(model: Any, name: str, steps: int) -> list[list[int]]:
    """Choose the best token again and again, each time from the whole."""
    rows = []
    for source, length in zip(SOURCE, LENGTHS, strict=True):
        written = source[None, :length] if name == "gpt" else torch.tensor([[model.symbols.bos]])
        start = written.shape[1]
        for _ in range(steps):
            given = (written,) if name == "gpt" else (source[None, :length], None, written)
            written = torch.cat([written, model(*given)[:, -1:].argmax(-1)], dim=1)
        rows.append(written[0, start:].tolist())
    return rows


@pytest.mark.parametrize("name", list(MODELS))
def test_another_attention_acts_within_source_and_target(name: str) -> None:
    spec = {"bert": "bert-tiny", "gpt": "gpt2-small", "nat": "nat-base", "weighted": "weighted-transformer-base"}
    model = zoo.create(spec.get(name, "transformer-base"), attention="window:1,0", **SIZES).eval()
    maps = model.attention_maps(*inputs(name))
    within = [m for m in maps if m.shape[2] == m.shape[3]]
    assert within
    for each in within:
        assert float(each.tril(-2).abs().sum() + each.triu(1).abs().sum()) == 0
    assert all(float(m.detach().triu(1).sum()) > 0 for m in maps if m.shape[2] != m.shape[3])


def test_a_head_size_is_refused_by_an_attention_that_takes_none() -> None:
    def plain(dim: int, num_heads: int) -> nn.Module:
        return Attention(dim, num_heads)

    with pytest.raises(ConfigError, match="head_dim=4 for plain, which takes none"):
        Transformer(**SIZES, head_dim=4, attention=plain)
    assert Transformer(**SIZES, head_dim=4, attention=Attention)(SOURCE, LENGTHS, TARGET).shape == (2, 5, 20)


def test_branches_need_heads() -> None:
    class Mean(nn.Module):
        def forward(self, tokens: Tokens) -> Tensor:
            return tokens.x

    with pytest.raises(ConfigError, match="Mean has no heads that could pass through branches"):
        WeightedTransformer(**SIZES, attention=lambda dim, heads: Mean())


def test_a_weighted_transformer_has_the_192_weights_of_the_paper() -> None:
    model: Any = zoo.create("weighted-transformer-base", device="meta")
    weights = [p for name, p in model.named_parameters() if name.endswith("logits")]
    assert sum(p.numel() for p in weights) == 192
    assert abs(parameters("weighted-transformer-base") / parameters("transformer-base") - 1) < 0.001


@pytest.mark.parametrize(
    ("task", "classes", "shape"),
    [
        ("classify", 0, (2, 16)), ("classify", 3, (2, 3)), ("tag", 5, (2, 7, 5)), ("features", 0, (2, 7, 16)),
        ("masked-token", 0, (2, 7, 20)),
    ],
)  # fmt: skip
def test_tasks_of_bert(task: str, classes: int, shape: tuple[int, ...]) -> None:
    model: Any = Bert(**SIZES, task=task, num_classes=classes).eval()
    answer = model(SOURCE, LENGTHS)
    assert answer.shape == shape
    longer = nn.functional.pad(SOURCE, (0, 2), value=5)
    for row, length in enumerate(LENGTHS.tolist()):
        wanted, found = answer[row], model(longer, LENGTHS)[row]
        torch.testing.assert_close(
            found if task == "classify" else found[:length], wanted if task == "classify" else wanted[:length]
        )


def test_padding_may_stand_on_either_side() -> None:
    left = torch.arange(7) >= 7 - LENGTHS[:, None]
    shifted = torch.stack([row.roll(7 - int(n)) for row, n in zip(SOURCE, LENGTHS, strict=True)])
    for model in (Bert(**SIZES).eval(), Transformer(**SIZES).eval()):
        rest = () if isinstance(model, Bert) else (TARGET,)
        torch.testing.assert_close(model(shifted, left, *rest), model(SOURCE, LENGTHS, *rest))


def test_the_second_text_of_a_pair_is_told_from_the_first() -> None:
    model = Bert(**SIZES).eval()
    segments = torch.tensor([[0, 0, 0, 1, 1, 1, 1]]).expand(2, -1)
    torch.testing.assert_close(model(SOURCE, LENGTHS, 0 * segments), model(SOURCE, LENGTHS))
    assert not torch.allclose(model(SOURCE, None, segments), model(SOURCE))


@pytest.mark.parametrize("length", ["predicted", "predicted:3", "cut", "cut:3", "cut:0,9"])
def test_places_are_predicted_or_cut(length: str) -> None:
    model = NonAutoregressiveTransformer(**SIZES, length=length).eval()
    answer = model.generate(SOURCE, LENGTHS)
    most = {"predicted:3": 10, "cut:3": 25, "cut:0,9": 9}.get(length, 27)
    assert answer.ids.shape[2] <= most
    assert model.training_loss((SOURCE, LENGTHS, TARGET), TARGET, 0.1).isfinite()


@pytest.mark.parametrize("length", ["guessed", "predicted:x", "predicted:1,2", "cut:a", "cut:1,2,3"])
def test_a_way_to_find_the_length_that_is_none_is_refused(length: str) -> None:
    with pytest.raises(ConfigError, match=rf"length='{length}' is neither predicted\[:REACH\] nor cut"):
        NonAutoregressiveTransformer(**SIZES, length=length)


def test_what_does_not_fit_is_refused_with_its_value() -> None:
    with pytest.raises(ConfigError, match="norm='both' is not one of post, pre, post-last"):
        Transformer(**SIZES, norm="both")
    with pytest.raises(ConfigError, match="activation='elu' is not one of relu, gelu, gelu-tanh, silu"):
        Transformer(**SIZES, activation="elu")
    for symbols in ((0, 1), (0, 1, 20)):
        with pytest.raises(ConfigError, match=r"symbols=.* with vocab_size=20: three tokens of the vocabulary"):
            Transformer(**SIZES, symbols=symbols)
    with pytest.raises(ConfigError, match="task='translate' is not one of classify, multi-label, tag, features"):
        Bert(**SIZES, task="translate")
    with pytest.raises(ConfigError, match="num_classes=7 of a model that writes tokens: its vocabulary has 20"):
        Bert(**SIZES, task="masked-token").reset_classifier(7)


def test_input_that_does_not_fit_is_refused_with_its_place() -> None:
    ids = SOURCE.clone()
    ids[1, 2] = 20
    for model in (Bert(**SIZES), Gpt(**SIZES)):
        with pytest.raises(InputError, match="token 20 at place 2 of row 1: the vocabulary has 20"):
            model(ids)
    with pytest.raises(InputError, match="token 2 at place 0 of row 0: the vocabulary has 2"):
        Bert(**SIZES)(SOURCE, None, torch.full_like(SOURCE, 2))
    with pytest.raises(InputError, match="length 13 is more than the 12 positions that were learned"):
        Gpt(**SIZES)(torch.ones(1, 13, dtype=torch.long))


def test_gpt2s_vocabulary_has_one_symbol_for_begin_and_end() -> None:
    assert Gpt(**SIZES | {"vocab_size": 50_257, "depth": 1}).symbols == (50_256, 50_256, 50_256)
    assert Gpt(**SIZES).symbols == (0, 1, 2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("transformer-tiny", {}), ("decoder-tiny", {}), ("nat-base", SIZES), ("bert-tiny", {"task": "masked-token"}),
        ("bert-tiny", {"task": "tag", "num_classes": 3}),
    ],
)  # fmt: skip
def test_a_saved_model_is_made_again_from_its_folder(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    small = SIZES | options | {"position": "learned"}
    model = zoo.create(name, **small).eval()
    again = zoo.create(f"local-dir:{save(model, tmp_path)}", pretrained=True).eval()
    given = inputs("bert" if name[:4] in ("bert", "deco") else name)
    torch.testing.assert_close(again(*given), model(*given))
    assert again.spec.config == model.spec.config


def shifted(**options: Any) -> Transformer:
    return Transformer(**SIZES, dropout=0.0, position="learned", shift=5, **options)


def test_shifted_positions_begin_at_one_random_place_for_source_and_target() -> None:
    model = shifted().train()
    begins = set()
    for _ in range(60):
        model.zero_grad()
        model(SOURCE[:1], LENGTHS[:1], TARGET[:1]).square().sum().backward()
        used = model.target.position.table.grad.abs().sum(1).nonzero()[:, 0].tolist()
        assert used == list(range(used[0], used[0] + 7))
        begins.add(used[0])
    assert begins == set(range(6))


def test_shifted_positions_count_what_a_mask_says_is_there() -> None:
    model = shifted().train()
    padded_left = torch.stack([SOURCE[0], SOURCE[1].roll(7 - int(LENGTHS[1]))])
    mask = torch.arange(7) < LENGTHS[:, None]
    answers = []
    for source, valid in ((SOURCE, LENGTHS), (SOURCE, mask), (padded_left, mask.flip(1))):
        torch.manual_seed(0)
        answers.append(model(source, valid, TARGET))
    torch.testing.assert_close(answers[1], answers[0])
    torch.testing.assert_close(answers[2], answers[0])


def test_without_training_positions_are_not_shifted() -> None:
    model, plain = shifted().eval(), Transformer(**SIZES, position="learned").eval()
    plain.load_state_dict(model.state_dict())
    for _ in range(5):
        torch.testing.assert_close(model(SOURCE, LENGTHS, TARGET), plain(SOURCE, LENGTHS, TARGET))


@pytest.mark.parametrize(("shift", "position"), [(-1, "sinusoidal"), (3, "rotary"), (3, "none")])
def test_positions_that_cannot_be_shifted(shift: int, position: str) -> None:
    with pytest.raises(ConfigError, match=f"shift={shift} of position='{position}': .* sinusoidal or learned only"):
        Transformer(**SIZES, position=position, shift=shift)


def test_shifted_positions_stay_among_those_that_were_learned() -> None:
    source, target = torch.randint(3, 20, (2, 9)), torch.randint(3, 20, (2, 11))
    model, begins = shifted().train(), set()
    for _ in range(40):
        model.zero_grad()
        model(source, None, target).square().sum().backward()
        begins.add(int(model.target.position.table.grad.abs().sum(1).nonzero()[0, 0]))
    assert begins == {0, 1}
    with pytest.raises(InputError, match="position 12 is not one of the 12 that were learned"):
        model(torch.ones(2, 13, dtype=torch.long), None, target)


def test_a_batch_without_tokens_has_no_label() -> None:
    with pytest.raises(InputError, match=re.escape("0 vectors in each of 1 sets: there is no first one to label")):
        Bert(**SIZES, num_classes=2)(torch.ones(1, 0, dtype=torch.long))
