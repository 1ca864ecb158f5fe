"""Which user a letter belongs to, once the senders of all letters are known.

A whole address is the user. Where a list has hidden it, or sends under an address of its own, the
name is, and never an address that several people share.
"""

from collections import defaultdict
from collections.abc import Iterable

from leakscope.corpus.letters.hidden_addresses import mark_of_whole
from leakscope.corpus.letters.person_names import is_full_name, unrelated
from leakscope.corpus.letters.senders import Sender

FOUND_ELSEWHERE = "hidden address found elsewhere"
BY_NAME = "user told by name"
SHORT_NAME = "user told by a hidden address or a short name"
TWO_PEOPLE = "address with two people's names"
MANY_PEOPLE = 3
"""So many unrelated names make an address a list's or an office's."""
MOST_KNOWN = 64
"""Names of an address, or addresses of a name, that are told apart: nobody has more."""


class SenderKeys:
    """The senders of some inputs: it holds every address and every name once."""

    def __init__(self, senders: Iterable[Sender] = ()) -> None:
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._addresses: defaultdict[str, set[str]] = defaultdict(set)
        self._unhidden: defaultdict[str, set[str]] = defaultdict(set)
        self._hidden_names: defaultdict[str, set[str]] = defaultdict(set)
        self._people: dict[str, int] = {}
        self._name_of: dict[str, str | None] = {}
        for sender in senders:
            self.add(sender)

    def add(self, sender: Sender) -> None:
        """Take note of the sender of a letter."""
        full = sender.name is not None and is_full_name(sender.name)
        if sender.address is not None:
            _remember(self._unhidden, mark_of_whole(sender.address), sender.address)
        if sender.name is None or not full:
            return
        if sender.address is not None:
            _remember(self._names, sender.address, sender.name)
            _remember(self._addresses, sender.name, sender.address)
            self._people.pop(sender.address, None)
        elif sender.mark is not None:
            _remember(self._hidden_names, sender.mark, sender.name)
            self._name_of.pop(sender.mark, None)

    def key(self, sender: Sender) -> tuple[str | None, str | None]:
        """The user, or None, and what is doubtful about it, or None."""
        full = sender.name if sender.name is not None and is_full_name(sender.name) else None
        if sender.address is not None:
            people = self._people_of(sender.address)
            if people >= MANY_PEOPLE:
                return self._shared(Sender(name=sender.name, place=sender.address), full)
            return sender.address, TWO_PEOPLE if people > 1 else None
        if sender.mark is not None:
            same = [
                each for each in self._own(self._unhidden, sender.mark) if self._fits(each, full)
            ]
            if len(same) == 1:
                return same[0], FOUND_ELSEWHERE
            full = self._called(sender.mark) or full
        return self._shared(sender, full)

    def _shared(self, sender: Sender, full: str | None) -> tuple[str | None, str | None]:
        """The key of somebody without an address of their own: their full name if they have one."""
        if full is not None:
            same = self._own(self._addresses, full)
            return (same[0] if len(same) == 1 else full), BY_NAME
        if sender.mark is not None:  # nearly as good as the address
            return " ".join(filter(None, (sender.name, f"<{sender.mark}>"))), SHORT_NAME
        if sender.name is not None and sender.place is not None:
            return f"{sender.name} <{sender.place}>", SHORT_NAME
        return None, None

    def _called(self, mark: str) -> str | None:
        """The name under a hidden address, the shortest if one person writes it in several ways."""
        names = self._hidden_names.get(mark, set())
        if mark not in self._name_of:
            one = len(names) < MOST_KNOWN and unrelated(names) == 1
            self._name_of[mark] = min(names, key=lambda name: (len(name), name)) if one else None
        return self._name_of[mark]

    def _own(self, addresses: dict[str, set[str]], what: str) -> list[str]:
        """The addresses that are found under something and are not those of many people."""
        found = addresses.get(what, set())
        if len(found) >= MOST_KNOWN:
            return []
        return [each for each in sorted(found) if self._people_of(each) < MANY_PEOPLE]

    def _fits(self, address: str, name: str | None) -> bool:
        """Tell whether an address may be that of somebody called so."""
        names = self._names.get(address)
        return not names or name is None or unrelated({*names, name}) <= unrelated(names)

    def _people_of(self, address: str) -> int:
        if address not in self._people:
            names = self._names.get(address, set())
            self._people[address] = MANY_PEOPLE if len(names) >= MOST_KNOWN else unrelated(names)
        return self._people[address]


def _remember(known: defaultdict[str, set[str]], what: str, value: str) -> None:
    if len(known[what]) < MOST_KNOWN:
        known[what].add(value)
