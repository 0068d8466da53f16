"""What went wrong, where, and what to do next: the fields of rb-error/1."""
from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

EXIT_CODES = {"infeasible": 3, "stopped": 4, "denied": 5, "capacity": 6, "price": 7, "incomplete": 8, "broken_script": 9,
              "invalid": 2}


class Error(Exception):
    """The library or a program refused or failed.

    code     what programs act on: "invalid", "io", "not_found", "infeasible", "stopped", "denied", "capacity", "price", ...
    number   permanent, "RB1112"; `rbplan explain RB1112` and docs/errors have its cause and remedy
    message  one sentence with what was expected, and what to do next
    remedy   the remedy for all errors of this number
    file, line, column, key   the place; None where there is none
    report   the rb-report/1 of a run that ended badly, else None
    """

    def __init__(self, message: str, *, code: str, number: str, remedy: str = "", file: str | None = None,
                 line: int | None = None, column: int | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code, self.number, self.remedy = message, code, number, remedy
        self.file, self.line, self.column, self.key = file, line, column, key
        self.report: Any = None

    def __str__(self) -> str:
        place = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        before = ":".join(place) + ": " if place else ""
        return f"{before}{self.key + ': ' if self.key else ''}{self.message} [{self.number}]"

    @property
    def exit_code(self) -> int:
        """What a program would have ended with."""
        return EXIT_CODES.get(self.code, 1)

    def to_dict(self) -> dict[str, Any]:
        """As rb-error/1."""
        return {"format": "rb-error/1", "code": self.code, "number": self.number, "message": self.message,
                "remedy": self.remedy, "file": self.file, "line": self.line, "column": self.column, "key": self.key}


class Infeasible(Error):
    """No plan keeps the constraints. The nearest value of each that, changed alone, would make one possible; None: no value
    of this one alone would, or it was not requested."""

    nearest_deadline: timedelta | None = None
    nearest_budget: Decimal | None = None
    nearest_confidence: float | None = None


def error_of(document: dict[str, Any]) -> Error:
    """The exception of an rb-error/1."""
    fields = {key: value for key, value in document.items() if key != "format"}
    return (Infeasible if document["code"] == "infeasible" else Error)(**fields)
