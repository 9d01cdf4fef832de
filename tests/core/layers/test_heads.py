"""Heads: what is asked of the vectors."""

import pytest
import torch
from torch import nn

from zoo.core import Classify, ConfigError, Features, InputError, Lengths, NextToken, Tag, Tokens, Valid
from zoo.core.layers.heads import MaskedToken, PooledClassify, head

pytestmark = pytest.mark.usefixtures("float64")


def test_the_mean_counts_only_what_is_there() -> None:
    x = torch.randn(2, 4, 3)
    x[1, 2:] = torch.nan
    pooled = Classify(3, 0, "mean")(Tokens(x, keys=Lengths(torch.tensor([4, 2]))))
    torch.testing.assert_close(pooled, torch.stack([x[0].mean(0), x[1, :2].mean(0)]))


def test_the_mean_of_an_empty_set_is_zero() -> None:
    tokens = Tokens(torch.randn(1, 2, 3), keys=Lengths(torch.tensor([0])))
    assert not Classify(3, 0, "mean")(tokens).any()


def test_the_first_vector_is_the_class_token() -> None:
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(Classify(3, 0, "first")(Tokens(x)), x[:, 0])


def test_the_first_vector_is_the_first_that_is_there() -> None:
    x, valid = torch.randn(3, 4, 3), torch.tensor([[True] * 4, [False, False, True, True], [False] * 4])
    pooled = Classify(3, 0, "first")(Tokens(x, keys=Valid(valid)))
    torch.testing.assert_close(pooled, torch.stack([x[0, 0], x[1, 2], x[2, 0]]))


def test_a_pooler_stands_before_the_classifier() -> None:
    x, head = torch.randn(2, 4, 3), PooledClassify(3, 5)
    wanted = head.linear(torch.tanh(x[:, 0] @ head.pooler.weight.T + head.pooler.bias))
    torch.testing.assert_close(head(Tokens(x)), wanted)
    head.reset(0)
    assert head(Tokens(x)).shape == (2, 3)


def test_tokens_are_scored_by_the_embedding_that_is_shared() -> None:
    x, embed = torch.randn(2, 4, 3), nn.Embedding(6, 3)
    masked = MaskedToken(3, embed)
    with torch.no_grad():
        masked.scores.bias.normal_()
    inside = nn.functional.layer_norm(nn.functional.gelu(masked.transform(x)), (3,), eps=1e-12)
    torch.testing.assert_close(masked(Tokens(x)), inside @ embed.weight.T + masked.scores.bias)
    assert not any(name.endswith("scores.weight") for name in masked.state_dict())
    assert masked.num_classes == NextToken(3, 6, embed).num_classes == 6
    torch.testing.assert_close(NextToken(3, 6, embed)(Tokens(x)), x @ embed.weight.T)
    with pytest.raises(ConfigError, match="num_classes=4 of a model that writes tokens: its vocabulary has 6"):
        masked.reset(4)


def test_tag_labels_each_vector_behind_the_prefix() -> None:
    head, x = Tag(3, 5, prefix=1), torch.randn(2, 4, 3)
    torch.testing.assert_close(head(Tokens(x)), x[:, 1:] @ head.linear.weight.T + head.linear.bias)


@pytest.mark.parametrize("head", [Tag(3, 5), Tag(3, 0), Features(3), Tag(3, 5, prefix=1)])
def test_where_no_vector_is_the_answer_is_zero(head: Tag | Features) -> None:
    if isinstance(head, Tag) and head.num_classes:
        nn.init.ones_(head.linear.bias)  # type: ignore[arg-type]
    x = torch.randn(2, 4, 3)
    x[1, 2:] = torch.nan
    y = head.double()(Tokens(x, keys=Lengths(torch.tensor([4, 2]))))
    behind = 2 - getattr(head, "prefix", 0)
    assert not y[1, behind:].any()
    assert torch.equal(y[1, :behind], head(Tokens(x))[1, :behind])
    assert torch.equal(y[0], head(Tokens(x))[0])


def test_reset_keeps_dtype() -> None:
    classify = Classify(3, 5).to(torch.bfloat16)
    classify.reset(7)
    assert classify.linear.weight.shape == (7, 3)
    assert classify.linear.weight.dtype == torch.bfloat16
    assert classify.num_classes == 7


def test_features_are_the_vectors_and_take_no_classifier() -> None:
    x = torch.randn(1, 2, 3)
    assert Features(3)(Tokens(x)) is x
    with pytest.raises(ConfigError, match="num_classes=4 with task='features'"):
        Features(3).reset(4)


@pytest.mark.parametrize(
    ("task", "classes", "pool", "text"),
    [
        ("segment", 2, "first", "task='segment' is not one of classify, multi-label, tag, features"),
        ("classify", 2, "median", "pool='median' is not one of first, mean, sum, max"),
        ("classify", -1, "first", "num_classes=-1 is negative"),
    ],
)
def test_unknown_options_are_refused(task: str, classes: int, pool: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        head(task, 3, classes, pool=pool)


def test_the_embeddings_vectors_are_the_weights_and_are_saved_there_only() -> None:
    embedding, x = torch.nn.Embedding(5, 3), torch.randn(2, 4, 3)
    shared = NextToken(3, 5, embedding, bias=True)
    assert shared.bias is not None
    torch.nn.init.normal_(shared.bias)
    torch.testing.assert_close(shared(Tokens(x)), x @ embedding.weight.T + shared.bias)
    assert list(shared.state_dict()) == ["bias"]
    embedding.weight.data.mul_(2)
    torch.testing.assert_close(shared(Tokens(x)), x @ embedding.weight.T + shared.bias)
    assert list(NextToken(3, 5).state_dict()) == ["weight"]


def test_a_vocabulary_cannot_be_replaced() -> None:
    NextToken(3, 5).reset(5)
    with pytest.raises(ConfigError, match="num_classes=6 of a model that writes tokens: its vocabulary has 5"):
        NextToken(3, 5).reset(6)


@pytest.mark.parametrize("keys", [None, Lengths(torch.zeros(2, dtype=torch.long)), Valid(torch.zeros(2, 0).bool())])
def test_no_vectors_have_no_first(keys: Lengths | Valid | None) -> None:
    with pytest.raises(InputError, match="0 vectors in each of 2 sets: there is no first one to label"):
        Classify(4, 3)(Tokens(torch.zeros(2, 0, 4), keys=keys))


def test_several_labels_are_asked_of_the_same_layer_as_one_class() -> None:
    assert isinstance(head("multi-label", 3, 5, pool="mean"), Classify)
    assert head("multi-label", 3, 5, pool="mean").pool == "mean"
    assert not isinstance(head("tag", 3, 5), Classify)
