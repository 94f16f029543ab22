"""One whole installation for the folder: every process of `manage.py up`, and two engines that it does not own."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browser import state_of_link
from tests.fakes.engine_server import empty, engine_process
from tests.fakes.running import Rest, Running, make_token, running

LEASE_S = 6
WEB, WORKER, VALKEY = "uvicorn", "celery", "valkey-server"
SPEED = "20"
BODY_LIMIT = 4 * 1024 * 1024

RESOURCES = """
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: gpu-1}
spec: {type: ollama, endpoint: "%(gpu_1)s", scheduling: {memoryMiB: 32768, maxParallel: 1}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: gpu-2}
spec: {type: ollama, endpoint: "%(gpu_2)s", scheduling: {memoryMiB: 24576, maxParallel: 1}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: small, labels: {latencyClass: low}}
spec: {model: "qwen3:8b", vramMib: 6144}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: middle, labels: {latencyClass: medium}}
spec: {model: "qwen3:14b", vramMib: 10240}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: large, labels: {latencyClass: high}}
spec: {model: "qwen3:32b", vramMib: 20480}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Crew
metadata: {name: lab}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Crew
metadata: {name: studio}
---
apiVersion: kubemoot.ai/v1alpha1
kind: CrewSchedulingPolicy
metadata: {name: lab}
spec: {crewRef: lab, qualityBias: {default: "0.7", research: "0.9"}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: CrewSchedulingPolicy
metadata: {name: studio}
spec:
  crewRef: studio
  rules:
    - phase: mulling
      require: {matchLabels: {latencyClass: medium}}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Agent
metadata: {name: analyst, labels: {kubemoot.ai/crew: lab}}
spec: {capabilities: [analysis]}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Agent
metadata: {name: researcher, labels: {kubemoot.ai/crew: lab}}
spec: {capabilities: [research]}
---
apiVersion: kubemoot.ai/v1alpha1
kind: Agent
metadata: {name: rules-keeper, labels: {kubemoot.ai/crew: studio}}
spec: {capabilities: [rules]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The installation, its REST API with every scope, and the addresses of the engines by server name."""

    data: Path
    up: Running
    rest: Rest
    engines: dict[str, str]

    def signal(self, number: signal.Signals, *programs: str) -> None:
        """Send a signal to programs of the installation, each named by a word of its command line."""
        children = self.up.children()
        for word in programs:
            (pid,) = [pid for pid, command in children.items() if word in command]
            os.kill(pid, number)

    def register(self) -> None:
        """Register both servers anew and empty, so that nothing is known of them but what is written above."""
        for name in self.engines:
            self.rest.call("DELETE", f"/resources/modelservers/default/{name}")
        self.rest.until(lambda picture: not picture["servers"])
        for url in self.engines.values():
            empty(url)
        places = {"gpu_1": self.engines["gpu-1"], "gpu_2": self.engines["gpu-2"]}
        status, body = self.rest.call("POST", "/apply", RESOURCES % places)
        assert status == 200, body
        self.rest.until(lambda picture: [s["ready"] for s in picture["servers"]] == [True, True])


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start everything once; each test leaves the line and the tickets empty."""
    data = tmp_path_factory.mktemp("installation")
    with (
        engine_process("--port", "0", "--memory-mib", "32768", "--speed", SPEED) as (_, (gpu_1,)),
        engine_process("--port", "0", "--memory-mib", "24576", "--speed", SPEED) as (_, (gpu_2,)),
        running(
            data=data,
            KUBEMOOT_TICKET_LEASE_SECONDS=str(LEASE_S),
            KUBEMOOT_PROBE_SLOW_SECONDS="2",
            KUBEMOOT_GATEWAY_MAX_BODY_BYTES=str(BODY_LIMIT),
        ) as up,
    ):
        rest = Rest(address=up.address(), token=make_token(data=data))
        yield Stack(data=data, up=up, rest=rest, engines={"gpu-1": gpu_1, "gpu-2": gpu_2})


@pytest.fixture(scope="package")
def signed_in_state(stack: Stack) -> dict[str, Any]:
    """Sign in by the one-time link that `up` prints; give what a browser context needs to be that person."""
    return state_of_link(stack.up.wait_for(r"Sign in once with (\S+)"))
