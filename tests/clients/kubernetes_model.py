"""Answers of a Kubernetes API against its own description: every member must be one of its type, of the form that the type
says, and none that is required may be missing. kubernetes_types.json holds the types that rbmock answers with, from the file
api/openapi-spec/swagger.json of Kubernetes 1.20.2. What versions since then have added is below.
    python3 tests/clients/kubernetes_model.py 1.20.2 SWAGGER.JSON >tests/clients/kubernetes_types.json"""
import json
import os
import re
import sys

CORE, META = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."
ROOTS = [CORE + kind for kind in ("PodList", "EventList", "ResourceQuotaList", "LimitRangeList", "NodeList", "NamespaceList")] + [
    META + kind for kind in ("Status", "APIGroupList", "APIResourceList", "APIVersions")] + [
    "io.k8s.api.coordination.v1.LeaseList", "io.k8s.api.authorization.v1.SelfSubjectAccessReview", "io.k8s.apimachinery.pkg.version.Info"]
LATER = {CORE + "PodSpec": {"schedulingGates": {"type": "array", "items": {"$ref": "#/definitions/" + CORE + "LocalObjectReference"}}}}  # 1.26
BATCH = "io.k8s.api.batch.v1."


def type_of(fields, required="", kind=None):
    """A type in short: "name:string spec:@TYPE conditions:[@TYPE". kind: "Job", of batch/v1."""
    def form(text):
        if text.startswith("["):
            return {"type": "array", "items": form(text[1:])}
        if text.startswith("{"):
            return {"type": "object", "additionalProperties": form(text[1:])}
        return {"$ref": "#/definitions/" + text[1:]} if text.startswith("@") else {"type": text}
    out = {"type": "object", "required": required.split(), "properties": {k: form(v) for k, v in (f.split(":", 1) for f in fields.split())}}
    if kind:
        out["x-kubernetes-group-version-kind"] = [{"group": "batch", "version": "v1", "kind": kind}]
    return out


TIME, OBJECT = "@" + META + "Time", "apiVersion:string kind:string metadata:@" + META
# Jobs, as the API reference of 1.30 has them: much of what matters here is younger than 1.20.
LATER_TYPES = {
    BATCH + "JobList": type_of(OBJECT + "ListMeta items:[@" + BATCH + "Job", "items", "JobList"),
    BATCH + "Job": type_of(OBJECT + "ObjectMeta spec:@" + BATCH + "JobSpec status:@" + BATCH + "JobStatus", "", "Job"),
    BATCH + "JobSpec": type_of("activeDeadlineSeconds:integer backoffLimit:integer backoffLimitPerIndex:integer completionMode:string completions:integer "
                               "manualSelector:boolean maxFailedIndexes:integer parallelism:integer podFailurePolicy:@" + BATCH + "PodFailurePolicy "
                               "podReplacementPolicy:string selector:@" + META + "LabelSelector suspend:boolean template:@" + CORE + "PodTemplateSpec "
                               "ttlSecondsAfterFinished:integer", "template"),
    BATCH + "PodFailurePolicy": type_of("rules:[@" + BATCH + "PodFailurePolicyRule", "rules"),
    BATCH + "PodFailurePolicyRule": type_of("action:string onPodConditions:[@" + BATCH + "PodFailurePolicyOnPodConditionsPattern", "action"),
    BATCH + "PodFailurePolicyOnPodConditionsPattern": type_of("status:string type:string", "type status"),
    BATCH + "JobStatus": type_of("active:integer completedIndexes:string completionTime:" + TIME + " conditions:[@" + BATCH + "JobCondition failed:integer "
                                 "failedIndexes:string ready:integer startTime:" + TIME + " succeeded:integer terminating:integer "
                                 "uncountedTerminatedPods:@" + BATCH + "UncountedTerminatedPods"),
    BATCH + "UncountedTerminatedPods": type_of("failed:[string succeeded:[string"),
    BATCH + "JobCondition": type_of("lastProbeTime:" + TIME + " lastTransitionTime:" + TIME + " message:string reason:string status:string type:string",
                                    "type status"),
    CORE + "PodTemplateSpec": type_of("metadata:@" + META + "ObjectMeta spec:@" + CORE + "PodSpec"),
    META + "LabelSelector": type_of("matchLabels:{string"),
}
NULLS = {"creationTimestamp", "lastProbeTime", "lastTransitionTime", "eventTime", "firstTimestamp", "lastTimestamp"}  # instants that Go writes where there is none
FORMS = {
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    "micro-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
    "quantity": re.compile(r"[+-]?[0-9.]+([eE][0-9]+|[numkKMGTPE]i?)?"),
}
IS = {"string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool), "number": lambda v: isinstance(v, (int, float)),
      "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "array": lambda v: isinstance(v, list),
      "object": lambda v: isinstance(v, dict)}


