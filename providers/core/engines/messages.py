"""Sentences about engines that people read: which call, what happened, what to look at. Never a reply's body."""

from providers.core.engines.base import HttpCall, Trouble

TROUBLES = {
    Trouble.REFUSED: "nothing accepts connections there. Is the engine running, and is the endpoint right?",
    Trouble.UNKNOWN_HOST: "the host name of the endpoint is not known here. Check its spelling.",
    Trouble.UNREACHED: "no connection came about in time. The machine is down, or a firewall drops what is sent to it.",
    Trouble.TIMED_OUT: "no answer in {timeout_s:g} s. The engine accepts connections, but hangs.",
    Trouble.BROKEN: "the connection broke before the answer was whole. The engine may just be restarting.",
    Trouble.TOO_LARGE: "the answer is far too large. Is the endpoint really an engine?",
    Trouble.NO_KEY: "the key {secret}, which secretRef names, is not there. Put it into the file of that name in the "
    "folder KUBEMOOT_SECRETS.",
    Trouble.BAD_ADDRESS: "the endpoint is not an address that can be asked. Write it like http://host:11434.",
}


def trouble(*, call: HttpCall, kind: Trouble, secret: str | None = None) -> str:
    """Say why a call got no reply; `secret` names the key that it should have carried."""
    return f"{_name(call)}: {TROUBLES[kind].format(timeout_s=call.timeout_s, secret=secret)}"


def wrong_status(*, call: HttpCall, status: int, expected: str) -> str:
    """Say that a call was answered with a status that does not belong there."""
    if 300 <= status < 400:
        return f"{_name(call)} was redirected (HTTP {status}), which is not followed. Give the engine's own address."
    return f"{_name(call)} answered HTTP {status} where {expected} was expected."


def nonsense(*, call: HttpCall, found: str, expected: str, engine: str) -> str:
    """Say that the reply to a call is not what this engine says."""
    return f"{_name(call)} answered {found} where {expected} was expected. Is the endpoint really {engine}?"


def key_wanted(*, call: HttpCall, status: int, secret: str | None) -> str:
    """Say that an engine answers only who has a key, and what to do; `secret` names the one that it did not take."""
    if secret is not None:
        return f"{_name(call)} did not take the key {secret} (HTTP {status}). Is it the engine's own?"
    return f"{_name(call)} wants a key (HTTP {status}): put it into a Secret, and name that in the server's secretRef."


def still_starting(*, call: HttpCall) -> str:
    """Say that an engine has not loaded the model yet that it was started with."""
    return f"{_name(call)}: the engine is still loading its model (HTTP 503)."


def not_well(*, call: HttpCall) -> str:
    """Say that an engine is not ready to serve what it lists."""
    return f"{_name(call)} answered HTTP 503: the engine is still starting, or what runs its model has died."


def asleep() -> str:
    """Say that an engine has put its model out of the GPU."""
    return "The engine is asleep: its model is not in the GPU. Nothing is placed here until POST /wake_up wakes it."


def no_such_model(*, call: HttpCall, model: str) -> str:
    """Say that the engine does not have a model."""
    return f"{_name(call)}: the engine does not have {model} on its disk. Pull it there first."


def engine_busy(*, call: HttpCall) -> str:
    """Say that the engine's own queue is full."""
    return f"{_name(call)}: the engine's own queue is full (HTTP 503). It is busy, not broken."


def step_status(*, call: HttpCall, model: str, status: int) -> str:
    """Say that the engine could not load or unload a model."""
    return f"{_name(call)} for {model} answered HTTP {status}. The engine's own log says why."


def evicts_by_itself(*, most: int, models: int) -> str:
    """Say that a router decides by itself which models stay in memory."""
    return (
        f"This router keeps at most {most} of its {models} models in memory, and puts others out by itself. "
        "Start it with --models-max 0: Kubemoot sees to the memory."
    )


def loads_nothing(*, model: str) -> str:
    """Say that an engine only serves what it was started with."""
    return f"This engine loads nothing when told to: start it with {model}."


def load_given_up(*, model: str) -> str:
    """Say that an engine began to load a model and stopped."""
    return f"The engine began to load {model} and gave up. Its own log says why."


def still_resident(*, model: str, waited_s: float) -> str:
    """Say that an unloaded model does not go away."""
    return (
        f"{model} is still in memory {waited_s:g} s after the engine was told to unload it. "
        "A call that Kubemoot does not know of may be holding it."
    )


def not_listed_after_load(*, model: str, waited_s: float) -> str:
    """Say that a model is not there although its load was reported done."""
    return (
        f"The engine said that {model} was loaded, but did not list it within {waited_s:g} s. Did somebody unload it?"
    )


def loads_do_not_finish(*, model: str, waited_s: float) -> str:
    """Say that an engine answers probes while its loads hang."""
    return (
        f"Loads do not finish, though probes are answered: {model} was not loaded after {waited_s:g} s. "
        "A restart of the engine may help."
    )


def _name(call: HttpCall) -> str:
    return f"{call.method} {call.path}"
