"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import fairspan

sys.path.insert(0, str(Path(__file__).parent))
from sitetools import check_links, own_members

project = "fairspan"
author = "The fairspan developers"
copyright = f"2026, {author}"
release = version = fairspan.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "auto_examples/*.py", "auto_examples/*.ipynb"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
highlight_language = "none"
# Equations are numbered through the pages of the theory: (1.2) is the second of the first page.
numfig = math_numfig = True
numfig_secnum_depth = 1
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
suppress_warnings = ["config.cache"]

autosummary_generate = True
autosummary_context = {"own_members": own_members}
autodoc_typehints = "none"
# Other projects' pages are not at hand offline; what is not listed here must resolve.
nitpick_ignore = [(kind, "sklearn.decomposition.PCA") for kind in ("py:obj", "py:class")]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# One file with its fonts inside: equations need no network, and open from disk.
_mathjax = find_spec("sphinx-mathjax-offline")
if _mathjax is None or _mathjax.origin is None:
    raise ImportError("The equations need: pip install sphinx-mathjax-offline.")
_script = Path(_mathjax.origin).parent / "static/mathjax/tex-svg-full.js"
mathjax_path = _script.name
mathjax3_config = {"svg": {"fontCache": "global", "scale": 0.95}}

html_theme = "pydata_sphinx_theme"
html_title = "fairspan"
html_static_path = ["_static", str(_script)]
html_css_files = ["fairspan.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "quick-start": [], "which-method": [], "limits": [], "cite": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "capture_repr": (),
    "within_subsection_order": "sitetools.story",
    "notebook_images": False,
}


def setup(app):
    """Check the links of the finished site."""
    app.connect("build-finished", check_links)
