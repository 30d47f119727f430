"""The documentation site, as `make docs` made it, in a browser: `make test-docs`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.needs import require

pytestmark = pytest.mark.site

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = sorted(p for p in SITE.rglob("*.html") if p.name not in {"genindex.html", "search.html"})
# A telephone, a window beside another one, navigation on one side, and on both.
WIDTHS = (400, 900, 1300, 1315, 1450, 1600)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require("Chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Named, or Selenium would look for others on the network.
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def set_width(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_the_site_is_there() -> None:
    assert len(PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(SITE)))
def test_pages_load_alone_and_fit(browser: Any, page: Path) -> None:
    """Nothing is asked of elsewhere, nothing fails, and no page is wider than its window."""
    browser.get_log("performance")
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [e["params"]["request"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert page.as_uri() in {request["url"] for request in sent}
    assert [r["url"] for r in sent if not r["url"].startswith(("file:", "data:"))] == []
    for width in WIDTHS:
        set_width(browser, width)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (page, width)


def test_pictures_are_shown(browser: Any) -> None:
    browser.get((SITE / "comparisons.html").as_uri())
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('article img')]"
        ".map(image => [image.complete, image.naturalWidth])"
    )
    assert sizes and all(complete and width > 100 for complete, width in sizes)


@pytest.mark.parametrize(
    ("asked", "first"), [("split_iname", "polygen.split_iname"), ("IllegalStep", "IllegalStep")]
)
def test_the_search_finds_names_without_a_network(browser: Any, asked: str, first: str) -> None:
    browser.get(f"{(SITE / 'search.html').as_uri()}?q={asked}")
    wait = WebDriverWait(browser, 20)
    found = wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a"))
    links = [(link.text, link.get_attribute("href")) for link in found[:4]]
    href = next(href for text, href in links if text.endswith(first) and ".compat." not in text)
    browser.get(href)
    anchor = href.partition("#")[2]
    assert browser.find_element(By.ID, anchor).is_displayed()
