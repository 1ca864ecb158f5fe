"""Phone numbers in labelled sentences: precision and recall, ours against phonenumbers' matcher;
and the time that all patterns take for a megabyte. `python benchmarks/personal_data.py`
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import phonenumbers

from leakscope.corpus.personal_data.kinds import find_pii
from leakscope.corpus.synthetic.generate import documents
from leakscope.corpus.synthetic.synth_settings import SynthSettings

SENTENCES = Path(__file__).with_name("phone_sentences.txt")
Spans = set[tuple[int, int]]


def sentences(part: str) -> Iterator[tuple[str, str, Spans]]:
    """(region, text, spans of its phones) of one part of the sample."""
    lines = SENTENCES.read_text().split(f"## {part}\n")[1].split("\n##")[0].strip().splitlines()
    for line in lines:
        region, marked = line.split("|", 1)
        text, spans = "", set()
        for number, piece in enumerate(re.split(r"\[\[|\]\]", marked)):
            if number % 2:
                spans.add((len(text), len(text) + len(piece)))
            text += piece
        yield region, text, spans


def measured(part: str, find: Callable[[str, str], Spans]) -> str:
    right = found = there = 0
    for region, text, spans in sentences(part):
        got = find(text, region)
        right, found, there = right + len(got & spans), found + len(got), there + len(spans)
    return f"precision {right / found:.2f}, recall {right / there:.2f} ({right} of {there})"


def ours(text: str, region: str | None) -> Spans:
    return {(each.start, each.end) for each in find_pii(text, ("phone",), region)}


def matcher(text: str, region: str) -> Spans:
    return {(each.start, each.end) for each in phonenumbers.PhoneNumberMatcher(text, region)}


def main() -> None:
    for part in ("first", "second"):
        print(f"{part}: ours            {measured(part, lambda text, region: ours(text, None))}")
        print(f"{part}: ours, region    {measured(part, ours)}")
        print(f"{part}: matcher, region {measured(part, matcher)}")
    texts = [row.text or "" for row in documents(SynthSettings(users=120))]
    size = sum(map(len, texts)) / 1e6
    for region in (None, "SG"):
        start = time.process_time()
        for text in texts:
            find_pii(text, phone_region=region)
        print(f"region {region}: {(time.process_time() - start) / size:.2f} s of CPU a megabyte")


if __name__ == "__main__":
    main()
