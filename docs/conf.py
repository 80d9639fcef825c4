"""Sphinx configuration. `make docs` builds the manual; nothing is fetched from the network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import bitfm

project = "bitfm"
author = "the bitfm developers"
version = release = bitfm.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
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


def _inline_math(self: Any, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(self: Any, node: nodes.math_block) -> None:
    markup = tex2mathml(node.astext()).replace("<math ", '<math display="block" ', 1)
    self.body.append(f'<div class="math" style="overflow-x: auto">{markup}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    # MathML, which browsers show by themselves: the pages need no script from elsewhere.
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
