"""ModelServer and Model."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kubemoot_web.crds.names import Name, Reference
from kubemoot_web.crds.scalars import Flag, Natural, Positive, PositiveNumber, Text, at_most, shown, to_text
from kubemoot_web.crds.schemas.base import Schema
from providers.core.endpoint_safety import check_endpoint

LONGEST_URL = 2048
LONGEST_MODEL = 512
SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def check_address(url: str) -> str:
    """Check an address that we will contact; EndpointRefused is a ValueError and never repeats it."""
    check_endpoint(url)
    return url


def check_secret_key(key: str) -> str:
    """Check the key of an entry in a Secret."""
    if not SECRET_KEY.fullmatch(key):
        raise ValueError("must be the key of an entry in the Secret: letters, digits, '-', '_' and '.'")
    return key


def check_model(model: str) -> str:
    """Check a model identifier as an engine spells it."""
    if not model or any(character.isspace() or not character.isprintable() for character in model):
        raise ValueError(f"must be the model's identifier at its engine, such as qwen3:14b, not {shown(model)}")
    return model


Address = Annotated[
    str, BeforeValidator(to_text), AfterValidator(str.strip), at_most(LONGEST_URL), AfterValidator(check_address)
]
ModelName = Annotated[
    str, BeforeValidator(to_text), AfterValidator(str.strip), at_most(LONGEST_MODEL), AfterValidator(check_model)
]


class SecretRef(Schema):
    """An entry of a Secret that holds the key of an endpoint."""

    name: Name
    key: Annotated[Text, AfterValidator(check_secret_key)] = "token"


class ResourceGroup(Schema):
    """Servers that share something, such as one memory bus, and how many calls they take at once together."""

    name: Annotated[Reference, Field(description="the same on each of its servers; namespace/name for another's")]
    max_concurrent: Annotated[Positive, Field(description="calls at once on all of them; the same on each")]


class Scheduling(Schema):
    """What an operator says about a server's memory and places."""

    memory_mib: Annotated[Positive | None, Field(alias="memoryMiB", description="accelerator memory in MiB")] = None
    reserve_mib: Annotated[Natural | None, Field(alias="reserveMiB", description="MiB that no model may take")] = None
    weight: PositiveNumber = 100
    max_parallel: Annotated[Positive | None, Field(description="slots of each loaded copy")] = None
    context_length: Annotated[Positive | None, Field(description="tokens a call may have here")] = None
    max_concurrent: Annotated[Positive | None, Field(description="calls at once on the whole server")] = None
    interactive_reserve: Annotated[
        Natural, Field(description="of maxConcurrent, places background calls never take")
    ] = 0
    resource_group: Annotated[
        ResourceGroup | None, Field(description="servers that take so many calls at once together")
    ] = None
    call_timeout_seconds: Annotated[
        PositiveNumber, Field(description="how long an engine may be silent while a call waits for it")
    ] = 600
    aborts_on_disconnect: Annotated[
        Flag,
        Field(
            description="whether the engine ends its work when a client of the gateway leaves; if not, the call's "
            "place is kept until the engine ends, callTimeoutSeconds at the most"
        ),
    ] = True
    quarantine_on_ambiguous: Annotated[
        Flag,
        Field(
            description="whether the server is taken out when nobody knows if its engine still works on a call, until "
            "a probe finds it idle"
        ),
    ] = False
    fail_mode: Annotated[
        Literal["closed", "local"],
        Field(description="without the ledger: closed places no calls, local goes on by each web process's own count"),
    ] = "closed"

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        if self.memory_mib is not None and self.reserve_mib is not None and self.reserve_mib >= self.memory_mib:
            raise ValueError(
                f"has a reserveMiB of {self.reserve_mib}, which leaves nothing of memoryMiB {self.memory_mib}"
            )
        if self.max_concurrent is not None and self.interactive_reserve > self.max_concurrent:
            raise ValueError(
                f"has an interactiveReserve of {self.interactive_reserve}, which is more than maxConcurrent "
                f"{self.max_concurrent}"
            )
        return self


class Telemetry(Schema):
    """A metrics exporter on the server."""

    url: Address


class ModelServerSpec(Schema):
    """A server that runs models."""

    type: Literal["ollama", "vllm", "llamacpp", "openai"]
    endpoint: Annotated[Address, Field(description="base address, such as http://gpu-1:11434")]
    secret_ref: SecretRef | None = None
    scheduling: Scheduling = Scheduling()
    telemetry: Telemetry | None = None


class ModelSpec(Schema):
    """A model that agents may use; its labels are what policies select by."""

    model: Annotated[ModelName, Field(description="identifier at the engine, such as qwen3:14b")]
    server_ref: Annotated[
        Reference | None, Field(description="ModelServer it is bound to; without one, any that has it")
    ] = None
    vram_mib: Annotated[Positive | None, Field(alias="vramMib", description="memory it takes when loaded, in MiB")] = (
        None
    )
    context_length: Positive | None = None
    quantization: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _older_spelling(cls, value: object) -> object:
        if not isinstance(value, dict) or value.get("providerRef") is None:
            return value
        if value.get("serverRef") is not None:
            raise ValueError("names both serverRef and providerRef, which are the same field: keep serverRef")
        rest = {key: item for key, item in value.items() if key != "providerRef"}
        return {**rest, "serverRef": value["providerRef"]}
