"""Sentences about what somebody looks for and is not there."""


def no_server(*, name: str) -> str:
    """Say that there is no such server."""
    return f"No server is registered as {name}. It was removed, or its name is another one."


def no_model(*, name: str) -> str:
    """Say that nobody knows of a model."""
    return f"No model is known as {name}: none is registered by that name, and no server has it."


def no_call(*, id: str) -> str:
    """Say that a call is not known."""
    return f"No call {id} is known. What happened is remembered for some time only."
