"""Connecting clients the way a person does: a key from the page, and its lines, pasted as they are."""

import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import chromium, found_by_axe

pytestmark = pytest.mark.e2e

SCHEMES = ("light", "dark")
WIDTHS = (320, 768, 1600)
PATIENCE_S = 60
TOKEN = re.compile(r"km_[0-9a-f]{12}_[\w-]{20,}")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OLLAMA_", "KUBEMOOT_"))}


@pytest.fixture(scope="module")
def browser(stack):
    """Start a browser, with two ready servers to call."""
    stack.register()
    with chromium() as started:
        yield started


@pytest.fixture
def page(stack, browser, signed_in_state):
    """Open a page in which somebody is signed in, and let it complain of nothing."""
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert [text for text in said if "status of 422" not in text] == []


def looks_good(page) -> None:
    """Hold an opened page against what everybody needs, in both themes, from a phone to a wide screen."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert found_by_axe(page) == []


@pytest.fixture(scope="module")
def lines(stack, browser, signed_in_state):
    """Make a key on the page and give the lines of each client with it."""
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address)
    opened = context.new_page()
    opened.goto("/connect")
    opened.get_by_role("button", name="Make a key and put it into the lines").click()
    found = {pre.get_attribute("id").removesuffix("-lines"): pre for pre in opened.locator("pre[id$=-lines]").all()}
    texts = {client: pre.text_content() for client, pre in found.items()}
    context.close()
    return texts


def run(*command: str, **environment: str) -> str:
    """Run what somebody pasted; give what it printed."""
    done = subprocess.run(
        command, env=CLEAN | environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("client", ["openai", "ollama", "langchain-openai", "langchain-ollama"])
def test_the_python_lines_are_answered(lines, client):
    assert run(sys.executable, "-c", lines[client]).strip()


@pytest.mark.parametrize("client", ["curl"])
def test_the_shell_lines_are_answered(lines, client):
    assert '"choices"' in run("sh", "-c", lines[client])


def test_the_environment_is_enough_for_programs_with_ollamas_package(lines):
    asking = f"{sys.executable} -c 'import ollama; print(len(ollama.list().models))'"

    assert int(run("sh", "-c", f"{lines['ollama-env']}\n{asking}")) > 0


def test_the_address_of_the_ollama_command_is_enough(lines):
    """Ollama's own package reads the address as the command does, its path included."""
    export, _ = lines["ollama-command"].splitlines()
    asking = (
        "import ollama; ollama.show('qwen3:8b'); "
        "print(ollama.generate('qwen3:8b', 'Hello!').response, ollama.chat('qwen3:8b', []).done)"
    )

    assert run("sh", "-c", f'{export}\n{sys.executable} -c "{asking}"').strip()


def test_lines_are_copied_by_a_button(page):
    page.goto("/connect")
    page.locator("[data-copy=curl-lines]").click()

    expect(page.locator("[data-copy=curl-lines]")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#curl-lines").text_content()


def test_lines_are_copied_where_the_browser_has_no_clipboard(page):
    """It has none on pages that come by plain http from another machine."""
    page.goto("/connect")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.locator("[data-copy=curl-lines]").click()

    expect(page.locator("[data-copy=curl-lines]")).to_contain_text("Copied")
    assert page.evaluate("getSelection().toString()").strip() == page.locator("#curl-lines").inner_text().strip()


def test_a_key_is_made_with_limits_seen_in_the_list_and_revoked(page):
    page.goto("/tokens")
    page.get_by_label("Name").fill("nightly job")
    page.get_by_text("Limit what it may call").click()
    page.get_by_role("group", name="Models").get_by_label("qwen3:8b").check()
    page.get_by_label("Highest class of its calls").select_option("background")
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator("#made-key")).to_have_text(TOKEN)
    looks_good(page)

    row = page.get_by_role("listitem").filter(has_text="nightly job")
    expect(row).to_contain_text("models: qwen3:8b · background only")
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    looks_good(page)
    row.get_by_role("button", name="Revoke nightly job").focus()
    page.keyboard.press("Enter")

    expect(page.locator(".note[role=status]")).to_contain_text("The key nightly job is revoked")
    expect(page.get_by_role("listitem").filter(has_text="nightly job")).to_have_count(0)


def test_the_list_tells_by_itself_that_a_key_was_used_and_leaves_open_what_is_open(page):
    page.goto("/tokens")
    page.get_by_label("Name").fill("watched")
    page.get_by_role("button", name="Make the key").click()
    token = page.locator("#made-key").text_content()
    row = page.get_by_role("listitem").filter(has_text="watched")
    row.locator("summary").click()
    expect(row).to_contain_text("never used")

    run("curl", "-sf", f"{page.url.removesuffix('/tokens')}/v1/models", "-H", f"Authorization: Bearer {token}")

    expect(row).to_contain_text("used")
    expect(row).not_to_contain_text("never used")
    expect(row.get_by_role("button", name="Revoke watched")).to_be_visible()


@pytest.mark.parametrize("path", ["/tokens", "/connect"])
def test_the_pages_are_for_everybody(page, path):
    page.goto(path)
    looks_good(page)


def test_what_is_wrong_stands_beside_its_field(page):
    page.goto("/tokens")
    page.get_by_role("button", name="Make the key").click()

    expect(page.locator("#id_name_error")).to_have_text("Write what it is for: its calls go by this name.")
    looks_good(page)


def test_keys_and_lines_work_without_scripts(stack, browser, signed_in_state):
    context = browser.new_context(storage_state=signed_in_state, base_url=stack.rest.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/connect")
    page.get_by_label("Which client is it for?").fill("plain browser")
    page.get_by_role("button", name="Make a key and put it into the lines").click()
    expect(page.locator("#made-key")).to_have_text(TOKEN)
    page.get_by_role("link", name="revoke it").click()
    row = page.get_by_role("listitem").filter(has_text="plain browser")
    row.locator("summary").click()
    row.get_by_role("button").click()

    expect(page.locator(".note[role=status]")).to_contain_text("The key plain browser is revoked")
    assert page.locator("[data-copy]:visible").count() == 0
    context.close()
