"""The board in a real browser, on a whole installation: it moves by itself, and comes back by itself."""

import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import chromium, found_by_axe
from tests.e2e.callers import call_once, held
from tests.e2e.conftest import VALKEY, WEB, WORKER, Stack

pytestmark = pytest.mark.e2e

BACK_MS = 30_000


@pytest.fixture(scope="module")
def signed_in(signed_in_state: dict) -> Iterator[Page]:
    """Open a browser in which somebody is signed in."""
    with chromium() as browser:
        yield browser.new_context(viewport={"width": 390, "height": 844}, storage_state=signed_in_state).new_page()


@pytest.fixture
def board(stack: Stack, signed_in: Page) -> Page:
    """Show the board with two ready servers; whoever reloads it loses the mark."""
    stack.register()
    signed_in.goto(stack.rest.address)
    expect(signed_in.locator("#servers article")).to_have_count(2)
    signed_in.evaluate("window.mark = 'not reloaded'")
    return signed_in


def test_a_call_appears_and_goes_within_two_seconds_without_a_reload(stack, board):
    call_once(stack, agent="researcher")

    with held(stack, agent="researcher") as ticket:
        card = board.locator(f"#server-{ticket['server']}")
        expect(card.locator(".place.active")).to_contain_text("researcher runs")
        expect(board.locator("#summary")).to_contain_text("1 call running")
    expect(card.locator(".place.active")).to_have_count(0)
    expect(card.locator(".place.free")).to_contain_text("1 free slot, idle")

    assert board.evaluate("window.mark") == "not reloaded"


def test_whoever_waits_is_told_for_what(stack, board):
    with held(stack, agent="researcher"):
        status, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})

        assert status == 202
        expect(board.locator("#line")).to_contain_text("researcher of lab")
        expect(board.locator("#line")).to_contain_text("waiting for a free slot of qwen3:32b")
        expect(board.locator("#line")).to_contain_text("Its slot is taken by researcher.")
        expect(board.locator("#ahead")).to_contain_text("researcher gets a slot of qwen3:32b on")
        expect(board.locator("#waiting-count")).to_have_text("1 call waits.")
        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")
        expect(board.locator("#waiting-count")).to_have_text("Nobody waits.")


def test_what_a_person_opened_stays_open_while_the_board_moves(stack, board):
    """A queue was weighed against the other copy's: why that one lost can be opened, and stays so."""
    with held(stack, agent="researcher"), held(stack, agent="rules-keeper"):
        _, waiting = stack.rest.call("POST", "/tickets", {"agent": "analyst", "wait": 0})
        decision = board.locator("#decisions li", has=board.locator(".verb.queue")).first
        expect(decision.locator(".weighed li")).to_have_count(2)
        expect(decision.locator(".weighed li.taken .cost")).to_have_text(re.compile(r"^[0-9.]+ s$"))
        decision.locator("summary").click()
        opened = board.locator(f"#{decision.locator('details').get_attribute('id')}")

        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")

        expect(board.locator("#decisions")).to_contain_text("gave up")
        expect(opened).to_have_attribute("open", "")
        expect(opened.locator("li")).to_contain_text("would take longer")
        assert board.evaluate("document.activeElement.id") == opened.locator("summary").get_attribute("id")


def test_how_far_a_call_is_is_drawn_without_anything_being_sent(stack, board):
    call_once(stack, agent="researcher")  # from now on it is known how long calls take here
    with held(stack, agent="researcher") as ticket:
        card = board.locator(f"#server-{ticket['server']}")
        ends = "new Date(Date.now() + 30000).toISOString()"
        bar = card.locator(".place.active progress")
        expect(bar).to_have_count(1)

        bar.evaluate(f"(bar) => {{ bar.dataset.began = new Date().toISOString(); bar.dataset.ends = {ends}; }}")

        board.wait_for_function("(bar) => bar.value > 0.05 && bar.value < 1", arg=bar.element_handle())


def test_a_board_full_of_news_has_nothing_that_axe_finds(stack, board):
    with held(stack, agent="researcher"):
        _, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})
        expect(board.locator("#line")).to_contain_text("researcher")
        for scheme in ("light", "dark"):
            board.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert found_by_axe(board) == []
        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")


def test_a_board_whose_server_died_says_so_and_catches_up_by_itself(stack, board):
    expect(board.locator("#connection")).to_be_hidden()

    stack.signal(signal.SIGKILL, WEB)

    expect(board.locator("#connection")).to_be_visible()
    expect(board.locator("#connection")).to_be_hidden(timeout=BACK_MS)
    call_once(stack, agent="researcher")
    with held(stack, agent="researcher") as ticket:
        card = board.locator(f"#server-{ticket['server']}")
        expect(card.locator(".place.active")).to_contain_text("researcher runs")
        assert board.evaluate("window.mark") == "not reloaded"


def test_a_board_says_that_redis_is_silent_and_is_right_again_after_its_restart(stack, board):
    call_once(stack, agent="researcher")
    with held(stack, agent="researcher") as ticket:
        running = board.locator(f"#server-{ticket['server']} .place.active")
        expect(running).to_have_count(1)

        stack.signal(signal.SIGSTOP, VALKEY)
        expect(board.locator("#board-problem")).to_contain_text("Redis does not answer", timeout=BACK_MS)
        stack.signal(signal.SIGKILL, VALKEY)

        expect(board.locator("#board-problem")).not_to_contain_text("Redis", timeout=BACK_MS)
        expect(running).to_have_count(1)
    expect(running).to_have_count(0)
    assert board.evaluate("window.mark") == "not reloaded"


def test_a_board_left_open_while_everything_starts_again_is_right_again_by_itself(stack, board):
    call_once(stack, agent="researcher")
    with held(stack, agent="researcher", may_lapse=True) as ticket:
        running = board.locator(f"#server-{ticket['server']} .place.active")
        expect(running).to_have_count(1)

        stack.signal(signal.SIGKILL, VALKEY, WORKER, WEB)

        expect(board.locator("#connection")).to_be_visible()
        expect(board.locator("#connection")).to_be_hidden(timeout=BACK_MS)
    with held(stack, agent="researcher") as ticket:
        running = board.locator(f"#server-{ticket['server']} .place.active")
        expect(running).to_contain_text("researcher runs")
        _, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})
        expect(board.locator("#line")).to_contain_text("waiting for a free slot of qwen3:32b")
        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")
        expect(board.locator("#waiting-count")).to_have_text("Nobody waits.")
    expect(running).to_have_count(0)
    assert board.evaluate("window.mark") == "not reloaded"


def test_the_board_fits_a_phone_in_both_schemes(board):
    for scheme in ("light", "dark"):
        board.emulate_media(color_scheme=scheme)
        for width in (320, 390, 1280, 2560):
            board.set_viewport_size({"width": width, "height": 844})
            assert board.evaluate("document.documentElement.scrollWidth") <= width


def test_a_board_whose_session_is_over_offers_the_sign_in(stack, board):
    cookies = board.context.cookies()
    board.context.clear_cookies()

    stack.signal(signal.SIGKILL, WEB)

    expect(board.get_by_role("link", name="Sign in again")).to_be_visible(timeout=BACK_MS)
    board.context.add_cookies(cookies)
