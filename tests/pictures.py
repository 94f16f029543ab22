"""`make pictures`: the README's pictures of the board, light and dark, taken of the running demo."""

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubemoot_web.settings.test")
os.environ.setdefault("KUBEMOOT_DATA", tempfile.mkdtemp(prefix="km-pictures-"))

from django.conf import settings
from playwright.sync_api import Page

from tests.e2e.browser import chromium, state_of_link
from tests.fakes.running import running

SIZE = {"width": 1280, "height": 900}
PATIENCE_S = 150
TELLS_THE_STORY = """() => {
  const count = (selector) => document.querySelectorAll(selector).length;
  const reasons = Array.from(document.querySelectorAll(".because"), (element) => element.textContent);
  return count(".copy.loading") && count(".place.active") && count("#line li") > 1 && count("#ahead li") > 2
    && reasons.some((text) => text.includes(" uses "))
    && count("#decisions > ol > li:nth-child(-n+2) .weighed li") > 1;
}"""


def main() -> None:
    """Run the demo until the board shows a load, a call, a queue and a choice; take it in both themes."""
    folder = settings.BASE_DIR / "static" / "img"
    with tempfile.TemporaryDirectory() as data, running("--demo", data=Path(data)) as up, chromium() as browser:
        address = up.address()
        state = state_of_link(up.wait_for(r"Sign in once with (\S+)"))
        page = browser.new_context(viewport=SIZE, storage_state=state, reduced_motion="reduce").new_page()
        page.goto(address)
        wait_for_story(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / f"board-{scheme}.png")


def wait_for_story(page: Page) -> None:
    """Look at the board until it tells the story; after a while take what there is."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not page.evaluate(TELLS_THE_STORY):
        page.wait_for_timeout(100)


if __name__ == "__main__":
    main()
