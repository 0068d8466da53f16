#!/usr/bin/env python3
"""rbrun --serve, asked as a browser asks and as others would: only this machine, only with the token, and the run never
notices. Needs no browser. Usage: run_serve.py BUILD_ROOT"""
import http.client
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import time
import unittest
import urllib.parse

import run_made

PROGRAMS = sys.argv.pop(1)


class Served(unittest.TestCase):
    """One slow run, asked by all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = run_made.Made(PROGRAMS, cls.folder.name, pause=3)
        cls.served, cls.url = cls.made.start_served()
        at = urllib.parse.urlsplit(cls.url)
        cls.port, cls.path = at.port, at.path

    @classmethod
    def tearDownClass(cls):
        cls.served.send_signal(signal.SIGINT)
        code = cls.served.wait(30)
        cls.served.stderr.close()
        cls.folder.cleanup()
        assert code == 130, code

    def ask(self, path, method="GET", host=None, body=None, headers=()):
        """Status, headers, body."""
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        to.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name in ["127.0.0.1:%d" % self.port] if host is None else host:
            to.putheader("Host", name)
        for name, value in headers:
            to.putheader(name, value)
        if body is not None:
            to.putheader("Content-Length", str(len(body)))
        to.endheaders(body)
        answer = to.getresponse()
        got = answer.status, dict(answer.getheaders()), answer.read()
        to.close()
        return got

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            answer = b""
            try:
                s.sendall(request)
                s.shutdown(socket.SHUT_WR)
                while chunk := s.recv(65536):
                    answer += chunk
            except OSError:
                pass
        return answer

    def refused(self, *args, **named):
        status, headers, body = self.ask(*args, **named)
        self.assertEqual((status, body), (403, b""), (args, named))
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_page_and_document(self):
        status, headers, body = self.ask(self.path)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        self.assertIn(b"data-live", body)
        self.assertIn(b"connect-src 'self'", body)
        status, headers, body = self.ask(self.path + "data.json")
        live = json.loads(body)
        self.assertEqual((status, live["format"], live["ended"]), (200, "rb-live/1", False))
        self.assertEqual(live["document"]["format"], "rb-run-page/1")
        self.assertEqual(live["document"]["report"]["outcome"], "running")
        self.assertIn("Progress", live["main"])

    def test_token(self):
        token = self.path.strip("/")
        other = "".join("0" if c != "0" else "1" for c in token)
        for path in ("/", "/data.json", "/" + other + "/", "/" + token[:-1] + "/", "/" + token[:-1] + "g/",
                     "/" + token.upper() + "x", "//" + token + "/", "/./" + token + "/", "/x/../" + token + "/",
                     "/%2e/" + token + "/", "/" + other + "/../" + token + "/", "/?" + token, "/#" + token, "*",
                     "/" + "%c3%a9" * 16 + "/", "/" + "A" * 4000):
            self.refused(path)

    def test_other_files(self):
        for name in ("data.jso", "data.json/", "../journal.db", "..%2fjournal.db", "plan.json", "x" * 2000):
            self.assertEqual(self.ask(self.path + name)[0], 404, name)

    def test_host(self):
        for host in ([], ["evil.example"], ["127.0.0.1.evil.example"], ["127.0.0.1:80x"], ["0.0.0.0"], [""],
                     ["127.0.0.2"], ["localhost.evil"], ["127.0.0.1", "evil.example"], ["evil.example", "127.0.0.1"]):
            self.assertNotEqual(self.ask(self.path, host=host)[0], 200, host)
        for host in ("127.0.0.1", "localhost", "localhost:9000", "[::1]:%d" % self.port):
            self.assertEqual(self.ask(self.path, host=[host])[0], 200, host)

    def test_methods(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            self.assertEqual(self.ask(self.path, method=method, body=b"x" * 1000)[0], 405, method)
            self.refused("/", method=method)
        status, headers, body = self.ask(self.path, method="HEAD")
        self.assertEqual((status, body), (200, b""))

    def test_origin_is_not_let_in(self):
        for origin in ("http://evil.example", "null", "https://localhost", "http://localhost.evil.example"):
            self.refused(self.path + "data.json", headers=[("Origin", origin)])
        _, headers, _ = self.ask(self.path + "data.json", headers=[("Origin", "http://localhost:8000")])
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")

    def test_requests_that_are_none(self):
        self.assertNotIn(b"200 OK", self.raw(b"GET " + self.path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " +
                                             b"y" * 100000 + b"\r\n\r\n"))
        self.assertNotIn(b"200 OK", self.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"))
        self.test_page_and_document()

    def test_other_addresses(self):
        addresses = {"127.0.0.2"}
        try:
            addresses.add(socket.gethostbyname(socket.gethostname()))
        except socket.gaierror:
            pass  # a machine that does not know its own name
        for address in addresses - {"127.0.0.1"}:
            with self.assertRaises(OSError, msg=address):
                socket.create_connection((address, self.port), timeout=1).close()

    def test_a_hundred_connections(self):
        """None of them says anything; those beyond the limit are not kept, and when they go the page is there again."""
        began = time.monotonic()
        held = []
        for _ in range(100):
            try:
                held.append(socket.create_connection(("127.0.0.1", self.port), timeout=1))
            except OSError:
                break
        self.assertIsNone(self.served.poll())
        for s in held:
            s.close()
        while self.ask_or_none() != 200:
            self.assertLess(time.monotonic() - began, 20)
        self.assertIsNone(self.served.poll())

    def test_viewers_that_go_away(self):
        """In the middle of what they ask, or of the answer; and a reader that is slow holds no one up."""
        request = ("GET %sdata.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % self.path).encode()
        slow = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        slow.sendall(request)
        for i in range(60):
            with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
                s.sendall(request[:-i] if i % 3 == 0 and i else request)
                if i % 3 == 1:
                    s.recv(100)
                if i % 2:  # a reset, not an end
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.test_page_and_document()
        self.assertIn(b"200 OK", slow.recv(100))
        slow.close()

    def ask_or_none(self):
        try:
            return self.ask(self.path)[0]
        except (OSError, http.client.HTTPException):
            return None

    def test_token_is_shown_once(self):
        """Not in its arguments, its files, its journal, nor its children's environment."""
        token = self.path.strip("/")
        with open("/proc/%d/cmdline" % self.served.pid, "rb") as f:
            self.assertNotIn(token.encode(), f.read())
        for folder, _, names in os.walk(self.folder.name):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        self.assertNotIn(token.encode(), f.read(), path)

    def test_children_do_not_hold_the_socket(self):
        with open("/proc/net/tcp", encoding="ascii") as f:
            inode = next(line.split()[9] for line in f if line.split()[1].endswith(":%04X" % self.port) and line.split()[3] == "0A")
        holders = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                links = [os.readlink("/proc/%s/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%s/fd" % pid)]
            except OSError:
                continue
            if "socket:[%s]" % inode in links:
                holders.append(int(pid))
        self.assertEqual(holders, [self.served.pid])


