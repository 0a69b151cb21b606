"""Notebooks of some tutorials: python docs/make_notebooks.py writes docs/notebooks/*.ipynb from docs/tutorials/*.rst.

Text becomes Markdown, examples become cells, commands become lines with an exclamation mark, and a picture of the
gallery becomes the script that draws it. Nothing is executed here; tests/docs/test_tutorials.py runs every cell.
"""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGES = ("classes", "forecasts", "simulation_based_inference")
START = """import os
from pathlib import Path

os.chdir(next(place for place in [Path.cwd(), *Path.cwd().parents] if (place / "examples").is_dir()))"""
WORDS = (
    (re.compile(r":doc:`(?:[^`<]*<)?(?:\.\./)?([\w/]+)>?`"), r"docs/\1"),
    (re.compile(r"``([^`]+)``"), r"`\1`"),
    (re.compile(r":(?:ref|math):`([^`]+)`"), r"\1"),
)


def blocks(text):
    """Paragraphs and indented blocks below a directive, as (first line, rest)."""
    for block in re.split(r"\n\n(?=\S)", text.strip()):
        first, _, rest = block.partition("\n")
        yield first, rest


def markdown(block):
    for pattern, new in WORDS:
        block = pattern.sub(new, block)
    title = re.fullmatch(r"(.+)\n([=-])\2+", block.strip())
    return f"{'#' if title[2] == '=' else '##'} {title[1]}" if title else block


def codes_of(block):
    """Code of examples, a cell up to each line that prints, without what it prints."""
    own = []
    for line in block.splitlines():
        if line.startswith((">>> ", "... ")):
            own.append(line[4:])
        elif own:
            yield "\n".join(own)
            own = []
    if own:
        yield "\n".join(own)


def command_of(rest):
    """The command of a console block, on the files of the examples."""
    command = next(line for line in rest.splitlines() if line.startswith("   $ "))[5:]
    return "!" + re.sub(r"(?<=\s)(?=[\w]+\.(?:csv|jsonl|npz)\b)", "examples/", command)


def drawing_of(first):
    """The script of a picture of the gallery, or nothing."""
    name = re.search(r"gallery_(\w+)\.png", first)
    return name and (HERE / "gallery" / f"{name[1]}.py").read_text(encoding="utf-8").strip()


def cells(text):
    yield "code", START
    for first, rest in blocks(text):
        if first.startswith(".. code-block:: console"):
            yield "code", command_of(rest)
        elif first.startswith(".. figure::"):
            if drawing_of(first):
                yield "code", drawing_of(first)
        elif first.startswith(".. code-block:: text"):
            yield "markdown", "```\n" + "\n".join(line[3:] for line in rest.strip("\n").splitlines()) + "\n```"
        elif first.startswith(">>> "):
            for code in codes_of(f"{first}\n{rest}"):
                yield "code", code
        else:
            yield "markdown", markdown(f"{first}\n{rest}".strip())


def notebook(page):
    """Notebook of a tutorial, as JSON says it (nbformat 4.5)."""
    made = []
    for k, (kind, source) in enumerate(cells((HERE / "tutorials" / f"{page}.rst").read_text(encoding="utf-8"))):
        cell = {"cell_type": kind, "id": f"{page.replace('_', '-')[:40]}-{k}", "metadata": {}}
        own = {"execution_count": None, "outputs": []} if kind == "code" else {}
        made.append({**cell, **own, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def main():
    (HERE / "notebooks").mkdir(exist_ok=True)
    for page in PAGES:
        text = json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"
        (HERE / "notebooks" / f"{page}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
