"""`manage.py apply` and `manage.py crds`."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
import yaml
from django.core.management import call_command
from django.core.management.base import CommandError

from kubemoot_web.crds.definitions import definitions
from kubemoot_web.crds.kinds import KINDS
from scheduler.models import Crew
from tests.crds.documents import bundle, crew, server


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("apply", *arguments, stdout=out, stderr=err)
    except CommandError as error:
        return out.getvalue(), err.getvalue(), str(error)
    return out.getvalue(), err.getvalue(), None


@pytest.fixture
def file(tmp_path):
    def write(text, name="fleet.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("valkey_url")
class TestApply:
    def test_files_are_applied_together_and_each_object_is_named(self, file):
        run("-f", file(crew("lab")))

        heavier, gpu, other = (
            file(text, name)
            for text, name in (
                (crew("lab", spec="{weight: 2}"), "a.yaml"),
                (server("gpu-1"), "b.yaml"),
                (crew("x"), "c.yaml"),
            )
        )

        out, err, failed = run("-f", heavier, gpu, "-f", other)

        assert (err, failed) == ("", None)
        assert out.splitlines() == [
            "Crew default/lab configured",
            "  spec.weight: 1 -> 2",
            "ModelServer default/gpu-1 created",
            "Crew default/x created",
        ]

    def test_a_dry_run_says_what_would_be_and_changes_nothing(self, file):
        out, _, _ = run("-f", file(crew("lab")), "--dry-run")

        assert out == "Crew default/lab created (dry run)\n"
        assert not Crew.objects.exists()

    def test_every_error_is_a_line_with_file_line_document_and_field_and_nothing_changes(self, file):
        good, bad = (
            file(crew("lab"), "good.yaml"),
            file(bundle(crew("a"), crew("B"), crew("c", spec="{x: 1}")), "bad.yaml"),
        )

        out, err, failed = run("-f", good, bad)

        assert out == ""
        first, second = err.splitlines()
        assert first.startswith(f"{bad}:8: document 2, metadata.name: must be at most 253 characters")
        assert second.startswith(f"{bad}:14: document 3, spec.x: is no field of Crew v1alpha1; known here: description")
        assert failed == "2 problems; nothing was changed."
        assert not Crew.objects.exists()

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path):
        _, _, failed = run("-f", str(tmp_path / "none.yaml"))

        assert failed == f"{tmp_path / 'none.yaml'} cannot be read: No such file or directory. Nothing was changed."

    def test_a_dash_reads_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(crew("lab").encode())))

        assert run("-f", "-")[0] == "Crew default/lab created\n"

    def test_a_file_with_a_byte_order_mark_is_read_and_one_in_another_encoding_is_refused(self, tmp_path):
        marked, latin = tmp_path / "marked.yaml", tmp_path / "latin.yaml"
        marked.write_bytes(crew("lab").encode("utf-8-sig"))
        latin.write_bytes(f"# first\n# größe\n{crew('lab')}".encode("latin-1"))

        assert run("-f", str(marked))[0] == "Crew default/lab created\n"
        assert run("-f", str(latin))[1] == f"{latin}:2: is not UTF-8: save the file as UTF-8\n"


def test_crds_prints_a_definition_of_every_kind():
    out = io.StringIO()

    call_command("crds", stdout=out)

    printed = list(yaml.safe_load_all(out.getvalue()))
    assert printed == json.loads(json.dumps(definitions()))
    assert [one["spec"]["names"]["kind"] for one in printed] == [kind.name for kind in KINDS]
    assert [one["spec"]["scope"] for one in printed] == ["Namespaced"] * 6 + ["Cluster"]


def walk(schema):
    yield schema
    for inner in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from walk(inner)


@pytest.mark.parametrize("definition", definitions(), ids=lambda one: one["metadata"]["name"])
def test_a_definition_is_structural(definition):
    """A cluster refuses a CRD with references, unions or fields without a type."""
    (version,) = definition["spec"]["versions"]

    for schema in walk(version["schema"]["openAPIV3Schema"]):
        assert not schema.keys() & {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "const"}
        assert "type" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
        assert not (schema.get("properties") and schema.get("additionalProperties"))
        assert schema.get("type") != "array" or "items" in schema


def test_a_definition_carries_enums_bounds_and_defaults():
    spec = definitions()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert spec["required"] == ["type", "endpoint"]
    assert spec["properties"]["type"]["enum"] == ["ollama", "vllm", "llamacpp", "openai"]
    assert spec["properties"]["scheduling"]["properties"]["memoryMiB"] == {
        "type": "integer",
        "description": "accelerator memory in MiB",
        "minimum": 1,
        "maximum": 2**53,
    }
    assert spec["properties"]["scheduling"]["properties"]["weight"] == {
        "type": "number",
        "default": 100,
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 1e9,
    }
