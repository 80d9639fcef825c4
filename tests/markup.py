"""HTML, read as a browser reads it."""

from __future__ import annotations

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Reads what a browser would show; fails where tags do not match."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
