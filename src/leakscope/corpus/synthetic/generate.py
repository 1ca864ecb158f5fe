"""The documents of the synthetic corpus, user by user, and the list of what is planted."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from leakscope.corpus.readers.rows import Row
from leakscope.corpus.synthetic.coined_words import SHARE, coined_sentence
from leakscope.corpus.synthetic.grammar import ASIDES, sentences
from leakscope.corpus.synthetic.people import GIVEN, person
from leakscope.corpus.synthetic.seeded_draws import source
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.synthetic.user_plan import Item, Plan, bot_item, bot_user, plan
from leakscope.corpus.words import words

# Mean words of a document without planted sentences (a test holds the sum to the settings).
_CHAT_WORDS, _MAIL_WORDS = 22.5, 52.0
_STANDS_FOR = 7.0  # words of the sentence that a planted one takes the place of, on average
_MAIL_SHARE = 1 / 3


@dataclass(frozen=True)
class Truth:
    """One planted item: who says it, and in how many documents each (once in a document)."""

    kind: str
    """address, phone, account, position, shared, stitched or bot."""
    text: str
    words: list[str]
    """`text` as split by `words()`, case kept."""
    owners: list[str]
    repetitions: list[int]
    """How often each of `owners` says it, in their order. Nobody else ever does."""
    prefix: list[str]
    """The words of the same sentence before it; for a secret, the owner's full name is there."""


def _general(draw: Random, count: int, coined: int, *, mail: bool) -> list[str]:
    """`count` sentences of general language, some of them with words of the tail."""
    said = sentences(draw, count, mail=mail)
    if coined:
        said = [coined_sentence(draw, coined) if draw.random() < SHARE else s for s in said]
    return said


def _chat(draw: Random, who: Plan, planted: list[str], coined: int) -> str:
    """A message of one to four sentences."""
    count = max(int(draw.random() * 4) + 1 - len(planted), 0 if planted else 1)
    said = _general(draw, count, coined, mail=False)
    if count > 1 and draw.random() < 0.7:
        pets = who.habits.pet_phrases if draw.random() < 0.6 else ASIDES
        said[int(draw.random() * count)] = draw.choice(pets)
    for sentence in planted:
        said.insert(int(draw.random() * (len(said) + 1)), sentence)
    return " ".join(said)


def _mail(draw: Random, who: Plan, planted: list[str], coined: int) -> str:
    """A mail: greeting, one to eight sentences, closing."""
    count = max(int(draw.random() * 8) + 1 - len(planted), 0 if planted else 1)
    said = _general(draw, count, coined, mail=True)
    if count > 1 and draw.random() < 0.5:
        said[-1] = draw.choice(who.habits.pet_phrases)
    for sentence in planted:
        said.insert(int(draw.random() * (len(said) + 1)), sentence)
    to, habits = GIVEN[int(draw.random() * len(GIVEN))], who.habits
    return f"{habits.greeting} {to},\n{' '.join(said)}\n{habits.closing},\n{who.given}"


def _size(budget: int, planted: float, least: int) -> tuple[int, float]:
    """Number of documents, at least `least`, and the share of mail that keeps the budget."""
    free = max(0.0, budget - planted)
    usual = _CHAT_WORDS + _MAIL_SHARE * (_MAIL_WORDS - _CHAT_WORDS)
    count = max(least, round(free / usual), 1)
    share = (free / count - _CHAT_WORDS) / (_MAIL_WORDS - _CHAT_WORDS)
    return count, min(_MAIL_SHARE, max(0.0, share))


def _person_documents(settings: SynthSettings, index: int) -> Iterator[Row]:
    """Documents of one person. Positions of planted sentences are drawn first, text as it goes."""
    who = plan(settings, index)
    draw = source(settings.seed, "documents", index)
    mine = [(item.sentence, item.repetitions[item.owners.index(index)]) for item in who.items]
    mine += [(link, 1) for link in who.links]
    load = sum((len(words(said)) - _STANDS_FOR) * repetitions for said, repetitions in mine)
    count, share = _size(settings.budget, load, max(repetitions for _, repetitions in mine))
    places: dict[int, list[str]] = {}
    for sentence, repetitions in mine:
        for place in draw.sample(range(count), repetitions):
            places.setdefault(place, []).append(sentence)
    for place in range(count):
        planted = places.pop(place, [])
        write = _mail if draw.random() < share else _chat
        yield Row(who.user, write(draw, who, planted, settings.coined))


def documents(settings: SynthSettings) -> Iterator[Row]:
    """All documents, user by user. Memory does not depend on the number of users or words."""
    for index in range(settings.people):
        yield from _person_documents(settings, index)
    for index in range(settings.people, settings.population):
        item = bot_item(settings, index)
        yield from (Row(bot_user(index), item.sentence) for _ in range(item.repetitions[0]))


def truth(settings: SynthSettings) -> Iterator[Truth]:
    """All planted items with their owners, each once, in the order of their first owner."""

    def record(item: Item) -> Truth:
        people = item.kind != "bot"
        owners = [person(settings.seed, i).user if people else bot_user(i) for i in item.owners]
        split, prefix = words(item.text), words(item.before)
        return Truth(item.kind, item.text, split, owners, list(item.repetitions), prefix)

    for index in range(settings.people):
        yield from (record(i) for i in plan(settings, index).items if i.owners[0] == index)
    for index in range(settings.people, settings.population):
        yield record(bot_item(settings, index))
