"""An operator holds an endpoint back in a real browser: with a keyboard, without scripts, and live."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import chromium

pytestmark = pytest.mark.e2e
ONE = "/endpoints/gpu-1"


@pytest.fixture(scope="module")
def browser(stack):
    """Start a browser, with two ready servers."""
    stack.register()
    with chromium() as started:
        yield started


@pytest.fixture
def page(stack, browser, signed_in_state) -> Iterator[Page]:
    """Open a page as an operator; the endpoint is open again afterwards."""
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address)
    yield context.new_page()
    context.close()
    stack.rest.call("POST", "/endpoints/gpu-1/resume")


def test_the_keyboard_pauses_an_endpoint_and_what_was_typed_survives_the_live_parts(stack, page):
    page.goto(ONE)
    page.get_by_label("Why (optional)").fill("new fans")
    stack.rest.call("POST", "/endpoints/gpu-1/drain")
    expect(page.locator("#endpoint-state")).to_contain_text("Drained")
    assert page.get_by_label("Why (optional)").input_value() == "new fans"

    page.locator("#do-pause-ask").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#endpoint-state")).to_contain_text("Paused: new fans.")
    expect(page.get_by_role("status").filter(has_text="gpu-1 is paused")).to_be_visible()


def test_enter_in_the_reason_does_nothing_unasked(stack, page):
    """It pressed the first of the buttons, within what was not opened yet."""
    page.goto(ONE)
    page.get_by_label("Why (optional)").fill("only typed")

    page.keyboard.press("Enter")
    page.locator("#do-pause-ask").click()

    expect(page.locator("#endpoint-state")).to_contain_text("Ready")
    assert page.get_by_label("Why (optional)").input_value() == "only typed"


def test_the_keyboard_sets_a_cap_and_what_is_refused_gets_the_focus(stack, page):
    """On a phone what was wrong stood two screens below."""
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(ONE)
    page.get_by_label("Calls at once").focus()
    page.keyboard.type("0")
    page.keyboard.press("Enter")

    expect(page.get_by_label("Calls at once")).to_be_focused()
    expect(page.get_by_role("alert").filter(has_text="To let nobody in, pause it.")).to_be_in_viewport()
    page.keyboard.press("Control+A")
    page.keyboard.type("3")
    page.keyboard.press("Enter")

    expect(page.locator("#endpoint-places")).to_contain_text("0 of 3 calls at once")
    expect(page.get_by_role("status").filter(has_text="The limits of gpu-1 are set.")).to_be_in_viewport()
    stack.rest.call("PUT", "/endpoints/gpu-1/admission", {"maxConcurrent": None})


@pytest.mark.parametrize("width", [390, 1280])
def test_the_buttons_stay_where_they_are_when_the_queue_grows(stack, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for server in stack.engines:
        stack.rest.call("POST", f"/endpoints/{server}/pause")
        page.goto(f"/endpoints/{server}")
        expect(page.locator("#endpoint-state")).to_contain_text("Paused")
    page.goto(ONE)
    before = page.locator("#do-drain-ask").bounding_box()

    asked = [stack.rest.call("POST", "/tickets", {"model": "qwen3:8b", "wait": 0}) for _ in range(5)]
    assert [status for status, _ in asked] == [202] * 5
    expect(page.locator("#endpoint-queue li")).to_have_count(5)

    assert page.locator("#do-drain-ask").bounding_box() == before
    for _, waiting in asked:
        stack.rest.call("DELETE", f"/waiters/{waiting['waiter']}")
    stack.rest.call("POST", "/endpoints/gpu-2/resume")


def test_a_page_whose_server_is_removed_says_so_and_asks_no_more(stack, page):
    page.goto("/endpoints/gpu-2")
    stack.rest.call("DELETE", "/resources/modelservers/default/gpu-2")

    expect(page.get_by_role("alert").filter(has_text="No server is registered as gpu-2.")).to_be_visible()
    expect(page.locator("#connection")).to_be_hidden()
    stack.register()


def test_an_opened_question_stays_open_while_the_page_looks_again(stack, page):
    page.goto(ONE)
    page.locator("#do-drain-ask").click()
    stack.rest.call("POST", "/endpoints/gpu-1/pause", {"reason": "somebody else"})

    expect(page.locator("#endpoint-state")).to_contain_text("Paused: somebody else.")

    expect(page.locator("#do-drain-sure")).to_be_visible()


def test_it_works_without_scripts(stack, browser, signed_in_state):
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address, java_script_enabled=False)
    page = context.new_page()

    page.goto(ONE)
    expect(page.locator("#do-pause-sure")).to_be_hidden()
    page.locator("#do-pause-ask").click()
    page.locator("#do-pause-sure").click()
    expect(page.locator("#endpoint-state")).to_contain_text("Paused.")
    page.locator("#do-resume-ask").click()
    page.locator("#do-resume-sure").click()
    expect(page.locator("#endpoint-state")).to_contain_text("Ready")
    page.get_by_label("Calls at once").fill("3")
    page.get_by_role("button", name="Set the limits").click()
    expect(page.locator("#endpoint-places")).to_contain_text("0 of 3 calls at once")
    context.close()
    stack.rest.call("PUT", "/endpoints/gpu-1/admission", {"maxConcurrent": None})
