# SPDX-License-Identifier: GPL-2.0
"""The directive figures, which makes tables from a file of values.

    .. figures:: NAME

NAME.tsv is in docs/figures; `make figures` writes it. It has a table, or several, each after an
empty line. The head of a table has lines `# KEY: VALUE` that say where the values are from, the
next line the names of the columns, and each other line is a row; a tab separates columns. The keys
are values (what they are: the title of the table), rounds, kernel, machine, load (of the machine by
others), command, date, and commit, which is required. A later table keeps the keys that it does not
repeat. The page says so if the code has changed since that commit.

The option :picture: FIGURE also draws the rows of one figure, a time in ms, of the first table.
"""

import pathlib
import re
import subprocess
import sys

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList

FOLDER = pathlib.Path(__file__).resolve().parent / "figures"
TOP = FOLDER.parent.parent
sys.path.append(str(TOP / "scripts"))
import plot  # noqa: E402 pylint: disable=wrong-import-position
KEYS = ("rounds", "kernel", "machine", "load", "command", "date", "commit")


def read(path):
    """Return the tables of a file: for each ({key: value}, lines of the table)."""
    tables, head = [], {}
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.splitlines()
        head = dict(head)
        for line in lines:
            if line.startswith("#") and ": " in line:
                key, value = line[1:].split(": ", 1)
                head[key.strip()] = value
        tables.append((head, [line for line in lines if not line.startswith("#")]))
    return tables


def changed(commit, folder):
    """Return whether git knows that the folder has changed since the commit."""
    try:
        return subprocess.run(["git", "-C", TOP, "diff", "--quiet", commit, "HEAD", "--", folder],
                              stderr=subprocess.DEVNULL, check=False).returncode == 1
    except OSError:
        return False


def newer_code(name, head):
    """Return the sentence that says which code behind a table has changed, or ""."""
    commits = re.findall(r"\b[0-9a-f]{7,40}\b", head["commit"])
    command = name + head.get("command", "")
    ports = [path.parent.name for path in TOP.glob("ports/*/options")]
    folders = ["module"] + sorted("ports/" + fs for fs in ports if fs in command)
    folders = [f"``{f}``" for f in folders if any(changed(c, f) for c in commits)]
    return f"**This table is older than the code:** {' and '.join(folders)} changed since." \
        if folders else ""


def source_of(head):
    """Return the sentence that says where the values are from."""
    parts = [f"``{head[key]}``" if key == "command" else
             f"commit {head[key]}" if key == "commit" else head[key]
             for key in KEYS if key in head]
    return "*Source:* " + "; ".join(parts) + "."


def draw(figure, head, rows):
    """Return the picture of a figure's rows: a group for each run, a bar for each variant."""
    columns = rows[0].split("\t")
    variants = columns[2:columns.index("better")]
    groups = []
    for row in rows[1:]:
        name, run, *cells = row.split("\t")
        bars = []
        for variant, cell, colour in zip(variants, cells, plot.COLOURS[-len(variants):]):
            values = re.fullmatch(r"(>?)([0-9.]+) \(([0-9.]+)-([0-9.]+)\)", cell)
            if name == figure and values:
                low, median, high = (float(values[i]) * 1e6 for i in (3, 2, 4))
                bars.append((variant, colour, variant == variants[-1], [low, median, high],
                             ["line", "ring", "line"], values[1] + plot.duration(median)))
        if bars:
            groups.append((run, bars))
    return plot.picture(f"{figure.split(',')[0]}: {head['kernel']}",
                        "A bar from the shortest round to the longest;", [("ring", "median")],
                        groups)


class Figures(Directive):
    """Inserts the tables of one file."""

    required_arguments = 1
    option_spec = {"picture": directives.unchanged_required}

    def run(self):
        """Called by docutils."""
        path = FOLDER / (self.arguments[0] + ".tsv")
        env = self.state.document.settings.env
        # the text also depends on HEAD
        env.note_reread()
        try:
            tables = read(path)
        except OSError as error:
            raise self.error(str(error))
        text = []
        for (head, rows), (later, _) in zip(tables, tables[1:] + [({}, [])]):
            if set(head) - set(KEYS) - {"SPDX-License-Identifier", "values"} or \
                    "commit" not in head:
                raise self.error(f"{path.name}: needs a commit, and no key but values, {KEYS}")
            title = head.get("values", "")
            text += [".. csv-table:: " + title[:1].upper() + title[1:], "   :header-rows: 1",
                     "   :delim: tab", ""]
            text += ["   " + row for row in rows] + [""]
            # once for successive tables of one source
            if source_of(head) != source_of(later):
                text += [source_of(head), newer_code(path.stem, head), ""]
        node = nodes.container()
        self.state.nested_parse(StringList(text, str(path)), 0, node)
        if "picture" in self.options:
            node.insert(0, nodes.raw("", draw(self.options["picture"], *tables[0]), format="html"))
        return node.children


def setup(app):
    """Called by Sphinx."""
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}
