"""A stand-in for the scheduler over HTTP: the files of the page with the headers of lib/service/http, and made-up data."""
import http.server
import json
import os
import re
import socketserver
import sys
import threading
import time
import traceback
import urllib.parse

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
HOSTILE = ["<img src=x onerror=document.title='owned'>", "</script><script>document.title='owned'</script>", "javascript:alert(1)//\"'><svg onload=alert(1)>"]
TENANTS = ["vision", "language", "speech"]
NODES = [("a100-1", "A100", 8), ("a100-2", "A100", 8), ("a100-3", "A100", 8), ("h100-1", "H100", 8), ("h100-2", "H100", 8), ("v100-1", "V100", 4), ("v100-2", "V100", 4)]
PHASES = ["modelling", "queued", "running", "stopping", "complete", "failed", "cancelled"]


class World:
    """Three tenants, and as many jobs as asked for: the first ones run, the next ones are over, the others wait."""

    def __init__(self, jobs, hostile=False, healthy=True):
        self.lock, self.begin, self.hostile, self.healthy = threading.Condition(), time.time(), hostile, healthy
        self.jobs, self.runs, self.events, self.asked, self.nodes = {}, [], [], [], [[*n, "up", ""] for n in NODES]
        self.ends = []  # of what runs, by node
        self.is_cut = False  # streams end and none begins
        for i in range(1, jobs + 1):
            self.add(i)
        for i in range(1, 8):
            self.event("started", f"job {i} '{self.name(i)}' was started", i)

    def name(self, i):
        if self.hostile and i <= len(HOSTILE):
            return HOSTILE[i - 1]
        return f"{['pretrain', 'resnet', 'whisper', 'tune', 'eval'][i % 5]}-{['small', 'large', '7b'][i % 3]}-{i}"

    def history(self, i):
        """Of a job that runs: slow at first, with a pause in the middle."""
        job = self.jobs[i]
        if job["phase"] != "running":
            return {}
        start, samples, now = job["started_s"], job["progress"]["samples"], time.time()
        shares = [(0, 0), (0.1, 0.04), (0.2, 0.1), (0.3, 0.22), (0.4, 0.34), (0.5, 0.48), (0.6, 0.48), (0.7, 0.6), (0.8, 0.74), (0.9, 0.87), (1, 1)]
        return {"history": [{"time_s": start + at * (now - start), "samples": share * samples} for at, share in shares]}

    def add(self, i):
        at, tenant = self.begin, TENANTS[i % 3] if not (self.hostile and i == 2) else HOSTILE[0]
        job = {"id": i, "submission": {"name": self.name(i), "tenant": tenant, "command": ["python", "train.py", "--config", "x"], "samples": 6e5, "elasticity": "malleable",
                                       "environment": {"A": "…"}},
               "phase": "queued", "submitted_s": at - 9000 + i % 1000, "samples": 6e5, "progress": {}, "user": "alice"}
        job["share"] = 0.0
        if i <= 7:  # on the nodes, two of them shared
            node = NODES[[0, 0, 1, 3, 3, 4, 5][i - 1]]
            devices = [4, 2, 8, 4, 4, 8, 2][i - 1]
            start = at - [5000, 1800, 7000, 900, 2600, 4000, 600][i - 1]
            rate, deviation = 50.0 + 7 * i, [0, -0.12, 0.07, -0.31, 0.02, 0.1, -0.04][i - 1]
            job.update(phase="running", started_s=start, runs=1)
            job["progress"] = {"samples": rate * (at - start), "saved": rate * (at - start) * 0.9, "samples_per_s": rate, "samples_per_s_low": rate * 0.9, "samples_per_s_high": rate * 1.1,
                               "reported_s": at - 4, "batch": 256, "loss": 2.41}
            job.update(goodput_samples_per_s=rate, device_type=node[1], devices=devices, plan="data 4, tensor 2, ZeRO 1", nodes=[node[0]])
            self.ends.append((node[0], start + job["samples"] / rate))
            if deviation:
                job["deviation"] = deviation
            self.runs.append({"job": i, "run": 1, "name": job["submission"]["name"], "tenant": tenant, "device_type": node[1], "devices": devices, "nodes": [node[0]], "start_s": start, "outcome": "runs",
                              "configuration": f"{devices} {node[1]}"})
        elif i <= 15:
            outcome = ["succeeded", "failed", "stopped", "lost"][i % 4]
            node = NODES[[0, 1, 2, 3, 5, 6, 2, 4][i - 8]]
            start = at - [9000, 10000, 6500, 7600, 9000, 3000, 2600, 9500][i - 8]
            end = start + [3300, 2600, 3000, 4200, 7000, 2200, 2000, 5000][i - 8]
            job.update(phase="complete" if outcome == "succeeded" else "failed" if outcome in ("failed", "lost") else "cancelled", started_s=start, ended_s=end, runs=1, reason="" if outcome == "succeeded" else f"its run 1 {outcome}")
            job["share"] = 1.0 if outcome == "succeeded" else 0.4
            self.runs.append({"job": i, "run": 1, "name": job["submission"]["name"], "tenant": tenant, "device_type": node[1], "devices": node[2] // 2 * (1 + i % 2), "nodes": [node[0]], "start_s": start, "end_s": end, "outcome": outcome})
        elif i <= 22:
            node = NODES[[0, 1, 3, 4, 5, 6, 6][i - 16]]
            start = max([at + 900] + [end for name, end in self.ends if name == node[0]]) + 60
            self.ends.append((node[0], start + 4000))
            left = start + 4000 - at
            job.update(planned_start_s=start, planned_end_s=start + 4000, time_left_s=left, time_left_low_s=left * 0.85, time_left_high_s=left * 1.2,
                        wait=f"{node[2]} {node[1]} are free at the earliest when job {i - 15} ends")
            self.runs.append({"job": i, "name": job["submission"]["name"], "tenant": tenant, "device_type": node[1], "devices": node[2], "nodes": [node[0]], "start_s": job["planned_start_s"], "end_s": job["planned_end_s"], "outcome": "planned"})
        else:
            job["wait"] = "all devices are in use by jobs that come before it"
            if i % 9 == 0:
                job["phase"] = "modelling"
                job["wait"] = "its configurations are being priced"
        self.jobs[i] = job

    def event(self, kind, text, job=0):
        with self.lock:
            self.events.append({"number": len(self.events) + 1, "time_s": time.time(), "kind": kind, "text": text, **({"job": job, "who": "alice"} if job else {})})
            self.lock.notify_all()

    def view(self, i):
        job, at = json.loads(json.dumps(self.jobs[i])), time.time()
        if job["phase"] == "running":
            rate = job["progress"]["samples_per_s"]
            job["share"] = min(1, rate * (at - job["started_s"]) / job["samples"])
            left = (1 - job["share"]) * job["samples"] / rate
            job.update(time_left_s=left, time_left_low_s=left * 0.9, time_left_high_s=left * 1.12, planned_end_s=at + left)
        return job

    def cluster(self):
        used = {}
        for job in list(self.jobs.values()):
            if job["phase"] == "running":
                used.setdefault(job["nodes"][0], []).append((job["id"], job["devices"]))
        nodes = [{"name": n, "device_type": t, "state": s, "reason": r, "devices": d, "used": sum(k for _, k in used.get(n, [])), **({"jobs": [j for j, _ in used[n]]} if n in used else {})} for n, t, d, s, r in self.nodes]
        of = lambda t, key: sum(n[key] for n in nodes if n["device_type"] == t)
        types = [{"name": t, "devices": of(t, "devices"), "up": sum(n["devices"] for n in nodes if n["device_type"] == t and n["state"] == "up"), "used": of(t, "used"), "price_per_h": p} for t, p in (("A100", 0.42), ("H100", 1.31), ("V100", 0))]
        phases = {p: sum(1 for j in list(self.jobs.values()) if j["phase"] == p) for p in PHASES}
        return {"name": HOSTILE[0] if self.hostile else "lab", "engine": "slurm", "time_s": time.time(), "is_healthy": self.healthy, "health": "" if self.healthy else "sinfo ended with 1: " + HOSTILE[1],
                "types": types, "nodes": nodes, "tenants": [{"name": t, "weight": i + 1, "running": 2, "queued": 5, "devices": 8 + i, "device_hours": 31.5 * (3 - i)} for i, t in enumerate(TENANTS)],
                "phases": phases, "power_w": 11800, "power_limit_w": 16000, "planned_s": self.begin - 70, "plan_seconds": 1.42, "plan_status": "feasible", "plan_gap": 0.018, "objective": "mean completion time"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", policy="default-src 'none'; frame-ancestors 'none'"):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, status=200):
        self.send(status, b"" if value is None else json.dumps(value).encode())

    def refuse(self, status, message):
        self.json({"errors": [{"code": "A1202", "message": message}]}, status)

    def page(self, name):
        for folder in self.server.folders:
            path = os.path.join(folder, name)
            if re.fullmatch(r"[a-z]+\.(html|js|css)", name) and os.path.exists(path):
                with open(path, "rb") as file:
                    return self.send(200, file.read(), TYPES[name.rpartition(".")[2]] + "; charset=utf-8", POLICY)
        return self.refuse(404, f"there is no '{name}'")

    def stream(self, world, query):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        at = int(query.get("after", len(world.events)))
        if "after" not in query:
            self.wfile.write(f"retry: 2000\nid: {at}\n\n".encode())
        while not world.is_cut and not self.server.ends:
            with world.lock:
                world.lock.wait(0.2)
                fresh = world.events[at:]
            for event in fresh:
                self.wfile.write(f"id: {event['number']}\ndata: {json.dumps(event)}\n\n".encode())
                at = event["number"]
            if not fresh:
                self.wfile.write(b": \n\n")
            self.wfile.flush()

    def handle_one(self):
        url, world = urllib.parse.urlsplit(self.path), self.server.world
        path, query = url.path, dict(urllib.parse.parse_qsl(url.query))
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        if path == "/" or path.startswith("/page/"):
            return self.page("index.html" if path == "/" else path[6:])
        if path == "/healthz":
            return self.json({"status": "ok", "version": "1.0", "needs_token": "" not in self.server.tokens})
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.server.tokens:
            return self.refuse(401, "the token is not known, or has expired")
        world.asked.append((self.command, self.path, body))
        if world.is_cut:
            return self.refuse(503, "the state is being repaired")
        return self.answer(world, path, query, body, self.server.tokens[token])

    def answer(self, world, path, query, body, role):
        limit, after = int(query.get("limit", 100)), int(query.get("after", 0))
        if path == "/v1/caller":
            return self.json({"name": "alice", "role": role})
        if path == "/v1/cluster":
            return self.json(world.cluster())
        if path == "/v1/events":
            return self.json({"events": world.events[after:after + limit]})
        if path == "/v1/events/stream":
            return self.stream(world, query)
        if path == "/v1/runs":
            return self.json({"runs": [r for r in world.runs if r["start_s"] < float(query["until_s"]) and r.get("end_s", 1e12) > float(query["from_s"])]} if "from_s" in query
                             else {"runs": [r for r in world.runs if r["job"] == int(query["job"])]})
        if path == "/v1/jobs":
            phases, newest = query["phase"].split(","), query.get("newest") == "true"
            found = [i for i in sorted(world.jobs, reverse=newest) if world.jobs[i]["phase"] in phases and (not after or (i < after if newest else i > after))][:limit]
            return self.json({"jobs": [world.view(i) for i in found], **({"next": found[-1]} if len(found) == limit else {})})
        if found := re.fullmatch(r"/v1/jobs/(\d+)(/explain)?", path):
            job = int(found[1])
            if job not in world.jobs:
                return self.refuse(404, f"there is no job {job}")
            if found[2]:
                return self.json({"sentences": [f"job {job} '{world.name(job)}' is {world.jobs[job]['phase']}", "it could run on 4 A100: 71 samples a second, data 4", "the plan was made because a job was submitted, in 1.42 s"]})
            if self.command == "DELETE":
                if role == "viewer":
                    return self.refuse(403, "the token 'alice' may not cancel")
                world.jobs[job]["phase"] = "stopping"
                world.event("stopping", f"job {job} is being cancelled", job)
                return self.send(204, b"")
            return self.json({**world.view(job), **world.history(job)})
        if found := re.fullmatch(r"/v1/nodes/([^/]+)/(drain|resume)", path):
            for node in world.nodes:
                if node[0] == urllib.parse.unquote(found[1]):
                    node[3:] = ["drained", body.get("reason", "")] if found[2] == "drain" else ["up", ""]
            world.event("drained", f"node {found[1]}: {found[2]}")
            return self.send(204, b"")
        return self.refuse(404, f"there is no '{path}'")

    def do_GET(self):
        try:
            self.handle_one()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_POST = do_DELETE = do_GET


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folders, world):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folders, self.world, self.ends, self.errors = folders, world, False, []
        self.tokens = {"root-token": "operator", "viewer-token": "viewer"}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], OSError):  # a browser leaves when it likes
            self.errors.append(traceback.format_exc())

    def close(self):
        self.ends = True
        self.shutdown()
        self.server_close()
