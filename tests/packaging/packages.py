#!/usr/bin/env python3
"""Packages are installed as users install them, and their rbplan makes the plan, byte for byte, that the build's makes. Without --packages the
bundle is made of the build, and what else is small enough to be made again; with it, the packages of packaging/all are taken.
Usage: packages.py --bin BUILD [--packages FOLDER]. What lacks its tool is skipped, with a sentence."""
import argparse
import csv
import functools
import glob
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
GLIBC = re.compile(r"/(lib(c|m|dl|rt|pthread|resolv)\.so\.\d|ld-linux[^/]*)$")
PLAN = ["--deadline", "2h", "--threads", "1", "--profile-file", "examples/bert/profile.yaml", "--prices",
        "examples/prices/aws-us-east-1.csv", "-o", "plan.json", "examples/bert/job.yaml"]
BIN = PACKAGES = SCRATCH = None


def run(*argv, expect=0, **more):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300, check=False, **more)
    if expect is not None and done.returncode != expect:
        raise AssertionError("%s: exit %d, expected %d\n%s%s" % (argv, done.returncode, expect, done.stdout, done.stderr))
    return done


def needs(program, package):
    return unittest.skipUnless(shutil.which(program), "without %s (Debian: %s)" % (program, package))


AS_ROOT = unittest.skipUnless(os.geteuid() == 0, "not root: chroot and dpkg need it")


def confined(root, *argv, expect=0):
    """A program that sees that root alone, with /proc, where the loader asks for $ORIGIN, and /dev."""
    for folder in ("proc", "dev"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    mounts = 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec /usr/sbin/chroot "$0" /usr/bin/env -i "$@"'
    return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", mounts, root, *argv, expect=expect)


def plan(rbplan, folder=None, inside=None):
    """The bytes of the plan that this program makes. inside: the root that it is confined to."""
    folder = pathlib.Path(folder or tempfile.mkdtemp(dir=SCRATCH))
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    if inside:
        within = "/" + str(folder.relative_to(inside))
        confined(inside, "-C", within, rbplan, *PLAN)
    else:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("RB_", "LD_"))}
        run(rbplan, *PLAN, cwd=folder, env=env)
    return (folder / "plan.json").read_bytes()


@functools.cache
def build_plan():
    return plan(os.path.join(BIN, "rbplan"))


