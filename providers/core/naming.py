"""Names of things as everything inside and on the wire spells them.

A server is `gpu-1` in the default namespace and `team-b/gpu-1` elsewhere, and so are resource groups; agents and crews
are always `namespace/name`.
"""

DEFAULT_NAMESPACE = "default"


def server_name(*, namespace: str, name: str) -> str:
    """Name a server: bare in the default namespace, with its namespace elsewhere."""
    return name if namespace == DEFAULT_NAMESPACE else f"{namespace}/{name}"


def split_server_name(server: str) -> tuple[str, str]:
    """Split a server's name into namespace and name."""
    return _split(server)


def bound_server(*, namespace: str, reference: str | None) -> str | None:
    """Name the server that a reference means; a bare one means the namespace of the object that holds it."""
    return None if reference is None else _named_here(namespace=namespace, reference=reference)


def group_name(*, namespace: str, reference: str) -> str:
    """Name the resource group that a server of this namespace says it is in; a bare name means one of its own."""
    return _named_here(namespace=namespace, reference=reference)


def agent_name(*, namespace: str, name: str) -> str:
    """Name an agent or a crew, always with its namespace."""
    return f"{namespace}/{name}"


def split_agent_name(agent: str) -> tuple[str, str]:
    """Split an agent's or a crew's name into namespace and name; a bare name is one of the default namespace."""
    return _split(agent)


def _named_here(*, namespace: str, reference: str) -> str:
    if "/" in reference:
        namespace, reference = _split(reference)
    return server_name(namespace=namespace, name=reference)


def _split(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    return (namespace, name) if slash else (DEFAULT_NAMESPACE, text)
