import gzip

import pytest

from leakscope.corpus.readers import mail
from leakscope.corpus.readers.html_text import html_text
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.mail import (
    GUESSED,
    NOT_AS_NAMED,
    read_maildir,
    read_mbox,
    strip_reply,
)
from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, TOO_LONG, Row
from leakscope.records.errors import LeakscopeError

BAD = Row(None, None, INVALID_UTF8)
ENVELOPE = b"From ann Thu Jan  1 00:00:00 2020\n"


def mbox_rows(folder, content, name="data.mbox"):
    path = folder / name
    path.write_bytes(content)
    return list(read_mbox(path, InputSettings()))


def row_of(folder, headers, body=b"hi"):
    (row,) = mbox_rows(folder, ENVELOPE + headers + b"\n\n" + body + b"\n")
    return row


def test_messages_split_at_from_lines_after_blank_lines_only(tmp_path):
    first = b"From: a@x.org\n\nhello\nFrom here it goes on\n\n>From there too\n>>From deeper\n\n"
    second = b"From: b@x.org\r\n\r\nsecond\r\n"
    content = b"\n" + ENVELOPE + first + ENVELOPE.replace(b"\n", b"\r\n") + second
    expected = [
        Row("a@x.org", "hello\nFrom here it goes on\n\nFrom there too"),
        Row("b@x.org", "second"),
    ]
    assert mbox_rows(tmp_path, content) == expected
    assert mbox_rows(tmp_path, gzip.compress(content), "data.mbox.gz") == expected
    with pytest.raises(LeakscopeError, match="cut short"):
        mbox_rows(tmp_path, gzip.compress(content)[:-9], "data.mbox.gz")


def test_what_is_no_mbox_is_an_error(tmp_path):
    with pytest.raises(LeakscopeError, match="does not start") as caught:
        mbox_rows(tmp_path, b"secret\n\nFrom here")
    assert "secret" not in str(caught.value)
    assert mbox_rows(tmp_path, b"") == []


def test_a_message_over_the_limit_is_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(mail, "MAX_RECORD", 100)
    short = ENVELOPE + b"From: a@x.org\n\nhi\n\n"
    content = short + ENVELOPE + b"x" * 80 + b"\n" + b"y" * 80 + b"\n\n" + short
    good = Row("a@x.org", "hi")
    assert mbox_rows(tmp_path, content) == [good, Row(None, None, TOO_LONG), good]


@pytest.mark.parametrize(
    ("header", "user"),
    [
        (b"From: Ann <Ann@X.org>", "ann@x.org"),
        (b"From: ann@x.org (Ann)", "ann@x.org"),
        (b'From: "Doe, Ann" <ann@x.org>', "ann@x.org"),
        (b"From: =?utf-8?q?Doe=2C_Ann?= <ann@x.org>", "ann@x.org"),
        (b"From: =?utf-8?q?Ann_=3Cann=40x=2Eorg=3E?=", "ann@x.org"),
        (b"From: =?utf-8?q?bob=40y=2Eorg=2C?= <ann@x.org>", "ann@x.org"),
        (b"From: =?nonsense?q?Ann?= <ann@x.org>", "ann@x.org"),
        (b"From: Andr\xe9 <ann@x.org>", "ann@x.org"),
        (b"From: ann at x.org (Ann Doe)", "ann@x.org"),
        (b"From: Ann,\n bob@x.org", "bob@x.org"),
        (b"From: ann using x.org (Ann Doe)", "ann@x.org"),
        (b"From: Ann Doe <ann [at] x dot org>", "ann@x.org"),
        (b"From: ann () x ! org", "ann@x.org"),
        (b"From: ann@localhost", "ann@localhost"),
        (b'From: "bob@example.com via List" <list@example.org>', "bob@example.com"),
        (b'From: "list@example.org via List" <list@example.org>', None),
        (b"From: undisclosed", None),
        (b"From: @org", None),
        (b"From: an...@x.org", None),
        (b"From:", None),
        (b"Subject: none", None),
    ],
)
def test_sender(tmp_path, header, user):
    assert row_of(tmp_path, header) == Row(user, "hi")


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        (b"Content-Type: text/plain; charset=us-ascii", "café".encode(), "café"),
        (b"Subject: no type", "日本".encode(), "日本"),
        (b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64",
         b"Y2Fmw6k=", "café"),
        (b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable",
         b"caf=C3=A9 so=\n ft", "café so ft"),
        (b"Content-Type: text/html; charset=utf-8",
         b"<html><head><title>T</title><style>p {}</style></head><p>Hi &amp; <b>bye</b></p>"
         b"<script>x</script><br>two<blockquote>quoted</blockquote></html>", "Hi & bye\n\ntwo"),
        (b"Content-Type: image/png", b"x", None),
        (b"Content-Type: message/rfc822", b"From: bob@x.org\n\nhis words", None),
    ],
)  # fmt: skip
def test_body(tmp_path, headers, body, text):
    assert row_of(tmp_path, b"From: ann@x.org\n" + headers, body) == Row("ann@x.org", text)


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        (b"utf-8", b"\xe9\xe9"),
        (b"x-unknown", b"\xff\xfe\xfd"),
        (b"iso-2022-jp", b"\xff\xff"),
        (b"iso-2022-jp", b"\x1b$B!"),
        (b"utf-7", b"+2AA-"),
    ],
)
def test_undecodable_body(tmp_path, charset, body):
    headers = b"From: ann@x.org\nContent-Type: text/plain; charset=" + charset
    assert row_of(tmp_path, headers, body) == BAD