def the(pattern):
    """The one file of the packages whose name is like this."""
    found = glob.glob(os.path.join(PACKAGES, pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


def setUpModule():
    global PACKAGES, SCRATCH
    SCRATCH = tempfile.mkdtemp(prefix="rb-packages-")
    if PACKAGES:
        return
    if not shutil.which("patchelf"):
        raise unittest.SkipTest("without patchelf (Debian: patchelf)")
    PACKAGES = os.path.join(SCRATCH, "packages")
    run(PACKAGING / "tarball", "--build", BIN, "--out", PACKAGES)


def tearDownModule():
    shutil.rmtree(SCRATCH)


class Case(unittest.TestCase):
    maxDiff = 400

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=SCRATCH)

    def same_plan(self, *argv, **more):
        self.assertTrue(plan(*argv, **more) == build_plan(), "another plan than the build's")


class Bundle(Case):
    def unpack(self, pattern):
        with tarfile.open(the(pattern)) as archive:
            archive.extractall(self.folder)
        return glob.glob(self.folder + "/rubberband-*")[0]

    def confine(self, bundle):
        """A root that holds the bundle, env, and of libraries those of glibc."""
        root = tempfile.mkdtemp(dir=SCRATCH)
        for folder in ("lib", "lib64", "usr/bin", "work"):
            os.makedirs(os.path.join(root, folder))
        shutil.copy("/usr/bin/env", root + "/usr/bin/")
        for program in glob.glob(bundle + "/bin/*"):
            for path in re.findall(r"(?:=> |^\t)(/\S+) \(0x", run("ldd", program).stdout, re.M):
                if GLIBC.search(path):
                    shutil.copy(path, root + ("/lib64/" if path.startswith("/lib64/") else "/lib/"))
        shutil.copytree(bundle, root + "/opt")
        return root

    def test_the_layout_is_as_documented(self):
        bundle = self.unpack("rubberband-[0-9]*-linux-*.tar.gz")
        page = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
        for name in os.listdir(bundle):
            self.assertRegex(page, r"\b%s\b" % re.escape(name))
        self.assertEqual(sorted(os.listdir(bundle + "/bin")), ["rbmcp", "rbmock", "rbplan", "rbprofile", "rbrun", "rbsearch", "rbsim"])
        self.assertRegex(pathlib.Path(bundle, "GLIBC").read_text(encoding="ascii"), r"^2\.\d+\n$")

    def test_archives_have_no_trace_of_the_builder(self):
        for path in glob.glob(PACKAGES + "/*.tar.gz"):
            with tarfile.open(path) as archive:
                members = archive.getmembers()
            self.assertEqual({(m.uid, m.gid, m.uname, m.gname) for m in members}, {(0, 0, "", "")})
            self.assertEqual(len({m.mtime for m in members}), 1)
            self.assertFalse([m.name for m in members if m.mode & 0o022])

    @AS_ROOT
    def test_it_needs_only_glibc(self):
        root = self.confine(self.unpack("rubberband-[0-9]*-linux-*.tar.gz"))
        for program in os.listdir(root + "/opt/bin"):
            self.assertIn("Usage: " + program, confined(root, "/opt/bin/" + program, "--help").stdout)
        self.same_plan("/opt/bin/rbplan", folder=root + "/work", inside=root)
        os.unlink(root + "/opt/lib/libcjson.so.1")
        self.assertIn("libcjson.so.1: cannot open", confined(root, "/opt/bin/rbplan", "--help", expect=127).stderr)

    @AS_ROOT
    def test_static_programs(self):
        if not glob.glob(PACKAGES + "/rubberband-static-*"):
            self.skipTest("only of the packages of packaging/all: it takes a build of its own")
        root = self.confine(self.unpack("rubberband-static-*.tar.gz"))
        self.assertEqual(os.listdir(root + "/opt/lib"), ["libcjson.so.1"])
        self.same_plan("/opt/bin/rbplan", folder=root + "/work", inside=root)

    def test_what_it_carries_is_listed_with_licences(self):
        bundle = self.unpack("rubberband-[0-9]*-linux-*.tar.gz")
        sbom = json.loads(pathlib.Path(bundle, "sbom.spdx.json").read_text(encoding="utf-8"))
        self.assertEqual(sbom["spdxVersion"], "SPDX-2.3")
        packages = {p["name"]: p for p in sbom["packages"]}
        self.assertEqual(packages["rubberband"]["attributionTexts"], [(ROOT / "NOTICE").read_text(encoding="utf-8")])
        for library in os.listdir(bundle + "/lib"):
            path = next(p for folder in ("/lib", "/usr/lib") for p in glob.glob("%s/*-linux-gnu/%s" % (folder, library)))
            owners = run("dpkg", "-S", path, os.path.realpath(path), expect=None).stdout + run(
                "dpkg", "-S", "/usr" + path, os.path.realpath(path).removeprefix("/usr"), expect=None).stdout
            self.assertTrue({line.split(":")[0] for line in owners.splitlines()} & packages.keys(), library)
        for package in sbom["packages"]:
            self.assertRegex(package["licenseDeclared"], r"^[A-Za-z0-9.-]+( (OR|AND) [A-Za-z0-9.-]+)*$")
            self.assertTrue(package["name"] == "rubberband" or os.path.getsize("%s/licences/%s" % (bundle, package["name"])))
        ids = [package["SPDXID"] for package in sbom["packages"]] + ["SPDXRef-DOCUMENT"]
        self.assertEqual(len(set(ids)), len(ids))
        for relationship in sbom["relationships"]:
            self.assertIn(relationship["spdxElementId"], ids)
            self.assertIn(relationship["relatedSpdxElement"], ids)

    def test_a_library_without_a_licence_is_an_error(self):
        (pathlib.Path(self.folder) / "manifest").write_text("lib/x %s\n" % sys.executable, encoding="utf-8")
        said = run("python3", PACKAGING / "lib" / "sbom.py", "--name", "x", "--manifest", self.folder + "/manifest", "--out",
                   self.folder + "/out", expect=1, env=dict(os.environ, SOURCE_DATE_EPOCH="0")).stderr
        self.assertRegex(said, "has no licence of|is of no Debian package")


class Npm(Case):
    @needs("npm", "npm")
    def test_installed_offline(self):
        folder = PACKAGES
        if not glob.glob(PACKAGES + "/*.tgz"):
            folder = self.folder
            run(PACKAGING / "npm", "--out", folder, the("rubberband-[0-9]*-linux-*.tar.gz"))
        tarballs = glob.glob(folder + "/*.tgz")
        self.assertEqual(len(tarballs), 2)
        home = os.path.join(self.folder, "home")
        os.makedirs(home)
        env = {"PATH": os.environ["PATH"], "HOME": home, "npm_config_update_notifier": "false"}
        run("npm", "install", "--offline", "--no-audit", "--no-fund", *tarballs, cwd=home, env=env)
        scripts = [json.loads(pathlib.Path(p).read_text(encoding="utf-8")).get("scripts") for p in glob.glob(home + "/node_modules/*/package.json")]
        self.assertEqual(scripts, [None, None])
        self.assertIn("rbplan ", run("npx", "--offline", "rbplan", "--version", cwd=home, env=env).stdout)
        self.same_plan(home + "/node_modules/.bin/rbplan")
        self.assertIn("RB1101", run(home + "/node_modules/.bin/rbplan", "no.yaml", expect=1, env=env).stderr)
        shutil.rmtree(glob.glob(home + "/node_modules/rubberband-cli-linux-*")[0])
        self.assertIn("is not installed", run(home + "/node_modules/.bin/rbplan", "--help", expect=1, env=env).stderr)


class Image(Case):
    JOB = """version: 1
name: inside
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.2}}
scheduler: {type: sha, num_trials: 2, min_resource: 1, max_resource: 2, eta: 2, unit: epoch}
trial: {gpus: {min: 1, max: 1}}
run: 'e=0; while [ $e -lt $RB_RESOURCE_END ]; do e=$((e + 1)); echo epoch=$e loss=0.$e; done; echo $e >$RB_CHECKPOINT_DIR/e'
checkpoint: {dir: ckpt, size: 1KB}
resources: {infra: [local], instance_types: [local], spot: never}
deadline: 1h
"""

    @needs("buildah", "buildah")
    @AS_ROOT
    def test_it_plans_and_runs(self):
        folder = PACKAGES
        if not glob.glob(PACKAGES + "/*.oci"):
            folder = self.folder
            said = run(PACKAGING / "image", "--out", folder, the("rubberband-[0-9]*-linux-*.tar.gz")).stdout
            self.assertIn("Image sha256:", said)
        layout = pathlib.Path(glob.glob(folder + "/*.oci")[0])
        blob = lambda digest: layout / "blobs" / digest.replace(":", "/")  # noqa: E731
        index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]).read_bytes())
        config = json.loads(blob(manifest["config"]["digest"]).read_bytes())["config"]
        self.assertEqual(config["Cmd"], ["rbplan", "--help"])
        root = tempfile.mkdtemp(dir=SCRATCH)
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer["digest"]).read_bytes()))) as archive:
                archive.extractall(root)
        self.same_plan("/opt/rubberband/bin/rbplan", folder=root + "/root", inside=root)
        (pathlib.Path(root) / "root" / "job.yaml").write_text(self.JOB, encoding="utf-8")
        script = "rbplan --guess unit=1s,on=CPU --confidence mean job.yaml -o p.json && rbrun --yes p.json && rbrun doctor p.json"
        said = confined(root, "-C", "/root", "HOME=/root", config["Env"][0], "RB_LOCAL_SLOTS=2", "/bin/sh", "-c", script)
        self.assertIn("instances left: 0 ", said.stdout)


