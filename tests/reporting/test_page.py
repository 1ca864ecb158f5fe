import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.sequence_columns import sequences_schema
from leakscope.reporting.pages import listed_tables
from leakscope.reporting.pages.document import embedded
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.rows.listing import first_sequences, most_exposed, unique_perplexities
from report_runs import WORD, sequence, user

ATTACK = "</script><img src=x onerror=alert(1)>"
WORDS = ("zebra", "sleeps", "giraffe", "purple", "secret", "thank")


class Cards(HTMLParser):
    """Collects the text of each headline card by metric, and every tag and attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cards: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.current: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "section":
            self.current = None
        if "data-metric" in found:
            self.current = found["data-metric"]
            self.cards[self.current] = ""

    def handle_data(self, data):
        if self.current is not None:
            self.cards[self.current] += " " + data.strip()


def test_a_revealed_page_shows_words_contexts_and_users(make_run):
    path = write_page(make_run())
    text = path.read_text()
    assert "the quick zebra sleeps late" in text
    assert "my secret is" in text and "ada" in text
    assert "revealed: contains training text" in text


def test_a_redacted_page_has_no_word_of_the_sequences(make_run):
    text = write_page(make_run(revealed=False)).read_text()
    assert not [word for word in WORDS if word in text]
    assert '<span class="badge redacted">' in text
    assert "▇▇▇▇▇<" in text  # five words


def test_a_redacted_page_keeps_words_back_even_if_the_table_has_them(make_run):
    rows = [sequence(0, "the quick zebra sleeps late", revealed=True)]
    users = [user(3, 1, "ada-lovelace")]
    text = write_page(make_run(revealed=False, rows=rows, users=users)).read_text()
    assert not [word for word in (*WORDS, "ada-lovelace") if word in text]


def test_markup_in_data_comes_out_escaped(make_run):
    rows = [sequence(0, f"zebra {ATTACK}", contexts=[f"before {ATTACK}"])]
    run = make_run(
        rows=rows, users=[user(1, 1, ATTACK)], name=ATTACK,
        model=WORD | {"architecture": {"kind": ATTACK}, "training": {ATTACK: ATTACK}},
    )  # fmt: skip
    text = write_page(run).read_text()
    assert "<img" not in text
    assert text.count("</script>") == 2  # the data and the script of the page itself
    assert text.count("&lt;/script&gt;&lt;img") >= 5
    assert not [tag for tag, attrs in Cards(text).tags if tag == "img" or "onerror" in attrs]


def test_control_and_direction_characters_are_spelled_out(make_run):
    text = write_page(make_run(rows=[sequence(0, "a\u202eb c\x1b[2J")])).read_text()
    assert "\u202e" not in text and "\x1b" not in text and "a\\u202eb" in text


def test_data_for_scripts_cannot_leave_its_element():
    value = {"x": f"{ATTACK}&amp;\u2028\u2029"}
    text = str(embedded(value))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_unmeasured_numbers_show_a_dash_and_the_reason_never_zero(make_run):
    cards = Cards(write_page(make_run()).read_text()).cards
    for name in ("leakage_epsilon", "curated", "train_perplexity", "validation_accuracy"):
        assert "–" in cards[name]
        assert f"why {name} is null" in cards[name]
        assert not re.search(r"(?<!top-)\b\d", cards[name].replace("metric 2", ""))


def test_measured_numbers_are_those_of_the_metrics(make_run):
    run = make_run(
        leakage_epsilon=3.78, curated={"10.0": 2, "2.0": 5}, train_perplexity=6.5,
        train_perplexity_low=6.0, train_perplexity_high=7.0, validation_perplexity=69.41,
        validation_accuracy={1: 0.237, 3: 0.4},
    )  # fmt: skip
    cards = Cards(write_page(run).read_text()).cards
    expected = {
        "unique_sequences": ["2"], "users_with_unique": ["2", "4,321"], "occurrences": ["97"],
        "sequences": ["3"], "correct_words": ["32,109", "49.1 %"], "near_ties": ["7"],
        "longest_unique": ["5"], "leakage_epsilon": ["3.78"],
        "curated": ["5", "t ≥ 2.0; t ≥ 10.0: 2"], "train_perplexity": ["6.50", "6.00 to 7.00"],
        "validation_perplexity": ["69.41"], "validation_accuracy": ["23.7 %", "top-3: 40.0 %"],
    }  # fmt: skip
    for name, parts in expected.items():
        for part in parts:
            assert part in cards[name], name


def test_no_unique_sequences_is_a_finding_not_a_failure(make_run):
    rows = [sequence(0, "thank you", users=40)]
    text = write_page(make_run(rows=rows, users=[], users_with_unique=0)).read_text()
    assert "finds no sequence" in text and "no unique sequences to draw" in text
    assert "<svg" not in text
    assert 'class="card nothing" data-metric="unique_sequences"' in text
    leaking = write_page(make_run()).read_text()
    assert 'class="card" data-metric="unique_sequences"' in leaking


def test_an_empty_run_has_a_page(make_run):
    text = write_page(make_run(rows=[], users=[], users_with_unique=0, words=0)).read_text()
    assert 'id="table"' not in text


def test_the_page_loads_nothing_and_says_so_in_its_policy(make_run):
    text = write_page(make_run()).read_text()
    assert not re.search(r"https?://", text.replace("http://www.w3.org/2000/svg", ""))
    tags = Cards(text).tags
    assert not [tag for tag, attrs in tags if {"src", "href", "style"} & set(attrs)]
    assert not [attr for _, attrs in tags for attr in attrs if attr.startswith("on")]
    (policy,) = [attrs["content"] for _, attrs in tags if "http-equiv" in attrs]
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_page_is_private(make_run):
    path = write_page(make_run())
    assert path.name == "report.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_long_tables_are_cut_and_say_where_the_rest_is(make_run, monkeypatch):
    monkeypatch.setattr(listed_tables, "ROWS", 10)
    rows = [sequence(id, f"zebra number{id}") for id in range(25)]
    text = write_page(make_run(rows=rows)).read_text()
    assert text.count("<tr class=") == 10 + listed_tables.GRAVEST
    assert "The first 10 of 25 sequences" in text and "sequences.parquet" in text


def test_the_filter_on_users_and_the_top_k_are_explained(make_run):
    text = write_page(make_run(user_threshold=5, below_threshold=2, top_k=3)).read_text()
    assert "fewer than 5 users" in text and "(3 without this filter)" in text
    assert "3 best suggestions (top-3)" in text


def test_joiners_of_scripts_and_emoji_stay(make_run):
    text = write_page(make_run(rows=[sequence(0, "می‌خواهم 👩‍💻")])).read_text()
    assert "می‌خواهم 👩‍💻" in text


def test_the_same_context_is_listed_once(make_run):
    rows = [sequence(0, "zebra sleeps", contexts=["one"] * 6 + [f"one {n}" for n in range(9)])]
    (row,) = first_sequences(make_run(rows=rows), 5, revealed=True)
    assert row.contexts[0].times == 6 and len(row.contexts) == 5 and row.more_contexts == 5
    assert (row.contexts[0].low, row.contexts[0].high) == (1.25, 3.75)


def test_only_the_row_groups_that_are_shown_are_read(make_run):
    run = make_run()
    rows = [sequence(id, f"zebra number{id}", users=1 if id < 30 else 2) for id in range(1000)]
    path = run / "sequences.parquet"
    pq.write_table(
        pa.Table.from_pylist(rows, schema=sequences_schema()), path, row_group_size=100,
        write_page_checksum=True,
    )  # fmt: skip
    begin = pq.ParquetFile(path).metadata.row_group(5).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[begin : begin + 2000] = bytes(2000)  # what is not needed may as well be damaged
    path.write_bytes(bytes(content))
    assert len(first_sequences(run, 60, revealed=True)) == 60
    assert first_sequences(run, 60, revealed=False)[0].words is None
    with pytest.raises(LeakscopeError, match="damaged"):
        first_sequences(run, 1000, revealed=True)


def test_perplexities_are_of_unique_sequences_and_agree_with_the_metrics(make_run):
    run = make_run()
    assert unique_perplexities(run, 2).tolist() == [1.25, 1.25]
    with pytest.raises(LeakscopeError, match="make the report again"):
        unique_perplexities(run, 3)


def test_the_most_exposed_users_come_first(make_run):
    users = [user(n, n % 7, f"u{n}") for n in range(50)]
    found = most_exposed(make_run(users=users), 8, revealed=True)
    obvious = sorted((u for u in users if u["unique_sequences"]),
                     key=lambda u: (-u["unique_sequences"], u["user"]))[:8]  # fmt: skip
    assert [u.values["user"] for u in found] == [u["user"] for u in obvious]
    assert [u.name for u in found] == [u["user_key"] for u in obvious]
    hidden = most_exposed(make_run("other", users=users), 8, revealed=False)
    assert [u.name for u in hidden] == [f"user {u['user']}" for u in obvious]
    assert not [u for u in hidden if "user_key" in u.values]


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(LeakscopeError):
        write_page(tmp_path)
    with pytest.raises(LeakscopeError):
        open_run(tmp_path / "nowhere")
