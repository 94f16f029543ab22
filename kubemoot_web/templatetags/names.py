"""Names in templates: the part that matters stands out, the namespace is there for whoever looks for it."""

from typing import Protocol

from django.template import Library
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduler.core.messages import who

register = Library()


class Coloured(Protocol):
    """Something that wears one of the models' colours."""

    colour: int


@register.simple_tag
def agent(name: str) -> SafeString:
    """Write an agent's or a crew's name: bare in the default namespace, another one quietly before it."""
    namespace, slash, bare = who(name).partition("/")
    if not slash:
        return format_html('<span class="agent" title="{}">{}</span>', name, namespace)
    return format_html('<span class="agent" title="{}"><span class="ns">{}/</span>{}</span>', name, namespace, bare)


@register.simple_tag
def chip(mark: Coloured | None) -> SafeString:
    """Draw a model's colour. The name must stand beside it."""
    return format_html('<i class="chip c{}" aria-hidden="true"></i>', mark.colour) if mark else SafeString("")
