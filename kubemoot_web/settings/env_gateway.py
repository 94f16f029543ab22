"""The part of the environment that is about clients' calls through the gateway."""

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode


class GatewayEnv(BaseSettings):
    """What may be set of the gateway."""

    gateway_max_body_bytes: int = Field(
        64 * 1024 * 1024,
        validation_alias="KUBEMOOT_GATEWAY_MAX_BODY_BYTES",
        description="largest body of a client's call, in bytes; pictures make bodies of tens of megabytes",
        examples=["67108864"],
        ge=1024,
        le=1024**3,
    )
    gateway_max_held_bytes: int = Field(
        512 * 1024 * 1024,
        validation_alias="KUBEMOOT_GATEWAY_MAX_HELD_BYTES",
        description="bytes that all bodies of calls which wait may take in a web process; it needs a few times as much",
        examples=["536870912"],
        ge=1024,
    )
    gateway_hold_s: float = Field(
        0.8,
        validation_alias="KUBEMOOT_GATEWAY_HOLD_SECONDS",
        description="seconds a call waits in silence before its client is kept patient; from then on its status is 200",
        examples=["0.8"],
        ge=0,
        le=600,
    )
    cross_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias="KUBEMOOT_CROSS_ORIGINS",
        description="origins whose pages may call the gateway from a browser, separated by commas; none by default",
        examples=["https://chat.example.com,http://localhost:3000"],
    )

    @field_validator("gateway_max_held_bytes", mode="after")
    @classmethod
    def _holds_the_largest(cls, value: int, info: ValidationInfo) -> int:
        """Refuse a bound under which the largest body could never come in."""
        largest = info.data.get("gateway_max_body_bytes", 0)
        if value < largest:
            raise ValueError(f"must be at least KUBEMOOT_GATEWAY_MAX_BODY_BYTES, which is {largest}")
        return value

    @field_validator("cross_origins", mode="after")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what no browser sends as an origin."""
        for origin in value:
            scheme, found, host = origin.partition("://")
            if not found or scheme not in ("http", "https") or not host or "/" in host or "*" in host:
                raise ValueError("write origins as a browser does, such as https://chat.example.com, without a path")
        return value
