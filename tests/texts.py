"""What the tree says to people, and what locale/ has of it in other languages.  Behind `make texts`.

python -m tests.texts    add to each catalogue what is marked now, drop what is no longer, name what is not translated

Marked are literals of gettext and its kin, of templates' `translate` and `blocktranslate`, the labels of choices
(lib/choices.py), the names of tables and columns in /admin/ (lib/admin_words.py) and the sentences of services
(lib/retelling.py).
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import polib
from django.utils.text import camel_case_to_spaces
from django.utils.translation.template import templatize
from lib.admin_words import APP, COLUMN, TABLE

from lib.retelling import CONTEXT

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))

WIDTH = 116  # of the lines of a catalogue
Key = tuple[str, str]  # context, "" for none, and the text

# Which arguments are the context, the text and its plural.
_CALLS = {
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
# What these are given is for logs and for whoever writes the program.
_TELL_NOBODY = {"info", "warning", "error", "exception", "ValueError", "TypeError", "RuntimeError", *_CALLS, "_"}
_LITERAL = r"""u?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_TEMPLATE_CALL = re.compile(rf"\b(n?p?gettext|_)\(\s*({_LITERAL}(?:\s*,\s*{_LITERAL})*)")
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]*>")


def found() -> dict[Key, str]:
    """Collect what is marked: its plural, "" for none, by context and text."""
    texts: dict[Key, str] = {}
    for base in ("apps", "config", "lib"):
        for path in sorted((ROOT / base).rglob("*.py")):
            for context, text, plural in of_module(path.read_text(), serves=_has_services(path)):
                texts[context, text] = plural or texts.get((context, text), "")
    # The admin of events is registered in accounts.
    for app in (*(path.parent for path in (ROOT / "apps").glob("*/admin.py")), ROOT / "apps" / "events"):
        texts[APP, app.name.title()] = ""
        for models in (app / "models.py", *app.glob("models/*.py")):
            if models.is_file():
                texts |= dict.fromkeys(_names(ast.parse(models.read_text())), "")
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.suffix in {".html", ".txt"}:
            for context, text, plural in of_template(path.read_text()):
                texts[context, text] = plural or texts.get((context, text), "")
    return texts


def of_module(source: str, *, serves: bool = False) -> Iterator[tuple[str, str, str]]:
    """Find what a module marks; `serves`: the sentences of services, too."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {
            "django.utils.translation",
            "lib.choices",
            "lib.messages",
        }:
            names |= {one.asname or one.name: one.name for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            places = _CALLS.get(names.get(node.func.id, ""))
            said = places and [None if one is None else _constant(node.args[one]) for one in places]
            if said and said[1]:
                yield said[0] or "", said[1], said[2] or ""
    if serves:
        yield from ((CONTEXT, text, "") for text in _sentences(tree))


def of_template(source: str) -> Iterator[tuple[str, str, str]]:
    """Find what a template marks; Django turns it into calls, for xgettext to read."""
    for call, arguments in _TEMPLATE_CALL.findall(templatize(source)):
        said = list(ast.literal_eval(f"[{arguments}]"))
        context = said.pop(0) if "p" in call.removesuffix("gettext") else ""
        yield context, said[0], said[1] if len(said) > 1 else ""


def _has_services(path: Path) -> bool:
    """Tell the modules whose sentences people read from doors, which mark them, and from what describes the API."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "apps" or {"console", "api", "schemas", "destinations", "management", "demo", "migrations"} & set(
        parts
    ):
        return False
    return path.name not in {"admin.py", "metrics.py", "authentication.py", "idempotency.py"}


