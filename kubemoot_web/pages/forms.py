"""Forms of the first steps. They only read what was typed; what is right is said by the schemas of the kinds.

House rules: a form knows which fields of the resource its own fields fill, so that what a schema refuses stands beside
them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms

from kubemoot_web.crds.errors import ImportProblem
from kubemoot_web.crds.kinds import API_VERSION
from providers.core.types import TITLES, EngineKind

KIND_CHOICES = tuple((kind.value, title) for kind, title in TITLES.items())
LATENCY_CHOICES = (
    ("", "not said"),
    ("low", "low: small and quick"),
    ("medium", "medium"),
    ("high", "high: large, slow"),
)


class ResourceForm(forms.Form):
    """What forms that fill one resource share. `paths` maps fields of the resource to fields of the form."""

    required_css_class = "required"
    paths: ClassVar[Mapping[str, str]] = {}

    def blame(self, problems: Iterable[ImportProblem]) -> None:
        """Put what was refused beside the field that it speaks of."""
        for problem in problems:
            name = self.paths.get(problem.field)
            self.add_error(name, f"This {problem.message}.")


class ServerForm(ResourceForm):
    """A model server."""

    paths: ClassVar[Mapping[str, str]] = {
        "metadata.name": "name",
        "spec.type": "kind",
        "spec.endpoint": "endpoint",
        "spec.scheduling.memoryMiB": "memory",
        "spec.scheduling.maxParallel": "slots",
    }
    kind = forms.ChoiceField(label="Engine", choices=KIND_CHOICES, initial="ollama")
    endpoint = forms.CharField(
        label="Address",
        max_length=2048,
        help_text="As this machine reaches it, such as http://gpu-1:11434.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}),
    )
    name = forms.CharField(
        label="Name", max_length=253, help_text="What people will call it: gpu-1, desk, rack-2-left."
    )
    memory = forms.CharField(
        label="Memory of its GPUs, in MiB",
        required=False,
        help_text="24 GiB are 24576; nvidia-smi prints it as memory.total. "
        "Ollama, and llama.cpp in its router mode, load models within it.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    slots = forms.CharField(
        label="Calls at once per model",
        required=False,
        initial="1",
        help_text="OLLAMA_NUM_PARALLEL, or llama.cpp's --parallel; of vLLM as many as are quick enough for you. "
        "1 when you are not sure.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    anyway = forms.BooleanField(
        label="Register it although it does not answer now", required=False, widget=forms.CheckboxInput
    )

    def clean(self) -> dict[str, Any]:
        """Ask for the memory of an engine that surely loads models."""
        if self.cleaned_data.get("kind") == EngineKind.OLLAMA:
            self.need_memory()
        return self.cleaned_data

    def need_memory(self) -> bool:
        """Ask for the memory where it is not said: without it nothing would ever be loaded there. Say whether it is."""
        if self.cleaned_data.get("memory"):
            return False
        self.add_error("memory", "Say how much memory its GPUs have: nothing is loaded there without it.")
        return True

    def document(self) -> dict[str, Any]:
        """Write the ModelServer."""
        scheduling = {
            "memoryMiB": number(self.cleaned_data["memory"]),
            "maxParallel": number(self.cleaned_data["slots"]),
        }
        return {
            "apiVersion": API_VERSION,
            "kind": "ModelServer",
            "metadata": {"name": self.cleaned_data["name"]},
            "spec": {
                "type": self.cleaned_data["kind"],
                "endpoint": self.cleaned_data["endpoint"],
                "scheduling": {key: value for key, value in scheduling.items() if value is not None},
            },
        }


class ModelForm(ResourceForm):
    """A model of a server, with the labels that policies select by."""

    paths: ClassVar[Mapping[str, str]] = {
        "metadata.name": "wanted",
        "spec.model": "wanted",
        "spec.vramMib": "memory",
        "metadata.labels.family": "family",
        "metadata.labels.params": "params",
        "metadata.labels": "capabilities",
    }
    model = forms.CharField(widget=forms.HiddenInput, max_length=512)
    name = forms.CharField(widget=forms.HiddenInput, max_length=253)
    wanted = forms.BooleanField(label="Use it", required=False, initial=True)
    latency = forms.ChoiceField(label="latencyClass", choices=LATENCY_CHOICES, required=False)
    family = forms.CharField(label="family", required=False, max_length=63)
    params = forms.CharField(label="params", required=False, max_length=63)
    capabilities = forms.CharField(
        label="Capabilities", required=False, max_length=300, help_text="Words, with commas between them."
    )
    memory = forms.CharField(
        label="Memory when loaded, in MiB",
        required=False,
        help_text="Its size on disk and a fifth more, until it was seen loaded. "
        "Needed where the engine does not tell sizes.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    def document(self) -> dict[str, Any]:
        """Write the Model."""
        said = self.cleaned_data
        labels = {"latencyClass": said["latency"], "family": said["family"], "params": said["params"]}
        capabilities = [word.strip() for word in said["capabilities"].split(",") if word.strip()]
        memory = number(said["memory"])
        return {
            "apiVersion": API_VERSION,
            "kind": "Model",
            "metadata": {
                "name": said["name"],
                "labels": {key: value for key, value in labels.items() if value}
                | {f"capability/{word}": "true" for word in capabilities},
            },
            "spec": {"model": said["model"], **({} if memory is None else {"vramMib": memory})},
        }


def number(text: str) -> int | str | None:
    """Read a number; what is none is left to the schema, which says what to write."""
    text = text.strip()
    if not text:
        return None
    return int(text) if text.isdecimal() else text
