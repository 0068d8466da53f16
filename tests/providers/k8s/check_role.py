"""The Roles of docs/policies grant what rbrun asks for before the first launch (providers/k8s/k8s_preflight.c), and what it can
do without; nothing else. k8s-role.yaml: where nodes are pods; k8s-role-jobs.yaml: where they are Jobs.

    check_role.py SOURCE_ROOT
"""
import re
import sys

root = sys.argv[1]


def named(rights):
    return {(g, r + ("/" + s if s else ""), v) for g, r, s, v in rights}


def granted(path):
    with open(root + "/docs/policies/" + path, encoding="utf-8") as f:
        role = f.read().split("---")[0]
    out = set()
    for group, resources, verbs in re.findall(r'apiGroups: \[(.*)\]\n +resources: \[(.*)\]\n +verbs: \[(.*)\]', role):
        for resource in resources.split(", "):
            out |= {(group.strip('"'), resource, verb) for verb in verbs.split(", ")}
    return out


with open(root + "/providers/k8s/k8s_preflight.c", encoding="utf-8") as f:
    text = f.read()
RIGHT = r'\{"([a-z0-9.-]*)", "(\w+)", (?:NULL|"(\w+)"), "(\w+)"\}'
needed = {when: named(re.findall(r'\{%s, %s\}' % (RIGHT, when), text)) for when in ("ALWAYS", "AS_POD", "AS_JOB", "IN_QUEUE")}
asked = named(re.findall(RIGHT, text))
dispensable = {("", "resourcequotas", "list"), ("", "events", "list"), ("", "pods/log", "get"), ("", "pods", "watch")}
of_cluster = {("", "nodes", "list")}  # docs/policies/k8s-nodes.yaml
assert all(needed.values()), "the table of rights is not where it was"
assert asked == set.union(*needed.values()) | dispensable | of_cluster, sorted(asked ^ (set.union(*needed.values()) | dispensable | of_cluster))
for path, kinds in (("k8s-role.yaml", ("ALWAYS", "AS_POD", "IN_QUEUE")), ("k8s-role-jobs.yaml", ("ALWAYS", "AS_JOB"))):
    wanted = set.union(dispensable, *(needed[when] for when in kinds))
    assert granted(path) == wanted, (path, sorted(granted(path) ^ wanted))
with open(root + "/docs/policies/k8s-nodes.yaml", encoding="utf-8") as f:
    assert "resources: [nodes]\n    verbs: [list]\n" in f.read()
