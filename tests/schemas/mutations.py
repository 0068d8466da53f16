"""Ways to spoil a document, each of which a strict schema must notice: a member missing, a member no one knows, a number
that became a text. One per place, where list items of the same shape are one place."""
import copy

# Maps whose keys are the user's own.
OPEN = {"params", "parameters", "envs", "images", "image_id", "image", "containers", "tags", "changes"}
# Grammar that people write by hand: almost every key may be left out, numbers may be texts with units.
LENIENT = {"config"}
# Lists of as many items in every document.
OF_ONE_LENGTH = {"instants", "shares", "time_us", "cost_uusd", "rows"}
# What may be missing where: in a plan, and in a profile wherever it stands.
PLAN_OPTIONAL = {"containers", "deadline_at", "disks"}
# Of events.jsonl: what journals of older versions, failures that are compared with none, and suggestions of nothing lack.
EVENT_OPTIONAL = {"rules", "signature", "said", "values", "because"}
# Of a trial in a report: what it lacks without a sampler.
TRIAL_OPTIONAL = {"origin", "because"}
PLAN_AT = {"plan": (), "plan-page": ("plan",), "run-page": ("plan",)}
PROFILE_OPTIONAL = {(): {"name", "unit", "source", "provisioning", "resumes", "exact", "measured"},
                    ("startup_s",): {"relative_error"}, ("checkpoint_s",): {"relative_error"},
                    ("measured",): {"of"},
                    ("noise",): {"configuration"},
                    ("training",): {"relative_error", "max_gpus", "max_nodes", "sharing"},
                    ("provisioning",): {"preemption_per_hour", "relative_error", "region_factor", "price"}}


def places(value, path=(), shape=()):
    yield path, shape, value
    if isinstance(value, dict):
        for k, v in value.items():
            yield from places(v, path + (k,), shape + (k,))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from places(v, path + (i,), shape + ("*",))


def thinned(value, seen, shape=()):
    """The document without list items that have no place of a new shape, beside two of each list and all of those whose length is
    given: it has the same mutations, and is validated sooner."""
    seen.add(shape)
    if isinstance(value, dict):
        return {k: thinned(v, seen, shape + (k,)) for k, v in value.items()}
    if not isinstance(value, list):
        return value
    kept = []
    for item in value:
        known = len(seen)
        item = thinned(item, seen, shape + ("*",))
        if len(seen) > known or len(kept) < 2 or shape[-1] in OF_ONE_LENGTH:
            kept.append(item)
    return kept


def spoilt(document, path, change):
    """A copy of the document with this place changed; it shares whatever lies beside the path."""
    copied = place = copy.copy(document)
    for step in path:
        place[step] = copy.copy(place[step])
        place = place[step]
    change(place)
    return copied


def profile_shape(kind, shape):
    """The place within rb-profile/1, None outside of one."""
    if kind == "profile":
        return shape
    inner = "model" if kind in PLAN_AT else "profile" if kind == "fit" else None
    return shape[shape.index(inner) + 1:] if inner in shape else None


def may_be_missing(kind, shape, key):
    if kind == "event" and shape == () and key in EVENT_OPTIONAL:
        return True
    if shape[-2:] == ("trials", "*") and key in TRIAL_OPTIONAL:
        return True
    within = profile_shape(kind, shape)
    if within is None:
        return kind in PLAN_AT and shape == PLAN_AT[kind] and key in PLAN_OPTIONAL
    return key in PROFILE_OPTIONAL.get(within[:1], ())


def mutations(document, kind):
    """(what was done, spoilt document)"""
    seen = set()
    for path, shape, value in places(document):
        is_open = OPEN & set(shape) or (kind == "event" and "values" in shape)
        if shape in seen or is_open or LENIENT & set(shape[:-1]):
            continue
        seen.add(shape)
        where = ".".join(map(str, shape)) or "the document"
        if isinstance(value, dict) and not LENIENT & set(shape):
            yield "an unknown member of " + where, spoilt(document, path, lambda o: o.update(no_such_key=1))
            for key in value:
                if not may_be_missing(kind, shape, key):
                    yield "%s without %s" % (where, key), spoilt(document, path, lambda o, k=key: o.pop(k))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield "%s as a text" % where, spoilt(document, path[:-1],
                                                lambda o, k=path[-1], v=value: o.__setitem__(k, str(v)))
