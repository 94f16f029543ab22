"""Typed settings from the environment.

House rules: every variable is declared here with what it means and an example; a wrong value stops the process with a
sentence that names the variable and says what to write; a secret may come from a file named by `<VARIABLE>_FILE`.
"""

import os
import platform
import secrets
from pathlib import Path
from typing import Annotated, Any

from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from kubemoot_web.settings.env_gateway import GatewayEnv

ROOT = Path(__file__).resolve().parent.parent.parent
FROM_FILE = ("KUBEMOOT_SECRET_KEY", "DATABASE_URL", "REDIS_URL")
REDIS_SCHEMES = ("redis://", "rediss://", "unix://")


class Env(GatewayEnv):
    """Everything an installation may set. Frozen: nobody changes a setting at run time."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", case_sensitive=True, env_ignore_empty=True)

    data: Path = Field(
        ROOT / "data",
        validation_alias="KUBEMOOT_DATA",
        description="folder for the database, the Valkey files and the secret key",
        examples=["/var/lib/kubemoot"],
    )
    engine_secrets: Path | None = Field(
        None,
        validation_alias="KUBEMOOT_SECRETS",
        description="folder with the keys of engines, a file for each: NAME/KEY as secretRef names them; empty means "
        "`secrets` in KUBEMOOT_DATA",
        examples=["/etc/kubemoot/secrets"],
    )
    database_url: str = Field(
        "",
        validation_alias="DATABASE_URL",
        description="database address; empty means SQLite in KUBEMOOT_DATA",
        examples=["postgres://kubemoot:password@db:5432/kubemoot"],
    )
    redis_url: str = Field(
        "",
        validation_alias="REDIS_URL",
        description="Redis or Valkey address; empty means the embedded server in KUBEMOOT_DATA",
        examples=["redis://redis:6379/0", "unix:///run/valkey.sock?db=0"],
    )
    secret_key: str = Field(
        "",
        validation_alias="KUBEMOOT_SECRET_KEY",
        description="key that signs sessions and login links, 32 characters or more; empty means one is made and kept",
        examples=["(the output of: openssl rand -base64 48)"],
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        ("localhost", "127.0.0.1", "[::1]"),
        validation_alias="KUBEMOOT_HOSTS",
        description="host names that browsers and clients use, separated by commas",
        examples=["moot.example.com,localhost"],
        min_length=1,
    )
    https: bool = Field(
        False,
        validation_alias="KUBEMOOT_HTTPS",
        description="whether people reach the pages over https only (cookies are then marked secure)",
        examples=["true"],
    )
    ledger: str = Field(
        "main",
        validation_alias="KUBEMOOT_LEDGER",
        description="name of this installation inside its Redis: lower-case letters, digits, dashes",
        examples=["main"],
        pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$",
    )
    node: str = Field(
        default_factory=platform.node,
        validation_alias="KUBEMOOT_NODE",
        description="name of the machine that this process runs on",
        examples=["node-1"],
    )
    log_level: str = Field(
        "INFO",
        validation_alias="KUBEMOOT_LOG_LEVEL",
        description="DEBUG, INFO, WARNING or ERROR",
        examples=["INFO"],
        pattern=r"^(DEBUG|INFO|WARNING|ERROR)$",
    )
    ticket_lease_s: float = Field(
        15,
        validation_alias="KUBEMOOT_TICKET_LEASE_SECONDS",
        description="seconds a ticket lives without being renewed",
        examples=["15"],
        ge=2,
        le=3600,
    )
    plan_lease_s: float = Field(
        180,
        validation_alias="KUBEMOOT_PLAN_LEASE_SECONDS",
        description="seconds a place is held for a selected agent that does not call",
        examples=["180"],
        ge=5,
        le=3600,
    )
    waiter_lease_s: float = Field(
        30,
        validation_alias="KUBEMOOT_WAITER_LEASE_SECONDS",
        description="seconds after which a wait that nobody asks for ends",
        examples=["30"],
        ge=5,
        le=3600,
    )
    wait_limit_s: float = Field(
        90,
        validation_alias="KUBEMOOT_WAIT_LIMIT_SECONDS",
        description="seconds a call waits for a GPU before it stands aside, where its agent sets no limit of its own",
        examples=["90"],
        ge=1,
        le=86400,
    )
    queue_per_agent: int = Field(
        2_000,
        validation_alias="KUBEMOOT_QUEUE_PER_AGENT",
        description="calls that may wait at once for one client key, or for one agent where calls come without a key",
        examples=["2000"],
        ge=1,
        le=10_000,
    )
    drain_after_s: float = Field(
        60,
        validation_alias="KUBEMOOT_DRAIN_AFTER_SECONDS",
        description="seconds of waiting after which a server is drained for the oldest waiter",
        examples=["60"],
        ge=1,
        le=3600,
    )
    probe_fast_s: float = Field(
        1,
        validation_alias="KUBEMOOT_PROBE_FAST_SECONDS",
        description="seconds between probes of a server where something waits or changes",
        examples=["1"],
        ge=0.2,
        le=60,
    )
    probe_slow_s: float = Field(
        10,
        validation_alias="KUBEMOOT_PROBE_SLOW_SECONDS",
        description="seconds between probes of a quiet server",
        examples=["10"],
        ge=1,
        le=600,
    )
    history_days: float = Field(
        90,
        validation_alias="KUBEMOOT_HISTORY_DAYS",
        description="days for which calls and what happened on servers are remembered; 0 means for ever",
        examples=["90"],
        ge=0,
        le=36_500,
    )
    max_body_bytes: int = Field(
        8 * 1024 * 1024,
        validation_alias="KUBEMOOT_MAX_BODY_BYTES",
        description="largest body the REST API reads, in bytes",
        examples=["8388608"],
        ge=1024,
        le=1024**3,
    )

    @field_validator("hosts", "cross_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split a comma-separated list."""
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("data", mode="after")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        """Make the data folder independent of the current directory."""
        return value.expanduser().resolve()

    @field_validator("redis_url", mode="after")
    @classmethod
    def _known_scheme(cls, value: str) -> str:
        """Refuse an address that none of the clients understands."""
        if value and not value.startswith(REDIS_SCHEMES):
            raise ValueError(f"must start with one of {', '.join(REDIS_SCHEMES)}")
        return value

    @property
    def secrets_folder(self) -> Path:
        """Give the folder with the keys of engines, whether or not it is there."""
        return self.data / "secrets" if self.engine_secrets is None else self.engine_secrets

    @field_validator("secret_key", mode="after")
    @classmethod
    def _long_enough(cls, value: str) -> str:
        """Refuse a secret that can be guessed."""
        if value and len(value) < 32:
            raise ValueError("is shorter than 32 characters")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's hook
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's hook
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's hook
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read secrets from the files that variables name, then the environment; nothing else."""
        return (SecretFiles(settings_cls), env_settings)


class SecretFiles(PydanticBaseSettingsSource):
    """Reads the secrets that `<VARIABLE>_FILE` points to."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - pydantic's hook
        """Read one secret, or None where no file is named."""
        name = str(field.validation_alias)
        path = os.environ.get(f"{name}_FILE") if name in FROM_FILE else None
        if not path:
            return None, name, False
        if os.environ.get(name):
            raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: keep one of them.")
        try:
            return Path(path).read_text().strip(), name, False
        except OSError as error:
            raise ImproperlyConfigured(
                f"{name}_FILE names {path}, which cannot be read ({error.strerror}): write the path of a readable file."
            ) from None

    def __call__(self) -> dict[str, Any]:
        """Read every secret that lies in a file."""
        found = (self.get_field_value(field, name) for name, field in self.settings_cls.model_fields.items())
        return {name: value for value, name, _ in found if value is not None}