class Pool(unittest.TestCase):
    """A pool of two jobs: its page, and those of the jobs once they have begun."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        began = time.monotonic()
        self.made = run_made.Made(PROGRAMS, folder.name, pause=0.3)
        self.slowness = time.monotonic() - began  # a page that takes longer is made less often

    def ask(self, path):
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        to.request("GET", self.path + path)
        answer = to.getresponse()
        got = answer.status, answer.read().decode()
        to.close()
        return got

    def live(self, path=""):
        status, text = self.ask(path + "data.json")
        self.assertEqual(status, 200, path)
        return json.loads(text)

    def until(self, what):
        end = time.monotonic() + 60
        while not (seen := what()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        return seen

    def ended(self):
        """The document that says so: its reader may not find anyone who answers once more."""
        live = self.live()
        return live if live["ended"] else None

    def test_jobs_and_their_pages(self):
        run, url = self.made.start_served(self.made.pool(second_arrives=4 + 5 * self.slowness))
        self.port, self.path = urllib.parse.urlsplit(url).port, urllib.parse.urlsplit(url).path
        self.until(lambda: "1 training, 1 to come" in self.live()["summary"])
        pool = self.live()
        self.assertEqual((pool["format"], pool["ended"]), ("rb-live/1", False))
        self.assertEqual(pool["document"]["format"], "rb-pool-report/1")
        self.assertEqual([j["outcome"] for j in pool["document"]["jobs"]], ["running", "to come"])
        self.assertIn('<a href="1/">made</a>', pool["main"])
        self.assertNotIn('<a href="2/">', pool["main"])
        self.assertEqual(self.ask("2/"), (503, ""))  # not there yet
        for path in ("3/", "0/", "01/", "1", "1/1/", "-1/", "1/plan.json", "99999999999/"):
            self.assertEqual(self.ask(path)[0], 404, path)
        self.until(lambda: '<a href="2/">made</a>' in self.live()["main"])
        runs = [j["run"] for j in self.live()["document"]["jobs"]]
        for path, name in (("1/", runs[0]), ("2/", runs[1])):
            self.assertIn("Run " + name, self.ask(path)[1])
            self.assertEqual(self.live(path)["document"]["report"]["run"], name)
        self.until(lambda: self.live("1/")["ended"])
        self.assertFalse(self.live()["ended"])
        self.made.open_gate()
        pool = self.until(self.ended)
        self.assertEqual([j["outcome"] for j in pool["document"]["jobs"]], ["complete", "complete"])
        self.assertEqual(run.wait(30), 0)
        self.assertNotIn("is no longer updated", run.stderr.read())
        run.stderr.close()

    def test_a_pool_that_is_resumed_is_served(self):
        run, _ = self.made.start_served(self.made.pool(second_arrives=1))
        run.kill()
        run.wait()
        run.stderr.close()
        pool = next(name for name in os.listdir(os.path.join(self.made.folder, "state")) if name.startswith("made-pool-"))
        again, url = self.made.start_served(("resume", pool))
        self.port, self.path = urllib.parse.urlsplit(url).port, urllib.parse.urlsplit(url).path
        self.until(lambda: " training" in self.live()["summary"])
        again.send_signal(signal.SIGINT)
        self.assertEqual(again.wait(30), 130)
        again.stderr.close()


class Address(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.made = run_made.Made(PROGRAMS, self.folder.name)

    def serve_on(self, address):
        run = self.made.start("--serve", address)
        _, stderr = run.communicate(timeout=60)
        return run.returncode, stderr

    def test_only_loopback(self):
        for address in ("0.0.0.0:0", ":0", "8000", "10.0.0.1:8000", "[::]:80", "127.0.0.1", "127.0.0.1:65536",
                        "127.0.0.1:-1", "127.0.0.1:80a", "localhost.evil:80", "127.0.0.1:"):
            code, stderr = self.serve_on(address)
            self.assertEqual(code, 2, (address, stderr))
            self.assertIn("ssh -L", stderr)
            self.assertFalse(os.path.exists(os.path.join(self.folder.name, "state")), "nothing was begun")

    def test_a_port_that_is_taken_is_a_warning(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            code, stderr = self.serve_on("127.0.0.1:%d" % other.getsockname()[1])
        self.assertEqual(code, 0, stderr)
        self.assertIn("the run is not shown as a page", stderr)

    def test_no_one_looks_no_one_waits(self):
        code, stderr = self.serve_on("127.0.0.1:0")
        self.assertEqual(code, 0, stderr)
        self.assertEqual(stderr.count("look at it"), 1)


if __name__ == "__main__":
    unittest.main()
