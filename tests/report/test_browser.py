"""Reports in a browser: charts are drawn, tables sort and filter, nothing is asked of the network.

Needs Chromium with its driver, and Selenium; where one is missing these tests skip.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

# One browser, in one worker.
pytestmark = pytest.mark.xdist_group("browser")

FILES = {
    "regression": {"observed", "residuals", "histogram", "normal", "band"},
    "classes": {"roc", "calibration", "split", "band"},
    "path": {"band", "coefficients", "members"},
}
FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "disable-dev-shm-usage",
    "window-size=1100,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()


def emulate(browser: Any, scheme: str, media: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


@pytest.fixture
def opened(browser: Any, made: Any) -> Any:
    """Opens a report; logs start afresh."""

    def open_(name: str, scheme: str = "light") -> Any:
        emulate(browser, scheme)
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get((made.folder / f"{name}.html").as_uri())
        ready = "return document.readyState === 'complete'"
        WebDriverWait(browser, 60).until(lambda b: b.execute_script(ready))
        return browser

    return open_


def requests(browser: Any) -> list[str]:
    """The addresses that the page asked for since the logs were read."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and event["params"]["documentURL"].startswith("file:")
    ]


@pytest.mark.parametrize("name", FILES)
def test_charts_are_drawn_without_a_word_and_without_a_request(opened: Any, name: str) -> None:
    browser = opened(name)
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('[data-chart]')].map(d => [d.dataset.chart,"
        " d.querySelectorAll('.main-svg').length, d.querySelectorAll('.trace').length,"
        " d.scrollWidth <= d.clientWidth])"
    )
    assert {row[0] for row in drawn} == FILES[name]
    for chart, pictures, traces, fits in drawn:
        assert pictures, chart
        assert traces or chart == "members", chart
        assert fits, chart
    # A reader looks closer: hover, then zoom.
    hover, before, after = browser.execute_script(
        "const d = document.getElementById('chart-band');"
        "Plotly.Fx.hover(d, [{curveNumber: 0, pointNumber: 1}, {curveNumber: 1, pointNumber: 1}]);"
        "const text = d.querySelector('.hoverlayer').textContent;"
        "const range = () => [...d._fullLayout.xaxis.range], before = range();"
        "d.querySelector('.modebar-btn[data-val=in]').click();"
        "return [text, before, range()]"
    )
    assert "gap" in hover
    assert "no model is below" in hover
    assert before[0] < after[0] < after[1] < before[1]
    asked = requests(browser)
    assert asked
    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked), asked
    assert [e for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1100


def test_names_are_shown_as_they_are(opened: Any, made: Any) -> None:
    browser = opened("path")
    ticks = browser.execute_script(
        "return [...document.querySelectorAll('#chart-members .ytick text')]"
        ".map(text => text.textContent)"
    )
    assert "<b>bold</b>" in ticks
    assert "a & b" in ticks
    strange = "return document.querySelectorAll('img, b, i, a[href^=http]').length"
    assert browser.execute_script(strange) == 0


def test_the_table_sorts_and_filters(opened: Any, made: Any) -> None:
    browser = opened("regression")

    def column(at: int) -> list[str]:
        found: list[str] = browser.execute_script(
            "return [...document.querySelectorAll('#table-features tbody tr')]"
            f".filter(r => !r.hidden && r.offsetHeight).map(r => r.cells[{at}].innerText)"
        )
        return found

    heads = browser.find_elements("css selector", "#table-features th button")
    before = column(4)
    heads[4].click()
    means = [float(value) for value in column(4)]
    assert means == sorted((float(value) for value in before), reverse=True)
    heads[4].click()
    assert [float(value) for value in column(4)] == sorted(means)
    head = browser.find_elements("css selector", "#table-features th")[4]
    assert head.get_attribute("aria-sort") == "ascending"
    heads[0].click()
    assert sorted(column(0)) == sorted(made.names)
    box = browser.find_element("css selector", "input[data-table=features]")
    box.send_keys("SCRIPT")
    assert sorted(column(0)) == sorted(name for name in made.names if "script" in name)
    assert browser.find_element("css selector", "[data-count=features]").text == "2 of 6 rows"
    box.clear()
    box.send_keys(" ")
    assert len(column(0)) == 6


BREAKS = """
const broken = [], walker = document.createTreeWalker(document.querySelector('body'), 4);
while (walker.nextNode()) {
  const node = walker.currentNode, holder = node.parentElement;
  if (holder.closest('script, style, noscript, pre, svg, .code')) continue;
  for (const word of node.textContent.matchAll(/[^\\s\\u2026-]+/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
    if (tops.size > 1) broken.push(word[0]);
  }
}
return broken;
"""
"""Words that stand on two lines."""

WIDER = """
const shown = [...document.querySelectorAll('body *')].filter((one) => one.offsetParent !== null);
const out = shown.filter((one) => !one.closest('svg') && (
  one.getBoundingClientRect().right > innerWidth + 0.5 || one.getBoundingClientRect().left < 0));
const cut = shown.filter((one) => one.matches('th, td, h1, h2, h3, .card *, .wide, figure, pre')
  && one.scrollWidth > one.clientWidth + 1);
const drawn = [...document.querySelectorAll('.main-svg text')].filter((text) => {
  const box = text.getBoundingClientRect(), room = text.closest('.chart').getBoundingClientRect();
  return box.width && (box.left < room.left - 1 || box.right > room.right + 1);
});
return [...out, ...cut, ...drawn].map((one) => `${one.tagName} ${one.textContent.trim()}`);
"""
"""What is wider than the page or than its own box, in text or in a chart."""


@pytest.mark.parametrize("name", [*FILES, "wide"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_a_telephone_and_a_desk(opened: Any, name: str, width: int) -> None:
    browser = opened(name)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser = opened(name)
        assert browser.execute_script("return innerWidth") == width
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(WIDER) == []
        assert browser.execute_script(BREAKS) == []
        # Each column of a table has a title that is seen, and no column is empty.
        empty = browser.execute_script(
            "return [...document.querySelectorAll('table')].flatMap((table) =>"
            " [...table.rows[0].cells].filter((cell, j) =>"
            " [...table.tBodies[0].rows].every((row) => !row.cells[j].innerText.trim())))"
            ".map((cell) => cell.innerText)"
        )
        assert empty == []
        # A row of charts is full: the last one is as wide as what it leaves.
        gaps = browser.execute_script(
            "return [...document.querySelectorAll('.halves')].map((row) =>"
            " row.getBoundingClientRect().right"
            " - row.lastElementChild.getBoundingClientRect().right)"
        )
        assert all(abs(gap) < 2 for gap in gaps)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def brightness(browser: Any, what: str, key: str) -> float:
    """From 0 to 255, of an element's colour."""
    color = browser.execute_script(
        f"return getComputedStyle(document.querySelector({what!r}))[{key!r}]"
    )
    parts = [float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


def test_light_and_dark(opened: Any) -> None:
    browser = opened("classes", "dark")

    def dim(_: Any) -> list[bool]:
        return [
            brightness(browser, "body", "backgroundColor") < 100,
            brightness(browser, "td", "color") > 150,
            brightness(browser, "#chart-roc .xtick text", "fill") > 150,
        ]

    def check(dark: bool) -> None:
        # Colours follow the system's, and the charts theirs, a moment later.
        WebDriverWait(browser, 30).until(lambda b: dim(b) == [dark] * 3)

    check(dark=True)
    emulate(browser, "light")  # the system changes its mind
    check(dark=False)
    browser.find_element("id", "theme").click()  # and then the reader
    check(dark=True)
    browser.find_element("id", "theme").click()
    check(dark=False)


def test_it_prints_in_light_colours_on_a_page(opened: Any, tmp_path: Path) -> None:
    browser = opened("regression", "dark")
    browser.execute_script(
        "window.seen = [];"
        "addEventListener('beforeprint', () => seen.push("
        " document.documentElement.dataset.theme,"
        " Math.max(...[...document.querySelectorAll('.main-svg')].map(s => s.clientWidth))));"
        "addEventListener('afterprint', () => seen.push(document.documentElement.dataset.theme));"
    )
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert browser.execute_script("return window.seen") == ["light", 680, "dark"]
