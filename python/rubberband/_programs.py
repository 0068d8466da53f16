"""Calls of the programs with --json, and what they answer."""
from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from . import _native
from ._errors import EXIT_CODES, Error, error_of
from ._values import duration, money

ENDS_WITH_NUMBER = re.compile(r"(?:rb\w+(?: \w+)?: )?(.*) \[(RB[1-9][0-9]{3})\]")
INSTANTS = ("started_at_us",)


class Record(Mapping[str, Any]):
    """A document of a program. Members are keys and attributes. `x_uusd` is also `x`, in dollars (Decimal); `x_us` is also
    `x`, a timedelta, or a datetime where it is an instant. What is unknown is None. to_dict() has it as it was printed."""

    def __init__(self, document: Mapping[str, Any], unit: str = "") -> None:
        self._document, self._values = dict(document), dict(document)
        for key, value in document.items():
            name, suffix = _unit_of(key)
            if name != key and name in document:
                continue  # a parameter of the job may have any name
            self._values[name] = _converted(value, "_at_us" if key in INSTANTS else suffix or unit)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_values" or name not in self._values:
            known = ", ".join(self.__dict__.get("_document", ()))
            raise AttributeError(f"no {name!r} in this document; it has {known}")
        return self._values[name]

    def __repr__(self) -> str:
        return f"<{self._document['format']}: {self._document}>" if "format" in self._document else repr(self._document)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._document)


def _unit_of(key: str) -> tuple[str, str]:
    for suffix in ("_uusd", "_us"):
        if key.endswith(suffix):
            return key[:-len(suffix)], suffix
    return key, ""


def _converted(value: Any, unit: str) -> Any:
    """unit: of the numbers in it, "" where they have none."""
    if isinstance(value, dict):
        return Record(value, unit)
    if isinstance(value, list):
        return [_converted(item, unit) for item in value]
    if isinstance(value, bool) or not isinstance(value, int) or not unit:
        return value
    if unit == "_at_us":
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=value)
    return money(value) if unit == "_uusd" else duration(value)


def failure(name: str, code: int, out: str, log: str) -> Error:
    """Of a program that ended with this exit code: its rb-error/1, else the last line of its diagnostics."""
    for line in reversed(out.splitlines()):
        if line.startswith('{"format":"rb-error/1"'):
            return error_of(json.loads(line))
    last = (log.strip() or f"{name} ended with {code}").splitlines()[-1]
    match = ENDS_WITH_NUMBER.fullmatch(last)
    kind = next((kind for kind, exit_code in EXIT_CODES.items() if exit_code == code), "io")
    message, number = match.groups() if match else (last, "RB1002")
    return Error(message, code=kind, number=number)


def ask(name: str, *words: str) -> str:
    """What the program prints. Raises what it says where it fails."""
    done = subprocess.run([_native.program(name), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise failure(name, done.returncode, done.stdout, done.stderr)
    return done.stdout


def ask_record(name: str, *words: str) -> Record:
    """The last line that it prints, a document."""
    return Record(json.loads(ask(name, *words).splitlines()[-1]))
