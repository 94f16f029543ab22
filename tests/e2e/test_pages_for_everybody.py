"""Every page in a real browser: nothing that axe-core finds, no sideways scrolling, no message in the console."""

from datetime import UTC, datetime

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import expect

from tests.e2e.browser import chromium, found_by_axe
from tests.fakes.crowds import crowd
from tests.fakes.engine_server import engine_process

pytestmark = pytest.mark.e2e

PAGES = (
    "/",
    "/waiting",
    "/servers",
    "/servers/gpu-1",
    "/endpoints",
    "/endpoints/gpu-1",
    "/models",
    "/models/qwen3:32b",
    "/calls",
    "/calls?agent=nobody",
    "/tokens",
    "/connect",
    "/start/",
    "/start/server/gpu-1/models/",
    "/start/call/",
    "/nothing/here",
    "/admin/",
    "/admin/kubemoot_web/apitoken/",
)
SCHEMES = ("light", "dark")
WIDTHS = (320, 768, 1600)
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def browser(stack):
    """Start a browser, with two ready servers to look at."""
    stack.register()
    with chromium() as started:
        yield started


@pytest.fixture
def page(stack, browser, signed_in_state):
    """Open a page in which somebody is signed in, and let it complain of nothing."""
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address, reduced_motion="reduce")
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert [text for text in said if "status of 404" not in text and "status of 422" not in text] == []


def looks_good(page) -> None:
    """Hold an opened page against what everybody needs, from a phone to a wide screen."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found_by_axe(page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_and_nothing_is_too_wide(page, path, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(path)
    looks_good(page)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_route_can_be_tried_on_the_api_page_by_whoever_is_signed_in(page, scheme):
    """Without a token, and with nothing that the content security policy refuses."""
    page.emulate_media(color_scheme=scheme)
    page.goto("/api/v1/docs")
    page.get_by_role("button", name="GET /api/v1/cluster The live picture").click()
    page.get_by_role("button", name="Try it out").click()
    looks_good(page)

    page.get_by_role("button", name="Execute").click()

    expect(page.locator(".live-responses-table .response-col_status")).to_have_text(["Code", "200"])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("servers", "waiters"), [(1, 0), (4, 6), (40, 200)])
def test_a_board_of_any_size_is_for_everybody_too(page, scheme, servers, waiters):
    """In every state that a server can be in: what is pale on the page of one that is away could not be read."""
    html = render_to_string("board/index.html", {"picture": crowd(servers=servers, waiters=waiters, now=NOW)})
    still = html.replace('ws-connect="/ws/board/"', "")
    page.route("**/crowd", lambda route: route.fulfill(body=still, content_type="text/html"))
    page.clock.set_fixed_time(datetime.fromtimestamp(NOW, tz=UTC))
    page.emulate_media(color_scheme=scheme)
    page.goto("/crowd")
    looks_good(page)


STATES = ("pause", "drain", "quarantine")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("step", STATES)
def test_an_endpoint_that_takes_no_calls_is_for_everybody_too(stack, page, scheme, step):
    """With everything opened that an operator may do, and on the pages that show its mark."""
    stack.rest.call("POST", f"/endpoints/gpu-1/{step}", {"reason": "new fans"})
    page.emulate_media(color_scheme=scheme)
    try:
        for path in ("/endpoints/gpu-1", "/endpoints", "/servers"):
            page.goto(path)
            page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
            looks_good(page)
    finally:
        stack.rest.call("POST", f"/endpoints/gpu-1/{'clear-quarantine' if step == 'quarantine' else 'resume'}")


def test_axe_sees_what_it_is_shown(page):
    """A silent axe would make the tests above worthless."""
    page.goto("/nothing/here")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")

    assert [found["rule"] for found in found_by_axe(page)] == ["button-name"]


def test_the_sign_in_page_is_for_everybody_too(stack, browser):
    for scheme in SCHEMES:
        context = browser.new_context(color_scheme=scheme, base_url=stack.rest.address)
        opened = context.new_page()
        opened.goto("/login/")
        assert found_by_axe(opened) == []
        context.close()


def test_the_keyboard_alone_reaches_the_content_and_what_lost(page):
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_who_wants_less_motion_gets_none(page):
    page.goto("/")
    moving = "document.getAnimations().filter((one) => one.playState === 'running').length"
    assert page.evaluate(moving) == 0


def walk(page, endpoint: str) -> None:
    """Register a server by its address, take its models as suggested, and go on to the first call."""
    page.goto("/start/")
    page.get_by_label("Address").last.fill(endpoint)
    page.get_by_label("Name").last.fill("by-hand")
    page.get_by_label("Memory of its GPUs, in MiB").last.fill("24576")
    page.get_by_role("button", name="Check and register").click()
    expect(page.get_by_role("heading", name="Models of by-hand")).to_be_visible()
    page.get_by_role("button", name="Register these models").click()
    expect(page.get_by_role("heading", name="Place a first call")).to_be_visible()


@pytest.fixture
def newcomer(stack):
    """Give the address of an engine that nobody registered, and forget it afterwards."""
    with engine_process("--port", "0", "--memory-mib", "24576", "--speed", "20", "--models", "gpt-oss:20b") as (
        _,
        (url,),
    ):
        yield url
    stack.rest.call("DELETE", "/resources/modelservers/default/by-hand")
    stack.rest.call("DELETE", "/resources/models/default/gpt-oss-20b")


def test_an_address_is_checked_while_it_is_typed_and_a_first_call_is_placed(stack, page, newcomer):
    page.goto("/start/")
    page.get_by_label("Address").last.fill("http://127.0.0.1:9")
    page.get_by_label("Address").last.blur()
    expect(page.locator("#check")).to_contain_text("nothing accepts connections there")
    page.get_by_label("Address").last.fill(newcomer)
    page.get_by_label("Address").last.blur()
    expect(page.locator("#check")).to_contain_text("has 1 model.")

    walk(page, newcomer)
    page.get_by_label("Model").select_option("gpt-oss:20b")
    page.get_by_role("button", name="Place a call").click()

    expect(page.locator("#first-call")).to_contain_text("Placed. It loads gpt-oss:20b on by-hand", timeout=20_000)
    stack.rest.until(lambda picture: not stack.rest.server("by-hand")["tickets"])


def test_the_first_steps_work_without_scripts(stack, browser, signed_in_state, newcomer):
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address, java_script_enabled=False)
    page = context.new_page()

    walk(page, newcomer)
    page.get_by_label("Model").select_option("gpt-oss:20b")
    page.get_by_role("button", name="Place a call").click()
    while page.get_by_role("button", name="Look again").count():
        page.get_by_role("button", name="Look again").click()

    expect(page.locator("#first-call")).to_contain_text("Placed.")
    context.close()
