import pytest

from leakscope.corpus.letters.charset_guess import guess_text

WESTERN = [
    "Das Gerät läuft, aber die Größe fehlt.",
    "Le café est fermé après Noël, déjà vu.",
    "El niño comió una piña mañana.",
    "I met André yesterday.",
    "It’s “fine” – really…",
    "Søren spiste rødgrød med fløde på Æbelø",
    "The price is 5 £ now, at 20°.",
    "À bientôt, Éric",
    "MUÑOZ",
    "one line\nand Zoë in another",
]


@pytest.mark.parametrize("charset", ["cp1252", "mac-roman"])
@pytest.mark.parametrize("text", WESTERN)
def test_western_text(text, charset):
    assert guess_text(text.encode(charset)) == text


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("Привет, как дела сегодня? Всё хорошо.", "cp1251"),
        ("Привет, как дела сегодня? Всё хорошо.", "koi8-r"),
        ("日本語のメールです。よろしくお願いします。", "shift_jis"),
        ("日本語のメールです。よろしくお願いします。", "euc_jp"),
        ("Zażółć gęślą jaźń, proszę.", "cp1250"),
    ],
)
def test_text_from_elsewhere(text, charset):
    assert guess_text(text.encode(charset)) == text


BROKEN_UTF8 = "Die Größe über dem Café, naïve".encode() + b"\xff"


@pytest.mark.parametrize("data", [b"\xff\xff", b"\xe9\xe9", b"a\xf0\x01b\x9d", BROKEN_UTF8])
def test_no_guess_is_better_than_a_bad_one(data):
    assert guess_text(data) is None


def test_bytes_beyond_the_sample_must_decode_too(monkeypatch):
    monkeypatch.setattr("leakscope.corpus.letters.charset_guess.MOST_BYTES", 8)
    assert guess_text(b"caf\xe9 x\n") == "café x\n"
    assert guess_text(b"caf\xe9 x\n\x81\n") is None
