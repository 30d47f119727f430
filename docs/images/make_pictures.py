"""Make the pictures of docs/pictures.md: each from the example above it.

    .venv/bin/python docs/images/make_pictures.py

Needs matplotlib, and Chromium with its driver for the picture of a report.
"""

import doctest
import re
import runpy
import shutil
import tempfile
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import polygen as pg

HERE = Path(__file__).parent
PAGE = HERE.parent / "pictures.md"
FENCE = re.compile(r"^```.*$", re.MULTILINE)
IMAGE = re.compile(r"^!\[.*\]\(images/(\w+)\.svg\)$", re.MULTILINE)
SHOW = """
for (const part of document.querySelectorAll('section > details')) {
  const title = part.querySelector('h2').textContent;
  part.open = ['Graph of dependences', 'History'].includes(title);
}
document.querySelector('li details').open = true;
document.querySelector('svg.graph').closest('details').scrollIntoView();
"""


def make_domains() -> None:
    """Run the examples, and save what is drawn where the page shows it."""
    pyplot: Any = import_module("matplotlib.pyplot")
    text = FENCE.sub("", PAGE.read_text())
    names: dict[str, Any] = {}
    start = 0
    for image in IMAGE.finditer(text):
        for example in doctest.DocTestParser().get_examples(text[start : image.start()]):
            exec(compile(example.source, PAGE.name, "single"), names)  # noqa: S102
        start = image.end()
        with pyplot.rc_context({"svg.hashsalt": "polygen"}):
            names["ax"].figure.savefig(
                HERE / f"{image[1]}.svg", metadata={"Date": None}, bbox_inches="tight"
            )
        pyplot.close("all")


def make_report() -> None:
    """A part of the report on examples/prefetched_product.py, as a browser shows it."""
    knl = runpy.run_path(str(HERE.parents[1] / "examples/prefetched_product.py"))["prefetched"]()
    path = pg.report(knl, "report.html").resolve()
    # Debian's: Selenium is not to look for others on the network.
    webdriver: Any = import_module("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    try:
        browser.set_window_size(860, 1180)
        browser.get(path.as_uri())
        browser.execute_script(SHOW)
        browser.save_screenshot(str(HERE / "report.png"))
    finally:
        browser.quit()


def main() -> None:
    """Make them all."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        make_domains()
        make_report()


if __name__ == "__main__":
    main()
