"""What a release is made of agrees with itself: version, date, citation, classifiers, forms, what the sdist holds."""

import re
import tomllib
from pathlib import Path

import pytest

import kernelcal

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


@pytest.fixture
def citation():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version(citation):
    assert citation["version"] == kernelcal.__version__
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["project"]["license"]
    assert [author["name"] for author in citation["authors"]] == [one["name"] for one in PROJECT["project"]["authors"]]


def test_the_changelog_begins_with_this_version_and_the_date_of_the_citation(citation):
    found = RELEASE.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found[0] == (kernelcal.__version__, citation["date-released"].isoformat())


def test_the_citation_has_the_four_papers(citation):
    papers = citation["references"]
    assert [(paper["authors"][0]["family-names"], paper["year"]) for paper in papers] == [
        ("Widmann", 2019),
        ("Widmann", 2021),
        ("Glaser", 2023),
        ("Moskvichev", 2025),
    ]
    theory = " ".join((ROOT / "docs" / "theory.rst").read_text(encoding="utf-8").split()).lower()
    for paper in papers:
        assert paper["title"].lower() in theory
        assert all({"family-names", "given-names"} == set(author) for author in paper["authors"])
        assert paper.get("url", "https://").startswith("https://")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_the_forms_of_issues_can_be_read(form):
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert read == {"blank_issues_enabled": True, "contact_links": []}
        return
    assert {"name", "description", "title", "labels", "body"} == set(read)
    ids = [field["id"] for field in read["body"]]
    assert len(ids) == len(set(ids)) >= 3
    assert all(field["attributes"]["label"] for field in read["body"])
    assert any(field.get("validations", {}).get("required") for field in read["body"])


def test_there_are_three_forms():
    assert [form.stem for form in FORMS] == ["config", "misread", "missing", "wrong_number"]


def test_classifiers_and_addresses():
    project = PROJECT["project"]
    least = int(project["requires-python"].removeprefix(">=3."))
    minors = [int(m) for m in re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))]
    assert minors == list(range(least, least + len(minors)))
    assert not [one for one in project["classifiers"] if one.startswith("License ::")]  # the field says it
    assert all(address.startswith("https://") for address in project["urls"].values())


def test_the_sdist_holds_what_is_here():
    """Every file and folder at the top that is not hidden is in the sdist, and nothing that is not there."""
    included = {name.removeprefix("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    made = {"build", "dist", "pyproject.toml", "PKG-INFO"}  # the last two are always in it
    here = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "_"))} - made
    assert {name for name in here if not name.endswith(".egg-info")} - {"src"} == included - {".github", "src"}
    assert (ROOT / ".github").exists()


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md", "SUPPORT.md", "CONTRIBUTING.md"])
def test_links_between_the_files_at_the_top_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8")):
        assert target.startswith("https://") or (ROOT / target).exists(), f"{name} links to {target}"
