"""Catalogs in locale/: extracted by GNU gettext, in the order of their texts.  Implementation of `make texts`.

python -m tests.texts    update each catalog to the marked texts, and list the untranslated ones
"""

import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import django
import polib
from django.core.management import call_command
from django.core.management.commands import makemessages
from django.test import override_settings

from tests import environment  # noqa: F401  # brings the variables that settings need

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
SOURCES = ("apps", "config", "lib", "templates")
WIDTH = 116  # of the lines of a catalog
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]*>")


class Extraction(makemessages.Command):
    """Django's extraction without fuzzy matching: a reworded text is translated anew."""

    msgmerge_options = [*makemessages.Command.msgmerge_options, "--no-fuzzy-matching"]


def extracted(path: Path) -> polib.POFile:
    """Return the updated catalog: the currently marked texts, and the existing translations."""
    language = path.parts[-3]
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            (Path(folder) / name).symlink_to(ROOT / name)
        copy = Path(folder) / "locale" / language / "LC_MESSAGES" / path.name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(path, copy)
        before = Path.cwd()
        os.chdir(folder)
        try:
            with override_settings(LOCALE_PATHS=[]):
                call_command(
                    Extraction(), locale=[language], symlinks=True, no_location=True, no_obsolete=True, verbosity=0
                )
        finally:
            os.chdir(before)
        made = polib.pofile(str(copy), wrapwidth=WIDTH)
    catalogue = polib.pofile(str(path), wrapwidth=WIDTH)  # its header contains the terms to use
    catalogue.clear()
    for entry in sorted(made, key=lambda entry: (entry.msgid.casefold(), entry.msgctxt or "", entry.msgid)):
        entry.comment, entry.flags = "", [flag for flag in entry.flags if flag == "fuzzy"]
        catalogue.append(entry)
    return catalogue


def problems(catalogue: polib.POFile) -> list[str]:
    """Return the texts whose translation is missing or invalid."""
    lines = []
    for entry in catalogue:
        if entry.fuzzy or not entry.translated():
            lines.append(f"not translated: {entry.msgid!r}")
            continue
        pairs = [(entry.msgid, entry.msgstr)]
        if entry.msgid_plural:
            pairs = [(entry.msgid_plural if form else entry.msgid, text) for form, text in entry.msgstr_plural.items()]
        lines += [problem for pair in pairs for problem in _differences(*pair)]
    return lines


def _differences(text: str, translation: str) -> list[str]:
    lines = []
    if Counter(PLACEHOLDER.findall(text)) != Counter(PLACEHOLDER.findall(translation)):
        lines.append(f"other placeholders: {text!r}")
    if [one.isspace() for one in (text[0], text[-1])] != [one.isspace() for one in (translation[0], translation[-1])]:
        lines.append(f"other spaces at its ends: {text!r}")
    return lines


def main() -> int:
    """Update every catalog; return 1 if translations are missing."""
    count = 0
    for path in CATALOGUES:
        catalogue = extracted(path)
        catalogue.save(str(path))
        for line in (lines := problems(catalogue)):
            sys.stdout.write(f"{path.relative_to(ROOT)}: {line}\n")
        count += len(lines)
        sys.stdout.write(f"{len(catalogue)} texts, {count} to look at.\n")
    return 1 if count else 0


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    sys.exit(main())