def _sentences(tree: ast.Module) -> Iterator[str]:
    """Find what services refuse with or tell: every literal that ends as a sentence does, gaps by their place."""
    passed_over: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            passed_over.add(node.value)
        elif isinstance(node, ast.Call) and _name_of(node.func) in _TELL_NOBODY:
            passed_over |= set(ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            passed_over |= set(node.values)
    for node in ast.walk(tree):
        if node not in passed_over and (text := _filled_in(node)) and " " in text and text[-1] in ".!?":
            yield text
        if isinstance(node, ast.Call) and _name_of(node.func) == "tell":
            yield from (text for one in node.keywords if one.arg == "title" and (text := _filled_in(one.value)))
        if isinstance(node, ast.Call) and _name_of(node.func) == "phrase":
            yield _filled_in(node.args[0])


def _filled_in(node: ast.AST) -> str:
    """Write a literal with `%(1)s`, `%(2)s` in its gaps."""
    if isinstance(node, ast.JoinedStr):
        gaps = count(1)
        return "".join(_constant(one) or f"%({next(gaps)})s" for one in node.values)
    # A title that is cut off at its end.
    return _filled_in(node.value) if isinstance(node, ast.Subscript) else _constant(node)


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _names(tree: ast.Module) -> Iterator[Key]:
    """Find what the tables of an app and their columns are called in /admin/."""
    for model in tree.body:
        if isinstance(model, ast.ClassDef) and (columns := [*filter(None, map(_column, model.body))]):
            yield from ((COLUMN, name) for name in columns)
            named: dict[str, str] = {}
            for meta in (one for one in model.body if isinstance(one, ast.ClassDef) and one.name == "Meta"):
                named |= {
                    _name_of(one.targets[0]): _constant(one.value) for one in meta.body if isinstance(one, ast.Assign)
                }
            name = named.get("verbose_name") or camel_case_to_spaces(model.name)
            yield from ((TABLE, name), (TABLE, named.get("verbose_name_plural") or f"{name}s"))


def _column(line: ast.stmt) -> str:
    target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
    made = getattr(line, "value", None)
    if not isinstance(target, ast.Name) or not isinstance(made, ast.Call):
        return ""
    kind = _name_of(made.func)
    if not kind.endswith(("Field", "ForeignKey")):
        return ""
    given = [_constant(one.value) for one in made.keywords if one.arg == "verbose_name"]
    if kind not in {"ForeignKey", "OneToOneField", "ManyToManyField"}:  # those begin with what they point to
        given += map(_constant, made.args[:1])
    return next(filter(None, given), target.id.replace("_", " "))


def _constant(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def wrong_with(catalogue: polib.POFile, marked: dict[Key, str]) -> list[str]:
    """Say what keeps a catalogue from being complete, one line each."""
    entries = {(one.msgctxt or "", one.msgid): one for one in catalogue if not one.obsolete}
    lines = [f"not there: {text!r}" for key, text in _in_order(marked) if key not in entries]
    lines += [f"marked nowhere: {text!r}" for key, text in _in_order(entries) if key not in marked]
    for key in marked.keys() & entries.keys():
        entry, plural = entries[key], marked[key]
        if (entry.msgid_plural or "") != plural:
            lines.append(f"another plural: {key[1]!r}")
        elif entry.fuzzy or not entry.translated():
            lines.append(f"not translated: {key[1]!r}")
        else:
            lines += _unlike(entry)
    return sorted(lines)


def _in_order(keys: dict[Key, str] | dict[Key, polib.POEntry]) -> list[tuple[Key, str]]:
    return [(key, key[1]) for key in sorted(keys)]


def _unlike(entry: polib.POEntry) -> list[str]:
    pairs = [(entry.msgid, entry.msgstr)]
    if entry.msgid_plural:
        pairs = [(entry.msgid_plural if form else entry.msgid, said) for form, said in entry.msgstr_plural.items()]
    lines = []
    for text, said in pairs:
        if Counter(_PLACEHOLDER.findall(text)) != Counter(_PLACEHOLDER.findall(said)):
            lines.append(f"other placeholders: {text!r}")
        if [one.isspace() for one in (text[0], text[-1])] != [one.isspace() for one in (said[0], said[-1])]:
            lines.append(f"other spaces at its ends: {text!r}")
    return lines


def update(catalogue: polib.POFile, marked: dict[Key, str]) -> None:
    """Add what is marked and missing, drop what is no longer marked, and put all of it in order."""
    entries = {(one.msgctxt or "", one.msgid): one for one in catalogue}
    catalogue.clear()
    for key in sorted(marked, key=lambda key: (key[1].casefold(), key)):
        context, text = key
        entry = entries.get(key) or polib.POEntry(msgid=text, msgctxt=context or None)
        if marked[key] and not entry.msgid_plural:
            entry.msgid_plural, entry.msgstr, entry.msgstr_plural = marked[key], "", {0: "", 1: ""}
        elif marked[key]:
            entry.msgid_plural = marked[key]
        catalogue.append(entry)


def main() -> int:
    """Bring every catalogue up to date; 1 if translations are missing."""
    marked = found()
    left = 0
    for path in CATALOGUES:
        catalogue = polib.pofile(str(path), wrapwidth=WIDTH)
        update(catalogue, marked)
        catalogue.save(str(path))
        for line in (lines := wrong_with(catalogue, marked)):
            sys.stdout.write(f"{path.relative_to(ROOT)}: {line}\n")
        left += len(lines)
    sys.stdout.write(f"{len(marked)} texts, {left} to look at.\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
