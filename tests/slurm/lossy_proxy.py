"""An HTTP server on loopback that hands every request on, and hangs up instead of giving the first answer to one path."""
import http.client
import http.server
import socketserver
import threading
import urllib.parse


class LossyProxy:
    """Use with `with`; .url is where it listens, .lost counts the answers that were not given."""

    def __init__(self, upstream, lose):
        self.upstream, self.lose, self.lost = urllib.parse.urlparse(upstream), lose, 0

    def __enter__(self):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def hand_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                server = http.client.HTTPConnection(proxy.upstream.hostname, proxy.upstream.port, timeout=20)
                server.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k != "Host"})
                answer = server.getresponse()
                text = answer.read()
                server.close()
                if proxy.lose in self.path and proxy.lost == 0:
                    proxy.lost += 1
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = hand_on

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
