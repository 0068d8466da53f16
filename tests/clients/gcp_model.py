"""Answers of Compute Engine against Google's own description of its types, where one is at hand: the protocol buffers in
npm's @google-cloud/compute. Without it the names are not checked, and the test says so."""
import json
import os

PROTOS = "@google-cloud/compute/build/protos/protos.json"


def find_protos():
    folders = [os.environ.get("RB_NODE_MODULES", ""), "/usr/lib/node_modules", "/usr/local/lib/node_modules"]
    return next((os.path.join(f, PROTOS) for f in folders if f and os.path.exists(os.path.join(f, PROTOS))), None)


class Model:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            tree = json.load(f)
        for part in ("google", "cloud", "compute", "v1"):
            tree = tree["nested"][part]
        self.types, self.problems, self.seen = tree["nested"], [], 0

    def check(self, value, type_name, where=""):
        where = where or type_name
        message = self.types.get(type_name, {})
        for key, item in value.items() if isinstance(value, dict) else []:
            field = message.get("fields", {}).get(key)
            self.seen += 1
            if field is None:
                self.problems.append("%s.%s is no field of %s" % (where, key, type_name))
            elif "keyType" in field:
                for name, entry in item.items():
                    self.check(entry, field["type"], "%s.%s" % (where, key))
                    require_text = isinstance(entry, (dict, str))
                    if not require_text:
                        self.problems.append("%s.%s[%s]: %r" % (where, key, name, entry))
            else:
                self.check_field(item, field, type_name, "%s.%s" % (where, key))

    def check_field(self, value, field, owner, where):
        repeated = field.get("rule") == "repeated"
        if repeated != isinstance(value, list):
            self.problems.append("%s: expected %s" % (where, "a list" if repeated else "one value"))
            return
        for item in value if repeated else [value]:
            kind = field["type"]
            good = {"string": isinstance(item, str), "bool": isinstance(item, bool),
                    "int32": isinstance(item, int) and not isinstance(item, bool),
                    "int64": isinstance(item, str) and item.isdigit(), "uint64": isinstance(item, str) and item.isdigit(),
                    "double": isinstance(item, (int, float))}.get(kind)
            if good is False:
                self.problems.append("%s: %r is no %s" % (where, item, kind))
            elif good is None:
                self.check_named(item, kind, owner, where)

    def check_named(self, item, kind, owner, where):
        nested = self.types.get(owner, {}).get("nested", {})
        named = nested.get(kind) or self.types.get(kind) or {}
        if "values" in named:  # an enumeration
            if item not in named["values"]:
                self.problems.append("%s: %s is none of %s" % (where, item, kind))
        else:
            self.check(item, kind, where)