@pytest.mark.parametrize(
    ("charset", "body", "text", "doubt"),
    [
        (b"utf-8", b"caf\xe9", "café", GUESSED),
        (b"us-ascii", b"caf\xe9", "café", GUESSED),
        (b"us-ascii", b"caf\x8e", "café", GUESSED),
        (b"x-unknown", b"caf\xe9", "café", GUESSED),
        (b"iso-8859-1", b"caf\x8e", "cafŽ", None),  # what is named and decodes is taken
        (b"us-ascii", b"don\x92t \x93say\x94 so \x97 now", "don’t “say” so — now", GUESSED),
        (b"x-unknown", "café".encode(), "café", NOT_AS_NAMED),
        (b"iso-2022-jp", "café".encode(), "café", NOT_AS_NAMED),
        (b"x-unknown", b"hi", "hi", NOT_AS_NAMED),
    ],
)
def test_a_charset_that_is_wrong(tmp_path, charset, body, text, doubt):
    headers = b"From: ann@x.org\nContent-Type: text/plain; charset=" + charset
    doubts = () if doubt is None else (doubt,)
    assert row_of(tmp_path, headers, body) == Row("ann@x.org", text, doubts=doubts)


@pytest.mark.parametrize("charset", [b"iso-8859-1", b"ISO_8859-1", b"latin1", b"l1", b"cp819"])
def test_latin_1_means_windows_charset(tmp_path, charset):
    headers = b"From: ann@x.org\nContent-Type: text/plain; charset=" + charset
    body = b"I don\x92t \x93know\x94\x85 the caf\xe9 \x96 5 \x80"
    assert row_of(tmp_path, headers, body) == Row("ann@x.org", "I don’t “know”… the café – 5 €")


def test_bytes_without_meaning_in_windows_charset_stay_as_they_are(tmp_path):
    headers = b"From: ann@x.org\nContent-Type: text/plain; charset=iso-8859-1"
    row = row_of(tmp_path, headers, b"a\x81\x8d\x8f\x90\x9db\x99")
    assert row == Row("ann@x.org", "a\x81\x8d\x8f\x90\x9db™")


def test_the_other_parts_of_iso_8859_have_no_windows_characters(tmp_path):
    headers = b"From: ann@x.org\nContent-Type: text/plain; charset=iso-8859-15"
    assert row_of(tmp_path, headers, b"\xa4\x96 5") == Row("ann@x.org", "€\x96 5")


def test_no_charset_and_legacy_bytes(tmp_path):
    row = row_of(tmp_path, b"From: ann@x.org", "Das Gerät läuft.".encode("mac-roman"))
    assert row == Row("ann@x.org", "Das Gerät läuft.", doubts=(GUESSED,))


def test_sender_with_bad_bytes_in_the_address(tmp_path):
    assert row_of(tmp_path, b"From: Ann <andr\xe9@x.org>") == BAD


def multipart(*parts):
    body = b"".join(b"--sep\n" + head + b"\n\n" + text + b"\n" for head, text in parts)
    return b"From: ann@x.org\nContent-Type: multipart/mixed; boundary=sep", body + b"--sep--\n"


PLAIN, HTML = b"Content-Type: text/plain", b"Content-Type: text/html"
ATTACHED = PLAIN + b"\nContent-Disposition: attachment; filename=a.txt"
FORWARD = b"Content-Type: message/rfc822"
BOBS = b"From: bob@x.org\n\nhis words"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([(HTML, b"<p>html"), (PLAIN, b"plain"), (PLAIN, b"other")], "plain"),
        ([(ATTACHED, b"file"), (HTML, b"<p>html")], "html"),
        ([(ATTACHED, b"file"), (PLAIN, b"plain")], "plain"),
        ([(ATTACHED, b"file")], None),
        ([(FORWARD, BOBS), (PLAIN, b"mine")], "mine"),
        ([(FORWARD, BOBS)], None),
    ],
)
def test_the_part_that_the_sender_wrote(tmp_path, parts, text):
    assert row_of(tmp_path, *multipart(*parts)) == Row("ann@x.org", text)


