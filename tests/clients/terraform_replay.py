#!/usr/bin/env python3
"""Terraform 1.11 with its aws provider 5.100.0 applies, plans and destroys two aws_instance: the requests that it sent to an EC2
were recorded, and are sent here to rbmock in that order, signed, with what the provider reads of the answers checked.
Terraform itself is in no package registry. One of the two has a root_block_device besides. Usage: terraform_replay.py RBMOCK"""
import base64
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

import ec2_model
from rbmock import RbMock, require, skip

try:
    import botocore.session
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    skip("python3-botocore is not installed")

IMAGE = "ami-00000000000000000"
USER_DATA = base64.b64encode(b"#!/bin/sh\necho hi\n").decode()
NAMESPACE = "{http://ec2.amazonaws.com/doc/2016-11-15/}"

# apply: every instance is asked for in these words. Empty and false are what no one configured.
CREATE = {"Action": "RunInstances", "DisableApiTermination": "false", "EbsOptimized": "false",
          "HibernationOptions.Configured": "false", "ImageId": IMAGE, "InstanceType": "g5.xlarge", "MaxCount": "1", "MinCount": "1",
          "Monitoring.Enabled": "false", "Placement.AvailabilityZone": "", "TagSpecification.1.ResourceType": "instance",
          "TagSpecification.1.Tag.1.Key": "exp", "TagSpecification.1.Tag.1.Value": "e9", "UserData": USER_DATA}
DISK = {"BlockDeviceMapping.1.DeviceName": "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize": "40",
        "BlockDeviceMapping.1.Ebs.VolumeType": "gp3", "BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true",
        "MetadataOptions.HttpProtocolIpv6": "disabled", "MetadataOptions.HttpTokens": "required",
        "TagSpecification.2.ResourceType": "volume", "TagSpecification.2.Tag.1.Key": "of", "TagSpecification.2.Tag.1.Value": "two"}
# after apply, for plan, and before destroy: read of one instance, in this order. Its volumes and its VPC by the ids that it names.
ATTRIBUTES = ("instanceInitiatedShutdownBehavior", "disableApiStop", "disableApiTermination", "userData")


class Ec2:
    def __init__(self, cloud):
        self.url, self.problems, self.elements, self.operations = cloud.ec2 + "/", [], 0, set()
        self.signer = SigV4Auth(Credentials(cloud.keys["aws_access_key_id"], cloud.keys["aws_secret_access_key"]), "ec2", "us-east-1")
        self.model = botocore.session.get_session().get_service_model("ec2")

    def ask(self, **parameters):
        """The answer's root element, or the code of the refusal."""
        body = urllib.parse.urlencode(dict(parameters, Version="2016-11-15")).encode()
        request = AWSRequest("POST", self.url, data=body, headers={
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "User-Agent": "APN/1.0 HashiCorp/1.0 Terraform/1.11.4 terraform-provider-aws/5.100.0"})
        self.signer.add_auth(request)
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, body, dict(request.headers)), timeout=20) as answer:
                root = ElementTree.fromstring(answer.read())
        except urllib.error.HTTPError as e:
            return ElementTree.fromstring(e.read()).findtext(".//Code")
        operation = self.model.operation_model(parameters["Action"])
        require(ec2_model.name(root) == operation.name + "Response", root.tag)
        if operation.output_shape is not None:
            ec2_model.check(root, operation.output_shape, operation.name, self.problems)
        self.operations.add(operation.name)
        self.elements += ec2_model.count(root)
        for element in root.iter():
            element.tag = element.tag.replace(NAMESPACE, "")
        return root

    def instance(self, which):
        root = self.ask(Action="DescribeInstances", **{"InstanceId.1": which})
        items = root.findall("reservationSet/item/instancesSet/item")
        require(len(items) == 1, "one instance, not %d" % len(items))
        return items[0]


def wait_for(ec2, which, state):
    end = time.monotonic() + 30
    while True:
        i = ec2.instance(which)
        if i.findtext("instanceState/name") == state:
            return i
        require(time.monotonic() < end, "%s is not %s in time" % (which, state))
        time.sleep(0.1)


