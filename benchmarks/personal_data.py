"""How well personal data is found. `python -m benchmarks.personal_data`: phone numbers in labelled
sentences, ours against phonenumbers' matcher, and the time that all patterns take for a megabyte.
`python -m benchmarks.personal_data ENRON_SUBSET`: all kinds in labelled mail; `--reveal` shows the
errors of the development half.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import phonenumbers

from benchmarks import labelled_mail
from leakscope.corpus.personal_data.kinds import find_pii
from leakscope.corpus.synthetic.generate import documents
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.records.errors import LeakscopeError

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


def in_sentences() -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.personal_data")
    parser.add_argument("path", nargs="?", type=Path, help="the folder enron-subset")
    parser.add_argument("--reveal", action="store_true", help="show errors, with their text")
    parser.add_argument("--phone-region", help="such as US")
    given = parser.parse_args()
    if given.path is None:
        in_sentences()
        return
    try:
        labelled_mail.show(
            labelled_mail.labelled_mail(given.path), given.reveal, given.phone_region
        )
    except LeakscopeError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