def test_broken_html_does_not_stop_the_reader(tmp_path):
    row = row_of(tmp_path, b"From: ann@x.org\n" + HTML, b"<p>a <![x y> <b")
    # Older Pythons refuse such a declaration, newer ones read it as a comment.
    assert row in (Row(None, None, MALFORMED), Row("ann@x.org", "a"))


def test_html_text():
    assert html_text("<div>a<br>b</div><ul><li>c\n d<li>e</ul>&eacute;") == "a\nb\n\nc d\neé"


def test_maildir_with_subfolders(tmp_path):
    def put(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"From: a@x.org\n\n" + text)

    put("new/3", b"three")
    put("cur/2", b"two")
    put("cur/10", b"one")
    put("cur/.hidden", b"no")
    put("tmp/1", b"no")
    put("plain/cur/1", b"no")
    put(".Sent/cur/1", b"sent")
    put(".Archive.2020/new/1", b"archive")
    texts = [row.text for row in read_maildir(tmp_path, InputSettings())]
    assert texts == ["one", "two", "three", "archive", "sent"]


@pytest.mark.parametrize(
    "reply",
    [
        "Yes.\n> No?\n>> Why?\n  > Because.",
        "> No?\n\nYes.",
        "Yes.\nJD> No?\nJD>> Why?",
        "Yes.\n\nOn Mon, 3 Jan 2011, Jo Doe <jo@x.org> wrote:\n> No?",
        "Yes.\n\nOn Mon, Jan 3, 2011 at 10:00 AM, Jo Doe <jo@x.org>\nwrote:\n\n> No?",
        "Yes.\n\nOn Mon, Jan 3, 2011 at 10:00 AM,\nJo Doe <jo@x.org> wrote:\n\n> No?",
        "Yes.\n\nAm 03.01.2011 um 10:00 schrieb Jo Doe:\n> Nein?",
        "Yes.\n\nAm 03.01.2011 um 10:00 schrieb Jo\nDoe <jo@x.org>:\n> Nein?",
        "Yes.\n\nLe 3 janv. 2011 à 10:00, Jo Doe a écrit\u00a0:\n> Non ?",
        "Jo Doe writes:\n> No?\nYes.",
        "Yes.\n\nOn Mon, 3 Jan 2011, Jo Doe wrote:\n",
        "Yes.\n\n-----Original Message-----\nFrom: Jo\n\nNo?",
        "Yes.\n\n  -----Ursprüngliche Nachricht-----\nVon: Jo\n\nNein?",
        "Yes.\n\n---------- Forwarded message ----------\nFrom: Jo",
        "Yes.\n\nBegin forwarded message:\n\n> From: Jo\n\nNo?",
        "Yes.\n\n________________________________\nFrom: Jo\nSent: Monday\n\nNo?",
        "Yes.\n________________________________\n\nVon: Jo\n\nNein?",
        "Yes.\n-- \nAnn\nExample Ltd",
        "Yes.\n--\nAnn",
        "Yes.\n_______________________________________________\ndev mailing list\ndev@x.org\n",
        "Yes.\r\n\r\n> No?\r\n",
    ],
)
def test_strip_reply_leaves_what_was_written(reply):
    assert strip_reply(reply) == "Yes."


@pytest.mark.parametrize(
    "text",
    [
        "a > b, so b < a",
        "-- not a signature",
        "On 3 May she wrote: come home.",
        "She wrote:\nnothing at all",
        "Above\n____________________\nbelow",
        "a\n\n\nb",
        "--- a heading ---\ntext",
        "Nobody said anything.\n<b>bold</b>",
        "",
    ],
)
def test_strip_reply_keeps_prose(text):
    assert strip_reply(text) == text


def test_strip_reply_keeps_the_line_before_an_undated_attribution():
    assert strip_reply("On the whole I agree.\nJo wrote:\n> No?") == "On the whole I agree."


def test_strip_reply_keeps_answers_between_quotes():
    text = "Jo wrote:\n> One?\nFirst.\n> Two?\n\nSecond."
    assert strip_reply(text) == "First.\n\nSecond."


def test_strip_reply_is_quick_on_hostile_lines():
    for line in ("On 1 " + "wrote " * 50_000, " " * 300_000 + "x", "_" * 300_000 + "x"):
        assert strip_reply(f"{line}\n> quote") == line.strip()
