# SPDX-License-Identifier: GPL-2.0
"""The directive kernel-doc, by the kernel's own program.

    .. kernel-doc:: FILE
       :export:
       :identifiers: NAME...
       :doc: TITLE

FILE is named from the top of the tree. With :export: what FILE exports; without an option all
of it. The program is the one in the kernel's source that the environment
names in KERNEL_SOURCE: none of its code is in this tree.
"""

import os
import pathlib
import re
import subprocess

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.nodes import nested_parse_with_titles

LOG = logging.getLogger(__name__)
TOP = pathlib.Path(__file__).resolve().parent.parent
EXPORT = re.compile(r"^EXPORT_SYMBOL\w*\((\w+)\)", re.M)
LINE = re.compile(r"^\.\. LINENO (\d+)$")


class KernelDoc(Directive):
    """One file's comments, where the directive stands."""

    required_arguments = 1
    option_spec = {
        "export": directives.flag,
        "identifiers": directives.unchanged_required,
        "doc": directives.unchanged_required,
    }

    def chosen(self, path):
        """The program's options for what is asked for."""
        if "doc" in self.options:
            return ["-function", self.options["doc"]]
        if "identifiers" in self.options:
            return [x for name in self.options["identifiers"].split()
                    for x in ("-function", name)]
        if "export" in self.options:
            return [x for name in EXPORT.findall(path.read_text(encoding="utf-8"))
                    for x in ("-function", name)]
        return []

    def run(self):
        environment = self.state.document.settings.env
        name = self.arguments[0]
        path = environment.config.kernel_doc_top / name
        environment.note_dependency(str(path))
        program = pathlib.Path(os.environ["KERNEL_SOURCE"]) / "scripts/kernel-doc"
        said = subprocess.run(["python3", program, "-rst", "-enable-lineno", "-Wall",
                               *self.chosen(path), path], capture_output=True, text=True,
                              check=False)
        for line in said.stderr.splitlines():
            LOG.warning("%s", line, location=(environment.docname, self.lineno))
        if said.returncode or not said.stdout.strip():
            LOG.warning("kernel-doc has nothing to say about %s", name,
                        location=(environment.docname, self.lineno))
        result = StringList()
        number = 0
        for line in said.stdout.expandtabs().splitlines():
            if found := LINE.match(line):
                # counts from 1, and docutils from 0
                number = int(found[1]) - 1
                continue
            result.append(line, name, number)
            number += 1
        section = nodes.section(document=self.state.document)
        nested_parse_with_titles(self.state, result, section)
        return section.children


def setup(app):
    """Called by Sphinx."""
    app.add_config_value("kernel_doc_top", TOP, "env")
    app.add_directive("kernel-doc", KernelDoc)
    return {"parallel_read_safe": True}
