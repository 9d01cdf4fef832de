"""What is left out is counted, and the first are named."""

from zoo.plugins.corpora.skipped import Skipped, told


def test_what_is_left_out_is_counted_and_the_first_are_named() -> None:
    skipped = [Skipped(f"{number}.wav", "broken") for number in range(7)]
    assert told(skipped[:2], 9, "sounds") == "2 of 9 sounds are skipped: 0.wav: broken; 1.wav: broken"
    assert told(skipped, 9, "sounds").endswith("4.wav: broken; and 2 more")
