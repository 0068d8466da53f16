#!/usr/bin/env python3
"""Debian's boto3, unmodified but for endpoint_url, drives rbmock: launch, list with paging, filter, tag, terminate,
placement groups, spot and on-demand prices. Every element of every answer is looked up in AWS's own model of the API. Usage: boto3_client.py RBMOCK"""
import base64
import datetime
import json
import sys

from ec2_model import Checker
from rbmock import RbMock, require, skip

try:
    import boto3
    from botocore.exceptions import ClientError
except ImportError:
    skip("python3-boto3 is not installed")

IMAGE = "ami-00000000000000000"
TAGS = [{"Key": "rb:run-id", "Value": "a+b/c %25 é"}, {"Key": "rb:owner", "Value": "o"}]


def refusal(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ClientError as e:
        return e.response["Error"]["Code"]
    return None


def launch(ec2, n=1, **more):
    return ec2.run_instances(ImageId=IMAGE, MinCount=n, MaxCount=n, **{"InstanceType": "g5.xlarge", **more})["Instances"]


def check_launches(ec2):
    seven = launch(ec2, 7, UserData="#!/bin/sh\ntrue\n", InstanceInitiatedShutdownBehavior="terminate",
                   TagSpecifications=[{"ResourceType": "instance", "Tags": TAGS}, {"ResourceType": "volume", "Tags": TAGS}],
                   MetadataOptions={"HttpTokens": "required"}, Placement={"AvailabilityZone": "us-east-1b"},
                   BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 100, "DeleteOnTermination": True}}])
    require(len({i["InstanceId"] for i in seven}) == 7, "seven instances")
    require(seven[0]["BlockDeviceMappings"][0]["Ebs"]["DeleteOnTermination"], "its volume goes with it")
    require(all(i["Placement"]["AvailabilityZone"] == "us-east-1b" for i in seven), "their zone")
    spot = launch(ec2, InstanceMarketOptions={"MarketType": "spot", "SpotOptions": {"SpotInstanceType": "one-time"}},
                  ClientToken="twice")
    again = launch(ec2, InstanceMarketOptions={"MarketType": "spot", "SpotOptions": {"SpotInstanceType": "one-time"}},
                   ClientToken="twice")
    require(spot[0]["InstanceId"] == again[0]["InstanceId"], "a token launches once")
    require(spot[0]["InstanceLifecycle"] == "spot", "the market")
    require(refusal(launch, ec2, ClientToken="twice", InstanceType="p4d.24xlarge") == "IdempotentParameterMismatch",
            "a token means one launch")
    require(refusal(launch, ec2, 2, InstanceType="p4d.24xlarge") == "VcpuLimitExceeded", "a quota")
    require(refusal(launch, ec2, DryRun=True) == "DryRunOperation", "a dry run")
    return [i["InstanceId"] for i in seven], spot[0]["InstanceId"]


def check_listings(ec2, seven, spot):
    pages = list(ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "tag:rb:run-id", "Values": ["a+b/c %25 é"]}], PaginationConfig={"PageSize": 5}))
    found = [i["InstanceId"] for p in pages for r in p["Reservations"] for i in r["Instances"]]
    require(found == seven and len(pages) == 2, "seven in pages of five: %s" % found)
    of_spot = ec2.describe_instances(Filters=[{"Name": "instance-lifecycle", "Values": ["spot"]}])["Reservations"]
    require([i["InstanceId"] for r in of_spot for i in r["Instances"]] == [spot], "the spot instance by its lifecycle")
    by_token = ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["twice"]}])["Reservations"]
    require([i["InstanceId"] for r in by_token for i in r["Instances"]] == [spot], "and by its token")
    ec2.get_waiter("instance_running").wait(InstanceIds=seven, WaiterConfig={"Delay": 1, "MaxAttempts": 30})