class Repository(Case):
    def setUp(self):
        super().setUp()
        if not (shutil.which("apt-ftparchive") and shutil.which("apt-get") and shutil.which("gpg")):
            self.skipTest("without apt-ftparchive or gpg (Debian: apt-utils, gpg)")
        self.gnupg = os.path.join(self.folder, "gnupg")
        os.makedirs(self.gnupg, 0o700)
        self.env = dict(os.environ, GNUPGHOME=self.gnupg)
        run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.org", "ed25519", env=self.env)
        debs = glob.glob((PACKAGES or "") + "/*.deb") or [self.small_deb()]
        run(PACKAGING / "repository", "--key", "test@example.org", "--out", self.folder, *debs, env=self.env)
        run("gpgconf", "--kill", "all", env=self.env)
        self.apt = os.path.join(self.folder, "apt")

    def small_deb(self):
        """A package of the build's rbplan alone."""
        tree = os.path.join(self.folder, "tree")
        os.makedirs(tree + "/DEBIAN")
        os.makedirs(tree + "/usr/bin")
        shutil.copy(os.path.join(BIN, "rbplan"), tree + "/usr/bin/")
        with open(tree + "/DEBIAN/control", "w", encoding="ascii") as control:
            control.write("Package: rubberband\nVersion: 0.1.0-1\nArchitecture: %s\nMaintainer: test <test@example.org>\n"
                          "Description: test\n" % run("dpkg", "--print-architecture").stdout.strip())
        run("dpkg-deb", "--build", "-Znone", tree, self.folder + "/rubberband_0.1.0-1.deb")
        return self.folder + "/rubberband_0.1.0-1.deb"

    def machine(self):
        """A root with apt's and dpkg's folders, on which what this machine has counts as installed, and a source: the repository."""
        root = tempfile.mkdtemp(dir=SCRATCH)
        for folder in ("etc/apt/sources.list.d", "etc/apt/preferences.d", "etc/apt/apt.conf.d", "etc/apt/trusted.gpg.d",
                       "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg/info", "var/lib/dpkg/updates",
                       "var/lib/dpkg/triggers", "var/log/apt"):
            os.makedirs(os.path.join(root, folder))
        paragraphs = pathlib.Path("/var/lib/dpkg/status").read_text(encoding="utf-8").split("\n\n")
        with open(root + "/var/lib/dpkg/status", "w", encoding="utf-8") as status:
            status.write("\n\n".join(p for p in paragraphs if not p.startswith(("Package: rubberband", "Package: librubberband"))))
        with open(root + "/etc/apt/sources.list", "w", encoding="utf-8") as sources:
            sources.write("deb [signed-by=%s/rubberband.asc] file://%s stable main\n" % (self.apt, self.apt))
        with open(root + "/apt.conf", "w", encoding="utf-8") as conf:
            conf.write('Dir "%s";\nAPT::Sandbox::User "root";\nAPT::Architecture "%s";\nDPkg::Options {"--root=%s"; "--force-not-root"; '
                       '"--log=/dev/null";};\n' % (root, run("dpkg", "--print-architecture").stdout.strip(), root))
        return root

    def get(self, root, *argv, expect=0):
        return run("apt-get", "-q", *argv, expect=expect, env=dict(os.environ, APT_CONFIG=root + "/apt.conf", LC_ALL="C.UTF-8"))

    @AS_ROOT
    def test_apt_installs_from_it(self):
        root = self.machine()
        self.get(root, "update")
        self.get(root, "install", "-y", "--no-install-recommends", "rubberband")
        self.same_plan(root + "/usr/bin/rbplan")

    def refused(self, path, change, *words):
        with open(os.path.join(self.apt, path), "rb+") as file:
            content = change(file.read())
            file.seek(0)
            file.write(content)
            file.truncate()
        root = self.machine()
        done = self.get(root, "update", expect=None)
        if done.returncode == 0:
            done = self.get(root, "install", "-y", "--download-only", "rubberband", expect=None)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stderr, words[0])

    def test_a_tampered_release_is_refused(self):
        self.refused("dists/stable/InRelease", lambda b: b.replace(b"Suite: stable", b"Suite: stabie"), "invalid|not signed|BADSIG")

    def test_a_tampered_index_is_refused(self):
        self.refused(glob.glob(self.apt + "/dists/stable/main/binary-*/Packages.gz")[0], lambda b: b[:-1] + bytes([b[-1] ^ 1]),
                     "Hash Sum mismatch|unexpected size")

    def test_a_tampered_package_is_refused(self):
        self.refused(glob.glob(self.apt + "/pool/main/rubberband_*.deb")[0], lambda b: b[:-1] + bytes([b[-1] ^ 1]), "Hash Sum mismatch")

    def test_another_key_is_refused(self):
        other = os.path.join(self.folder, "other")
        os.makedirs(other, 0o700)
        env = dict(os.environ, GNUPGHOME=other)
        run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "other@example.org", "ed25519", env=env)
        key = run("gpg", "--armor", "--export", env=env).stdout.encode()
        run("gpgconf", "--kill", "all", env=env)
        self.refused("rubberband.asc", lambda _: key, "NO_PUBKEY|not signed")


