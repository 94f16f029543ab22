"""Builders for documents and for what applying them takes."""

import pytest
from asgiref.sync import async_to_sync

from kubemoot_web.crds.bundle import Source, parse
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.importing import Imported, bundle_apply
from scheduler.core.resources import ResourcesChanged

NOW = 1_796_000_000.0
HEAD = "apiVersion: kubemoot.ai/v1alpha1\n"


def server(name="gpu-1", *, endpoint=None, spec="", kind="ModelServer"):
    endpoint = endpoint or f"http://{name}:11434"
    return f"{HEAD}kind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  type: ollama\n  endpoint: {endpoint}\n{spec}"


def model(name, identifier, *, latency=None, vram=None, server=None, labels=""):
    lines = [f"{HEAD}kind: Model\nmetadata:\n  name: {name}\n  labels:\n    family: qwen3\n{labels}"]
    if latency:
        lines.append(f"    latencyClass: {latency}\n")
    lines.append(f'spec:\n  model: "{identifier}"\n')
    if vram:
        lines.append(f"  vramMib: {vram}\n")
    if server:
        lines.append(f"  serverRef: {server}\n")
    return "".join(lines)


def crew(name, *, spec="{}"):
    return f"{HEAD}kind: Crew\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def agent(name, *, crew=None, spec="{}"):
    labels = f", labels: {{kubemoot.ai/crew: {crew}}}" if crew else ""
    return f"{HEAD}kind: Agent\nmetadata: {{name: {name}{labels}}}\nspec: {spec}\n"


def policy(name, *, crew, spec=""):
    fields = f"crewRef: {crew}, {spec}".removesuffix(", ")
    return f"{HEAD}kind: CrewSchedulingPolicy\nmetadata: {{name: {name}}}\nspec: {{{fields}}}\n"


def bundle(*documents):
    return "---\n".join(documents)


class Told:
    """Remembers what it was told; stands for whatever must happen after a commit."""

    def __init__(self):
        self.changes: list[ResourcesChanged] = []

    async def __call__(self, change):
        self.changes.append(change)


def apply(text, *, dry_run=False, node="n1", now=NOW, told=None) -> Imported:
    """Apply a text the way the faces do."""
    return async_to_sync(bundle_apply)(
        sources=[Source(file="fleet.yaml", text=text)],
        dry_run=dry_run,
        node=node,
        now=now,
        changed=told or Told(),
    )


def writes(text):
    return [document.write for document in parse([Source(file="a.yaml", text=text)])]


def refusals(text):
    with pytest.raises(ImportRefused) as refused:
        parse([Source(file="a.yaml", text=text)])
    return list(refused.value.problems)


def said(text):
    return [(problem.line, problem.field, problem.message) for problem in refusals(text)]


def spec_of(text):
    (write,) = writes(text)
    return write.spec


def refusal(text, **options):
    with pytest.raises(ImportRefused) as refused:
        apply(text, **options)
    return str(refused.value)
