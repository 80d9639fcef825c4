"""The bar of a fit, in a true kernel."""

from __future__ import annotations

import nbclient
import nbformat

SETUP = """
from bitfm import Recommender
from bitfm.datasets import make_bookshop

shop = make_bookshop(30, 20, 200)
tables = {"interactions": shop.ratings, "user": "reader", "item": "title"}
said = []

def listen(message):
    said.append(message["content"]["data"]["text/plain"])
    return message

get_ipython().display_pub.register_hook(listen)
"""
FITS = {
    "a bar": "Recommender(bits=8).fit(**tables);",
    "events": "Recommender(bits=8).fit(**tables, target=None);",
    "silent": "Recommender(bits=8, verbose=0).fit(**tables);",
    "own callback": "Recommender(bits=8).fit(**tables, callback=lambda _: None);",
    "a bad table": "Recommender(bits=8).fit(**tables, users={'reader': ['Ann', 'Ann']})",
    "stages": "from bitfm.models import notebook_bar as module\nmodule._SECONDS_BETWEEN = 0\n"
    "said.clear()\nRecommender(bits=8).fit(**tables)\nprint('\\n'.join(dict.fromkeys(said)))",
}


def test_a_fit_shows_how_far_it_is_unless_told_otherwise():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (SETUP, *FITS.values())])
    nbclient.NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    shown = dict(zip(FITS, (cell.outputs for cell in notebook.cells[1:]), strict=True))
    for name in ("a bar", "events"):
        (output,) = shown[name]
        assert output.data["text/plain"].startswith("Fitted in ")
        assert output.data["text/html"] == f"<label>{output.data['text/plain']}</label>"
    assert shown["silent"] == shown["own callback"] == []
    stopped, error = shown["a bad table"]
    assert stopped.data["text/plain"].startswith("Stopped after ")
    assert error.ename == "DuplicateRowsError"
    stages = shown["stages"][-1].text.splitlines()
    assert stages[0] == "reading columns"
    assert any(line.startswith("learning bits, 1 of ") for line in stages)
    assert stages[-1].startswith("Fitted in ")
