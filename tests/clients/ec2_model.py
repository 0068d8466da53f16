"""Answers of EC2 against AWS's own model of the API, as botocore carries it: every element must be a member of the
shape that the operation answers with, and every scalar must read as what the shape says it is."""
import re
import xml.etree.ElementTree as ElementTree

SCALARS = {
    "integer": re.compile(r"-?\d+"),
    "long": re.compile(r"-?\d+"),
    "boolean": re.compile(r"true|false"),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "string": re.compile(r".*", re.DOTALL),
    "double": re.compile(r"-?\d+(\.\d+)?"),
    "float": re.compile(r"-?\d+(\.\d+)?"),
}


def name(element):
    return element.tag.split("}")[-1]


def check(element, shape, where, problems):
    if shape.type_name == "structure":
        members = {m.serialization.get("name", key): m for key, m in shape.members.items()}
        for child in element:
            if name(child) == "requestId":
                continue
            if name(child) not in members:
                problems.append("%s/%s is no member of %s" % (where, name(child), shape.name))
            else:
                check(child, members[name(child)], where + "/" + name(child), problems)
    elif shape.type_name == "list":
        for child in element:
            if name(child) != shape.member.serialization.get("name", "item"):
                problems.append("%s/%s: expected item" % (where, name(child)))
            else:
                check(child, shape.member, where + "/item", problems)
    elif len(element) > 0:
        problems.append("%s: expected %s, got elements" % (where, shape.type_name))
    elif not SCALARS[shape.type_name].fullmatch(element.text or ""):
        problems.append("%s: '%s' is no %s" % (where, element.text, shape.type_name))
    elif getattr(shape, "enum", None) and element.text not in shape.enum:
        problems.append("%s: '%s' is none of %s" % (where, element.text, shape.name))


def count(element):
    return 1 + sum(count(child) for child in element)


class Checker:
    """Listens to a boto3 client and checks every answer that comes in."""

    def __init__(self, client):
        self.problems, self.elements, self.operations = [], 0, set()
        self.model = client.meta.service_model
        client.meta.events.register("needs-retry.ec2", self.see)

    def see(self, response, operation, **_):
        """Every answer passes here, with its parsed form, before botocore decides whether to ask again."""
        if response is None or response[0].status_code >= 300:
            return
        operation_model = self.model.operation_model(operation.name)
        root = ElementTree.fromstring(response[0].content)
        if name(root) != operation_model.name + "Response":
            self.problems.append("%s is answered with <%s>" % (operation_model.name, name(root)))
        self.operations.add(operation_model.name)
        self.elements += count(root)
        if operation_model.output_shape is not None:
            check(root, operation_model.output_shape, operation_model.name, self.problems)
