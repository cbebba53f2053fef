# SPDX-License-Identifier: GPL-2.0
"""The directive figures, which makes a table from a file of values.

    .. figures:: NAME

NAME.tsv is in docs/figures. Its head has lines `# KEY: VALUE` that say where the values are from,
the next line the names of the columns, and each other line is a row; a tab separates columns. The
keys are values (what they are: the title of the table), rounds, kernel, machine, command,
date, and commit, which is required.
"""

import pathlib

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

FOLDER = pathlib.Path(__file__).resolve().parent / "figures"
KEYS = ("rounds", "kernel", "machine", "command", "date", "commit")


def read(path):
    """Return ({key: value}, lines of the table)."""
    head, rows = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            rows.append(line)
        elif ": " in line:
            key, value = line[1:].split(": ", 1)
            head[key.strip()] = value
    return head, rows


def source_of(head):
    """Return the sentence that says where the values are from."""
    parts = [f"``{head[key]}``" if key == "command" else
             f"commit {head[key]}" if key == "commit" else head[key]
             for key in KEYS if key in head]
    return "*Source:* " + "; ".join(parts) + "."


class Figures(Directive):
    """Inserts the table of one file."""

    required_arguments = 1

    def run(self):
        """Called by docutils."""
        path = FOLDER / (self.arguments[0] + ".tsv")
        env = self.state.document.settings.env
        env.note_dependency(str(path))
        try:
            head, rows = read(path)
        except OSError as error:
            raise self.error(str(error))
        if set(head) - set(KEYS) - {"SPDX-License-Identifier", "values"} or "commit" not in head:
            raise self.error(f"{path.name}: needs a commit, and no key but values, {KEYS}")
        title = head.get("values", "")
        text = [".. csv-table:: " + title[:1].upper() + title[1:], "   :header-rows: 1",
                "   :delim: tab", ""]
        text += ["   " + row for row in rows] + ["", source_of(head)]
        node = nodes.container()
        self.state.nested_parse(StringList(text, str(path)), 0, node)
        return node.children


def setup(app):
    """Called by Sphinx."""
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}
