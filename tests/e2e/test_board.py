"""The board in a real browser, on a whole installation: it moves by itself, and comes back by itself."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SOON_MS = 2000
BACK_MS = 30_000


@pytest.fixture(scope="module")
def signed_in(stack: Stack) -> Iterator[Page]:
    """Open a browser by the one-time link that `up` prints."""
    assert Path(CHROMIUM).exists(), "Chromium is needed: apt-get install chromium"
    link = stack.up.wait_for(r"Sign in once with (\S+)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        page.goto(link)
        yield page
        browser.close()


@pytest.fixture
def board(stack: Stack, signed_in: Page) -> Page:
    """Show the board with two ready servers; whoever reloads it loses the mark."""
    stack.register()
    signed_in.goto(stack.rest.address)
    expect(signed_in.locator("#servers article")).to_have_count(2)
    signed_in.evaluate("window.mark = 'not reloaded'")
    return signed_in


def hold(stack: Stack, **wanted: object) -> dict:
    """Claim a ticket that must be granted."""
    status, body = stack.rest.call("POST", "/tickets", {**wanted, "wait": 60})
    assert status == 201, body
    return body


def give_back(stack: Stack, ticket: dict) -> None:
    """Release a ticket."""
    assert stack.rest.call("DELETE", f"/tickets/{ticket['id']}", {"ok": True})[0] == 200


def web_of(stack: Stack) -> list[int]:
    """Find the web process."""
    return [pid for pid, command in stack.up.children().items() if "uvicorn" in command]


def test_a_call_appears_and_goes_within_two_seconds_without_a_reload(stack, board):
    give_back(stack, hold(stack, agent="researcher"))

    ticket = hold(stack, agent="researcher")
    card = board.locator(f"#server-{ticket['server']}")
    expect(card.locator(".places")).to_contain_text("runs on qwen3:32b", timeout=SOON_MS)
    expect(board.locator("#summary")).to_contain_text("1 call running", timeout=SOON_MS)
    give_back(stack, ticket)
    expect(card.locator(".places")).to_have_count(0, timeout=SOON_MS)

    assert board.evaluate("window.mark") == "not reloaded"


def test_whoever_waits_is_told_for_what(stack, board):
    ticket = hold(stack, agent="researcher")

    status, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})

    assert status == 202
    expect(board.locator("#line")).to_contain_text("default/researcher", timeout=SOON_MS)
    expect(board.locator("#line")).to_contain_text("waiting for a free slot of qwen3:32b", timeout=SOON_MS)
    expect(board.locator("#waiting-count")).to_have_text("1 call waits.", timeout=SOON_MS)
    stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")
    expect(board.locator("#waiting-count")).to_have_text("Nobody waits.", timeout=SOON_MS)
    give_back(stack, ticket)


def test_what_a_person_opened_stays_open_while_the_board_moves(stack, board):
    ticket = hold(stack, agent="researcher")
    _, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})
    decision = board.locator("#decisions li").first
    expect(decision).to_contain_text("queues for qwen3:32b", timeout=5000)
    decision.locator("summary").click()

    stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")

    expect(decision).to_contain_text("gave up", timeout=5000)
    expect(decision.locator("details")).to_have_attribute("open", "")
    assert board.evaluate("document.activeElement.id") == decision.locator("summary").get_attribute("id")
    give_back(stack, ticket)


def test_a_board_whose_server_died_says_so_and_catches_up_by_itself(stack, board):
    (web,) = web_of(stack)
    expect(board.locator("#connection")).to_be_hidden()

    os.kill(web, signal.SIGKILL)

    expect(board.locator("#connection")).to_be_visible(timeout=SOON_MS)
    expect(board.locator("#connection")).to_be_hidden(timeout=BACK_MS)
    give_back(stack, hold(stack, agent="researcher"))
    ticket = hold(stack, agent="researcher")
    card = board.locator(f"#server-{ticket['server']}")
    expect(card).to_contain_text("runs on qwen3:32b", timeout=SOON_MS)
    assert board.evaluate("window.mark") == "not reloaded"
    give_back(stack, ticket)


def test_the_board_fits_a_phone_in_both_schemes(board):
    for scheme in ("light", "dark"):
        board.emulate_media(color_scheme=scheme)
        for width in (360, 390, 1280):
            board.set_viewport_size({"width": width, "height": 844})
            assert board.evaluate("document.documentElement.scrollWidth") <= width


def test_a_board_whose_session_is_over_offers_the_sign_in(stack, board):
    cookies = board.context.cookies()
    board.context.clear_cookies()
    (web,) = web_of(stack)

    os.kill(web, signal.SIGKILL)

    expect(board.get_by_role("link", name="Sign in again")).to_be_visible(timeout=BACK_MS)
    board.context.add_cookies(cookies)
