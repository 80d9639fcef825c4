"""Documents, checked: their code runs as shown, and the reference is complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_page(page):
    """Run a page's Python blocks, or a notebook's cells, in order, as a reader would."""
    text = (ROOT / page).read_text()
    if page.endswith(".ipynb"):
        blocks = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    else:
        blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks, f"{page} shows no code"
    names = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def broken_links(page):
    """Return the links of a page, or a notebook, that lead to no file of the repository, or to no heading of one."""
    here = ROOT / page
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", here.read_text())):
        file, _, heading = link.partition("#")
        there = here.parent / file if file else here
        if "://" not in link and not (there.exists() and (not heading or heading in _anchors(there))):
            broken.append(link)
    return broken


_FENCE = re.compile(r"^```.*?^```", flags=re.MULTILINE | re.DOTALL)


def _anchors(page):
    """Return what links can name on a page: its headings in small letters, without signs, with hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def need_documented(page, *modules):
    """Every public name exists, has a docstring, and is named on the page."""
    reference = (ROOT / page).read_text()
    for module in modules:
        for name in module.__all__:
            assert hasattr(module, name)
            if name not in ("__version__", "Callback", "Design32"):
                assert getattr(module, name).__doc__, name
                assert re.search(rf"\b{name}\b", reference), f"{name} is missing in {page}"
