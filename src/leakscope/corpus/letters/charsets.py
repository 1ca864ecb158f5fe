"""The charsets that letters and commits are written in. Python knows others, such as punycode,
which takes hours for a long text, and those that only look like charsets.
"""

import codecs

LONGEST_NAME = 40
_NAMES = """
ascii utf-8 utf-8-sig utf-7 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be
iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9
iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16
cp037 cp273 cp424 cp437 cp500 cp720 cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861
cp862 cp863 cp864 cp865 cp866 cp869 cp874 cp875 cp932 cp949 cp950 cp1006 cp1026 cp1125 cp1140
cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
koi8-r koi8-t koi8-u kz1048 ptcp154 tis-620 hp-roman8 mac-arabic mac-croatian mac-cyrillic
mac-farsi mac-greek mac-iceland mac-latin2 mac-roman mac-romanian mac-turkish
big5 big5hkscs gb2312 gbk gb18030 hz johab euc_jp euc_jis_2004 euc_jisx0213 euc_kr
shift_jis shift_jis_2004 shift_jisx0213 iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_jp_2004
iso2022_jp_3 iso2022_jp_ext iso2022_kr
"""
KNOWN = frozenset(_NAMES.split())
"""By Python's own name of each."""
_LATIN_1 = "iso8859-1"
_WINDOWS = {
    byte: meant for byte in range(0x80, 0xA0) if (meant := bytes([byte]).decode("cp1252", "ignore"))
}
"""What Windows writes where Latin-1 has control characters, which no letter means."""


def is_known(charset: str) -> bool:
    """Tell whether a charset is one for text."""
    if not 0 < len(charset) <= LONGEST_NAME or not charset.isascii() or "\0" in charset:
        return False
    try:
        return codecs.lookup(charset).name in KNOWN
    except LookupError:
        return False


def decode_known(data: bytes, charset: str) -> str:
    """Decode bytes; an unknown charset is a UnicodeError, as are bytes that are not of it. Latin-1
    means Windows' charset, as for browsers (WHATWG Encoding, section 4.2).
    """
    if not is_known(charset):
        raise UnicodeError("unknown charset")
    try:
        text = data.decode(charset)
        return text.translate(_WINDOWS) if codecs.lookup(charset).name == _LATIN_1 else text
    except UnicodeError:
        raise
    except (LookupError, ValueError) as error:
        raise UnicodeError("undecodable text") from error
