"""Sphinx configuration. `make docs` builds the manual; nothing is fetched from the network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import bitfm

project = "bitfm"
author = "the bitfm developers"
version = release = bitfm.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nb_execution_mode = "force"  # a notebook is kept without its outputs
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"bitfm {release}"
html_copy_source = False
html_math_renderer = "mathml"

default_role = "py:obj"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes are documented in the class, not a second time as members
napoleon_use_rtype = False


# The notebooks are pages as well. Sphinx takes what lies here; the other pages are one folder up.
copies = Path(__file__).with_name("examples")
shutil.rmtree(copies, ignore_errors=True)
copies.mkdir()
for notebook in Path(__file__).parents[1].glob("examples/*.ipynb"):
    (copies / notebook.name).write_text(notebook.read_text().replace("](../docs/", "](../"))


def _link_copies(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = source[0].replace("](../examples/", "](examples/")


def _inline_math(self: Any, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(self: Any, node: nodes.math_block) -> None:
    markup = tex2mathml(node.astext()).replace("<math ", '<math display="block" ', 1)
    self.body.append(f'<div class="math" style="overflow-x: auto">{markup}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("source-read", _link_copies)
    # MathML, which browsers show by themselves: the pages need no script from elsewhere.
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
