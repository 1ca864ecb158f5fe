"""General language: a small grammar of office and household English that all users share.

Templates are expanded once into pools of strings; a sentence is then one head and one tail.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from random import Random

from leakscope.corpus.synthetic.people import GIVEN
from leakscope.corpus.synthetic.seeded_draws import source

# Each topic: adjectives / nouns / verbs as base:past, all of which go with one another.
_TOPICS = (
    "new short weekly last long final / report meeting agenda summary plan proposal draft "
    "schedule workshop survey letter budget / review:reviewed send:sent finish:finished "
    "postpone:postponed approve:approved discuss:discussed ignore:ignored rewrite:rewrote",
    "cheap early late direct slow full / train flight ticket hotel trip bus ferry booking taxi "
    "suitcase passport map / book:booked cancel:cancelled change:changed check:checked "
    "confirm:confirmed catch:caught pack:packed choose:chose",
    "big spicy simple frozen tasty salty / dinner cake stew salad curry pasta breakfast roast "
    "omelette pizza sauce pie / cook:cooked order:ordered burn:burned taste:tasted serve:served "
    "bake:baked finish:finished freeze:froze",
    "wild tall dry tiny green muddy / hedge lawn pond shed fence rose tree path rake flower "
    "spade ivy / water:watered trim:trimmed plant:planted paint:painted measure:measured "
    "clean:cleaned repair:repaired cover:covered",
    "broken old shared slow new remote / server printer laptop password backup website database "
    "screen cable keyboard router program / restart:restarted update:updated test:tested "
    "replace:replaced unplug:unplugged copy:copied install:installed repair:repaired",
    "loud sad lovely famous long modern / song concert guitar choir piano record drum tune band "
    "opera flute dance / play:played practise:practised hear:heard miss:missed love:loved "
    "record:recorded teach:taught choose:chose",
    "hard friendly local fair important easy / match race team coach goal bike pool league medal "
    "stadium jersey trophy / watch:watched win:won lose:lost join:joined enjoy:enjoyed "
    "miss:missed train:trained leave:left",
    "unpaid small monthly final wrong extra / invoice refund receipt contract payment loan fee "
    "salary bill rent deposit tax / pay:paid sign:signed file:filed find:found "
    "question:questioned check:checked send:sent lower:lowered",
    "cold sunny heavy sudden wet mild / storm rain snow wind frost fog forecast weekend shower "
    "breeze sky thunder / expect:expected notice:noticed avoid:avoided remember:remembered "
    "survive:survived enjoy:enjoyed hate:hated see:saw",
    "happy quick nice big funny surprise / party visit birthday wedding photo present phone "
    "story game card picnic reunion / organise:organised share:shared forget:forgot "
    "prepare:prepared mention:mentioned love:loved film:filmed plan:planned",
)
_SLOTS = {
    "s": "I/we/they/you/my sister/the boss/our neighbour/somebody/the kids/he/she/everybody/"
    "my uncle/the doctor/nobody/a friend/both teachers/the mayor/grandma/your cousin",
    "d": "the/my/our/this/that/your/his/her/another/some/one/their/every/no",
    "r": "just/never/finally/already/almost/often/quietly/really/still/probably/maybe/also/"
    "gladly/suddenly/sometimes/barely",
    "p": "in/near/behind/at/for/around/from/beside/inside/outside",
    "l": "office/kitchen/station/library/school/market/museum/hospital/bakery/garage/church/"
    "theatre/airport/beach/village/park/cafe/factory/hall/farm/harbour/gallery/basement/gym",
    "t": "on Monday/on Tuesday/on Friday/this week/next month/today/tomorrow/yesterday/tonight/"
    "at noon/soon/again/every day/last night/later/for now/all year/in May/by then/twice",
    "f": "too {a}/really {a}/not {a}/so {a}/quite {a}/{a} enough",
    "c": "because/so/although/since/but/and/unless/while/until/when",
    "v": "waited/went home/knew why/had no time/asked twice/agreed/needed help/lost the key/"
    "laughed/fell asleep/moved away/said no/came late/called back/gave up/smiled/did not know/"
    "took notes/stayed up/paid in cash",
}
_HEADS = (
    "{s} {past} {d} {a} {n}",
    "{s} {r} {past} {d} {n}",
    "{s} will {r} {base} {d} {n}",
    "{s} wanted to {base} {d} {a} {n}",
    "please {base} {d} {a} {n}",
    "{r} {base} {d} {n} or {d2} {a} {n2}",
    "{d} {n} was {f}",
    "{d} {n} and {d2} {n2} were {f}",
)
_TAILS = (" {p} {d} {l}", " {t}", " {p} {d} {l} {t}", " {c} {s} {v}", " {t} {c} {s} {v}", "")
_MARKS = (".", ".", ".", ".", "!", "...")
ASIDES = (
    "sounds good!",
    "what do you think?",
    "hmm... let me see.",
    "thanks a lot!!",
    "any news?",
    "I will call you back.",
    "who else is coming?",
    "see you there :)",
)
GREETINGS = ("Dear", "Hi", "Hello", "Good morning", "Hey", "Good evening")
CLOSINGS = ("Best regards", "Cheers", "Kind regards", "All the best", "Yours", "Many thanks")
PET_PHRASES = (
    "to be honest, it is what it is.",
    "no worries at all!",
    "you know how it goes...",
    "fair enough, fair enough.",
    "happy days!!",
    "long story short, we will see.",
    "mark my words.",
    "better safe than sorry.",
    "well, well, well...",
    "that is the way the cookie crumbles.",
    "touch wood!",
    "ça va, no drama.",
)
EAST_PHRASES = ("明天见!", "谢谢大家。", "お疲れ様です。", "没问题!!", "また明日ね。")

# Words of any layer can follow any word of the layer before. `link_phrases` supplies each such
# pair on its own, so a path through all layers has common bigrams only, yet nobody says it.
LAYERS = (
    ("quiet", "bright", "gentle", "idle"),
    ("mornings", "evenings", "walks", "talks"),
    ("with", "before", "after", "without"),
    ("fresh", "warm", "plain", "sweet"),
    ("bread", "tea", "soup", "fruit"),
    ("help", "work", "matter", "count"),
)
_LINK_FRAMES = (
    "I like {0} {1}.",
    "no more {0} {1} you!",
    "only {0} {1} air.",
    "we had {0} {1} today.",
    "does {0} {1}?",
)


@cache
def link_phrases() -> tuple[str, ...]:
    """For each bigram of neighbouring layers one short sentence that holds it, and no longer path.

    Ordered so that neighbours in the list come from different layers.
    """
    pairs = [list(product(a, b)) for a, b in pairwise(LAYERS)]
    rounds: Iterator[tuple[tuple[str, str], ...]] = zip(*pairs, strict=True)
    return tuple(
        frame.format(*pair)
        for these in rounds
        for frame, pair in zip(_LINK_FRAMES, these, strict=True)
    )


@dataclass(frozen=True)
class Pools:
    """Expanded heads, by topic, and tails. Mail begins sentences with a capital, chat does not."""

    chat: tuple[tuple[str, ...], ...]
    mail: tuple[tuple[str, ...], ...]
    tails: tuple[str, ...]


def _fill(draw: Random, template: str, lists: Mapping[str, Sequence[str]]) -> str:
    """One expansion of `template`, the words of each slot taken from `lists`."""
    chosen = {slot: draw.choice(options) for slot, options in lists.items()}
    chosen["f"] = chosen["f"].format(a=chosen["a"])
    chosen["base"], chosen["past"] = chosen["verb"].split(":")
    chosen["n2"], chosen["d2"] = draw.choice(lists["n"]), draw.choice(lists["d"])
    return template.format(**chosen)


@cache
def pools(heads: int = 1_200, tails: int = 2_400) -> Pools:
    """The pools of the grammar: the same for every seed, so that all corpora share a language.

    There are `heads` for each topic, and `tails` in all.
    """
    draw = source(0, "grammar")
    common: dict[str, Sequence[str]] = {slot: text.split("/") for slot, text in _SLOTS.items()}
    common["s"] = [*common["s"], *GIVEN[::2]]
    chat = []
    for topic in _TOPICS:
        adjectives, nouns, verbs = (part.split() for part in topic.split(" / "))
        lists = {**common, "a": adjectives, "n": nouns, "verb": verbs}
        chat.append(tuple(_fill(draw, draw.choice(_HEADS), lists) for _ in range(heads)))
    mail = tuple(tuple(head[0].upper() + head[1:] for head in topic) for topic in chat)
    ends = (_fill(draw, draw.choice(_TAILS), lists) for _ in range(tails))
    return Pools(tuple(chat), mail, tuple(end + draw.choice(_MARKS) for end in ends))


def sentences(draw: Random, count: int, *, mail: bool) -> list[str]:
    """`count` sentences about one topic."""
    ready = pools()
    topics = ready.mail if mail else ready.chat
    heads = topics[int(draw.random() * len(topics))]
    chosen = zip(draw.choices(heads, k=count), draw.choices(ready.tails, k=count), strict=True)
    return [head + tail for head, tail in chosen]