class Signatures(unittest.TestCase):
    def setUp(self):
        if not shutil.which("minisign"):
            self.skipTest("without minisign (Debian: minisign)")
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        self.public, secret = self.folder / "k.pub", self.folder / "k.sec"
        run("minisign", "-GW", "-p", self.public, "-s", secret)
        self.packages = self.folder / "packages"
        (self.packages / "image.oci").mkdir(parents=True)
        for name in ("one.tar.gz", "two.deb", "image.oci/index.json"):
            (self.packages / name).write_text(name, encoding="ascii")
        run(PACKAGING / "sign", "--key", secret, self.packages)

    def verify(self, expect):
        return run(PACKAGING / "sign", "--verify", self.public, self.packages, expect=expect)

    def test_good(self):
        self.assertEqual(self.verify(0).stdout, "3 files as signed\n")
        said = run("minisign", "-Vm", self.packages / "two.deb", "-p", self.public).stdout
        self.assertRegex(said, r"Trusted comment: two\.deb, rubberband [\d.]+, commit [0-9a-f]{40}\n")

    def test_each_change_is_found(self):
        changes = {"changed": lambda: (self.packages / "one.tar.gz").write_text("other"),
                   "changed within": lambda: (self.packages / "image.oci" / "index.json").write_text("other"),
                   "added": lambda: (self.packages / "three").write_text("three"),
                   "missing": lambda: (self.packages / "two.deb").unlink(),
                   "sums": lambda: (self.packages / "SHA256SUMS").write_text(""),
                   "swapped": lambda: shutil.copy(self.packages / "one.tar.gz.minisig", self.packages / "two.deb.minisig")}
        saved = self.folder / "saved"
        shutil.copytree(self.packages, saved)
        for name, change in changes.items():
            with self.subTest(name):
                shutil.rmtree(self.packages)
                shutil.copytree(saved, self.packages)
                change()
                self.verify(1)


