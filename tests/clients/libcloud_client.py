#!/usr/bin/env python3
"""Debian's Apache Libcloud, unmodified but for host and port, drives the EC2 front. Usage: libcloud_client.py RBMOCK"""
import sys
import urllib.parse

from rbmock import RbMock, require, skip

try:
    import libcloud
    from libcloud.compute.providers import get_driver
    from libcloud.compute.types import NodeState, Provider
except ImportError:
    skip("python3-libcloud is not installed")

with RbMock(sys.argv[1]) as cloud:
    at = urllib.parse.urlsplit(cloud.ec2)
    driver = get_driver(Provider.EC2)(*cloud.keys.values(), region="us-east-1", secure=False, host=at.hostname, port=at.port,
                                      signature_version="4")
    image = driver.list_images(ex_owner="amazon")[0]
    require(image.id == "ami-00000000000000000", "the image: %s" % image.id)
    size = [s for s in driver.list_sizes() if s.id == "p4d.24xlarge"]
    node = driver.create_node
    made = node(name="one", image=image, size=size[0] if size else None, ex_metadata={"rb:run-id": "lc"},
                ex_clienttoken="once")
    again = node(name="one", image=image, size=size[0] if size else None, ex_metadata={"rb:run-id": "lc"},
                 ex_clienttoken="once")
    require(made.id == again.id, "a token launches once")
    listed = driver.list_nodes(ex_filters={"tag:rb:run-id": "lc"})
    require([n.id for n in listed] == [made.id], "found by its tag: %s" % listed)
    require(driver.ex_create_tags(made, {"more": "1"}), "a tag more")
    require(driver.ex_describe_tags(made)["more"] == "1", "and it is there")
    running = driver.wait_until_running([made], wait_period=0.2, timeout=30, ssh_interface="private_ips")
    require(running[0][0].state == NodeState.RUNNING, "it runs")
    require(driver.destroy_node(made), "it ends")
    require([l.name for l in driver.list_locations()], "locations")
    slow = [s for s in driver.list_sizes() if s.id == "c5.xlarge"] or [type("Size", (), {"id": "c5.xlarge"})()]
    late = node(name="late", image=image, size=slow[0])  # it is pending for a quarter of an hour
    require(late.state == NodeState.PENDING and driver.destroy_node(late), "it ends before it ever ran")
    nodes = {n.id: n for n in driver.list_nodes()}  # libcloud reads the launchTime of every one
    require(nodes[late.id].extra["launch_time"].endswith(".000Z"), "its launchTime, as EC2 gives it: %s" % nodes[late.id].extra)
    print("libcloud %s drives the EC2 front" % libcloud.__version__)
