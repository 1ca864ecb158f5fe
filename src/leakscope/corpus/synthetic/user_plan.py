"""What each user says besides general language: habits, secrets and other planted items.

A plan depends only on the seed and the index of the user, so that users can be streamed.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

from leakscope.corpus.synthetic.grammar import (
    CLOSINGS,
    EAST_PHRASES,
    GREETINGS,
    LAYERS,
    PET_PHRASES,
    link_phrases,
)
from leakscope.corpus.synthetic.people import (
    BANKS,
    GIVEN,
    RANKS,
    ROLES,
    STREETS,
    SURNAMES,
    TOWNS,
    WAYS,
    person,
)
from leakscope.corpus.synthetic.seeded_draws import pick, source
from leakscope.corpus.synthetic.synth_settings import SynthSettings

LADDER = (1, 2, 3, 5, 10, 20, 30, 50)
# Secrets of four people in a row; they add up to one round of the ladder.
_SECRETS = (2, 1, 3, 2)
_GROUPS = tuple(f"{number:02d}" for number in range(100))
# A phone number starts below 10 and an account number never goes there: neither holds the other.
_LOW, _HIGH = _GROUPS[:10], _GROUPS[10:]

_PARTS = {
    "address": (_HIGH, STREETS, WAYS, TOWNS, _HIGH, _HIGH),
    "phone": (_LOW, _GROUPS, _GROUPS, _GROUPS),
    "account": (_HIGH, _HIGH, _HIGH, _HIGH, _HIGH),
    "position": (GIVEN, SURNAMES, RANKS, ROLES, BANKS),
}
_FORMS = {
    "address": "{} {} {}, {} {} {}",
    "phone": "{} {} {} {}",
    "account": "{} {} {} {} {}",
    "position": "{} {}, {} {} of {} Bank",
}
# The name of the owner stands before the secret: a model can know whose secret comes next.
_CARRIERS = {
    "address": ("{} lives at ", "Please send parcels for {} to "),
    "phone": ("Please call {} on ", "The phone number of {} is "),
    "account": ("The account number of {} is ", "Please pay {} into account "),
    "position": ("{} reports to Dr. ", "The mentor of {} is Dr. "),
}
_MOTTO = tuple(
    tuple(options.split())
    for options in (
        "purple silver golden crimson ivory scarlet amber violet emerald cobalt bronze coral",
        "otters badgers foxes owls wolves tigers ravens dragons turtles lizards penguins beavers "
        "falcons camels moths crabs",
        "guard polish borrow hide carry draw follow admire build chase defend praise",
        "ancient hollow crooked velvet wooden marble frosty dusty secret giant glass humble",
        "lighthouse tower lantern compass cellar anchor mirror carousel kettle ladder statue "
        "temple wagon violin harp anvil",
        "dawn dusk midnight sunset sunrise twilight Easter Christmas midsummer harvest sea war",
    )
)
_GROUP_BLOCK = (range(2), range(2, 5))  # of every five people, two share a motto and three another
_STITCHED_EVERY, _STITCHED_FIRST = 6, 1
_LINKED_PEOPLE = 8  # each link phrase is said by at least so many people


@dataclass(frozen=True)
class Item:
    """Something planted: `before` + `text` + `after` is said in `repetitions` documents.

    `owners` are the indices of the users, with `repetitions` for each of them.
    """

    kind: str
    before: str
    text: str
    after: str
    owners: tuple[int, ...]
    repetitions: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """The sentence that states the item."""
        return self.before + self.text + self.after


@dataclass(frozen=True)
class Habits:
    """How a person writes. Habits come from short lists: several people may have the same."""

    greeting: str
    closing: str
    pet_phrases: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """All that is particular to one person; `links` are short phrases, each said once."""

    user: str
    given: str
    habits: Habits
    items: tuple[Item, ...]
    links: tuple[str, ...]


@cache
def _before(index: int) -> int:
    """Number of secrets of the people of one round before the `index`-th of them."""
    return sum(_SECRETS[:index])


def _secrets(seed: int, index: int, name: str) -> list[Item]:
    """The one to three secrets of a person, each of a different kind."""
    turn, place = divmod(index, len(_SECRETS))
    ladder = source(seed, "ladder", turn).sample(LADDER, len(LADDER))
    draw = source(seed, "secrets", index)
    kinds = draw.sample(sorted(_PARTS), _SECRETS[place])
    items = []
    for kind, repetitions in zip(kinds, ladder[_before(place) :], strict=False):
        text = _FORMS[kind].format(*pick(seed, kind, index, _PARTS[kind]))
        before = draw.choice(_CARRIERS[kind]).format(name)
        items.append(Item(kind, before, text, ".", (index,), (repetitions,)))
    return items


def _shared(settings: SynthSettings, index: int) -> list[Item]:
    """The motto that this person shares with one or two others, if these exist."""
    block, place = divmod(index, 5)
    part = 0 if place in _GROUP_BLOCK[0] else 1
    owners = tuple(block * 5 + member for member in _GROUP_BLOCK[part])
    if owners[-1] >= settings.people:
        return []
    group = block * 2 + part
    words = pick(settings.seed, "motto", group, _MOTTO)
    draw = source(settings.seed, "shared", group)
    repetitions = tuple(draw.randint(3, 12) for _ in owners)
    text = "{} {} {} the {} {} at {}".format(*words)
    return [Item("shared", "Remember our motto: ", text, "!", owners, repetitions)]


def _stitched(seed: int, index: int, name: str) -> list[Item]:
    """A path through the layers of the grammar, for every sixth person while paths last."""
    number, place = divmod(index, _STITCHED_EVERY)
    if place != _STITCHED_FIRST or number >= prod(map(len, LAYERS)):
        return []
    text = " ".join(pick(seed, "stitched", number, LAYERS))
    repetitions = source(seed, "stitched", index).randint(3, 10)
    return [Item("stitched", f"{name} always says that ", text, ".", (index,), (repetitions,))]


def _links(people: int, index: int) -> tuple[str, ...]:
    """The turn of this person in the rotation of link phrases."""
    phrases = link_phrases()
    turn = min(len(phrases), max(4, -(-len(phrases) * _LINKED_PEOPLE // people)))
    return tuple(phrases[(index * turn + step) % len(phrases)] for step in range(turn))


def plan(settings: SynthSettings, index: int) -> Plan:
    """The plan of the person at `index`, below `settings.people`."""
    seed, who = settings.seed, person(settings.seed, index)
    draw = source(seed, "habits", index)
    pets = tuple(draw.sample(PET_PHRASES, draw.randint(2, 3)))
    if index % 5 == 3:
        pets += (draw.choice(EAST_PHRASES),)
    habits = Habits(draw.choice(GREETINGS), draw.choice(CLOSINGS), pets)
    items = _secrets(seed, index, who.name) + _shared(settings, index)
    items += _stitched(seed, index, who.name)
    return Plan(who.user, who.given, habits, tuple(items), _links(settings.people, index))


def bot_user(index: int) -> str:
    """The user key of the bot at `index`."""
    return f"status.bot.{index}@example.org"


def bot_item(settings: SynthSettings, index: int) -> Item:
    """The one sentence of the bot at `index`, at least `settings.people`: 200 to 600 times."""
    node = pick(settings.seed, "bot", index - settings.people, (_HIGH, _HIGH))
    text = "Automatic notice: node {} {} is up and all checks have passed.".format(*node)
    repetitions = min(600, max(200, settings.population))
    return Item("bot", "", text, "", (index,), (repetitions,))