def check_tags(ec2, seven):
    ec2.create_tags(Resources=seven[:2], Tags=[{"Key": "more", "Value": "1"}])
    tags = list(ec2.get_paginator("describe_tags").paginate(
        Filters=[{"Name": "resource-id", "Values": seven[:3]}], PaginationConfig={"PageSize": 5}))
    values = [(t["ResourceId"], t["Key"]) for p in tags for t in p["Tags"]]
    require(len(values) == 8 and len(tags) == 2, "eight tags of three instances in pages of five: %s" % values)


def check_catalogue(ec2):
    types = ec2.describe_instance_types(InstanceTypes=["p4d.24xlarge"])["InstanceTypes"]
    require(types[0]["GpuInfo"]["Gpus"][0]["Count"] == 8, "eight GPUs")
    offered = ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=[
        {"Name": "instance-type", "Values": ["p4d.*"]}])["InstanceTypeOfferings"]
    require(sorted(o["Location"] for o in offered) == ["us-east-1" + z for z in "abc"], "offered in three zones: %s" % offered)
    now = datetime.datetime.now(datetime.timezone.utc)
    current = ec2.describe_spot_price_history(InstanceTypes=["g5.xlarge"], ProductDescriptions=["Linux/UNIX"], StartTime=now)
    prices = {p["AvailabilityZone"]: p["SpotPrice"] for p in current["SpotPriceHistory"]}
    require(prices == {"us-east-1" + z: "0.412500" for z in "abc"}, "one current price a zone: %s" % prices)
    history = [p for page in ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=["g5.xlarge"], AvailabilityZone="us-east-1a", StartTime=now - datetime.timedelta(days=7),
        PaginationConfig={"PageSize": 5}) for p in page["SpotPriceHistory"]]
    require(len(history) > 5 and len({p["SpotPrice"] for p in history}) > 2, "prices have moved: %d" % len(history))
    require(len(ec2.describe_availability_zones()["AvailabilityZones"]) == 3, "three zones")
    require(ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"] == IMAGE, "the image")
    require([r["RegionName"] for r in ec2.describe_regions()["Regions"]] == ["us-east-1"], "EC2's regions alone")


def check_groups(ec2):
    made = ec2.create_placement_group(GroupName="together", Strategy="cluster", TagSpecifications=[
        {"ResourceType": "placement-group", "Tags": TAGS}])["PlacementGroup"]
    require(made["State"] == "available" and made["GroupId"].startswith("pg-"), "a group: %s" % made)
    member = launch(ec2, Placement={"GroupName": "together"})[0]
    require(member["Placement"]["GroupName"] == "together", "an instance in it")
    found = ec2.describe_placement_groups(Filters=[{"Name": "tag:rb:owner", "Values": ["o"]}])["PlacementGroups"]
    require([g["GroupName"] for g in found] == ["together"] and found[0]["Tags"] == TAGS, "the group by its tag: %s" % found)
    require(refusal(ec2.delete_placement_group, GroupName="together") == "InvalidPlacementGroup.InUse", "a group in use")
    ec2.terminate_instances(InstanceIds=[member["InstanceId"]])
    ec2.get_waiter("instance_terminated").wait(InstanceIds=[member["InstanceId"]],
                                               WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    ec2.delete_placement_group(GroupName="together")
    require(ec2.describe_placement_groups()["PlacementGroups"] == [], "and gone")


def check_reservations(ec2):
    if "ReservationType" not in ec2.meta.service_model.shape_for("CapacityReservation").members:
        return  # a model older than Capacity Blocks
    all_ids = [r["CapacityReservationId"] for page in ec2.get_paginator("describe_capacity_reservations").paginate(
        PaginationConfig={"PageSize": 1}) for r in page["CapacityReservations"]]
    require(len(all_ids) == 2, "reservations, page by page: %s" % all_ids)
    block = ec2.describe_capacity_reservations(Filters=[{"Name": "availability-zone", "Values": ["us-east-1b"]}])
    block = block["CapacityReservations"][0]
    require(block["ReservationType"] == "capacity-block" and block["EndDate"] > block["StartDate"], "a block: %s" % block)
    into = lambda cr: {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": cr}}}  # noqa: E731
    zone = {"Placement": {"AvailabilityZone": "us-east-1a"}}
    inside = launch(ec2, 2, **into(all_ids[0]), **zone)[0]
    require(inside["CapacityReservationId"] == all_ids[0], "an instance in it: %s" % inside)
    require(refusal(launch, ec2, 1, **into(all_ids[0]), **zone) == "ReservationCapacityExceeded", "a full one")
    require(refusal(launch, ec2, 1, **into("cr-00000000")) == "InvalidCapacityReservationId.NotFound", "no such one")
    require(refusal(launch, ec2, 1, **into(all_ids[1])) == "InvalidParameterValue", "a block that is not asked for as one")
    zone = {"Placement": {"AvailabilityZone": "us-east-1b"}}
    of_block = launch(ec2, 1, **into(all_ids[1]), **zone, InstanceMarketOptions={"MarketType": "capacity-block"})[0]
    require(of_block["InstanceLifecycle"] == "capacity-block", "an instance of a block: %s" % of_block)
    left = ec2.describe_capacity_reservations(CapacityReservationIds=all_ids)["CapacityReservations"]
    require([r["AvailableInstanceCount"] for r in left] == [0, 0], "what is left: %s" % left)


def check_prices(pricing):
    """The on-demand price of a machine, as people ask for it; in pages of one, its look-alikes are there too."""
    def ask(*filters, **more):
        return pricing.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=[
            {"Type": "TERM_MATCH", "Field": f, "Value": v} for f, v in filters], **more)

    machine = [("instanceType", "g5.xlarge"), ("regionCode", "us-east-1")]
    exact = machine + [("operatingSystem", "Linux"), ("tenancy", "Shared"), ("capacitystatus", "Used"),
                       ("preInstalledSw", "NA")]
    products = [json.loads(p) for page in ask(*exact) for p in page["PriceList"]]
    dimension = [d for t in products[0]["terms"]["OnDemand"].values() for d in t["priceDimensions"].values()]
    require(len(products) == 1 and [d["pricePerUnit"] for d in dimension] == [{"USD": "1.0060000000"}],
            "the price: %s" % products)
    pages = list(ask(*machine, PaginationConfig={"PageSize": 1}))
    require(len(pages) == 3 and all(len(p["PriceList"]) == 1 for p in pages), "three products, a page each: %d" % len(pages))
    require(refusal(pricing.get_products, ServiceCode="AmazonS3") == "NotFoundException", "another service")


def check_ends(ec2, seven, spot):
    require(refusal(ec2.terminate_instances, InstanceIds=[seven[0], "i-00000000000000000"]) == "InvalidInstanceID.NotFound",
            "an unknown id")
    require(refusal(ec2.terminate_instances, InstanceIds=seven, DryRun=True) == "DryRunOperation", "a dry run of the end")
    states = {i["InstanceId"]: i["CurrentState"]["Name"]
              for i in ec2.terminate_instances(InstanceIds=seven + [spot])["TerminatingInstances"]}
    require(set(states.values()) == {"shutting-down"} and len(states) == 8, "eight shut down: %s" % states)
    ec2.get_waiter("instance_terminated").wait(InstanceIds=seven, WaiterConfig={"Delay": 1, "MaxAttempts": 30})


with RbMock(sys.argv[1]) as cloud:
    client = boto3.client("ec2", endpoint_url=cloud.ec2, region_name="us-east-1", **cloud.keys)
    checker = Checker(client)
    ids, spot_id = check_launches(client)
    check_listings(client, ids, spot_id)
    check_tags(client, ids)
    check_catalogue(client)
    check_reservations(client)
    check_groups(client)
    check_prices(boto3.client("pricing", endpoint_url=cloud.ec2, region_name="us-east-1", **cloud.keys))
    check_ends(client, ids, spot_id)
    require(not checker.problems, "\n".join(sorted(set(checker.problems))))
    require(checker.elements > 1000, "only %d elements were seen" % checker.elements)
    print("boto3 %s: %d operations, %d elements, all in AWS's model" % (
        boto3.__version__, len(checker.operations), checker.elements))
