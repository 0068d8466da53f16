"""docs/policies/k8s-role.yaml grants what rbrun asks for before the first launch (providers/k8s/k8s_preflight.c), and what it can
do without; nothing else.

    check_role.py SOURCE_ROOT
"""
import re
import sys

root = sys.argv[1]
with open(root + "/providers/k8s/k8s_preflight.c", encoding="utf-8") as f:
    asked = {(g, r + ("/" + s if s else ""), v)
             for g, r, s, v in re.findall(r'\{"([a-z0-9.-]*)", "(\w+)", (?:NULL|"(\w+)"), "(\w+)"\}', f.read())}
with open(root + "/docs/policies/k8s-role.yaml", encoding="utf-8") as f:
    role = f.read().split("---")[0]
granted = set()
for group, resources, verbs in re.findall(r'apiGroups: \[(.*)\]\n +resources: \[(.*)\]\n +verbs: \[(.*)\]', role):
    for resource in resources.split(", "):
        granted |= {(group.strip('"'), resource, verb) for verb in verbs.split(", ")}
dispensable = {("", "resourcequotas", "list"), ("", "events", "list"), ("", "pods/log", "get")}
of_cluster = {("", "nodes", "list")}  # docs/policies/k8s-nodes.yaml
assert len(asked) > 10, "the table of rights is not where it was"
assert dispensable | of_cluster <= asked, sorted(dispensable | of_cluster - asked)
assert granted == asked - of_cluster, sorted(granted ^ (asked - of_cluster))
with open(root + "/docs/policies/k8s-nodes.yaml", encoding="utf-8") as f:
    assert "resources: [nodes]\n    verbs: [list]\n" in f.read()
