import random
import re

from zoo.plugins.text.data.synthetic import toxicity
from zoo.plugins.text.data.synthetic.toxicity import INSULTS, NEGATIONS, OTHERS, OWN, THINGS, comment

SUBJECTS = (*OTHERS, *OWN, *THINGS)


def bad(text: str) -> bool:
    """Read a claim: what is said, turned round by a negation."""
    said = next((each for each in INSULTS if text.endswith(each)), "")
    return bool(said) != any(f" {negation} " in text for negation in NEGATIONS)


def test_a_claim_means_what_is_said_and_its_negation() -> None:
    rng = random.Random(0)
    assert all(bad(toxicity.claim(rng, "you are", kind)) == kind for _ in range(200) for kind in (True, False))


def test_in_a_contrast_what_is_said_of_another_person_counts() -> None:
    rng = random.Random(0)
    for _ in range(200):
        for toxic in (True, False):
            text = toxicity.contrast(rng, toxic)
            claims = re.split(rf" (?:and|but|while) (?={'|'.join(SUBJECTS)})", text)
            (of_others,) = [each for each in claims if each.startswith(OTHERS)]
            assert bad(of_others) == toxic


def test_comments_of_both_kinds_have_insults() -> None:
    rng = random.Random(0)
    counts = [sum(any(each in comment(rng, kind) for each in INSULTS) for _ in range(2000)) for kind in (True, False)]
    assert min(counts) > 700
