#!/usr/bin/env python3
"""Makes rubberband/_prototypes.py, what ctypes has to know of every function, from the declarations of include/rubberband.h.
Usage: python_prototypes.py include/rubberband.h OUTPUT.py

A declaration that it does not understand is an error, so that no function is ever called with guessed types."""
import re
import sys

TYPES = {
    "void": "None",
    "int": "c_int",
    "double": "c_double",
    "size_t": "c_size_t",
    "int64_t": "c_int64",
    "const char *": "c_char_p",
    "const char *const *": "POINTER(c_char_p)",
    "enum rubberband_figure": "c_int",
}
TOP = '''"""Every function of rubberband.h, for ctypes. Made by tools/python_prototypes.py at build time: do not edit."""
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t
from typing import Any

VERSION = "%s"

'''


class Unknown(Exception):
    """Something in the header that has no counterpart here."""


def statements(header):
    """What ends with a semicolon, on one line each, without comments and preprocessor."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    text = re.sub(r'extern "C" \{', "", text)
    found = [re.sub(r"\s+", " ", part).strip(" }") for part in text.split(";")]
    return [statement for statement in found if statement]


def version(header):
    return ".".join(re.search(r"RUBBERBAND_VERSION_%s (\d+)" % part, header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def constants(body):
    """The names of an enum with their values."""
    value = 0
    for entry in body.split(","):
        name, equals, given = entry.strip().partition(" = ")
        if not re.fullmatch(r"RUBBERBAND_[A-Z0-9_]+", name):
            raise Unknown("enum: %r" % entry)
        value = int(given) if equals else value
        yield name[len("RUBBERBAND_"):], value
        value += 1


def converted(c_type, structs):
    """The ctypes expression of a type without a name."""
    handle = re.fullmatch(r"(?:const )?struct rubberband_(\w+) (\*{1,2})", c_type)
    if c_type in TYPES:
        return TYPES[c_type]
    if handle and handle.group(1) in structs:
        pointer = "POINTER(%s)" % handle.group(1)
        return pointer if handle.group(2) == "*" else "POINTER(%s)" % pointer
    raise Unknown("type: %r" % c_type)


def prototype(statement, structs):
    """(name, restype, argtypes) of `TYPE name(TYPE a, ...)`."""
    match = re.fullmatch(r"(.*?[ *])(rubberband_\w+)\((.*)\)", statement)
    if not match:
        raise Unknown("declaration: %r" % statement)
    result, name, parameters = match.group(1).strip(), match.group(2), match.group(3)
    types = []
    for parameter in [] if parameters == "void" else parameters.split(", "):
        declared = re.fullmatch(r"(.*?[ *])\w+", parameter)
        if not declared:
            raise Unknown("parameter of %s: %r" % (name, parameter))
        types.append(converted(declared.group(1).strip(), structs))
    return name, converted(result, structs), types


def generate(header):
    lines, structs, functions = [], [], []
    for statement in statements(header):
        enum = re.fullmatch(r"enum rubberband_\w+ \{ ?(.*?),? ?", statement)
        struct = re.fullmatch(r"struct rubberband_(\w+)", statement)
        if enum:
            lines += ["%s = %d" % constant for constant in constants(enum.group(1))]
        elif struct:
            structs.append(struct.group(1))
        else:
            functions.append(prototype(statement, structs))
    for name in structs:
        lines += ["", "", "class %s(Structure):" % name, '    """An opaque struct of the library."""']
    lines += ["", "", "# name: (type of the result, types of the arguments)", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
    lines += ['    "%s": (%s, [%s]),' % (name, result, ", ".join(types)) for name, result, types in functions]
    return TOP % version(header) + "\n".join(lines) + "\n}\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        header = f.read()
    try:
        text = generate(header)
    except Unknown as problem:
        sys.exit("%s: %s" % (sys.argv[1], problem))
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
