"""The pages in a real browser: they work, run nothing of the data, and ask nothing of anybody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright import sync_api

from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import load_runs
from leakscope.reporting.pages.harden_page import write_hardening
from leakscope.reporting.pages.report_page import write_page
from report_runs import METRICS, POINT, PRIVACY, PUBLIC, WORD, judged_rows, sequence, user

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")
ATTACK = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    assert CHROMIUM.exists(), "install a system Chromium: apt-get install chromium"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


class Visit:
    """An open page, and what went wrong on it."""

    def __init__(self, browser, path: Path, **options) -> None:
        self.page = browser.new_page(**options)
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.trouble.append("alert"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.address = path.as_uri()

    def words(self) -> list[str]:
        return self.page.locator("#table tbody tr:not([hidden]) .words").all_inner_texts()

    def end(self) -> None:
        self.page.wait_for_timeout(50)
        assert self.trouble == []
        assert self.requests == [self.address]
        self.page.close()


@pytest.fixture
def report(make_run) -> Path:
    rows = [
        sequence(0, f"the quick zebra {ATTACK}", contexts=[f"hello {ATTACK}", ""]),
        sequence(1, "purple giraffe", total=5, copied_from_context=True),
        sequence(2, "an apple", total=3),
        sequence(3, "thank you very much", users=40, total=90),
    ]
    return write_page(make_run(rows=rows, name=ATTACK, users=[user(1, 1, ATTACK)]))


def test_filters_hide_rows(browser, report):
    visit = Visit(browser, report)
    page = visit.page
    assert len(visit.words()) == 4
    page.get_by_label("only unique").check()
    assert len(visit.words()) == 3
    page.get_by_label("hide copied").check()
    assert [text[:8] for text in visit.words()] == ["the quic", "an apple"]
    page.locator("#least").fill("3")
    assert len(visit.words()) == 1
    assert page.locator("#shown").inner_text() == "1 of 4 rows shown"
    page.locator("#least").fill("1")
    page.get_by_label("Search").fill("APPLE")
    assert visit.words() == ["an apple"]
    page.keyboard.press("Enter")  # must not leave the page
    assert visit.words() == ["an apple"]
    visit.end()


def test_columns_sort_by_mouse_and_keyboard(browser, report):
    visit = Visit(browser, report)
    page = visit.page
    page.get_by_role("button", name="Total in S").click()
    assert visit.words()[0] == "thank you very much"
    page.keyboard.press("Enter")  # the header has the focus
    assert visit.words()[-1] == "thank you very much"
    header = page.locator("th[data-key=total_in_s]")
    assert header.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Sequence").press("Space")
    assert visit.words()[0] == "an apple"
    assert header.get_attribute("aria-sort") is None
    visit.end()


def test_contexts_open_and_injected_text_stays_text(browser, report):
    visit = Visit(browser, report)
    page = visit.page
    page.locator("details").first.locator("summary").press("Enter")
    opened = page.locator("details").first
    assert f"hello {ATTACK}" in opened.inner_text()
    assert "start of the document" in opened.inner_text()
    assert page.locator("img").count() == 0
    assert page.locator("h1 bdi").inner_text() == ATTACK
    visit.end()


def test_without_scripts_the_page_still_tells_everything(browser, report):
    visit = Visit(browser, report, java_script_enabled=False)
    assert visit.page.locator("#table tbody tr").count() == 4
    assert not visit.page.locator("#controls").is_visible()
    visit.page.locator("summary").first.click()
    assert "hello" in visit.page.locator("details").first.inner_text()
    visit.page.close()


def test_a_redacted_page_works_too(browser, make_run):
    visit = Visit(browser, write_page(make_run(revealed=False)))
    assert visit.page.locator("#find").count() == 0
    visit.page.locator("#least").fill("3")
    assert visit.page.locator("#table tbody tr:not([hidden])").count() == 2
    visit.end()


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_screen_and_figures_are_drawn(
    browser, report, make_run, make_snapshots, width
):
    snapshots = make_snapshots(4)
    comparison = write_comparison(load_runs([snapshots]), snapshots.parent / "out")
    judged = make_run(
        "judged", rows=judged_rows(), public=PUBLIC | {"warnings": ["Mind " * 40]},
        model=WORD | {"privacy": PRIVACY | {"insecure_seed": True, "accountant": "PLD " * 40}},
        **METRICS,
    )  # fmt: skip
    plain = make_run("plain", validation_accuracy={1: 0.2})
    beside = write_comparison(load_runs([plain, judged]), judged.parent / "beside")
    hardened = write_hardening(judged, [POINT, POINT | {"threshold": None}], judged)
    pages = ((report, 3), (comparison, 4), (write_page(judged), 3), (hardened, 1), (beside, 1))
    for path, drawings in pages:
        visit = Visit(browser, path, viewport={"width": width, "height": 800})
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.locator("svg").count() == drawings
        style = "getComputedStyle(document.querySelector('svg rect.first, svg circle.first')).fill"
        assert visit.page.evaluate(style) == "rgb(0, 114, 178)"  # the style sheet is let in
        visit.end()


def test_dark_pages_are_dark(browser, report):
    visit = Visit(browser, report, color_scheme="dark")
    colour = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(20, 23, 26)"
    visit.end()
