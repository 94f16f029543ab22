"""Settings are read once, typed, and fail with a sentence that says what to write."""

import stat

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from kubemoot_web import checks
from kubemoot_web.settings import base, env, sockets


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """Start from an environment without any of our variables."""
    for name in env.variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KUBEMOOT_DATA", str(tmp_path))


def test_nothing_needs_to_be_set(tmp_path):
    loaded = env.load()

    assert (loaded.data, loaded.ledger, loaded.ticket_lease_s) == (tmp_path, "main", 15)
    assert loaded.hosts == ("localhost", "127.0.0.1", "[::1]")


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    """Compose files and charts pass empty strings for what nobody filled in."""
    monkeypatch.setenv("KUBEMOOT_TICKET_LEASE_SECONDS", "")

    assert env.load().ticket_lease_s == 15


def test_hosts_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv("KUBEMOOT_HOSTS", " moot.example.com, .lan ,")

    assert env.load().hosts == ("moot.example.com", ".lan")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("KUBEMOOT_TICKET_LEASE_SECONDS", "soon", "KUBEMOOT_TICKET_LEASE_SECONDS: 'soon' is not right"),
        ("KUBEMOOT_TICKET_LEASE_SECONDS", "0", "Write for example KUBEMOOT_TICKET_LEASE_SECONDS=15"),
        ("KUBEMOOT_LEDGER", "Main!", "KUBEMOOT_LEDGER: 'Main!' is not right"),
        ("KUBEMOOT_HTTPS", "perhaps", "KUBEMOOT_HTTPS: 'perhaps' is not right"),
        ("KUBEMOOT_HOSTS", ",", "Write for example KUBEMOOT_HOSTS=moot.example.com,localhost"),
        ("REDIS_URL", "tcp://cache:6379", "must start with one of redis://, rediss://, unix://"),
        ("KUBEMOOT_SECRET_KEY", "short", "is shorter than 32 characters"),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured) as caught:
        env.load()

    assert said in str(caught.value)


def test_every_wrong_value_is_named_at_once(monkeypatch):
    monkeypatch.setenv("KUBEMOOT_LEDGER", "!")
    monkeypatch.setenv("KUBEMOOT_PLAN_LEASE_SECONDS", "-1")

    with pytest.raises(ImproperlyConfigured) as caught:
        env.load()

    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "KUBEMOOT_LEDGER",
        "KUBEMOOT_PLAN_LEASE_SECONDS",
    ]


@pytest.mark.parametrize("name", env.FROM_FILE)
def test_a_secret_is_never_repeated(monkeypatch, name):
    monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("KUBEMOOT_LEDGER", "!")

    with pytest.raises(ImproperlyConfigured) as caught:
        env.load()

    assert "hunter2" not in str(caught.value)


def test_a_secret_may_lie_in_a_file(monkeypatch, tmp_path):
    (tmp_path / "redis").write_text("redis://:pass@cache:6379/0\n")
    monkeypatch.setenv("REDIS_URL_FILE", str(tmp_path / "redis"))

    assert env.load().redis_url == "redis://:pass@cache:6379/0"


def test_a_secret_in_two_places_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("REDIS_URL", "redis://cache")
    monkeypatch.setenv("REDIS_URL_FILE", str(tmp_path / "redis"))

    with pytest.raises(ImproperlyConfigured, match="REDIS_URL and REDIS_URL_FILE are both set: keep one of them"):
        env.load()


def test_a_missing_secret_file_is_named(monkeypatch):
    monkeypatch.setenv("DATABASE_URL_FILE", "/nowhere/url")

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL_FILE names /nowhere/url, which cannot be read"):
        env.load()


def test_a_secret_key_is_made_once_for_its_owner_alone(tmp_path):
    first, second = env.secret_key(env.load()), env.secret_key(env.load())

    assert first == second
    assert len(first) >= 32
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600


def test_a_secret_key_that_others_may_read_is_refused(tmp_path):
    env.secret_key(env.load())
    (tmp_path / "secret-key").chmod(0o644)

    with pytest.raises(ImproperlyConfigured, match="may be read by others: run `chmod 600"):
        env.secret_key(env.load())


def test_a_long_folder_gets_a_short_socket(tmp_path):
    """The system cuts the path of a unix socket off at 108 bytes."""
    deep = tmp_path / ("x" * 120)

    assert sockets.socket_path(tmp_path) == tmp_path / "valkey.sock"
    assert len(str(sockets.socket_path(deep))) < 100
    assert sockets.socket_path(deep) != sockets.socket_path(tmp_path / ("y" * 120))


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
    ],
)
def test_the_broker_spells_the_address_its_own_way(url, broker):
    assert base._broker_url(url) == broker


def test_a_setting_that_is_nearly_ours_is_warned_of(monkeypatch):
    monkeypatch.setenv("KUBEMOOT_HOST", "moot.example.com")
    monkeypatch.setenv("KUBEMOOT_WEB_SERVICE_PORT", "8000")  # a cluster sets such names itself

    found = checks.settings_are_spelled_right()

    assert [(warning.msg, warning.hint) for warning in found] == [
        ("KUBEMOOT_HOST is not a setting.", "Did you mean KUBEMOOT_HOSTS?")
    ]


def test_what_all_bodies_may_take_is_no_less_than_what_one_may(monkeypatch):
    monkeypatch.setenv("KUBEMOOT_GATEWAY_MAX_BODY_BYTES", "2048")
    monkeypatch.setenv("KUBEMOOT_GATEWAY_MAX_HELD_BYTES", "2047")

    with pytest.raises(ImproperlyConfigured, match="at least KUBEMOOT_GATEWAY_MAX_BODY_BYTES, which is 2048"):
        env.load()


def test_the_checks_of_a_sound_installation_say_nothing():
    call_command("check", fail_level="WARNING", verbosity=0)


def test_sqlite_waits_its_turn():
    """A reader that becomes a writer half-way fails at once, whatever time-out is set, unless it began as a writer."""
    options = settings.DATABASES["default"]["OPTIONS"]

    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] >= 10
    assert "journal_mode=WAL" in options["init_command"]