class Recipes(unittest.TestCase):
    """Their syntax, and that they build this version."""
    VERSION = re.search(r" version: '([\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    FOLDER = PACKAGING / "recipes"

    def test_versions(self):
        for path in ("conda/meta.yaml", "homebrew/rubberband.rb", "nix/default.nix"):
            self.assertIn(self.VERSION, (self.FOLDER / path).read_text(encoding="utf-8"))

    def test_conda(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("without python3-yaml")
        recipe = yaml.safe_load(re.sub(r"^\{%.*%\}$", "", (self.FOLDER / "conda" / "meta.yaml").read_text(encoding="utf-8"), flags=re.M)
                                .replace("{{", "(").replace("}}", ")"))
        self.assertEqual(recipe["about"]["license"], "Apache-2.0")

    @needs("ruby", "ruby")
    def test_homebrew(self):
        self.assertEqual(run("ruby", "-c", self.FOLDER / "homebrew" / "rubberband.rb").stdout, "Syntax OK\n")

    @needs("nix-instantiate", "nix-bin")
    def test_nix(self):
        run("nix-instantiate", "--parse", self.FOLDER / "nix" / "default.nix")


class Scripts(unittest.TestCase):
    def test_help(self):
        for name in ("all", "deb", "image", "npm", "repository", "sign", "tarball"):
            self.assertIn("packaging/" + name, run(PACKAGING / name, "--help").stdout)
            self.assertIn("--help", run(PACKAGING / name, "--no-such", expect=1).stderr)

    def test_licences_are_sorted_and_unique(self):
        with open(PACKAGING / "lib" / "licences.csv", encoding="utf-8") as table:
            names = [row["source"] for row in csv.DictReader(table)]
        self.assertEqual(names, sorted(set(names)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--packages")
    parser.add_argument("--sanitizer", default="none")
    known, rest = parser.parse_known_args()
    if known.sanitizer != "none":
        print("built with -fsanitize=%s: no one packages such programs" % known.sanitizer)
        sys.exit(77)
    BIN, PACKAGES = os.path.abspath(known.bin), known.packages and os.path.abspath(known.packages)
    unittest.main(argv=sys.argv[:1] + rest)
