"""LiteLLM's proxy in an environment of its own, made for the bench alone: the project never depends on it."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubemoot_web.management.benches.http_callers import MODEL

PACKAGE = "litellm[proxy]"
INSTALLS_WITHIN_S = 900.0
KEY = "sk-bench"
CONFIG = """\
model_list:
  - model_name: "{model}"
    litellm_params:
      model: "openai/{model}"
      api_base: "{engine}/v1"
      api_key: "none"
general_settings:
  master_key: "{key}"
litellm_settings:
  request_timeout: 60
  num_retries: 0
"""
ENVIRONMENT = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}


class NotThere(Exception):
    """Something that others made is not on this machine. The message says how it comes here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How the proxy is started."""

    command: Sequence[str]
    environment: dict[str, str]


def installed(*, folder: Path) -> Path:
    """Give the proxy's program, installing it first where it is not there yet.

    Raises:
        NotThere: it could not be installed.
    """
    program = folder / "bin" / "litellm"
    if program.exists():
        return program
    steps = (
        (sys.executable, "-m", "venv", str(folder)),
        (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", PACKAGE),
    )
    for step in steps:
        try:
            subprocess.run(step, check=True, capture_output=True, timeout=INSTALLS_WITHIN_S)  # noqa: S603 - our own words
        except (subprocess.SubprocessError, OSError) as error:
            raise NotThere(f"not installed: pip install '{PACKAGE}' failed ({type(error).__name__})") from None
    return program


def program(*, litellm: Path, engine: str, port: int, host: str, folder: Path) -> Program:
    """Describe a proxy with one model, which is the engine's."""
    config = folder / "litellm.yaml"
    config.write_text(CONFIG.format(model=MODEL, engine=engine, key=KEY), encoding="utf-8")
    return Program(
        command=(
            *(str(litellm), "--config", str(config), "--host", host, "--port", str(port)),
            *("--num_workers", "1"),
        ),
        environment=ENVIRONMENT,
    )
