"""Tests of one class on one cloud: a MockCloud, and kill9's job planned on it."""
import os
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "crash"), os.path.join(here, "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402


class CloudCase(unittest.TestCase):
    """.cloud, .crash (a kill9.Crash) and .folder are the class's, .state each test's own."""
    bin_dir = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-cloud-case-")
        cls.folder = cls.temporary.name
        cls.cloud = cls.make_cloud()
        cls.crash = kill9.Crash(cls.bin_dir, cls.folder, cls.cloud)

    @classmethod
    def make_cloud(cls):
        return MockCloud(cls.bin_dir, cls.folder).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        cls.temporary.cleanup()

    def setUp(self):
        self.state = os.path.join(self.folder, self.id().split(".")[-1])
        self.older = {i["id"] for i in self.cloud.ledger()["instances"]}

    def rbrun(self, *args, expect=0, **env):
        return self.crash.run(["rbrun", *args, "--state-dir", self.state], expect=expect, **env)
