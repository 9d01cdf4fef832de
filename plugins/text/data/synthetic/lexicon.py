"""The words of the small English grammar. Some are noun and verb, as `walks` is: only the sentence tells."""

NOUNS = {
    "animals": "dog:dogs cat:cats horse:horses bird:birds owl:owls fox:foxes",
    "food": "apple:apples cake:cakes soup:soups onion:onions lunch:lunches",
    "music": "song:songs guitar:guitars singer:singers opera:operas dance:dances",
    "science": "scientist:scientists theory:theories experiment:experiments atom:atoms test:tests",
    "sport": "team:teams coach:coaches race:races walk:walks match:matches",
    "weather": "storm:storms cloud:clouds wind:winds island:islands shower:showers",
}
"""Topic to singular and plural."""
MASS = {
    "animals": "wool",
    "food": "bread rice",
    "music": "jazz rhythm",
    "science": "learning physics",
    "sport": "training football",
    "weather": "rain snow",
}
"""Topic to nouns without a plural and without an article."""
ADJECTIVES = [
    *("deep", "powerful", "small", "large", "old", "young", "quiet", "loud"),
    *("strange", "bright", "cold", "warm", "famous", "helpful", "early", "heavy"),
]
DEGREES = ["very", "quite", "rather", "too", "extremely"]
MANNERS = ["slowly", "quickly", "often", "quietly", "again", "together"]
INTRANSITIVE = ["sleep:sleeps", "arrive:arrives", "walk:walks", "dance:dances", "wait:waits", "fall:falls"]
TRANSITIVE = [
    "see:sees",
    "like:likes",
    "follow:follows",
    "test:tests",
    "match:matches",
    "find:finds",
    "remember:remembers",
]
"""Plural and singular of the third person."""
PRONOUNS = {"it": True, "she": True, "he": True, "they": False, "we": False}
"""Whether the verb is singular."""
PLACES = ["in", "near", "behind", "above", "under"]
"""Prepositions that belong to the verb; `of` belongs to the noun before it."""