def named(reference):
    return reference["$ref"].rsplit("/", 1)[1]


class Model:
    """problems: what was wrong so far; seen: how many members were looked at; kinds: of the objects."""

    def __init__(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubernetes_types.json"), encoding="utf-8") as f:
            self.types = json.load(f)["definitions"]
        for name, members in LATER.items():
            self.types[name]["properties"].update(members)
        self.types.update(LATER_TYPES)
        self.of_kind = {(g["group"], g["version"], g["kind"]): name for name, t in self.types.items()
                        for g in t.get("x-kubernetes-group-version-kind", [])}
        self.problems, self.seen, self.kinds = [], 0, set()

    def check(self, answer):
        """An answer that says its kind."""
        group, _, version = answer.get("apiVersion", "v1").rpartition("/")  # APIVersions has no version of its own
        name = self.of_kind.get((group, version, answer.get("kind")))
        if name is None:
            self.problems.append("no such kind: %.200s" % json.dumps(answer))
        else:
            self.check_as(name, answer)

    def check_as(self, name, answer):
        self.kinds.add(name.rsplit(".", 1)[1])
        self.walk({"$ref": name}, answer, name.rsplit(".", 1)[1])

    def walk(self, schema, value, where):
        self.seen += 1
        form = schema.get("format")
        if "$ref" in schema:
            name = named({"$ref": "/" + schema["$ref"]})
            schema = self.types[name]
            form = {"Quantity": "quantity", "MicroTime": "micro-time"}.get(name.rsplit(".", 1)[1], schema.get("format"))
        kind = schema.get("type", "object")
        if value is None:
            if where.rsplit(".", 1)[-1] not in NULLS:
                self.problems.append("%s is null" % where)
        elif not IS[kind](value):
            self.problems.append("%s: %.80r is no %s" % (where, value, kind))
        elif form in FORMS and not FORMS[form].fullmatch(value):
            self.problems.append("%s: %.80r is no %s" % (where, value, form))
        elif kind == "array":
            for k, item in enumerate(value):
                self.walk(schema["items"], item, "%s[%d]" % (where, k))
        elif kind == "object":
            self.walk_object(schema, value, where)

    def walk_object(self, schema, value, where):
        members, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key in schema.get("required", []):
            if key not in value:
                self.problems.append("%s: %s is required" % (where, key))
        for key, item in value.items():
            if key in members or others:
                self.walk(members.get(key, others), item, "%s.%s" % (where, key))
            elif members:
                self.problems.append("%s.%s is no member of its type" % (where, key))


def stripped(schema, is_map=False):
    """Without what people read and what no check here looks at."""
    if isinstance(schema, list):
        return [stripped(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: stripped(item, key == "properties") for key, item in schema.items()
            if is_map or key == "x-kubernetes-group-version-kind" or key != "description" and not key.startswith("x-")}


def extract(version, swagger):
    """The types that ROOTS lead to."""
    found, todo = {}, list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in found and name in swagger["definitions"]:
            found[name] = text = json.dumps(stripped(swagger["definitions"][name]), separators=(",", ":"), sort_keys=True)
            todo += re.findall(r"#/definitions/([^\"]+)", text)
    rows = ["%s: %s" % (json.dumps(name), found[name]) for name in sorted(found)]
    return ('{"source": "api/openapi-spec/swagger.json of Kubernetes %s, without descriptions",\n"copyright": "The Kubernetes Authors",\n'
            '"license": "Apache-2.0",\n"definitions": {\n%s\n}}' % (version, ",\n".join(rows)))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as source:
        print(extract(sys.argv[1], json.load(source)))
