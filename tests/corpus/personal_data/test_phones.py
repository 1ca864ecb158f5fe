"""Phone numbers in sentences: what is one, with and without a region. [[...]] marks the phones."""

import re
import subprocess
import sys

import pytest

from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.personal_data.kinds import find_pii, scrub
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings

ANYWHERE = [
    "[[+65 9123 4567]] and [[+65 6123 4567]] 2024",
    "[[+44 20 7946 0958]] 2024, [[+44 (0)20 7946 0958]]",
    "whatsapp [[91234567]], my wife's handphone is [[93456789]]",
    "Tel: [[6345 6789]], Fax: [[6345 6790]]",
    "ring [[020 7946 0958]] after six, or call [[9876543210]]",
    "mobile [[9876 5432]], please dial [[67654321]]",
    "tel ([[65556666]])",
    "id 00123456789 in the list, between +10 000 000 and +20 000 000",
    "the score was +1 2345678 at the end, and +999 1234567 is nowhere",
    "Please call about order 98765432",
    "order #98765432 shipped, call at 10:30:45 on 20240102",
    "zip 20500-1234, version 10.15.7 build 2025550",
]
IN_SINGAPORE = [
    "Hp is [[91234567]], call anytime",
    "his number is [[98765432]]",
    "Main office ([[6123 4567]]), level 3",
    "My number: [[9123 4567]]",
    "text me at [[81234567]] when you land",
    "contact Ann at [[6234 5678]]",
    "the number of Ann is [[98765432]]",
    "H/P: [[91234567]] (after 6pm)",
    "my hp no. is [[91234567]]",
    "You can reach her on [[8123-4567]] or by mail",
    "my new number's [[91234567]]",
    "mum's number [[96667777]] dad's number [[97778888]]",
    "Contact no.: [[6777 8899]] / Email",
    "this is my old number, [[83334444]]",
    "numbers: [[9123 4567]] [[6123 4567]] and 2024",
    "Hp [[91234567]] or [[98765432]], order 98765433",
    "Office 91234567 ([[6123 4567]])",
    "Order number is 98765432",
    "his order number for the shoes is 98765432",
    "The total was 91234567 in all",
    "91234567",
    "6123 4567",
    "(91234567)",
    "invoice no. 91234567 is due, tracking no 91234567",
    "a number of items such as 91234567",
    "the number of visitors is 91234567",
    "serial number 98765432, ticket number: 91234567",
    "number 20240102 and 2024-01-02 10:30:45",
    "(2024 2025) budget, at 10:30 in room 6123",
    "student number 91234567, case id 81234567",
    "reach 91234567 views, message 91234567 was deleted",
    "page numbers 6123 4567",
    "his number is 12345678",  # no such number there
]
ELSEWHERE = [
    ("US", "my number is [[2025550143]]"),
    ("US", "the number 1234567890 is too large"),
    ("IN", "my number is [[98765 43210]]"),
    ("IN", "order id 9876543210"),
    ("DE", "die Nummer lautet [[0151 23456789]]"),
    ("NL", "mijn nummer is [[06 12345678]]"),
    ("CN", "我的号码是[[13812345678]]"),
    ("FR", "commande numéro 612345678"),
]
SENTENCES = (
    [(None, text) for text in ANYWHERE]
    + [("SG", text) for text in ANYWHERE + IN_SINGAPORE]
    + ELSEWHERE
)


def marked(text):
    """The text without its marks, and what they mark."""
    return text.replace("[[", "").replace("]]", ""), re.findall(r"\[\[(.*?)\]\]", text)


@pytest.mark.parametrize(("region", "text"), SENTENCES)
def test_a_sentence_shows_its_phone_numbers(region, text):
    plain, phones = marked(text)
    found = find_pii(plain, ("phone",), region)
    assert [plain[each.start : each.end] for each in found] == phones


def test_without_a_region_a_plain_number_is_not_a_phone():
    for text in IN_SINGAPORE:
        assert find_pii(marked(text)[0], ("phone",)) == []


def test_a_region_only_adds():
    for text in ANYWHERE + IN_SINGAPORE:
        plain, _ = marked(text)
        assert set(find_pii(plain)) <= set(find_pii(plain, phone_region="SG"))


def test_scrubbing_takes_them_out():
    once = scrub("Hp is 91234567 (6123 4567).", ("phone",), phone_region="SG")
    assert once == ("Hp is xxPHONExx (xxPHONExx).", {"phone": 2})


@pytest.mark.parametrize("piece", ["number 1 ", "hp ", "no. 9123 ", "(6123 4567) ", "number is "])
def test_time_grows_with_the_text_only(piece):
    text = piece * (50_000 // len(piece))
    once, _ = scrub(text, phone_region="SG")
    assert scrub(once, phone_region="SG") == (once, {})


def test_a_region_must_be_a_country():
    for region in ("sg", "XX", "Singapore", ""):
        with pytest.raises(LeakscopeError, match="two-letter code in capitals, such as SG"):
            CleanSettings(scrub=("phone",), phone_region=region)
        with pytest.raises(LeakscopeError, match="two-letter code in capitals, such as SG"):
            ReportSettings(phone_region=region)
    with pytest.raises(LeakscopeError, match="needs --scrub phone"):
        CleanSettings(scrub=("email",), phone_region="SG")


def test_the_libraries_wait_for_a_candidate():
    code = (
        "import sys\n"
        "from leakscope.corpus.cleaning.clean_settings import CleanSettings\n"
        "from leakscope.corpus.personal_data.kinds import find_pii\n"
        "CleanSettings(scrub=('all',))\n"
        "known = lambda: {'phonenumbers', 'stdnum'} & set(sys.modules)\n"
        "patterns = 'leakscope.corpus.personal_data.phones'\n"
        "assert not known() and patterns not in sys.modules\n"
        "find_pii('ann@example.org has 3 dogs; her phone is 2345678')\n"
        "assert not known()\n"
        "find_pii('+65 9123 4567')\n"
        "assert known() == {'phonenumbers'}\n"
        "find_pii('4111 1111 1111 1111')\n"
        "assert known() == {'phonenumbers', 'stdnum'}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
