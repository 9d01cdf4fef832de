import itertools
import random
from collections import defaultdict

import pytest

from zoo.plugins.text.data.synthetic import lexicon
from zoo.plugins.text.data.synthetic.grammar import MOST_WORDS, Grammar, Leaf, Tree, draw_sentences

SENTENCES = draw_sentences(1000, seed=0)


def test_a_tree_is_written_in_brackets_without_parts_of_speech() -> None:
    learning = Tree("NP", (Leaf("deep", "ADJ"), Leaf("learning", "NOUN", "science")))
    powerful = Tree("ADJV", (Leaf("very", "ADV"), Leaf("powerful", "ADJ")))
    tree = Tree("S", (learning, Tree("VP", (Leaf("is", "AUX"), powerful))))
    assert tree.text() == "deep learning is very powerful"
    assert tree.brackets() == "(S (NP deep learning) (VP is (ADJV very powerful)))"
    assert tree.topics() == ["science"]


def test_the_example_of_the_task_is_a_sentence_of_the_grammar() -> None:
    assert {"deep", "powerful"} <= set(lexicon.ADJECTIVES)
    assert "very" in lexicon.DEGREES
    assert "learning" in lexicon.MASS["science"].split()
    alike = [tree for tree in SENTENCES if [leaf.tag for leaf in tree.leaves] == ["ADJ", "NOUN", "AUX", "ADV", "ADJ"]]
    assert alike
    for tree in alike:
        quality, noun, copula, degree, last = tree.text().split()
        assert tree.brackets() == f"(S (NP {quality} {noun}) (VP {copula} (ADJV {degree} {last})))"


def test_brackets_hold_the_words_and_close() -> None:
    for tree in SENTENCES:
        tokens = tree.brackets().replace("(", "( ").replace(")", " )").split()
        words = [token for at, token in enumerate(tokens) if token not in "()" and tokens[at - 1] != "("]
        assert words == tree.text().split()
        assert tokens.count("(") == tokens.count(")")


def test_sentences_are_distinct_short_and_the_same_for_a_seed() -> None:
    texts = [tree.text() for tree in SENTENCES]
    assert len(set(texts)) == len(texts)
    assert max(len(tree.leaves) for tree in SENTENCES) <= MOST_WORDS
    assert [tree.text() for tree in draw_sentences(50, seed=0)] == texts[:50]
    assert [tree.text() for tree in draw_sentences(50, seed=1)] != texts[:50]


def test_the_same_words_have_the_same_tree() -> None:
    grammar = Grammar(random.Random(1))
    trees = defaultdict(set)
    for _ in range(3000):
        tree = grammar.sentence()
        trees[tree.text()].add(tree.brackets())
    assert sum(len(found) for found in trees.values()) == len(trees) < 3000


def test_a_clause_about_a_noun_stands_in_the_outermost_noun_phrase_only() -> None:
    def below(tree: Tree, inside: int) -> bool:
        inside += tree.label == "NP"
        return all(
            not (part.label == "SBAR" and inside > 1) and below(part, inside)
            for part in tree.parts
            if isinstance(part, Tree)
        )

    assert any("(SBAR that" in tree.brackets() for tree in SENTENCES)
    assert all(below(tree, 0) for tree in SENTENCES)


def test_some_words_are_noun_or_verb_by_their_place() -> None:
    tags = defaultdict(set)
    for tree in SENTENCES:
        for leaf in tree.leaves:
            tags[leaf.word].add(leaf.tag)
    assert {word for word, found in tags.items() if found == {"NOUN", "VERB"}} >= {"walks", "tests", "dances"}


@pytest.mark.parametrize(("subject", "copula"), [("this", "is"), ("these", "are"), ("we", "are"), ("it", "is")])
def test_subject_and_verb_agree(subject: str, copula: str) -> None:
    other = {"is": "are", "are": "is"}[copula]
    heads = {
        clause.parts[1].parts[0]
        for tree in SENTENCES
        for clause in ([tree] if len(tree.parts) == 2 else [tree.parts[0], tree.parts[2]])
        if clause.parts[0].leaves[0].word == subject
    }
    words = {head.word for head in heads}
    assert copula in words
    assert other not in words


def test_an_article_fits_the_sound_that_follows() -> None:
    for tree in SENTENCES:
        words = tree.text().split()
        for article, following in itertools.pairwise(words):
            if article in ("a", "an"):
                assert (following[0] in "aeiou") == (article == "an")
