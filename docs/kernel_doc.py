# SPDX-License-Identifier: GPL-2.0
"""The directive kernel-doc of the kernel's own documents, for files of this tree.

KERNEL_SOURCE in the environment names the source with the directive: none of its code is in this
tree. Here :export: without a file takes the symbols that the file itself exports, by our macro.
"""

import os
import pathlib
import re
import sys

SOURCE = os.environ["srctree"] = os.environ["KERNEL_SOURCE"]
sys.path.append(SOURCE + "/Documentation/sphinx")
sys.dont_write_bytecode = True		# in that source
import kerneldoc  # noqa: E402 pylint: disable=import-error,wrong-import-position

TOP = pathlib.Path(__file__).resolve().parent.parent
EXPORT = re.compile(r"^EXPORT_SYMBOL\w*\((\w+)\)", re.M)


class KernelDoc(kerneldoc.KernelDocDirective):
    """Inserts the comments of one file."""

    def run(self):
        if "export" in self.options:
            names = EXPORT.findall((TOP / self.arguments[0]).read_text(encoding="utf-8"))
            if not names:
                raise self.error(f"{self.arguments[0]} exports no symbol")
            del self.options["export"]
            self.options["identifiers"] = " ".join(names)
        found = super().run()
        if not found:
            raise self.error(f"kernel-doc finds no comment in {self.arguments[0]}")
        return found


def setup(app):
    """Entry point for Sphinx."""
    kerneldoc.setup(app)
    app.config.kerneldoc_srctree = str(TOP)
    app.add_directive("kernel-doc", KernelDoc, override=True)
    return {"parallel_read_safe": True}
