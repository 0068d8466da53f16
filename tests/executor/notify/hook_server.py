"""A webhook's server: it fails on request, keeps what it accepted, and verifies signatures as Standard Webhooks says."""
import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time


def sign(secret, message_id, timestamp, body):
    """The reference algorithm: base64 of HMAC-SHA256 over "id.timestamp.body"; whsec_ marks a base64 key."""
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    content = b"%s.%s.%s" % (message_id.encode(), timestamp.encode(), body)
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


class Server:
    """answer(n): what becomes of the n-th request: a status, or "cut" (no answer), "half" (part of one), "hang"."""

    def __init__(self, answer=lambda n: 200, secret=None):
        self.answer, self.secret = answer, secret
        self.asked, self.taken, self.wrong, self.headers = [], [], [], []
        self.over = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer.take(self)

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = "http://127.0.0.1:%d/hook" % self.port
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def check(self, headers, body):
        message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        if abs(time.time() - int(timestamp)) > 300:
            self.wrong.append("the time of %s: %s" % (message_id, timestamp))
        expected = sign(self.secret, message_id, timestamp, body) if self.secret else None
        if headers["webhook-signature"] != expected:
            self.wrong.append("the signature of %s" % message_id)

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        what = self.answer(len(self.asked))
        self.asked.append(request.headers["webhook-id"])
        self.headers.append(dict(request.headers))
        self.check(request.headers, body)
        if what == 200:
            self.taken.append((request.headers["webhook-id"], json.loads(body)))
        if what == "hang":
            self.over.wait(120)
        if what in ("cut", "half", "hang"):
            if what == "half":
                request.wfile.write(b"HTTP/1.1 20")
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        request.send_response(what)
        request.send_header("Content-Length", "0")
        if what == 429:
            request.send_header("Retry-After", "0")
        request.end_headers()

    def ids(self):
        return [message_id for message_id, _ in self.taken]

    def types(self):
        return [body["type"] for _, body in self.taken]

    def stop(self):
        self.over.set()
        self.http.shutdown()
        self.http.server_close()
