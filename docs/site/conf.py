"""Settings of Sphinx: `make docs` builds docs/ into build/site, without a warning."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import fewpairs  # noqa: E402

project = "fewpairs"
author = "The fewpairs developers"
copyright = author  # noqa: A001
version = release = fewpairs.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "pages",  # docs/site/pages.py
]
exclude_patterns = ["site"]
suppress_warnings = ["config.cache"]

# Pages stay the Markdown that GitHub shows.
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4

# The reference: one parameter a line where a signature is long.
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # scikit-learn makes these, and their docstrings speak of its own glossary.
    "exclude-members": ",".join(
        f"set_{verb}_request" for verb in ("fit", "transform", "predict", "score")
    ),
}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 60
python_use_unqualified_type_names = True
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "fewpairs"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copybutton_exclude = ".linenos, .gp, .go"
