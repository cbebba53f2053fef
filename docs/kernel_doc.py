# SPDX-License-Identifier: GPL-2.0
"""The directive kernel-doc, which runs the kernel's own program.

    .. kernel-doc:: FILE
       :export:
       :identifiers: NAME...
       :doc: TITLE

FILE is relative to the top of the tree. :export: selects the exported symbols of FILE; without an
option all comments are used. KERNEL_SOURCE in the environment names the kernel source with the
program: none of its code is in this tree.
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
    """Inserts the comments of one file."""

    required_arguments = 1
    option_spec = {
        "export": directives.flag,
        "identifiers": directives.unchanged_required,
        "doc": directives.unchanged_required,
    }

    def selection(self, path):
        """Options of the program for the options of the directive."""
        if "doc" in self.options:
            return ["-function", self.options["doc"]]
        if "identifiers" in self.options:
            return [x for name in self.options["identifiers"].split()
                    for x in ("-function", name)]
        if "export" in self.options:
            names = EXPORT.findall(path.read_text(encoding="utf-8"))
            if not names:
                raise self.error(f"{path.name} exports no symbol")
            return [x for name in names for x in ("-function", name)]
        return []

    def run(self):
        environment = self.state.document.settings.env
        name = self.arguments[0]
        path = environment.config.kernel_doc_top / name
        environment.note_dependency(str(path))
        program = pathlib.Path(os.environ["KERNEL_SOURCE"]) / "scripts/kernel-doc"
        output = subprocess.run(["python3", program, "-rst", "-enable-lineno", "-Wall",
                                 *self.selection(path), path], capture_output=True, text=True,
                                check=False)
        for line in output.stderr.splitlines():
            LOG.warning("%s", line, location=(environment.docname, self.lineno))
        if output.returncode or not output.stdout.strip():
            LOG.warning("kernel-doc finds no comment in %s", name,
                        location=(environment.docname, self.lineno))
        result = StringList()
        number = 0
        for line in output.stdout.expandtabs().splitlines():
            if found := LINE.match(line):
                # kernel-doc counts from 1, docutils from 0
                number = int(found[1]) - 1
                continue
            result.append(line, name, number)
            number += 1
        section = nodes.section(document=self.state.document)
        nested_parse_with_titles(self.state, result, section)
        return section.children


def setup(app):
    """Entry point for Sphinx."""
    app.add_config_value("kernel_doc_top", TOP, "env")
    app.add_directive("kernel-doc", KernelDoc)
    return {"parallel_read_safe": True}