def read(ec2, which):
    """What the provider keeps of one instance, by the requests of its Read."""
    i = ec2.instance(which)
    kind = ec2.ask(Action="DescribeInstanceTypes", **{"InstanceType.1": i.findtext("instanceType")})
    kind = kind.findall("instanceTypeSet/item")
    require(len(kind) == 1 and kind[0].findtext("burstablePerformanceSupported") == "false", "no credits to ask for")
    template = ec2.ask(Action="DescribeTags", **{"Filter.1.Name": "key", "Filter.1.Value.1": "aws:ec2launchtemplate:id",
                                                 "Filter.2.Name": "resource-id", "Filter.2.Value.1": which})
    require(template.find("tagSet") is not None and not template.findall("tagSet/item"), "no launch template")
    vpc = ec2.ask(Action="DescribeVpcs", **{"VpcId.1": i.findtext("vpcId")}).findall("vpcSet/item")
    require(len(vpc) == 1 and vpc[0].findtext("isDefault") == "true", "the default VPC: names of groups are kept, too")
    state = {name: i.findtext(name) for name in (
        "imageId", "instanceType", "placement/availabilityZone", "placement/groupName", "placement/tenancy", "privateIpAddress",
        "ipAddress", "privateDnsName", "dnsName", "subnetId", "ebsOptimized", "sourceDestCheck", "monitoring/state",
        "hibernationOptions/configured", "enclaveOptions/enabled", "metadataOptions/httpTokens", "metadataOptions/httpEndpoint",
        "metadataOptions/httpPutResponseHopLimit", "metadataOptions/instanceMetadataTags", "launchTime")}
    state["tags"] = {t.findtext("key"): t.findtext("value") for t in i.findall("tagSet/item")}
    state["groups"] = [(g.findtext("groupId"), g.findtext("groupName")) for g in i.findall("groupSet/item")]
    for attribute in ATTRIBUTES:
        answer = ec2.ask(Action="DescribeInstanceAttribute", Attribute=attribute, InstanceId=which)
        require(answer.findtext("instanceId") == which, "the attribute of this instance")
        state[attribute] = answer.findtext(attribute + "/value")
    state["volumes"] = [read_volume(ec2, i, d) for d in i.findall("blockDeviceMapping/item")]
    return state


def read_volume(ec2, i, device):
    require(device.findtext("deviceName") == i.findtext("rootDeviceName"), "it is the root device")
    found = ec2.ask(Action="DescribeVolumes", **{"VolumeId.1": device.findtext("ebs/volumeId")}).findall("volumeSet/item")
    require(len(found) == 1, "one volume of that id")
    v = found[0]
    require(v.findtext("attachmentSet/item/instanceId") == i.findtext("instanceId"), "attached to the instance")
    return dict({name: v.findtext(name) for name in ("size", "volumeType", "iops", "throughput", "encrypted", "snapshotId")},
                ends=device.findtext("ebs/deleteOnTermination"),
                tags={t.findtext("key"): t.findtext("value") for t in v.findall("tagSet/item")})


def expect(state, **wanted):
    for name, value in wanted.items():
        name = name.replace("__", "/")
        require(state[name] == value, "%s: expected %r, got %r" % (name, value, state[name]))


def check_state(one, two):
    for state in (one, two):
        expect(state, imageId=IMAGE, instanceType="g5.xlarge", placement__groupName="", placement__tenancy="default",
               ebsOptimized="false", monitoring__state="disabled", hibernationOptions__configured="false", userData=USER_DATA,
               enclaveOptions__enabled="false", sourceDestCheck="true", disableApiStop="false", disableApiTermination="false",
               instanceInitiatedShutdownBehavior="stop", tags={"exp": "e9"})
        require(state["placement/availabilityZone"].startswith("us-east-1") and state["subnetId"].startswith("subnet-"), "a place")
        require(state["launchTime"].endswith(".000Z"), "EC2 gives whole seconds: %s" % state["launchTime"])
        require(len(state["groups"]) == 1 and state["groups"][0][1] == "default", "the default group: %s" % state["groups"])
    expect(one, volumes=[])
    expect(two, volumes=[{"size": "40", "volumeType": "gp3", "iops": "3000", "throughput": "125", "encrypted": "false",
                          "snapshotId": None, "ends": "true", "tags": {"of": "two"}}])


def check_update(ec2, which):
    """`monitoring` and `tags` of the configuration changed: what is gone goes, what is new comes."""
    ec2.ask(Action="MonitorInstances", **{"InstanceId.1": which})
    require(read(ec2, which)["monitoring/state"] == "enabled", "it is watched")
    ec2.ask(Action="UnmonitorInstances", **{"InstanceId.1": which})
    require(read(ec2, which)["monitoring/state"] == "disabled", "and no more")
    ec2.ask(Action="DeleteTags", **{"ResourceId.1": which, "Tag.1.Key": "exp", "Tag.1.Value": "other"})
    require(read(ec2, which)["tags"] == {"exp": "e9"}, "another value of that key is not taken away")
    ec2.ask(Action="DeleteTags", **{"ResourceId.1": which, "Tag.1.Key": "exp"})
    ec2.ask(Action="CreateTags", **{"ResourceId.1": which, "Tag.1.Key": "Name", "Tag.1.Value": "x"})
    require(read(ec2, which)["tags"] == {"Name": "x"}, "the new tags")


