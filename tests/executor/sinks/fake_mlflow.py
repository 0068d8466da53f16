"""A tracking server with the endpoints of MLflow's REST API 2.0 that a run needs, and every limit of mlflow/utils/validation.py:
what MLflow refuses is refused and noted as a violation, and so is what it would take twice. It can also be set to be
away, to hang, or to kill the process that calls it at any request: before, after, or in the middle of the answer."""
import base64
import http.server
import json
import os
import posixpath
import re
import signal
import threading
import time
import urllib.parse

KEY = re.compile(r"^[/\w.\- ]*$")
STATUSES = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0, token=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.token = token
        self.experiments, self.runs = {}, {}  # name -> {id, stage}; id -> run
        self.violations, self.requests = [], []
        self.kill_at, self.kill_how, self.victim = 0, None, None  # the n-th request from now on
        self.fail_with, self.hang = None, False
        self.lock = threading.RLock()
        self.port = self.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        self.hang = False
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a client that was killed

    # --- what tests ask

    def children(self):
        return [r for r in self.runs.values() if "rubberband_trial" in r["tags"]]

    def trial(self, number):
        found = [r for r in self.children() if r["tags"]["rubberband_trial"] == str(number)]
        assert len(found) == 1, "%d runs for trial %d" % (len(found), number)
        return found[0]

    def parent(self):
        found = [r for r in self.runs.values() if "rubberband_trial" not in r["tags"]]
        assert len(found) == 1, "%d parents" % len(found)
        return found[0]

    def contents(self):
        """Everything it holds, without ids of its own: equal for equal results."""
        return sorted((r["tags"].get("rubberband_trial", ""), r["name"], r["status"], r["start"], r["end"], sorted(r["params"].items()),
                       sorted(r["points"]), sorted((k, v) for k, v in r["tags"].items() if k != "mlflow.parentRunId"))
                      for r in self.runs.values())

    # --- what clients ask

    def refuse(self, message, code="INVALID_PARAMETER_VALUE", status=400):
        self.violations.append(message)
        raise Refused(status, code, message)

    def check_key(self, key, what):
        if not isinstance(key, str) or not key or not KEY.match(key):
            self.refuse("invalid %s name %r" % (what, key))
        if len(key.encode()) > 250:
            self.refuse("%s name of %d bytes" % (what, len(key)))
        norm = posixpath.normpath(key)
        if norm != key or norm == "." or norm.startswith("..") or norm.startswith("/"):
            self.refuse("%s name %r is no clean path" % (what, key))

    def run(self, body):
        run = self.runs.get(body.get("run_id"))
        if not run:
            self.refuse("no run %r" % body.get("run_id"), "RESOURCE_DOES_NOT_EXIST", 404)
        return run

    def set_tags(self, run, tags):
        for tag in tags:
            self.check_key(tag["key"], "tag")
            if len(tag["value"]) > 5000:
                self.refuse("tag of %d characters" % len(tag["value"]))
            run["tags"][tag["key"]] = tag["value"]

    def experiments_create(self, body, _query):
        name = body.get("name")
        if not name or not isinstance(name, str):
            self.refuse("invalid experiment name %r" % name)
        if name in self.experiments:
            raise Refused(400, "RESOURCE_ALREADY_EXISTS", "Experiment '%s' already exists." % name)
        self.experiments[name] = {"id": str(len(self.experiments) + 1), "stage": "active"}
        return {"experiment_id": self.experiments[name]["id"]}

    def experiments_get_by_name(self, _body, query):
        e = self.experiments.get(query["experiment_name"][0])
        if not e:
            self.refuse("no such experiment", "RESOURCE_DOES_NOT_EXIST", 404)
        return {"experiment": {"experiment_id": e["id"], "lifecycle_stage": e["stage"]}}

    def runs_create(self, body, _query):
        if body.get("experiment_id") not in [e["id"] for e in self.experiments.values()]:
            self.refuse("no experiment %r" % body.get("experiment_id"), "RESOURCE_DOES_NOT_EXIST", 404)
        if not isinstance(body.get("start_time"), int):
            self.refuse("start_time %r" % body.get("start_time"))
        run = {"id": "%032x" % (len(self.runs) + 1), "experiment": body["experiment_id"], "name": body.get("run_name"),
               "status": "RUNNING", "start": body["start_time"], "end": None, "params": {}, "points": [], "tags": {}}
        self.set_tags(run, body.get("tags", []))
        parent = run["tags"].get("mlflow.parentRunId")
        if parent is not None and parent not in self.runs:
            self.refuse("no parent %r" % parent)
        self.runs[run["id"]] = run
        return {"run": {"info": {"run_id": run["id"], "status": "RUNNING"}}}

    def runs_update(self, body, _query):
        run = self.run(body)
        if body.get("status") not in STATUSES:
            self.refuse("status %r" % body.get("status"))
        if "end_time" in body and not isinstance(body["end_time"], int):
            self.refuse("end_time %r" % body["end_time"])
        run["status"], run["end"] = body["status"], body.get("end_time", run["end"])
        return {"run_info": {}}

    def runs_log_batch(self, body, _query):
        run = self.run(body)
        metrics, params, tags = (body.get(k, []) for k in ("metrics", "params", "tags"))
        if len(metrics) > 1000 or len(params) > 100 or len(tags) > 100 or len(metrics) + len(params) + len(tags) > 1000:
            self.refuse("batch of %d metrics, %d params, %d tags" % (len(metrics), len(params), len(tags)))
        for m in metrics:
            self.check_key(m.get("key"), "metric")
            if not isinstance(m.get("value"), (int, float)) or isinstance(m["value"], bool):
                self.refuse("metric value %r" % m.get("value"))
            if not isinstance(m.get("timestamp"), int) or m["timestamp"] < 0 or not isinstance(m.get("step", 0), int):
                self.refuse("metric %r" % m)
        for p in params:
            self.check_key(p.get("key"), "param")
            if not isinstance(p.get("value"), str) or len(p["value"]) > 6000:
                self.refuse("param %s of %d characters" % (p["key"], len(p["value"])))
            if run["params"].get(p["key"], p["value"]) != p["value"]:
                self.refuse("param %s changed" % p["key"])
        self.set_tags(run, tags)
        run["params"].update((p["key"], p["value"]) for p in params)
        for m in metrics:
            point = (m["key"], m.get("step", 0), m["timestamp"], float(m["value"]))
            if point in run["points"]:
                self.violations.append("point %r sent twice" % (point,))
            run["points"].append(point)
        return {}

    def runs_search(self, body, _query):
        asked = re.fullmatch(r'tags\.rubberband_run = "([a-z0-9-]+)"', body.get("filter", ""))
        if not asked or not 0 < body.get("max_results", 1000) <= 50000:
            self.refuse("search %r" % body)
        found = [r for r in reversed(self.runs.values())
                 if r["experiment"] in body["experiment_ids"] and r["tags"].get("rubberband_run") == asked.group(1)]
        at = int(body.get("page_token") or 0)
        page = min(body["max_results"], 4)  # small: tests have few runs, and pages must be turned
        answer = {"runs": [self.shown(r) for r in found[at:at + page]]}
        if at + page < len(found):
            answer["next_page_token"] = str(at + page)
        return answer

    @staticmethod
    def shown(run):
        latest = {}
        for key, step, ms, value in run["points"]:
            if key not in latest or (step, ms) >= latest[key][:2]:
                latest[key] = (step, ms, value)
        return {"info": {"run_id": run["id"], "status": run["status"], "lifecycle_stage": "active"},
                "data": {"tags": [{"key": k, "value": v} for k, v in run["tags"].items()],
                         "params": [{"key": k, "value": v} for k, v in run["params"].items()],
                         "metrics": [{"key": k, "step": str(s), "timestamp": ms, "value": v}
                                     for k, (s, ms, v) in latest.items()]}}

    def metrics_get_history(self, _body, query):
        run = self.run({"run_id": query["run_id"][0]})
        self.check_key(query["metric_key"][0], "metric")
        points = [p for p in run["points"] if p[0] == query["metric_key"][0]]
        at, page = int(query.get("page_token", ["0"])[0]), 700
        answer = {"metrics": [{"key": k, "step": s, "timestamp": ms, "value": v} for k, s, ms, v in points[at:at + page]]}
        if at + page < len(points):
            answer["next_page_token"] = str(at + page)
        return answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, raw):
        s = self.server
        while s.hang:
            time.sleep(0.05)
        url = urllib.parse.urlsplit(self.path)
        name = url.path.removeprefix("/api/2.0/mlflow/")
        with s.lock:
            s.requests.append(name)
            due = s.kill_at > 0 and len(s.requests) == s.kill_at
            if due and s.kill_how == "before":
                self.kill()
                return
            try:
                status, body = 200, self.carry_out(name, raw, urllib.parse.parse_qs(url.query))
            except Refused as e:
                status, body = e.status, {"error_code": e.code, "message": str(e)}
        text = json.dumps(body).encode()
        if due and s.kill_how == "after":
            self.kill()
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        half = len(text) // 2 if due else len(text)
        self.wfile.write(text[:half])
        self.wfile.flush()
        if due:
            self.kill()

    def kill(self):
        while self.server.victim is None:
            time.sleep(0.001)
        os.kill(self.server.victim, signal.SIGKILL)
        self.close_connection = True

    def carry_out(self, name, raw, query):
        s = self.server
        if s.token is not None:
            given = self.headers.get("Authorization", "")
            basic = "Basic " + base64.b64encode(("me:" + s.token).encode()).decode()
            if given not in ("Bearer " + s.token, basic):
                raise Refused(401, "UNAUTHENTICATED", "who are you? \x1b[31m" + "x" * 1000)
        if s.fail_with:
            raise Refused(s.fail_with, "TEMPORARILY_UNAVAILABLE", "busy")
        body = None
        if raw is not None:
            if len(raw) > 1000000:
                s.refuse("request of %d bytes" % len(raw))
            body = json.loads(raw, parse_constant=lambda c: s.refuse("constant %s" % c))
        call = getattr(s, name.replace("/", "_").replace("-", "_"), None)
        if call is None:
            s.refuse("no endpoint %s" % name, "ENDPOINT_NOT_FOUND", 404)
        return call(body, query)
