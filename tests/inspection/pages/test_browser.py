"""Reports and notebooks in a browser: what opens, what is asked of the network, what can be read.

Debian's Chromium, driven by Selenium; CI installs it (.ci/run).
"""

import json
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import polygen as pg
from tests.needs import needs

pytestmark = [needs("Chromium"), pytest.mark.more]

EXAMPLES = Path(__file__).parents[3] / "examples"
LIGHT, DARK = "light", "dark"

# Colours of texts, and of what is behind them: each text element that can be seen.
CONTRASTS = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255);
}
function over(top, below) {
  return [0, 1, 2].map(k => top[k] * top[3] + below[k] * (1 - top[3])).concat([1]);
}
function behind(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const box = e.tagName == 'g' ? e.querySelector(':scope > rect') : null;
    layers.push(rgba(box ? getComputedStyle(box).fill : getComputedStyle(e).backgroundColor));
    if (layers.at(-1)[3] == 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1, 1]);
}
function luminance(colour) {
  const [r, g, b] = colour.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const found = [];
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some(n => n.nodeType == 3 && n.data.trim());
  if (!own || !element.getClientRects().length) continue;
  if (['STYLE', 'TITLE', 'title'].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const below = behind(element);
  const colour = over(rgba(element.closest('svg') ? style.fill : style.color), below);
  const [a, b] = [luminance(colour), luminance(below)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  found.push([element.tagName, element.className.baseVal ?? element.className, ratio, b]);
}
return found;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Named, or Selenium would look for others on the network.
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "localhost,127.0.0.1")  # where the driver is, whatever CI has
        driver = webdriver.Chrome(options=options, service=service)
        yield driver
        driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    knl = runpy.run_path(str(EXAMPLES / "prefetched_product.py"))["prefetched"]()
    knl = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    return pg.report(
        knl,
        tmp_path_factory.mktemp("report") / "report.html",
        sizes=dict.fromkeys("nml", 1024),
        limits=pg.Limits(3e12, 60e12),
        measured=1e-3,
        drawn_at=dict.fromkeys("nml", 20),
    )


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kernels and a program as a notebook in a dark theme has them, on a light system."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="twice")
    shown = [k._repr_html_() for k in (knl, pg.split_iname(knl, "i", 4), pg.merge([knl]))]
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    body = '<body data-jp-theme-light="false" style="background: #111">'
    path.write_text("<!DOCTYPE html><meta charset=utf-8>" + body + "<hr>".join(shown))
    return path


def visit(browser: Any, path: Path, theme: str = LIGHT, width: int = 1200) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(path.as_uri())


def open_all(browser: Any) -> None:
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")


def test_it_loads_without_complaints_and_asks_nobody(browser: Any, report: Path) -> None:
    browser.get_log("performance")
    visit(browser, report)
    open_all(browser)
    browser.execute_script("return document.body.getBoundingClientRect().height")
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert report.as_uri() in asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert browser.title == "product - polygen"


def test_links_open_what_they_lead_to(browser: Any, report: Path) -> None:
    visit(browser, report)
    links = browser.find_elements(By.CSS_SELECTOR, "nav a")
    assert len(links) > 10
    for link in links[::3]:
        target = link.get_attribute("href").rpartition("#")[2]
        link.click()
        details = browser.find_element(By.XPATH, f"//*[@id='{target}']/parent::details")
        assert details.get_attribute("open")
        assert details.find_element(By.TAG_NAME, "h2").text == link.text


@pytest.mark.parametrize("key", [None, Keys.ENTER, Keys.SPACE], ids=["click", "enter", "space"])
def test_parts_open_and_close(browser: Any, report: Path, key: str | None) -> None:
    visit(browser, report)
    details = browser.find_element(By.XPATH, "//h2[.='Source: CUDA C++']/ancestor::details")
    summary = details.find_element(By.TAG_NAME, "summary")
    source = details.find_element(By.TAG_NAME, "pre")
    for is_open in (True, False):
        if key is None:
            summary.click()
        else:
            summary.send_keys(key)
        assert source.is_displayed() is is_open
        assert ("__global__" in source.text) is is_open


def test_pictures_have_a_size(browser: Any, report: Path) -> None:
    visit(browser, report)
    open_all(browser)
    seen = browser.execute_script(
        "return [...document.querySelectorAll('svg, img')].map(e => {"
        " const box = e.getBoundingClientRect();"
        " return [e.tagName, box.width, box.height, e.naturalWidth ?? box.width]; })"
    )
    kinds = [name for name, *_ in seen]
    assert kinds.count("svg") == 1
    assert kinds.count("IMG") >= 2  # a roofline, and domains
    for _, *sizes in seen:
        assert min(sizes) > 100


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_sticks_out(browser: Any, report: Path, width: int) -> None:
    visit(browser, report, width=width)
    open_all(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    hidden = browser.execute_script(
        "return [...document.querySelectorAll('main *')].filter(e =>"
        " e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX == 'auto'"
        " && e.tabIndex != 0).map(e => e.outerHTML.slice(0, 200))"
    )
    assert hidden == []  # what is wider scrolls, by keys as well


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_text_can_be_read(browser: Any, report: Path, theme: str) -> None:
    visit(browser, report, theme)
    open_all(browser)
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 300
    assert {"A", "H2", "P", "PRE", "SPAN", "TD", "TH", "text"} <= {tag for tag, *_ in found}
    assert [entry for entry in found if entry[2] < 4.5] == []
    behind = {round(luminance, 2) for *_, luminance in found}
    assert max(behind) < 0.2 if theme == DARK else min(behind) > 0.6


def test_a_notebooks_theme_wins_over_the_systems(browser: Any, notebook: Path) -> None:
    visit(browser, notebook, LIGHT, 800)
    open_all(browser)
    found = browser.execute_script(CONTRASTS)
    assert found
    assert [entry for entry in found if entry[2] < 4.5] == []
    assert max(luminance for *_, luminance in found) < 0.2
    assert browser.execute_script("return document.querySelectorAll('[id]').length") == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 800
    assert browser.get_log("browser") == []
