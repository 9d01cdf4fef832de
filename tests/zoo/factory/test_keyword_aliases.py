from zoo.factory.keyword_aliases import our_word


def test_a_word_of_another_library_is_ours_only_where_ours_is_known() -> None:
    assert our_word("hidden_size", ["depth", "dim"]) == "dim"
    assert our_word("hidden_size", ["depth"]) == ""
    assert our_word("dim", ["dim"]) == ""
