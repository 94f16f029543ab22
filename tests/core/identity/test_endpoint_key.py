"""Two spellings of one address are one endpoint (C31, admission rules A.1)."""

import pytest

from providers.core.endpoint_key import EndpointRefused, endpoint_base, endpoint_key
from providers.core.endpoint_safety import check_endpoint, is_forbidden_address

PAIRS = [
    ("http://gpu-a:11434", "http://gpu-a:11434/", True),
    ("http://gpu-a:11434", "http://GPU-A:11434", True),
    ("http://gpu-a:11434", "http://gpu-a:11434/v1", True),
    ("http://gpu-a:11434", "http://gpu-a:11434/api/", True),
    ("http://gpu-a", "http://gpu-a:80", True),
    ("https://gpu-a", "https://gpu-a:443/v1/", True),
    ("http://localhost:11434", "http://127.0.0.1:11434", True),
    ("http://gpu-a:11434", "http://gpu-a:11435", False),
    ("http://gpu-a:8000", "http://gpu-b:8000", False),
    (" http://gpu-a:11434 ", "http://gpu-a:11434", True),
    ("HTTP://LOCALHOST:8000/prefix/api/chat/", "http://127.0.0.1:8000/prefix", True),
    ("http://localhost:8000/api/chat", "http://[::1]:8000/api", True),
    ("http://localhost.:8000", "http://127.0.0.2:8000", True),
    ("http://0.0.0.0:8000", "http://[::]:8000", True),
    ("http://[::ffff:127.0.0.1]:8000", "http://localhost:8000", True),
    ("http://2130706433:8000", "http://localhost:8000", True),
    ("http://box-a:11434/v1", "http://BOX-A:11434/api/generate", True),
    ("http://box-a", "http://box-a:80/", True),
    ("http://[2001:DB8:0:0::1]:1", "http://[2001:db8::1]:1", True),
    ("http://größe.example:1", "http://xn--gre-6ka8i.example:1", True),
    ("http://proxy:80/gpu0/v1", "http://proxy:80/gpu1/v1", False),
    ("http://proxy:80/gpu0/v1", "http://proxy:80/v1", False),
    ("http://box-a:11434", "https://box-a:11434", False),
]

REFUSED = [
    ("http://u:p@h:1", "credentials"),
    ("https://user:s3cret@models.example.com:11434", "credentials"),
    ("http://user:s3cret/@h:1", "parse"),
    ("http://h:1?x=1", "query_or_fragment"),
    ("http://h:1#f", "query_or_fragment"),
    ("http://h:1?", "query_or_fragment"),
    ("ftp://h:1", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("gopher://x/", "scheme"),
    ("http://", "host"),
    ("http://:11434", "host"),
    ("http://1.2.3.4.5:1", "host"),
    ("http://a..b:1", "host"),
    ("gpu-a:11434", "parse"),
    ("gpu-a", "parse"),
    ("", "parse"),
    ("http://h:port", "parse"),
    ("http://h:70000", "parse"),
    ("http://h:0", "parse"),
    ("http://h 1:1", "parse"),
    ("http://[::1:1", "parse"),
]

FORBIDDEN = [
    "http://169.254.169.254/latest",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://169.16689662/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[fe80::1]:11434",
    "http://[fd00:ec2::254]/",
    "http://１６９.254.169.254/",
    "http://%31%36%39.254.169.254/",
    "http://metadata.google.internal/",
    "http://METADATA.google.internal.:80/",
    "http://metadata/",
    "http://100.100.100.200",
    "http://224.0.0.1:1",
]

ALLOWED = [
    "http://10.20.0.5:11434",
    "http://172.16.0.1:8000/v1",
    "http://192.168.1.9:11434",
    "http://127.0.0.1:11434",
    "http://localhost:11434",
    "http://[::1]:11434",
    "http://[fd12:3456::1]:11434",
    "http://ollama.ollama-a:11434",
    "http://gpu_box:11434",
    "https://models.example.com",
]


@pytest.mark.parametrize(("left", "right", "same"), PAIRS)
def test_two_spellings_have_one_key_exactly_when_they_are_one_endpoint(left, right, same):
    """C31: one server registered twice under two spellings had its memory counted twice."""
    assert (endpoint_key(url=left, node="n1") == endpoint_key(url=right, node="n1")) is same


def test_a_key_is_spelled_out_in_full():
    assert endpoint_key(url="HTTP://Proxy.Example./gpu0/v1/", node="n1") == "http://proxy.example:80/gpu0"
    assert endpoint_key(url="http://127.9.9.9:11434", node="n1") == "http://localhost@n1:11434"


def test_loopback_is_another_machine_on_another_node():
    url = "http://localhost:11434"

    assert endpoint_key(url=url, node="n1") != endpoint_key(url=url, node="n2")


@pytest.mark.parametrize("own", ["http://10.0.0.5:11434", "http://Box-A:11434", "http://[fd00::5]:11434"])
def test_a_node_s_own_addresses_mean_its_loopback(own):
    key = endpoint_key(url=own, node="n1", own_addresses=("10.0.0.5", "box-a", "fd00::5"))

    assert key == endpoint_key(url="http://localhost:11434", node="n1")


@pytest.mark.parametrize(
    ("endpoint", "path", "url"),
    [
        ("http://gpu-a:11434/v1/", "/v1/chat/completions", "http://gpu-a:11434/v1/chat/completions"),
        ("http://gpu-a:11434/", "/api/chat", "http://gpu-a:11434/api/chat"),
        ("http://proxy/gpu0/v1", "/v1/models", "http://proxy:80/gpu0/v1/models"),
        ("http://[::1]:8000", "/props", "http://[::1]:8000/props"),
    ],
)
def test_an_api_path_is_never_joined_twice(endpoint, path, url):
    """C31: an address typed with its `/v1` gave `/v1/v1/chat/completions` and a 404."""
    assert endpoint_base(endpoint) + path == url


@pytest.mark.parametrize(("url", "reason"), REFUSED)
def test_an_unusable_endpoint_is_refused_with_a_reason_and_never_repeated(url, reason):
    with pytest.raises(EndpointRefused) as refused:
        endpoint_key(url=url, node="n1")

    assert refused.value.reason == reason
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("url", FORBIDDEN)
def test_a_metadata_address_is_refused_in_every_spelling(url):
    """C85: a registered server at a metadata address made the prober fetch the cloud's credentials."""
    with pytest.raises(EndpointRefused) as refused:
        check_endpoint(url)

    assert refused.value.reason == "address"


@pytest.mark.parametrize("url", ALLOWED)
def test_private_networks_loopback_and_plain_names_are_allowed(url):
    check_endpoint(url)


@pytest.mark.parametrize(
    ("address", "forbidden"),
    [
        ("169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("::ffff:169.254.1.1", True),
        ("10.0.0.5", False),
        ("::1", False),
    ],
)
def test_a_resolved_address_can_be_checked_before_it_is_contacted(address, forbidden):
    assert is_forbidden_address(address) is forbidden
