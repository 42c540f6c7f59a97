"""Selection of Chromium for the browser tests: an installed one, else one that `make test` may install."""

import os
from pathlib import Path

import pytest

from tests.browser import chromium

BROWSER = "#!/bin/sh\necho Chromium 1\n"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide only the programs of a folder, and no Chromium of Playwright; yield the folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("CHROMIUM", "PLAYWRIGHT_BROWSERS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(chromium, "_WHERE", f"print({str(tmp_path / 'playwrights')!r})")
    monkeypatch.setattr(chromium, "PLAYWRIGHT", [str(folder / "playwright")])
    chromium.find.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return folder


@pytest.fixture(autouse=True)
def forgotten() -> object:
    yield
    chromium.find.cache_clear()


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_one_that_is_there_is_used_and_nothing_installed(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _program(machine / "chromium", BROWSER)

    assert chromium.install()
    assert chromium.find() == str(machine / "chromium")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("there", "packages", "asked", "used"),
    [
        ((), ("chromium-headless-shell",), ["update", "chromium-headless-shell"], "chromium-headless-shell"),
        ((), ("chromium",), ["update", "chromium-headless-shell", "chromium"], "chromium"),  # an older Debian
        (("chromium",), ("chromium-headless-shell",), ["chromium-headless-shell"], "chromium-headless-shell"),
        (("chromium",), (), ["chromium-headless-shell"], "chromium"),
        (("chromium-headless-shell",), (), [], "chromium-headless-shell"),
    ],
)
def test_root_gets_debians(
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    there: tuple[str, ...],
    packages: tuple[str, ...],
    asked: list[str],
    used: str,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in there:
        _program(machine / name, BROWSER)
    known = " ".join(f'[ "$last" = {name} ] && exec /bin/cp /bin/true {machine}/{name};' for name in packages)
    words = f'echo "$@" >> {machine}/asked; for last; do :; done'
    _program(machine / "apt-get", f'#!/bin/sh\n{words}\n{known}\n[ "$last" = -qq ]\n')

    assert chromium.install()

    assert chromium.find() == str(machine / used)
    log = machine / "asked"
    said = log.read_text().splitlines() if log.exists() else []
    assert [line.removesuffix(" -qq").rpartition(" ")[2] for line in said] == asked
    assert all("--no-install-recommends" in line for line in said if "install" in line)


def test_what_is_measured_is_the_whole_one(machine: Path) -> None:
    for name in ("chromium", "chromium-headless-shell"):
        _program(machine / name, BROWSER)

    assert chromium.find() == str(machine / "chromium-headless-shell")
    assert chromium.find_whole() == str(machine / "chromium")


def test_others_get_playwrights_own(machine: Path) -> None:
    _program(machine / "apt-get", "#!/bin/sh\nexit 1\n")
    own = machine.parent / "playwrights"
    script = f"#!/bin/sh\n[ \"$*\" = 'install chromium' ] && /bin/cp /bin/true {own}\n"
    _program(machine / "playwright", script)

    assert chromium.install()
    assert chromium.find() == str(own)


@pytest.mark.parametrize("root", [True, False])
def test_machine_that_lets_nothing_be_installed_has_none(
    machine: Path, monkeypatch: pytest.MonkeyPatch, root: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    for name in ("apt-get", "playwright"):
        _program(machine / name, "#!/bin/sh\nexit 1\n")

    assert not chromium.install()
    assert chromium.find() is None


def test_one_that_does_not_start_is_none(machine: Path) -> None:
    _program(machine.parent / "playwrights", "#!/bin/sh\nexit 127\n")

    assert chromium.find() is None
