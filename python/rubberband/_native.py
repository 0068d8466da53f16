"""Finds librubberband.so.0 and the programs, and calls the library. Nothing is loaded before it is needed.

RB_BIN names the folder of the programs, a build folder for example; then they and the library come from there and from nowhere
else. Without it the library is looked for where the system's loader looks, then next to the programs on PATH; and programs
next to the library, then on PATH."""
from __future__ import annotations

import ctypes
import functools
import glob
import os
import shutil
import weakref
from typing import Any

from . import _prototypes
from ._errors import Error, Infeasible
from ._values import duration, money

NAME = "librubberband.so.0"


# ---- where things are


def _beside(programs: str) -> list[str]:
    """The places of the library, seen from the folder of the programs: a build, then an installation."""
    lib = os.path.join(os.path.dirname(programs), "lib")
    return [os.path.join(programs, "library", NAME), os.path.join(lib, NAME), *sorted(glob.glob(os.path.join(lib, "*", NAME)))]


def _existing(paths: list[str]) -> str | None:
    return next((path for path in paths if os.path.exists(path)), None)


def _load() -> ctypes.CDLL:
    folder = os.environ.get("RB_BIN")
    if folder:
        path = _existing(_beside(os.path.abspath(folder)))
        if path is None:
            raise FileNotFoundError(f"RB_BIN is {folder}, and there is no {NAME} in its library/ or in the lib/ next to it")
        return ctypes.CDLL(path)
    try:
        return ctypes.CDLL(NAME)
    except OSError as problem:
        program = shutil.which("rbplan")
        path = program and _existing(_beside(os.path.dirname(os.path.realpath(program))))
        if path:
            return ctypes.CDLL(path)
        if NAME not in str(problem):
            raise  # it is there, and something that it needs is not
        raise FileNotFoundError(f"{NAME} was not found: install the package librubberband0, or set RB_BIN to the folder of a "
                                "build, such as RB_BIN=~/rubberband/build") from None


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """The library, with the types of every function. ctypes releases the interpreter's lock during calls."""
    loaded = _load()
    for name, (result, arguments) in _prototypes.FUNCTIONS.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise ImportError(f"{loaded._name} has no {name}: it is older than this package, {_prototypes.VERSION}; "
                              "update librubberband0") from None
        function.restype, function.argtypes = result, arguments
    return loaded


def program(name: str) -> str:
    """The path of rbrun or rbplan."""
    folder = os.environ.get("RB_BIN")
    if folder:
        path = _existing([os.path.join(os.path.abspath(folder), name)])
    else:
        lib = os.path.dirname(os.path.abspath(library()._name)) if os.sep in library()._name else None
        near = [os.path.join(lib, up, name) for up in ("..", "../bin", "../../bin")] if lib else []
        path = _existing([os.path.normpath(p) for p in near]) or shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"{name} was not found {'in RB_BIN, ' + folder if folder else 'on PATH'}: install the package "
                                "rubberband, or set RB_BIN to the folder of a build")
    return path


# ---- calls


def text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def encoded(value: str) -> bytes:
    """For the library, whose texts end at a 0."""
    if "\0" in value:
        raise ValueError(f"{value!r} contains a 0 byte")
    return value.encode("utf-8", "surrogateescape")


class Handle:
    """Owns a struct of the library, which is freed with the last reference to this object."""

    def __init__(self, kind: str, pointer: Any, *borrowed: Handle) -> None:
        self.pointer = pointer
        self._borrowed = borrowed  # must outlive it
        weakref.finalize(self, getattr(library(), f"rubberband_{kind}_free"), pointer)


def new(kind: str, *arguments: Any) -> Handle:
    """What cannot fail: rubberband_KIND_new."""
    pointer = getattr(library(), f"rubberband_{kind}_new")(*(a.pointer for a in arguments))
    return Handle(kind, pointer, *arguments)


def call(function: str, *arguments: Any) -> None:
    """A function that takes an error last. Raises what it says."""
    lib = library()
    error = lib.rubberband_error_new()
    try:
        if getattr(lib, function)(*arguments, error) != _prototypes.OK:
            raise _exception(lib, error)
    finally:
        lib.rubberband_error_free(error)


def make(kind: str, function: str, *arguments: Any, borrowed: tuple[Handle, ...] = ()) -> Handle:
    """A function that stores a new KIND through its last argument but one."""
    pointer = ctypes.POINTER(getattr(_prototypes, kind))()
    call(function, *arguments, ctypes.byref(pointer))
    return Handle(kind, pointer, *borrowed)


def _exception(lib: Any, error: Any) -> Error:
    infeasible = lib.rubberband_error_status(error) == _prototypes.INFEASIBLE
    made = (Infeasible if infeasible else Error)(
        text(lib.rubberband_error_message(error)), code=text(lib.rubberband_error_name(error)),
        number=f"RB{lib.rubberband_error_number(error)}", remedy=text(lib.rubberband_error_remedy(error)),
        file=text(lib.rubberband_error_file(error)) or None, line=lib.rubberband_error_line(error) or None,
        column=lib.rubberband_error_column(error) or None, key=text(lib.rubberband_error_key(error)) or None)
    if isinstance(made, Infeasible):
        time_us = lib.rubberband_error_nearest_deadline_us(error)
        cost_uusd = lib.rubberband_error_nearest_budget_uusd(error)
        confidence = lib.rubberband_error_nearest_confidence(error)
        made.nearest_deadline = duration(time_us) if time_us >= 0 else None
        made.nearest_budget = money(cost_uusd) if cost_uusd >= 0 else None
        made.nearest_confidence = confidence if confidence >= 0 else None
    return made
