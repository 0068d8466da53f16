#!/usr/bin/env python3
"""container.sh with stand-ins for podman, docker and apptainer that write down what they are asked for: users, GPUs, logins,
repetitions, quoting. What they do with it is not shown here: image_runs.py has a real podman; there was no real apptainer, and no
GPU. Usage: engines.py --root SOURCE [TEST]..."""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = None
IMAGE = "registry.example.org:5000/team/train@sha256:" + "0" * 64

# Writes its words and what reaches it by stdin and the environment; has a container and an image after it was asked for one.
ENGINE = """#!/bin/sh
me=${0##*/}
printf '%s' "$me" >>"$LOG"; for word in "$@"; do printf ' <%s>' "$(printf %s "$word" | tr '\\n' ' ')" >>"$LOG"; done; echo >>"$LOG"
case "$me $1" in
"apptainer build") mkdir -p "$4"; echo "$APPTAINER_DOCKER_USERNAME/$APPTAINER_DOCKER_PASSWORD" >>"$LOG.secret" ;;
"apptainer exec") while [ "$1" != sh ]; do shift; done; exec "$@" ;;
*" login") cat >>"$LOG.secret"; [ -d "$DOCKER_CONFIG" ] && echo "$DOCKER_CONFIG" >>"$LOG.secrets" ;;
*" image") [ -e "$LOG.image" ] ;;
*" pull") [ ! -e "$LOG.refuses" ] || { rm "$LOG.refuses"; echo "unauthorized" >&2; exit 125; }; touch "$LOG.image" ;;
*" ps") [ ! -e "$LOG.deaf" ] || exit 125; [ ! -e "$LOG.runs" ] || echo running ;;
*" inspect") [ -e "$LOG.runs" ] && echo true ;;
*" run") sleep "${RUN_S:-0}"; [ ! -e "$LOG.runs" ] || { echo "the name is in use" >&2; exit 125; }; touch "$LOG.runs" ;;
*" rm") rm -f "$LOG.runs" ;;
*" exec") [ ! -e "$LOG.deaf" ] || exit 125; while [ "$1" != sh ]; do shift; done; exec "$@" ;;
esac
"""


