"""rbrun report --csv against the report as JSON, read by Python's csv: the same rows, and every field the same value."""
import csv
import io
import sys

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value):
    """A JSON value as its field reads."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "'" + value if value.startswith(FORMULA) else value
    return value


def same(field, value):
    value = cell(value)
    if isinstance(value, bool):
        return field == ("true" if value else "false")
    if isinstance(value, (int, float)):
        return field != "" and type(value)(field) == value
    return field == value


def rows_of(report, table):
    if table == "costs":
        return [{"part": part, "cost_uusd": cost} for part, cost in report["cost_uusd"]["by"].items()]
    if table == "notes":
        return [{"kind": kind.rstrip("s"), **note} for kind in ("faults", "replans", "spot", "drifts", "warnings") for note in report[kind]]
    if table == "trials":
        return [{**{k: v for k, v in trial.items() if k != "params"},
                 **{"params." + name: v for name, v in trial["params"].items()}} for trial in report["trials"]]
    return report[table]


def check(report, read):
    """read(table): what --csv TABLE printed. Returns how many fields were compared."""
    n = 0
    for table in ("costs", "nodes", "notes", "stages", "trials"):
        text, expected = read(table), rows_of(report, table)
        got = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        if len(got) != len(expected) or not text.endswith("\r\n"):
            sys.exit("--csv %s: %d rows, expected %d:\n%s" % (table, len(got), len(expected), text))
        for row, values in zip(got, expected):
            if set(row) != set(values) or not all(same(row[k], values[k]) for k in values):
                sys.exit("--csv %s: %r is not %r" % (table, row, values))
            n += len(values)
    if n < 40:
        sys.exit("only %d fields of CSV were compared" % n)
    return n
