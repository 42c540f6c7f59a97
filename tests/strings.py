"""Every visible text of the console with its places, for a review line by line.  Implementation of `make strings`.

python -m tests.strings    write var/strings.txt: texts by template and module, English and Spanish
"""

import json
import re
import sys
from collections import defaultdict

import polib

from tests.texts import CATALOGUES, ROOT, SOURCES

TARGET = ROOT / "var" / "strings.txt"


def places(text: str, sources: dict[str, str]) -> list[str]:
    """Return the files that mark a text; in templates its parameters are `{{ name }}`."""
    block = re.sub(r"%\((\w+)\)s", r"{{ \1 }}", text)
    variants = (f'"{text}"', f'"{json.dumps(text, ensure_ascii=False)[1:-1]}"', f"%}}{block}{{%")
    return [name for name, source in sources.items() if any(variant in source for variant in variants)]


def main() -> int:
    """Write the texts of each file; texts of more than one line are under "elsewhere"."""
    files = [path for name in SOURCES for path in sorted((ROOT / name).rglob("*")) if path.suffix in (".html", ".py")]
    sources = {
        str(path.relative_to(ROOT)): re.sub(r'"\s*\n\s*"', "", path.read_text())  # joins literals of several lines
        for path in files
        if "migrations" not in path.parts
    }
    by_file: dict[str, list[polib.POEntry]] = defaultdict(list)
    for entry in polib.pofile(str(CATALOGUES[0])):
        for place in places(entry.msgid, sources) or ["elsewhere"]:
            by_file[place].append(entry)
    TARGET.parent.mkdir(exist_ok=True)
    with TARGET.open("w") as target:
        for place, entries in sorted(by_file.items()):
            target.write(f"\n== {place}\n")
            for entry in entries:
                context = f"[{entry.msgctxt}] " if entry.msgctxt else ""
                target.write(f"{context}{entry.msgid_plural or entry.msgid}\n")
                target.write(f"    {entry.msgstr_plural.get(1) or entry.msgstr}\n")
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}: {sum(map(len, by_file.values()))} texts of {len(by_file)} files\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
