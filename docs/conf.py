"""Sphinx configuration: ``sphinx-build -W docs build/docs``."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402  (beside this file)
from pipedsl import __version__  # noqa: E402

reference.write(HERE)

project = "pipedsl"
author = "the pipedsl developers"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
html_theme = "furo"
html_title = f"pipedsl {__version__}"
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Every build runs them: a cache would not see that pipedsl changed. A cell that raises fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
# `Kernel` in a type means one of two classes, by its context.
suppress_warnings = ["ref.python"]
