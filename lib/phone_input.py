"""Phone numbers as people type and read them, converted to and from E.164 by Google's libphonenumber."""

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, ValidationResult


def e164(text: str, *, region: str) -> str | None:
    """Convert a number such as `(312) 555-0140` or `+44 20 7946 0958`; None if it is not one.

    `region` (ISO 3166-1, two letters) is that of numbers without a plus sign.  The length is checked, not whether the
    number is assigned: the library's data lags behind new ranges.  Letters are refused (`1-800-FLOWERS` and `x14`
    alike), and so are extensions: they have a field of their own, and E.164 would drop them silently.
    """
    if any(character.isalpha() for character in text):
        return None
    try:
        number = phonenumbers.parse(text, region)
    except NumberParseException:
        return None
    # Not `is_possible_number`: it accepts numbers without an area code, which cannot be called from elsewhere.
    possible = phonenumbers.is_possible_number_with_reason(number) == ValidationResult.IS_POSSIBLE
    if number.extension or not possible:
        return None
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def readable(number: str, *, region: str) -> str:
    """Return an E.164 number as people in `region` write it: `(312) 555-0140`, and `+44 20 7946 0958` for others.

    Text that is no number is returned unchanged.
    """
    try:
        parsed = phonenumbers.parse(number, None)
    except NumberParseException:
        return number
    is_national = parsed.country_code == phonenumbers.country_code_for_region(region)
    style = PhoneNumberFormat.NATIONAL if is_national else PhoneNumberFormat.INTERNATIONAL
    return phonenumbers.format_number(parsed, style)


def dial_uri(number: str, ext: str = "") -> str:
    """Return the URI that dials an E.164 number and then its extension (RFC 3966)."""
    digits = "".join(character for character in ext if character.isdigit())
    return f"tel:{number};ext={digits}" if digits else f"tel:{number}"


def example(region: str) -> str:
    """Return a number of `region` as people there write it."""
    number = phonenumbers.example_number(region)
    return phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL) if number else "+1 312 555 0140"
