from zoo.bench.speed.startup import COMMANDS, measure, table


def test_each_command_is_timed_in_turns() -> None:
    times = measure(repeats=1)
    assert times.keys() == COMMANDS.keys()
    assert all(len(own) == 1 and own[0] > 0 for own in times.values())


def test_the_table_says_what_a_command_adds_to_its_base() -> None:
    lines = table({"bare": [10.0, 20.0, 30.0], "import zoo": [15.0, 27.0, 33.0]}).splitlines()
    assert lines[1].split() == ["bare", "20"]
    assert lines[2].split() == ["import", "zoo", "27", "5", "50"]
