"""How the documentation is built: python -m sphinx -W --keep-going -b html docs docs/_build/html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import related

import kernelcal

project = "kernelcal"
author = "The kernelcal developers"
copyright = author
version = release = kernelcal.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "py:obj"
pygments_style = "sphinx"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True
plot_rcparams = {"figure.figsize": (6.0, 3.4), "figure.autolayout": True, "font.size": 10}
plot_apply_rcparams = True

html_theme = "pydata_sphinx_theme"
html_title = "kernelcal"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "kernelcal",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo_dark.svg",
        "alt_text": "kernelcal: to the first page",
    },
    "header_links_before_dropdown": 4,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {page: [] for page in ("index", "at_a_glance", "gallery", "theory", "papers", "decisions")}


def setup(app):
    """Methods that scikit-learn adds to its estimators are described there."""
    added = ("set_fit_request", "set_score_request")
    app.connect("autodoc-skip-member", lambda app, what, name, thing, skip, options: True if name in added else None)
    # before numpydoc (500) reads the sections
    app.connect("autodoc-process-docstring", related.add_see_also, priority=400)
