"""A registry of container images for tests: this machine's shell, its tools and Python as an image of one layer, made here, and
an HTTP server that gives it out as registries do, with a token if it is asked to.
Source: OCI distribution specification 1.1, OCI image specification 1.0."""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import subprocess
import tarfile
import threading
import time
import urllib.parse

TOOLS = ("sh cat cp mv rm mkdir rmdir ls ln touch chmod date sleep env stat head tail cut paste tr sort wc id dirname basename "
         "cksum base64 dd sha256sum seq grep sed tar find xargs setsid flock ps mktemp readlink mkfifo").split()
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def libraries(programs):
    """The files that a program's loader reads."""
    found = set()
    for program in programs:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        found.update(word for word in said.split() if word.startswith("/"))
    return sorted(found)


def layer(tools, mark, files=()):
    """A tar with these programs of this machine below /bin, their libraries, these files of this machine with what they link to,
    and the file /mark."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        def add(name, data, mode=0o755, mtime=0):
            info = tarfile.TarInfo(name.lstrip("/"))
            info.size, info.mode, info.mtime = len(data), mode, mtime
            tar.addfile(info, io.BytesIO(data))

        for folder in ("bin", "tmp", "etc", "proc", "sys", "dev"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(info)
        programs = [os.path.realpath("/usr/bin/" + t) for t in tools]
        linked = libraries(programs + [f for f in files if not f.endswith(".py")])
        for name, path in [("/bin/" + t, p) for t, p in zip(tools, programs)] + [(p, p) for p in [*linked, *files]]:
            with open(path, "rb") as f:
                add(name, f.read(), mtime=int(os.stat(path).st_mtime)) # Python compares it with what it has compiled
        add("/mark", mark.encode(), 0o644)
    return out.getvalue()


class Image:
    """One image for this machine's architecture: .blobs by digest, .manifest, .index, .id."""

    def __init__(self, mark="made here", tools=TOOLS, files=()):
        self.tar = layer(tools, mark, files)
        packed = gzip.compress(self.tar, 1, mtime=0)
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin", "RB_TEST_INSIDE=yes"],
                                                                                "Entrypoint": ["/bin/false"]},
                             "rootfs": {"type": "layers", "diff_ids": [digest(self.tar)]}}).encode()
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST,
                                    "config": {"mediaType": CONFIG, "digest": digest(config), "size": len(config)},
                                    "layers": [{"mediaType": LAYER, "digest": digest(packed), "size": len(packed)}]}).encode()
        self.index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
            {"mediaType": MANIFEST, "digest": digest(self.manifest), "size": len(self.manifest),
             "platform": {"architecture": "amd64", "os": "linux"}}]}).encode()
        self.id = digest(config)
        self.blobs = {digest(config): config, digest(packed): packed}


class Registry:
    """Use with `with`. .name is HOST:PORT; images: {"team/train": {"1.2": Image}}. user: "name:password", without which nothing is
    shown; says_digest: what is said in place of the digest; trouble: how many requests are answered by 503 first; moves_to: the image
    that each tag has once somebody has asked for its digest; layer_s: how long a blob takes."""

    def __init__(self, images, user=None, scheme="Bearer", says_digest=None, trouble=0, moves_to=None, layer_s=0):
        self.images, self.user, self.scheme, self.says_digest, self.trouble = images, user, scheme, says_digest, trouble
        self.moves_to, self.layer_s = moves_to, layer_s
        self.asked = []  # "HEAD /v2/...", and who asked

    def __enter__(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                registry.answer(self)

            def do_HEAD(self):
                registry.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.name = "127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def send(self, h, status, body=b"", kind="application/json", **headers):
        h.send_response(status)
        h.send_header("Content-Type", kind)
        h.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            h.send_header(name.replace("_", "-"), value)
        h.end_headers()
        if h.command != "HEAD":
            h.wfile.write(body)

    def answer(self, h):
        url = urllib.parse.urlparse(h.path)
        proof = h.headers.get("Authorization", "")
        self.asked.append((h.command + " " + h.path, proof))
        basic = "Basic " + base64.b64encode((self.user or "").encode()).decode()
        token = "Bearer token-for-" + hashlib.sha256((self.user or "").encode()).hexdigest()
        if self.trouble > 0:
            self.trouble -= 1
            self.send(h, 503)
        elif url.path == "/token":
            asked = urllib.parse.parse_qs(url.query)
            ok = proof == basic and asked["service"] == ["test"]
            self.send(h, 200 if ok else 401, json.dumps({"token": token.split()[1]} if ok else {"errors": []}).encode())
        elif self.user and proof != (token if self.scheme == "Bearer" else basic):
            challenge = 'Bearer realm="http://%s/token",service="test"' % self.name
            self.send(h, 401, WWW_Authenticate=challenge if self.scheme == "Bearer" else 'Basic realm="test"')
        elif url.path in ("/v2", "/v2/"):
            self.send(h, 200, b"{}")
        else:
            status, body, kind, says = self.find(url.path)
            if self.moves_to and h.command == "HEAD":
                self.move(url.path)
            time.sleep(self.layer_s if "/blobs/" in url.path else 0)
            self.send(h, status, body, kind, **({"Docker_Content_Digest": says} if says else {}))

    def move(self, path):
        name, _, tag = path[len("/v2/"):].rpartition("/manifests/")
        before = "before " + tag
        if tag in self.images.get(name, {}) and before not in self.images[name]:
            self.images[name].update({before: self.images[name][tag], tag: self.moves_to})

    def find(self, path):
        """status, body, kind and the header of the digest"""
        name, _, rest = path[len("/v2/"):].rpartition("/manifests/")
        for tag, image in self.images.get(name, {}).items():
            for data, kind in ((image.index, INDEX), (image.manifest, MANIFEST)):
                if rest == digest(data) or (rest == tag and kind == INDEX):
                    return 200, data, kind, self.says_digest or digest(data)
        name, _, rest = path[len("/v2/"):].rpartition("/blobs/")
        for image in self.images.get(name, {}).values():
            if rest in image.blobs:
                return 200, image.blobs[rest], "application/octet-stream", rest
        return 404, b'{"errors": []}', "application/json", None
