"""Vendored files equal the manifest, byte for byte."""

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ["static/vendor", "tests/browser/vendor"]


@pytest.mark.parametrize("name", FOLDERS)
def test_vendored_files_are_those_of_the_manifest(name: str) -> None:
    folder = ROOT / name
    manifest = json.loads((folder / "manifest.json").read_text())

    there = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }

    assert there == manifest["sha256"]


@pytest.mark.parametrize("name", FOLDERS)
def test_vendored_libraries_say_version_and_license(name: str) -> None:
    libraries = json.loads((ROOT / name / "manifest.json").read_text())["libraries"]

    assert libraries
    for about in libraries.values():
        assert about.keys() == {"package", "version", "license"}
        assert all(about.values())


@pytest.mark.parametrize("name", FOLDERS)
def test_vendored_libraries_stand_in_the_list_of_licenses(name: str) -> None:
    listed = (ROOT / "THIRD_PARTY_LICENSES.md").read_text()

    libraries = json.loads((ROOT / name / "manifest.json").read_text())["libraries"].values()

    for about in libraries:
        assert f"| {about['package']} | {about['version']} | {about['license']} | `{name}/" in listed
