# SPDX-License-Identifier: GPL-2.0
"""Turn the name of a page, as in `limits.rst, Supported kernels`, into a link.

A source file is then readable as it is. A title behind the name must be a heading of that page, or
the italic or bold beginning of one of its paragraphs; otherwise Sphinx warns.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

LOG = logging.getLogger(__name__)
PAGE = re.compile(r"\b([a-z_]+)\.rst\b(?:,\s([A-Z][\w=\s]*\w))?")


def has_title(text, title):
    """Return whether the source of a page has a heading, or a beginning, of this name."""
    words = r"\s".join(map(re.escape, title.split()))
    return re.search(r"(?m)^%s$\n[=-]+$" % words, text) or re.search(r"(?m)\*%s\b" % words, text)


def link(app, text):
    """Return the nodes that replace a text, or None."""
    parts, at = [], 0
    for match in PAGE.finditer(text):
        page, title = match.groups()
        if page not in app.env.found_docs:
            continue
        with open(app.env.doc2path(page), encoding="utf-8") as f:
            if title and not has_title(f.read(), title):
                LOG.warning("%s.rst has no title '%s'", page, title, location=text.parent)
        to = addnodes.pending_xref("", refdomain="std", reftype="doc", reftarget="/" + page,
                                   refdoc=app.env.docname, refexplicit=True, refwarn=True)
        to += nodes.inline("", page + ".rst")
        parts += [nodes.Text(text[at:match.start()]), to]
        at = match.start() + len(page + ".rst")
    return parts + [nodes.Text(text[at:])] if parts else None


def link_pages(app, doctree):
    """Replace all names outside of literals."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.literal, nodes.literal_block, nodes.reference,
                                    nodes.title, nodes.comment)):
            continue
        parts = link(app, text)
        if parts:
            text.parent.replace(text, parts)


def setup(app):
    """Called by Sphinx."""
    app.connect("doctree-read", link_pages)
    return {"parallel_read_safe": True}
