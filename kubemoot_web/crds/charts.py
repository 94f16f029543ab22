"""Tells a chart's template from a document: a template must be rendered before it can be read. Pure."""

import re

from kubemoot_web.crds.scalars import Ambiguous
from kubemoot_web.crds.yaml_tree import Path, Tree

TEMPLATE = "{{"
# In prose that agents read, braces may be a prompt's own; these beginnings are the chart's.
CHART = re.compile(r"\{\{-?\s*(\.|\$|/\*|(if|else|end|range|with|include|define|template|block|toYaml|tpl|required)\b)")
PROSE = frozenset({"content", "systemPrompt", "description", "triageSummary"})
RENDER_FIRST = "is a template of a Helm chart ({{): render the chart first (helm template ...) and apply its output"


def template_path(tree: Tree) -> Path | None:
    """Find the first field that only a template would hold; braces inside a prompt are the prompt's own."""
    for path, node in tree.scalars():
        text = node.value.text if isinstance(node.value, Ambiguous) else node.value
        if not isinstance(text, str) or TEMPLATE not in text:
            continue
        if path and path[-1] in PROSE and node.is_prose and not CHART.search(text):
            continue
        return path
    return None


def template_line(text: str) -> int | None:
    """Find the first line with a template's braces, comments apart; for text that cannot be read otherwise."""
    for number, line in enumerate(text.splitlines(), start=1):
        if TEMPLATE in line and not line.lstrip().startswith("#"):
            return number
    return None
