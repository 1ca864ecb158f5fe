"""The canaries that settings ask for: their spaces, words, owners and coins."""

import numpy as np

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.canaries.planting.drawing import draw_distinct
from leakscope.canaries.planting.placement import PlantedText, Users
from leakscope.canaries.planting.word_choices import choices_of, frequent_words
from leakscope.canaries.random_space import Digits, RandomSpace, make_space, placeholders
from leakscope.corpus.store import Corpus
from leakscope.records.canaries.canary_manifest import Canary, SpaceRecord
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError

CONTROLS = 0xC0117801
"""Begins the seeds of controls, so that their number changes nothing else."""


class DrawnCanaries:
    """The canaries of some settings, drawn; not planted yet."""

    def __init__(
        self, settings: PlantSettings, corpus: Corpus, users: Users, rng: np.random.Generator
    ) -> None:
        self._settings, self._corpus, self._rng = settings, corpus, rng
        self.vocabularies: list[list[str]] = []
        self.spaces: list[SpaceRecord] = []
        self.canaries: list[Canary] = []
        self._taken: set[tuple[str, ...]] = set()
        slots = placeholders(settings.template)
        vocabulary = frequent_words(corpus.lexicon, settings.vocabulary) if 0 in slots else []
        for number, frequency in enumerate(settings.frequency):
            choices = iter(
                choices_of(vocabulary, slots.count(0), frequency, phrase=settings.phrase)
            )
            record = SpaceRecord(
                template=settings.template,
                frequency=frequency,
                slots=[slot or self._kept(next(choices)) for slot in slots],
            )
            self.spaces.append(record)
            self._draw(number, self._space(record), self._owners(users, number))

    def _kept(self, words: list[str]) -> int:
        """Where the manifest has a list of words."""
        if words not in self.vocabularies:
            self.vocabularies.append(words)
        return self.vocabularies.index(words)

    def _space(self, record: SpaceRecord) -> RandomSpace:
        choices = [self.vocabularies[slot] if slot >= 0 else Digits(-slot) for slot in record.slots]
        lowercase = self._corpus.manifest.settings.lowercase
        return make_space(record.template, choices, lowercase=lowercase)

    def _owners(self, users: Users, space: int) -> list[tuple[str, int]]:
        """(user, repetitions) of every canary that may be planted."""
        settings, times = self._settings, self._settings.repetitions()
        if settings.coins is not None:
            count = settings.canaries
            if settings.coins == "user":
                keys = _new_keys(count, users.taken, f"canary-{space}")
            else:
                keys = [users.keys[i] for i in self._rng.integers(len(users.keys), size=count)]
            return [(key, times[index % len(times)]) for index, key in enumerate(keys)]
        wanted = len(users.keys) if settings.users is None else settings.users
        if wanted > len(users.keys):
            raise LeakscopeError(
                f"There are {len(users.keys)} users with training documents, fewer than the "
                f"{wanted} of --users; plant in fewer."
            )
        chosen = np.sort(self._rng.permutation(len(users.keys))[:wanted])
        return [(users.keys[user], count) for user in chosen.tolist() for count in times]

    def _draw(self, number: int, space: RandomSpace, owners: list[tuple[str, int]]) -> None:
        rows = np.concatenate(
            [self._rows(space, len(owners), self._rng), self._controls(space, number)]
        )
        texts, spelled = space.texts(rows), space.words(rows)
        coins = np.ones(len(owners), np.bool_)
        if self._settings.coins is not None:
            coins = self._rng.integers(2, size=len(owners)).astype(np.bool_)
        for index, row in enumerate(rows.tolist()):
            user, times = owners[index] if index < len(owners) else (None, 0)
            control = index >= len(owners)
            self.canaries.append(
                Canary(
                    id=len(self.canaries),
                    state="control" if control else "planted" if coins[index] else "left out",
                    user=user,
                    space=number,
                    choices=row,
                    text=texts[index],
                    words=spelled[index],
                    repetitions=times,
                    frequency=self._settings.frequency[number],
                    rows=[],
                )
            )

    def _controls(self, space: RandomSpace, number: int) -> LongArray:
        rng = np.random.default_rng([CONTROLS, self._settings.seed, number])
        return self._rows(space, self._settings.controls, rng)

    def _rows(self, space: RandomSpace, count: int, rng: np.random.Generator) -> LongArray:
        """So many texts of a space, none of which stands in the corpus or was drawn before."""
        rows = draw_distinct(space, count, rng, self._corpus, self._taken)
        self._taken.update(map(tuple, space.words(rows)))
        return rows

    def texts(self) -> list[PlantedText]:
        """What is to be planted. A coin is tossed for a whole unit, so that a canary which is one
        document has its repetitions in that document.
        """
        found = []
        for canary in self.canaries:
            if canary.state != "planted" or canary.user is None:
                continue
            if self._settings.coins == "document":
                text = " ".join([canary.text] * canary.repetitions)
                found.append(PlantedText(canary.id, canary.user, text))
            else:
                found += [PlantedText(canary.id, canary.user, canary.text)] * canary.repetitions
        return found


def _new_keys(count: int, taken: set[str], prefix: str) -> list[str]:
    """So many keys that no user has."""
    while any(f"{prefix}-{index}" in taken for index in range(count)):
        prefix = f"_{prefix}"
    return [f"{prefix}-{index}" for index in range(count)]
