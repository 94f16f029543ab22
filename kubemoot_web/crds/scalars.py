"""Single values as people write them, turned into what we store.

House rules: a number in quotes is a number, a number where text belongs is its text, and what YAML's versions read
differently (`on`, `1e3`, `0123`, a date) is never guessed: the writer is asked to quote it.
Every message completes "field: ...".
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,30})?")
LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A scalar without quotes that YAML's versions read differently."""

    text: str

    def message(self) -> str:
        """Say what to write instead."""
        return f'{self.text} without quotes means different things to different readers: quote it, "{self.text}"'


def shown(value: object) -> str:
    """Write a wrong value for a message, cut short."""
    if isinstance(value, Ambiguous):
        return value.text
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def to_text(value: Any) -> str:
    """Read text; whole numbers and booleans become what was written."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            raise ValueError(f"must be text: put the number {value} in quotes")
        case Ambiguous():
            raise ValueError(value.message())
        case None:
            raise ValueError('has no value: write text, or "" for an empty one')
        case _:
            raise ValueError(f"must be text, not {_shape(value)}")


def to_whole(value: Any) -> int:
    """Read a whole number, in quotes or not."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, str) and WHOLE.fullmatch(value.strip()):
        return int(value)
    raise ValueError(f"must be a whole number, not {_shape(value)}")


def to_number(value: Any) -> float:
    """Read a number, in quotes or not; whole ones stay whole."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be a number, not {value}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and DECIMAL.fullmatch(value.strip()):
        number = float(value)
        return int(number) if number.is_integer() else number
    raise ValueError(f"must be a number such as 1 or 0.5, not {_shape(value)}")


def to_flag(value: Any) -> bool:
    """Read true or false, in quotes or not."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError(f"must be true or false, not {_shape(value)}")


def to_decimal_text(value: Any) -> str | None:
    """Read a decimal and give the text we keep: `0.70` is `0.7`, `1` is `1.0`. Empty means unset."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        value = format(Decimal(str(value)), "f")
    if isinstance(value, str) and "," in value:
        raise ValueError(f"must be a number with a decimal point, not {shown(value)}")
    if not isinstance(value, str) or not DECIMAL.fullmatch(value.strip()):
        raise ValueError(f'must be a number such as "0.7", not {_shape(value)}')
    whole, _, fraction = value.strip().partition(".")
    return f"{int(whole)}.{fraction.rstrip('0') or '0'}"


def within(lowest: str, highest: str) -> AfterValidator:
    """Make the check that a decimal lies between two bounds, both included."""

    def check(value: str | None) -> str | None:
        if value is not None and not Decimal(lowest) <= Decimal(value) <= Decimal(highest):
            raise ValueError(f'must lie between "{lowest}" and "{highest}", not {shown(value)}')
        return value

    return AfterValidator(check)


def to_plain(value: Any) -> Any:
    """Read a free structure, refusing what YAML's versions read differently anywhere inside."""
    if isinstance(value, Ambiguous):
        raise ValueError(value.message())
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value


def to_reference(value: Any) -> str:
    """Read a reference: a name, `namespace/name`, or an object with `name` and perhaps `namespace`."""
    if not isinstance(value, dict):
        return to_text(value)
    unknown = sorted(set(value) - {"name", "namespace"})
    if unknown or "name" not in value:
        raise ValueError("must be a name, or an object with name and, for another namespace, namespace")
    namespace = value.get("namespace")
    name = to_text(value["name"])
    return f"{to_text(namespace)}/{name}" if namespace else name


def _shape(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return shown(value)


def at_most(limit: int) -> AfterValidator:
    """Make the check that text is not longer than a limit."""

    def check(value: str) -> str:
        if len(value) > limit:
            raise ValueError(f"must have at most {limit} characters, not {len(value)}")
        return value

    return AfterValidator(check)


Text = Annotated[str, BeforeValidator(to_text)]
Flag = Annotated[bool, BeforeValidator(to_flag)]
Whole = Annotated[int, BeforeValidator(to_whole)]
# The bounds stand inside the reader, so that the manifests made from these types show them.
Natural = Annotated[int, Field(ge=0, le=2**53), BeforeValidator(to_whole)]
Positive = Annotated[int, Field(ge=1, le=2**53), BeforeValidator(to_whole)]
PositiveNumber = Annotated[float, Field(gt=0, le=1e9), BeforeValidator(to_number)]
QualityText = Annotated[str | None, BeforeValidator(to_decimal_text), within("0.0", "1.0")]
TemperatureText = Annotated[str | None, BeforeValidator(to_decimal_text), within("0.0", "2.0")]