def check_data_sources(ec2, which):
    """aws_vpc, aws_subnets, aws_security_group of the default network, and `aws_instance` with get_... and waiters."""
    vpc = ec2.ask(Action="DescribeVpcs", **{"Filter.1.Name": "isDefault", "Filter.1.Value.1": "true"}).findtext("vpcSet/item/vpcId")
    subnets = ec2.ask(Action="DescribeSubnets", **{"Filter.1.Name": "vpc-id", "Filter.1.Value.1": vpc}).findall("subnetSet/item")
    require([s.findtext("availabilityZone") for s in subnets] == ["us-east-1" + z for z in "abc"], "a subnet a zone")
    group = ec2.ask(Action="DescribeSecurityGroups", **{
        "Filter.1.Name": "group-name", "Filter.1.Value.1": "default", "Filter.2.Name": "vpc-id", "Filter.2.Value.1": vpc})
    group = group.findtext("securityGroupInfo/item/groupId")
    in_c = ec2.ask(**dict(CREATE, ClientToken="in-c", SubnetId=subnets[2].findtext("subnetId"), **{"SecurityGroupId.1": group}))
    where = in_c.find("instancesSet/item")
    require(where.findtext("placement/availabilityZone") == "us-east-1c", "a subnet is in its zone")
    require(where.findtext("groupSet/item/groupId") == group, "the group asked for")
    ec2.ask(Action="TerminateInstances", **{"InstanceId.1": where.findtext("instanceId")})
    status = ec2.ask(Action="DescribeInstanceStatus", **{"InstanceId.1": which}).find("instanceStatusSet/item")
    require(status.findtext("systemStatus/status") == "ok", "the machine is well")
    require(status.findtext("instanceStatus/status") == "initializing", "and boots, for these nodes take their time")


def check_refusals(ec2, which):
    """Nothing is made up: what is not modelled is an error."""
    second = {"BlockDeviceMapping.2.DeviceName": "/dev/sdb", "BlockDeviceMapping.2.Ebs.VolumeSize": "1"}
    for code, parameters in (
            ("InvalidParameterValue", {"Action": "DescribeInstanceAttribute", "Attribute": "enaSupport", "InstanceId": which}),
            ("MissingParameter", {"Action": "DescribeInstanceAttribute", "InstanceId": which}),
            ("InvalidInstanceID.NotFound", {"Action": "DescribeInstanceAttribute", "Attribute": "userData",
                                            "InstanceId": "i-00000000000000000"}),
            ("UnsupportedOperation", {"Action": "ModifyInstanceAttribute", "InstanceId": which, "DisableApiTermination.Value": "true"}),
            ("UnknownParameter", {"Action": "ModifyInstanceAttribute", "InstanceId": which, "EnaSupport.Value": "true",
                                  "DisableApiStop.Value": "false"}),
            ("UnsupportedOperation", {"Action": "DescribeInstanceCreditSpecifications", "InstanceId.1": which}),
            ("InvalidVpcID.NotFound", {"Action": "DescribeVpcs", "VpcId.1": "vpc-00000000000000000"}),
            ("InvalidSubnetID.NotFound", {"Action": "DescribeSubnets", "SubnetId.1": "subnet-00000000000000000"}),
            ("InvalidGroup.NotFound", {"Action": "DescribeSecurityGroups", "GroupId.1": "sg-00000000000000000"}),
            ("InvalidVolume.NotFound", {"Action": "DescribeVolumes", "VolumeId.1": "vol-00000000000000000"}),
            ("InvalidParameterValue", {"Action": "DescribeVolumes", "Filter.1.Name": "colour", "Filter.1.Value.1": "red"}),
            ("UnsupportedHibernationConfiguration", dict(CREATE, **{"HibernationOptions.Configured": "true"})),
            ("UnsupportedOperation", dict(CREATE, **DISK, **second)),
            ("UnsupportedOperation", dict(CREATE, **dict(DISK, **{"BlockDeviceMapping.1.DeviceName": "/dev/sdb"}))),
            ("UnsupportedOperation", dict(CREATE, **dict(DISK, **{"BlockDeviceMapping.1.Ebs.DeleteOnTermination": "false"}))),
            ("UnsupportedOperation", dict(CREATE, **dict(DISK, **{"BlockDeviceMapping.1.Ebs.Encrypted": "true"})))):
        got = ec2.ask(**parameters)
        require(got == code, "%s: expected %s, got %s" % (parameters["Action"], code, got))


def destroy(ec2, which):
    ec2.ask(Action="ModifyInstanceAttribute", InstanceId=which, **{"DisableApiTermination.Value": "false"})
    ec2.ask(Action="TerminateInstances", **{"InstanceId.1": which})
    gone = wait_for(ec2, which, "terminated")
    require(gone.findtext("stateReason/code") == "Client.UserInitiatedShutdown", "why it ended")
    require(gone.find("subnetId") is None and not gone.findall("blockDeviceMapping/item"), "nothing is left of it")


with RbMock(sys.argv[1]) as cloud:
    api = Ec2(cloud)
    made = [api.ask(ClientToken="terraform-2026112309411403740000000%d" % n, **CREATE, **more).findtext("instancesSet/item/instanceId")
            for n, more in ((1, {}), (2, DISK))]
    for instance in made:
        wait_for(api, instance, "running")
    applied = [read(api, instance) for instance in made]
    check_state(*applied)
    require([read(api, instance) for instance in made] == applied, "plan: no difference")
    check_data_sources(api, made[0])
    check_refusals(api, made[1])
    check_update(api, made[1])
    for instance in made:
        destroy(api, instance)
    require(not api.problems, "\n".join(sorted(set(api.problems))))
    print("terraform's requests: %d operations, %d elements, all in AWS's model" % (len(api.operations), api.elements))