class Engines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rb-engines-")
        self.addCleanup(folder.cleanup)
        self.folder, self.bin = folder.name + "/home it's", folder.name + "/bin"
        self.log = folder.name + "/log"
        os.makedirs(self.folder + "/rb/run-1/trials/0/0")
        os.mkdir(self.bin)
        self.env = {"PATH": self.bin + ":/usr/bin:/bin", "LOG": self.log, "HOME": self.folder}
        for tool in os.listdir("/usr/bin"):  # all but this machine's engines
            if tool not in ("podman", "docker", "apptainer", "nvidia-smi", "id", "grep"):
                os.symlink("/usr/bin/" + tool, self.bin + "/" + tool)
        self.env["PATH"] = self.bin
        self.tool("id", "#!/bin/sh\ncase $1 in -u) echo ${ME:-1001} ;; -g) echo 1002 ;; -un) echo ann ;; esac\n")
        self.tool("grep", "#!/bin/sh\ncase $* in *subuid) [ -n \"$SUBUID\" ] ;; *) exec /usr/bin/grep \"$@\" ;; esac\n")
        with open(ROOT + "/executor/transport/container.sh", encoding="utf-8") as f:
            self.script = f.read()

    def tool(self, name, text=ENGINE):
        with open(self.bin + "/" + name, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.bin + "/" + name, 0o755)

    def say(self, *words, login="", expect=0, **env):
        done = subprocess.run(["/bin/sh", "-c", self.script, "container", *words], cwd=self.folder, env=dict(self.env, **env), input=login,
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def ready(self, *engines, gpus="0", data="", **more):
        return self.say("ready", "rb/run-1", "rb-run-1-0", IMAGE, gpus, data, *engines, **more)

    def enter(self, command):
        return subprocess.run(["/bin/sh", "rb/run-1/enter", command], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              check=False)

    def asked(self, verb):
        with open(self.log, encoding="utf-8") as f:
            return [line.strip() for line in f if line.split()[1:2] == ["<%s>" % verb]]

    def secret(self):
        with open(self.log + ".secret", encoding="utf-8") as f:
            return f.read()

    def test_podman_as_a_login_and_as_root(self):
        self.tool("podman")
        self.assertRegex(self.ready("podman", "docker", SUBUID="1").stdout, r"^rb-pull \d+\n")
        run = self.asked("run")[0]
        for words in ("<--user> <1001:1002>", "<--userns> <keep-id>", "<--network> <host>", "<--ipc> <host>", "<--pull> <never>",
                      "<--volume> <%s/rb/run-1:%s/rb/run-1>" % (self.folder, self.folder), "<USER=ann>",
                      "<--entrypoint> <sh>", "<--label> <rb.run-id=run-1>", "<%s> <-c>" % IMAGE):
            self.assertIn(words, run)
        self.assertNotIn("nvidia", run)
        self.say("drop", "rb/run-1")
        self.ready("podman", ME="0")
        self.assertIn("<--user> <0:1002>", self.asked("run")[1])
        self.say("drop", "rb/run-1")
        self.ready("podman")  # a login without numbers of its own: root inside is who it is outside
        self.assertIn("<--user> <0:0>", self.asked("run")[2])
        for run in self.asked("run")[1:]:
            self.assertNotIn("keep-id", run)

    def test_what_runs_stays_and_what_is_gone_is_made(self):
        self.tool("podman")
        self.ready("podman")
        self.ready("podman")
        self.assertEqual((len(self.asked("run")), len(self.asked("pull"))), (1, 1))
        with open(self.folder + "/rb/run-1/trials/0/0/pid", "w", encoding="utf-8") as f:
            f.write("17\n")
        with open(self.folder + "/rb/run-1/setup.done", "w", encoding="utf-8"):
            pass
        os.remove(self.log + ".runs")  # as after a restart of the machine
        self.assertEqual(self.enter("true").returncode, 255)
        self.ready("podman")
        self.assertEqual(len(self.asked("run")), 2)
        with open(self.folder + "/rb/run-1/trials/0/0/pid", encoding="utf-8") as f:
            self.assertGreaterEqual(int(f.read()), 2 ** 22)  # no process has that number
        self.assertFalse(os.path.exists(self.folder + "/rb/run-1/setup.done"), "the new container is not set up")
        self.say("drop", "rb/run-1")
        self.say("drop", "rb/run-1")
        self.assertEqual(len(self.asked("rm")), 3)

    def test_commands_arrive_as_they_are(self):
        self.tool("docker")
        self.ready("podman", "docker")
        done = self.enter("printf '<%s>' \"a  b\" 'it'\\''s' \"$((1 + 1))\"; echo \"$PWD\" >&2; exit 7")
        self.assertEqual((done.stdout, done.returncode), ("<a  b><it's><2>", 7))
        self.assertIn("<--interactive> <--workdir> <%s> <rb-run-1-0>" % self.folder, self.asked("exec")[-1])

    def test_data_that_lies_on_the_node(self):
        data = self.folder + "/data"
        self.tool("podman")
        self.ready("podman", data=data)
        self.assertNotIn(data, self.asked("run")[0])  # nothing is there: data.mount is refused inside
        self.say("drop", "rb/run-1")
        os.mkdir(data)
        self.ready("podman", data=data)
        self.assertIn("<--volume> <%s:%s>" % (data, data), self.asked("run")[1])

    def test_gpus_where_there_are_some(self):
        for engine, words in (("podman", "<--device> <nvidia.com/gpu=all>"), ("docker", "<--gpus> <all>")):
            with self.subTest(engine):
                self.tool(engine)
                self.ready(engine, gpus="4")
                self.assertNotIn(words, self.asked("run")[-1])  # a mock cloud's node has none
                self.say("drop", "rb/run-1")
                self.tool("nvidia-smi", "#!/bin/sh\n")
                self.ready(engine, gpus="4", RB_NODE_DEVICES="2,3")
                self.assertIn(words, self.asked("run")[-1])
                self.assertIn("<--env> <RB_NODE_DEVICES>", self.asked("run")[-1])
                self.say("drop", "rb/run-1")
                self.ready(engine, gpus="0")
                self.assertNotIn(words, self.asked("run")[-1])
                self.say("drop", "rb/run-1")
                os.remove(self.bin + "/nvidia-smi")

    def test_a_login_passes_through_memory_alone(self):
        for engine in ("podman", "docker"):
            with self.subTest(engine):
                self.tool(engine)
                if os.path.exists(self.log + ".image"):
                    os.remove(self.log + ".image")
                self.ready(engine, login="ann\ns3cret it's\n")
                self.assertIn("<--username> <ann> <--password-stdin> <registry.example.org:5000>", self.asked("login")[-1])
                self.assertTrue(self.secret().endswith("s3cret it's"))
                with open(self.log, encoding="utf-8") as f:
                    self.assertNotIn("s3cret", f.read())
                with open(self.log + ".secrets", encoding="utf-8") as f:
                    for folder in f.read().split():
                        self.assertTrue(folder.startswith("/dev/shm/") or not os.path.isdir("/dev/shm"))
                        self.assertFalse(os.path.exists(folder))
                self.say("drop", "rb/run-1")
                os.remove(self.bin + "/" + engine)

    def test_a_pull_that_fails_is_tried_again(self):
        self.tool("podman")
        with open(self.log + ".refuses", "w", encoding="utf-8"):
            pass
        self.ready("podman")
        self.assertEqual(len(self.asked("pull")), 2)

    def test_two_controllers_make_one_container(self):
        """What a controller that was killed has begun on the node goes on, while the next one asks for the same."""
        self.tool("podman")
        words = ["/bin/sh", "-c", self.script, "container", "ready", "rb/run-1", "rb-run-1-0", IMAGE, "0", "", "podman"]
        both = [subprocess.Popen(words, cwd=self.folder, env=dict(self.env, RUN_S="1"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [one.communicate(timeout=30)[1] for one in both]
        self.assertEqual([one.returncode for one in both], [0, 0], said)
        self.assertEqual((len(self.asked("run")), len(self.asked("pull"))), (1, 1))

    def test_an_engine_that_fails_ends_no_container(self):
        self.tool("podman")
        self.ready("podman")
        with open(self.log + ".deaf", "w", encoding="utf-8"):
            pass
        n = len(self.asked("rm"))
        self.assertIn("podman does not say whether rb-run-1-0 runs", self.ready("podman", expect=255).stderr)
        self.assertEqual((len(self.asked("rm")), len(self.asked("run"))), (n, 1))
        self.assertEqual(self.enter("true").returncode, 255, "a command is asked for again")
        self.assertIn("rb-run-1-0 does not end", self.say("drop", "rb/run-1", expect=1).stderr)
        os.remove(self.log + ".deaf")
        self.say("drop", "rb/run-1")
        self.assertEqual(os.listdir(self.folder + "/rb/run-1").count("container"), 0)

    def test_a_login_is_forgotten_where_no_one_reads(self):
        """The controller was killed while the image was being pulled."""
        self.tool("podman")
        with subprocess.Popen(["/bin/sh", "-c", self.script, "container", "ready", "rb/run-1", "rb-run-1-0", IMAGE, "0", "", "podman"],
                              cwd=self.folder, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as node:
            node.stdout.close()
            node.communicate(b"ann\ns3cret\n", timeout=30)
        with open(self.log + ".secrets", encoding="utf-8") as f:
            for folder in f.read().split():
                self.assertFalse(os.path.exists(folder), folder)

    def test_no_engine(self):
        self.assertIn("none of these is installed: podman docker", self.ready("podman", "docker", expect=3).stderr)

    def test_apptainer_makes_a_folder_and_keeps_the_processes_of_the_allocation(self):
        self.tool("apptainer")
        self.tool("nvidia-smi", "#!/bin/sh\n")
        self.ready("apptainer", gpus="2", login="ann\ns3cret\n")
        self.ready("apptainer", gpus="2")
        self.assertEqual(self.asked("build"), ["apptainer <build> <--sandbox> <--fix-perms> <rb/run-1/image> <docker://%s>" % IMAGE])
        self.assertEqual(self.secret(), "ann/s3cret\n")
        self.assertEqual(self.enter("exit 75").returncode, 75)
        folder = self.folder + "/rb/run-1"
        self.assertEqual(self.asked("exec")[-1], "apptainer <exec> <--nv> <--bind> <%s> <--pwd> <%s> <%s/image> <env> <HOME=%s> <USER=ann> <LOGNAME=ann> <sh> <-c> <exit 75>" % (
            folder, self.folder, folder, folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", required=True)
    args, rest = parser.parse_known_args()
    ROOT = os.path.abspath(args.root)
    unittest.main(argv=[sys.argv[0]] + rest)
