"""A real Chromium, and what axe-core finds on the page that it shows."""

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
RUN = "() => axe.run(document, {resultTypes: ['violations']})"

expect.set_options(timeout=15_000)  # whatever a page does, it does at once: how long that takes is the machine's affair


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser."""
    assert Path(CHROMIUM).exists(), "Chromium is needed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def state_of_link(link: str) -> dict[str, Any]:
    """Use a sign-in link up, and give what a browser context needs to be that person."""
    jar = CookieJar()
    urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)).open(link, timeout=10).close()
    cookies = [
        {"name": cookie.name, "value": cookie.value, "domain": cookie.domain, "path": "/", "sameSite": "Lax"}
        for cookie in jar
    ]
    return {"cookies": cookies, "origins": []}


def found_by_axe(page: Page) -> list[dict[str, Any]]:
    """Let axe-core look at a page; give what it finds, each with the elements it is about.

    Its source runs through the debugger, so that our content security policy stays as it is.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Path(AXE_FILE_PATH).read_text())
    found = page.evaluate(RUN)["violations"]
    return [
        {"rule": one["id"], "help": one["help"], "where": [node["html"][:160] for node in one["nodes"][:4]]}
        for one in found
    ]
