"""The word for a ride on pages, in mails and PDFs: with RIDE_TERM=trip, an English catalog says `trip`.

The catalog is made of the texts of the service, which are those of any translation, when translations are compiled.
The API and stored texts use no catalog at all (apps/console/kit/languages.py, lib/messages.py).
"""

import re
from collections.abc import Mapping
from typing import Final

import polib

# Not names of fields, paths, events and scopes; not the verb; not "ride time", which is the time on board.
_WORD: Final = re.compile(r"(?<![\w(/.-])(?<!who )(?<!can )(?<!Patients )([Rr])ide(s?)(?![\w)/-]|\.\w|:\w| time)")

# Linked legs are also called a trip.
_EXCEPTIONS: Final[Mapping[str, str]] = {
    "trip": "linked trips",
    "trips": "linked trips",
    "All trips": "All linked trips",
    "Link as one trip": "Link these trips",
    "The ride is a leg of a trip. Unlink it first.": "The trip is linked with others. Unlink it first.",
    "The rides are linked as one trip.": "The trips are linked.",
    "The rides become legs of one trip: moving one offers to move the later ones along.": (
        "The trips are linked: moving one offers to move the later ones along."
    ),
    "Who rides?": "Who is traveling?",
}


def in_trips(text: str) -> str:
    """Return an English text of the service with `trip` in place of `ride`."""
    text = _EXCEPTIONS.get(text, text).replace("Rides, trips and", "Trips and")
    return _WORD.sub(lambda found: ("T" if found[1] == "R" else "t") + "rip" + found[2], text)


def catalog(texts: polib.POFile) -> polib.POFile:
    """Return the English catalog of the texts that change, from a catalog of all texts."""
    made = polib.POFile()
    made.metadata = {**texts.metadata, "Language": "en"}
    for entry in texts:
        forms = [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
        changed = [in_trips(form) for form in forms]
        if changed == forms:
            continue
        translated = polib.POEntry(msgid=entry.msgid, msgid_plural=entry.msgid_plural, msgctxt=entry.msgctxt)
        if entry.msgid_plural:
            translated.msgstr_plural = dict(enumerate(changed))
        else:
            translated.msgstr = changed[0]
        made.append(translated)
    return made
