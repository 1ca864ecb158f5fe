"""Which rows of a file of messages were labelled for personal data: drawn from a seed."""

import re
from collections.abc import Sequence
from random import Random

from benchmarks.labelled_spans import text_digest

SEED = 22
LONGEST, LONGEST_ENRICHED = 4000, 2500  # characters: each message was read to its end
PLAIN = 200
# Simple cues of their own, not the patterns that are measured; the most messages of each.
CUES = (
    (r"\b(account|acct|card|routing|iban|wire)\b[^\n]{0,40}\d{4}", 13),
    (r"\b(ssn|social security|passport|birth|born|birthday|dob)\b", 12),
    (r"\d+\.\d+\.\d+\.\d+", 8),
    (r"\d[^\n]{0,40}\b(street|st|avenue|ave|road|rd|drive|dr|lane|suite|blvd|box)\b", 30),
    (r"@\w+\.\w", 10),
    (r"\d{3}\D{0,3}\d{4}", 12),
)


def drawn(texts: Sequence[str]) -> dict[int, str]:
    """The sample of each row that was drawn. No text is drawn twice for the enriched sample."""
    rng = Random(SEED)
    short = [row for row, text in enumerate(texts) if len(text) <= LONGEST]
    plain = rng.sample(short, min(PLAIN, len(short)))
    taken = {text_digest(texts[row]) for row in plain}
    enriched: list[int] = []
    for cue, most in CUES:
        pool = [
            row
            for row in short
            if len(texts[row]) <= LONGEST_ENRICHED and re.search(cue, texts[row], re.IGNORECASE)
        ]
        rng.shuffle(pool)
        chosen = []
        for row in pool:
            digest = text_digest(texts[row])
            if digest not in taken and len(chosen) < most:
                taken.add(digest)
                chosen.append(row)
        enriched += chosen
    return dict.fromkeys(sorted(plain), "plain") | dict.fromkeys(sorted(enriched), "enriched")
