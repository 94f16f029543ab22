"""What is in a piece of HTML."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Collects elements: ids with their out-of-band attribute, which of them ask by htmx, attribute names, the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.swapped: list[str] = []
        self.asking: list[str] = []
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        named = dict(attrs)
        self.tags.add(tag)
        self.attributes.update(named)
        if "hx-get" in named or "hx-post" in named:
            self.asking.append(named.get("id") or "")
        if named.get("id"):
            self.ids.append(named["id"])
            if "hx-swap-oob" in named:
                self.swapped.append(named["id"])

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data
