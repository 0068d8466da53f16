"""The JSON Schemas of docs/schemas, each bundled with those it refers to, so that no resolver is needed."""
import json
import pathlib


def load(folder):
    """{"plan": schema, ...}"""
    return {p.name.removesuffix(".schema.json"): json.loads(p.read_text(encoding="utf-8"))
            for p in sorted(pathlib.Path(folder).glob("*.schema.json"))}


def referred(schema, name):
    """Where a $ref points in the bundle: "#/$defs/x" of file f is "#/$defs/f/$defs/x"."""
    file, _, pointer = schema.partition("#")
    return "#/$defs/%s%s" % (file.removesuffix(".schema.json") or name, pointer)


def rewritten(value, name):
    if isinstance(value, list):
        return [rewritten(v, name) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: referred(v, name) if k == "$ref" and isinstance(v, str) else rewritten(v, name)
            for k, v in value.items() if k not in ("$id", "$schema")}


def bundle(schemas, name):
    return {"$schema": schemas[name]["$schema"], "$ref": "#/$defs/" + name,
            "$defs": {n: rewritten(s, n) for n, s in schemas.items()}}


def subschemas(value, path=""):
    """Every object of a schema that describes members, with its path; conditions only add to what stands beside them, as do choices
    beside members."""
    if isinstance(value, dict):
        if "properties" in value and isinstance(value["properties"], dict):
            yield path, value
        for k, v in value.items():
            if k not in ("if", "then", "else") and not (k == "oneOf" and "properties" in value):
                yield from subschemas(v, path + "/" + k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from subschemas(v, "%s/%d" % (path, i))
