"""The pages after the board in a real browser: they move by themselves, filter without a reload, and come back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import chromium
from tests.e2e.callers import call_once, held
from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(signed_in_state: dict, stack: Stack) -> Iterator[Page]:
    """Open a browser in which somebody is signed in, with two ready servers."""
    stack.register()
    with chromium() as browser:
        yield browser.new_context(viewport={"width": 390, "height": 844}, storage_state=signed_in_state).new_page()


def show(page: Page, stack: Stack, address: str) -> None:
    """Open a page; whoever reloads it loses the mark."""
    page.goto(stack.rest.address + address)
    page.evaluate("window.mark = 'not reloaded'")


def is_marked(page: Page) -> bool:
    """Say whether the page is still the one that was opened."""
    return page.evaluate("window.mark") == "not reloaded"


def test_who_waits_appears_with_what_would_help_and_goes(stack, page):
    stack.register()  # where calls were quick a second copy would be cheaper than the wait
    with held(stack, agent="researcher") as ticket:
        show(page, stack, "/waiting")
        expect(page.locator("#waiting-line")).to_contain_text("Every call has its place.")

        _, waiting = stack.rest.call("POST", "/tickets", {"agent": "researcher", "wait": 0})

        line = page.locator("#waiting-line")
        expect(line).to_contain_text("waiting for a free slot of qwen3:32b")
        expect(line).to_contain_text(f"A second slot on {ticket['server']} for qwen3:32b")
        expect(page.locator("#waiting-count")).to_have_text("1 call waits.")
        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")
        expect(page.locator("#waiting-count")).to_have_text("Nobody waits.")
        assert is_marked(page)


def test_a_server_shows_its_calls_as_they_come_and_keeps_open_what_was_opened(stack, page):
    call_once(stack, agent="researcher")
    servers = stack.rest.cluster()["servers"]
    place = next(s["name"] for s in servers if any(r["model"] == "qwen3:32b" for r in s["residents"]))
    show(page, stack, f"/servers/{place}")
    expect(page.locator("svg.timeline")).to_be_visible()
    page.locator("#day-table-more").click()

    with held(stack, agent="researcher"):
        expect(page.locator("#sheet-holds .place.active")).to_contain_text("researcher runs")
        expect(page.locator("#last-calls")).to_contain_text("running")
        expect(page.locator("#sheet-events")).to_contain_text("Loaded qwen3:32b")
        expect(page.locator("#day-table")).to_have_attribute("open", "")
        assert page.evaluate("document.activeElement.id") == "day-table-more"

    expect(page.locator("#sheet-holds .place.active")).to_have_count(0)
    assert is_marked(page)


def test_a_call_is_followed_to_its_end(stack, page):
    with held(stack, agent="researcher") as ticket:
        show(page, stack, f"/calls/{ticket['call']}")
        expect(page.locator("#call-bar")).to_contain_text("so far")

    expect(page.locator("#call-state")).to_contain_text("done after")
    expect(page.locator("#call-bar")).not_to_contain_text("so far")
    expect(page.locator("#call-decision li.taken")).to_contain_text("qwen3:32b")
    assert is_marked(page)


def test_filters_change_the_address_and_the_list_without_a_reload_and_back_undoes_them(stack, page):
    call_once(stack, agent="researcher")
    call_once(stack, agent="rules-keeper")
    show(page, stack, "/calls")
    rows = page.locator("#calls-list .calls > li")
    expect(rows.filter(has_text="rules-keeper").first).to_be_visible()

    page.get_by_label("Model").fill("qwen3:32b")
    page.get_by_label("Model").press("Tab")

    expect(page).to_have_url(re.compile(r"/calls\?model=qwen3%3A32b$"))
    expect(rows.filter(has_text="rules-keeper")).to_have_count(0)
    assert rows.count() >= 1
    assert is_marked(page)
    expect(page.locator("#look")).to_have_attribute("hx-get", "/calls?model=qwen3%3A32b")
    page.go_back()
    expect(rows.filter(has_text="rules-keeper").first).to_be_visible()


def test_filters_work_without_scripts(stack, page):
    context = page.context.browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{stack.rest.address}/calls")

    plain.get_by_label("Action").select_option("evict")
    plain.get_by_label("Agent").fill("researcher")
    plain.get_by_role("button", name="Show").click()

    assert plain.url == f"{stack.rest.address}/calls?agent=researcher&action=evict"
    assert plain.get_by_label("Agent").input_value() == "researcher"
    context.close()


def test_a_page_that_nobody_answers_says_so_and_catches_up_by_itself(stack, page):
    show(page, stack, "/servers")

    page.context.set_offline(True)

    expect(page.locator("#connection")).to_be_visible()
    with held(stack, agent="researcher") as ticket:
        page.context.set_offline(False)
        expect(page.locator("#connection")).to_be_hidden()
        expect(page.locator(f"#row-{ticket['server']}")).to_contain_text("1/")
    assert is_marked(page)


def test_a_page_whose_session_is_over_offers_the_sign_in_and_asks_no_more(stack, page):
    show(page, stack, "/servers/gpu-1")
    cookies = page.context.cookies()
    page.context.clear_cookies()

    expect(page.get_by_role("link", name="Sign in again")).to_have_attribute("href", "/login/?next=/servers/gpu-1")
    page.context.add_cookies(cookies)
