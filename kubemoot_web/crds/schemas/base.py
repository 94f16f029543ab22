"""What every schema shares, and the metadata of every kind."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from kubemoot_web.crds.names import MOST_ANNOTATION_BYTES, LabelKey, LabelValue, Name, Namespace
from kubemoot_web.crds.scalars import Text


class Schema(BaseModel):
    """A part of a resource. Unknown fields are refused; a field set to null counts as not given."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=False, hide_input_in_errors=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value

    def wire(self) -> dict[str, Any]:
        """Give the fields as they are stored and shown: defaults filled in, unset ones left out."""
        wire: dict[str, Any] = _tidy(self.model_dump(mode="json", by_alias=True, exclude_none=True))
        return wire


def _tidy(value: Any) -> Any:
    """Write whole numbers whole: who wrote `weight: 2` does not want to read 2.0."""
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Metadata(Schema):
    """The metadata of an object. What only the cluster writes is read and dropped, so that an export can be applied."""

    name: Name
    namespace: Namespace | None = None
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: dict[LabelKey, Text] = Field(default_factory=dict)
    resource_version: Annotated[Text | None, Field(description="checked when given")] = None

    uid: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    finalizers: Any = None
    managed_fields: Any = None
    owner_references: Any = None
    self_link: Any = None

    @model_validator(mode="after")
    def _annotations_fit(self) -> Self:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in self.annotations.items())
        if size > MOST_ANNOTATION_BYTES:
            raise ValueError(f"has {size} bytes of annotations; Kubernetes takes {MOST_ANNOTATION_BYTES} at most")
        return self
