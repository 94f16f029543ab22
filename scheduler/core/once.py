"""A value worked out once for an object that never changes.

Like `functools.cached_property`, without the lock that it takes in Python 3.11: a decision asks for dozens of these.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """Make a method an attribute that is worked out when it is first asked for."""

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> "once[T]": ...

    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any]) -> "T | once[T]":
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._work_out(instance)
        return value


class lasting(once[T]):
    """Make an attribute that also stays in copies of the object, as far as their maker says so (`Server.with_work`)."""
