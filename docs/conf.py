# SPDX-License-Identifier: GPL-2.0
"""Configuration of Sphinx for docs/build.sh."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "fscommit"
version = release = re.search(r'MODULE_VERSION\("([^"]+)"\)',
                              (HERE / "../module/main.c").read_text(encoding="utf-8"))[1]
copyright = "the fscommit authors, GPL-2.0"  # pylint: disable=redefined-builtin
extensions = ["figures", "kernel_doc", "page_links"]
exclude_patterns = ["_build"]
language = "en"

# Most literal blocks are shell or tables of CPUs; C uses code-block.
highlight_language = "none"
primary_domain = "c"
c_id_attributes = ["__must_check", "__always_inline", "__percpu", "__rcu"]

html_theme = "alabaster"
html_theme_options = {"description": "commits wait milliseconds for tasks without a CPU",
                      "page_width": "1080px", "fixed_sidebar": True}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_show_sphinx = False
html_copy_source = False