def load() -> Env:
    """Read and check the environment.

    Raises: ImproperlyConfigured, with one line per variable that is wrong.
    """
    try:
        return Env()
    except ValidationError as error:
        raise ImproperlyConfigured("\n".join(_sentence(problem) for problem in error.errors())) from None


def variables() -> tuple[str, ...]:
    """List the names of all variables."""
    return tuple(str(field.validation_alias) for field in Env.model_fields.values())


def secret_key(env: Env) -> str:
    """Return the secret key, making and keeping one (readable by its owner alone) when none is given."""
    if env.secret_key:
        return env.secret_key
    path = env.data / "secret-key"
    env.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _stored_secret(path)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(48))
    return _stored_secret(path)


def _stored_secret(path: Path) -> str:
    """Read the kept secret key, refusing one that others may read or that is cut short."""
    value = path.read_text().strip()
    if path.stat().st_mode & 0o077:
        raise ImproperlyConfigured(f"{path} may be read by others: run `chmod 600 {path}`.")
    if len(value) < 32:
        raise ImproperlyConfigured(f"{path} holds no usable secret key: delete it, and a new one is made.")
    return value


def _sentence(problem: Any) -> str:
    """Say which variable is wrong, why, and what to write instead, without ever printing a secret."""
    name = str(problem["loc"][0])
    field = next(f for f in Env.model_fields.values() if f.validation_alias == name)
    shown = "its value" if name in FROM_FILE else repr(problem["input"])
    example = (field.examples or [""])[0]
    reason = problem["msg"].removeprefix("Value error, ")
    return f"{name}: {shown} is not right ({reason}). Meaning: {field.description}. Write for example {name}={example}"
