from zoo.factory.keyword_aliases import alias_of


def test_a_word_of_another_library_is_ours_only_where_ours_is_known() -> None:
    assert alias_of("hidden_size", ["depth", "dim"]) == "dim"
    assert alias_of("hidden_size", ["depth"]) == ""
    assert alias_of("dim", ["dim"]) == ""
