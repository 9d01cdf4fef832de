import pytest

from zoo.plugins.shared.text.number_words import LANGUAGES, LARGEST, english, german


@pytest.mark.parametrize(
    ("number", "en", "de"),
    [
        (1, "one", "eins"),
        (12, "twelve", "zwölf"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (40, "forty", "vierzig"),
        (66, "sixty-six", "sechsundsechzig"),
        (77, "seventy-seven", "siebenundsiebzig"),
        (100, "one hundred", "einhundert"),
        (101, "one hundred one", "einhunderteins"),
        (1000, "one thousand", "eintausend"),
        (1001, "one thousand one", "eintausendeins"),
        (21_021, "twenty-one thousand twenty-one", "einundzwanzigtausendeinundzwanzig"),
        (12_345, "twelve thousand three hundred forty-five", "zwölftausenddreihundertfünfundvierzig"),
        (LARGEST, "ninety-nine thousand nine hundred ninety-nine", "neunundneunzigtausendneunhundertneunundneunzig"),
    ],
)
def test_numbers_are_spelled_as_in_the_dictionary(number: int, en: str, de: str) -> None:
    assert english(number) == en
    assert german(number) == de


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_numbers_are_written_alike(language: str) -> None:
    written = {LANGUAGES[language](number) for number in range(1, LARGEST + 1, 7)}
    assert len(written) == len(range(1, LARGEST + 1, 7))


def test_english_words_say_the_number_they_are_from() -> None:
    ones = {english(number): number for number in range(1, 100)}

    def value(words: str) -> int:
        thousands, _, rest = words.rpartition("thousand")
        hundreds, _, below = rest.rpartition("hundred")
        return 1000 * ones.get(thousands.strip(), 0) + 100 * ones.get(hundreds.strip(), 0) + ones.get(below.strip(), 0)

    assert all(value(english(number)) == number for number in range(1, LARGEST + 1, 37))
