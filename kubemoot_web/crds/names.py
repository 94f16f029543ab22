"""The rules of Kubernetes for names, labels and annotations, and those for our references."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from kubemoot_web.crds.scalars import shown, to_reference, to_text

LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
LONGEST_LABEL = 63
LONGEST_NAME = 253
MOST_ANNOTATION_BYTES = 256 * 1024

LABEL_RULE = "at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
NAME_RULE = "lower-case letters, digits and '-' (and '.' between parts), a letter or digit first and last"


def check_object_name(name: str) -> str:
    """Check a metadata.name (a DNS-1123 subdomain)."""
    if len(name) > LONGEST_NAME or not DNS_NAME.fullmatch(name):
        raise ValueError(f"must be at most {LONGEST_NAME} characters of {NAME_RULE}, not {shown(name)}")
    return name


def object_name(text: str) -> str:
    """Make a metadata.name of any text, such as a model's identifier."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_LABEL].rstrip("-") or "model"


def check_namespace(name: str) -> str:
    """Check a metadata.namespace (a DNS-1123 label)."""
    if len(name) > LONGEST_LABEL or not DNS_LABEL.fullmatch(name):
        raise ValueError(
            f"must be at most {LONGEST_LABEL} lower-case letters, digits and '-', a letter or digit first and last, "
            f"not {shown(name)}"
        )
    return name


def check_label_key(key: str) -> str:
    """Check a label's or annotation's key: a name, with one DNS prefix before a slash if any."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > LONGEST_NAME or not DNS_NAME.fullmatch(prefix)):
        raise ValueError(f"has a key whose part before the slash must be {NAME_RULE}, not {shown(prefix)}")
    if len(name) > LONGEST_LABEL or not LABEL_NAME.fullmatch(name):
        raise ValueError(f"has a key that must be {LABEL_RULE}, with one prefix and slash if any, not {shown(key)}")
    return key


def check_label_value(value: str) -> str:
    """Check a label's value."""
    if len(value) > LONGEST_LABEL or not LABEL_VALUE.fullmatch(value):
        raise ValueError(f"must be {LABEL_RULE}, or empty, not {shown(value)}")
    return value


def check_capability(name: str) -> str:
    """Check a capability's name: it becomes the label `capability/<name>`."""
    if len(name) > LONGEST_LABEL or not LABEL_NAME.fullmatch(name):
        raise ValueError(f"must be a capability's name ({LABEL_RULE}), not {shown(name)}")
    return name


def check_env_name(name: str) -> str:
    """Check the name of an environment variable."""
    if not ENV_NAME.fullmatch(name):
        raise ValueError(f"must be letters, digits, '-', '_' and '.', no digit first, not {shown(name)}")
    return name


def check_reference(reference: str) -> str:
    """Check a reference: `name`, or `namespace/name`."""
    namespace, slash, name = reference.rpartition("/")
    if slash:
        check_namespace(namespace)
    return f"{namespace}{slash}{check_object_name(name)}"


Name = Annotated[str, BeforeValidator(to_text), AfterValidator(check_object_name)]
Namespace = Annotated[str, BeforeValidator(to_text), AfterValidator(check_namespace)]
LabelKey = Annotated[str, AfterValidator(check_label_key)]
LabelValue = Annotated[str, BeforeValidator(to_text), AfterValidator(check_label_value)]
Capability = Annotated[str, BeforeValidator(to_text), AfterValidator(check_capability)]
EnvName = Annotated[str, BeforeValidator(to_text), AfterValidator(check_env_name)]
Reference = Annotated[str, BeforeValidator(to_reference), AfterValidator(check_reference)]
