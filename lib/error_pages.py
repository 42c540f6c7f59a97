"""The page docs/errors.md, generated from the error codes."""

from lib.errors import Code

_INTRODUCTION = """# Errors

Made from `lib/errors.py` by `make docs`; do not edit.

All errors under `/api` have this shape:

```json
{"error": {"code": "VALIDATION_ERROR", "message": "pickupTime is required.",
           "requestId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f", "retryable": false,
           "details": [{"field": "pickupTime", "code": "required", "message": "pickupTime is required."}],
           "docs": "/docs/errors#VALIDATION_ERROR"}}
```

`code` is stable: build on it. `details` is always a list; its other keys depend on the code. If `retryable` is true,
the same request may be sent again; wait for `Retry-After` if the answer contains it, and send an `Idempotency-Key` with
every POST so that a retry cannot happen twice.

| Code | Status | Send again? | When |
|---|---|---|---|
"""


def errors_page() -> str:
    """Return the text of docs/errors.md."""
    rows = (
        f'| <a id="{code.name}"></a>`{code.name}` | {code.status} | {"yes" if code.retryable else "no"} '
        f"| {code.value.when} |\n"
        for code in Code
    )
    return _INTRODUCTION + "".join(rows)
