"""Sphinx's settings. `make docs` builds the site into docs/_build/html.

Pages are the Markdown files beside this one. What is made during a build goes to docs/auto: the
pages of pages_elsewhere.py, the gallery (of examples/) and one page per public name.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx_gallery.sorting import ExplicitOrder

import sparsebounds

sys.path.insert(0, str(Path(__file__).parent))

import pages_elsewhere

project = "sparsebounds"
author = "The sparsebounds developers"
copyright = f"2026, {author}"
version = release = sparsebounds.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto/backreferences"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# Formulas are indented text; Python says that it is Python.
highlight_language = "text"
default_role = "py:obj"
smartquotes = False  # --option is no dash

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_context = {"top": sparsebounds.__all__}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto/gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": ExplicitOrder(
        ["plot_instead_of_stepwise.py", "plot_certify_a_lasso.py", "*"]
    ),
    "ignore_pattern": r"^(?!plot_)",
    "backreferences_dir": "auto/backreferences",
    "doc_module": ("sparsebounds",),
    "reference_url": {"sparsebounds": None},
    "download_all_examples": False,
    "thumbnail_size": (480, 288),
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}
# The gallery draws without a window, and matplotlib says so at every show().
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = f"sparsebounds {version}"
# Sites of several versions stand side by side, each in a folder of its version's name.
html_context = {"versions": os.environ.get("DOCS_VERSIONS", "").split()}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_scorer.js")
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "sparsebounds"},
    "header_links_before_dropdown": 8,
    "navbar_end": ["version", "theme-switcher"],
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "search_bar_text": "Search the site",
}
html_sidebars = {
    page: [] for page in ("index", "faq", "auto/changelog", "auto/gallery/index", "search")
}


def escape(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |w| is a length, and coef_ is no link to a place named coef.

    Examples, formulas (indented after a "::") and what stands in backticks are left alone.
    """
    quiet = ""  # why a line is left alone: an example ends at a blank line, a formula by indent
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(">>>"):
            quiet = "example"
        elif (quiet == "example" and not text) or (quiet == "formula" and text and line[0] != " "):
            quiet = ""
        if not quiet:
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w| :)", r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "".join(parts)
            if text.endswith("::"):
                quiet = "formula"


def ours(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """What scikit-learn's base classes bring is described there."""
    return True if str(getattr(value, "__module__", "")).startswith("sklearn") else None


def mathml(writer: Any, node: nodes.Element) -> None:
    """A formula as MathML, which browsers draw without a script."""
    inline = isinstance(node, nodes.math)
    formula = tex2mathml(node.astext(), as_block=not inline)
    writer.body.append(formula if inline else f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """What Sphinx asks this file to connect."""
    pages_elsewhere.write()
    app.connect("source-read", pages_elsewhere.redirect)
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
    app.connect("autodoc-skip-member", ours)
    app.add_html_math_renderer(
        "mathml", inline_renderers=(mathml, None), block_renderers=(mathml, None)
    )
