"""An API server of Kubernetes for tests, with nodes, controllers and kubelets that run containers as processes.

    fake_kubernetes.py FOLDER [--scale 0.1] [--grace 1] a1=a100:4 k1=k80:8

Refuses what the schemas of test/emit/Inputs/kubernetes.schema.json do not describe (422), as `fieldValidation=Strict` does, also with
`dryRun=All`. Tolerations and deadlines last `scale` times as long, grace periods of pods `grace` times. What tests ask of it stands below /fake:
    POST /fake/fault {"at": 3, "count": 1, "kind": "500"|"429"|"garbage"|"hang"|"drop"|"slow"|"endless"}
        what becomes of the request that follows after `at` others, and of `count` in all
    POST /fake/node {"name": "a1", "up": false}
    GET  /fake/requests
Standard library only."""
import argparse
import copy
import http.server
import importlib.util
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from kubernetes_controllers import Controllers, condition  # noqa: E402
from kubernetes_kubelet import Kubelet, moment  # noqa: E402

TESTS = os.path.dirname(os.path.dirname(HERE))
RESOURCE = "nvidia.com/gpu"
KINDS = {  # by resource: kind, API, whether in namespaces
    "nodes": ("Node", "v1", False), "namespaces": ("Namespace", "v1", False), "pods": ("Pod", "v1", True),
    "services": ("Service", "v1", True), "jobs": ("Job", "batch/v1", True),
    "jobsets": ("JobSet", "jobset.x-k8s.io/v1alpha2", True), "trainjobs": ("TrainJob", "trainer.kubeflow.org/v1alpha1", True),
    "resourceflavors": ("ResourceFlavor", "kueue.x-k8s.io/v1beta2", False),
    "clusterqueues": ("ClusterQueue", "kueue.x-k8s.io/v1beta2", False),
    "workloadpriorityclasses": ("WorkloadPriorityClass", "kueue.x-k8s.io/v1beta2", False),
    "localqueues": ("LocalQueue", "kueue.x-k8s.io/v1beta2", True), "workloads": ("Workload", "kueue.x-k8s.io/v1beta2", True)}
SERVER_FIELDS = ("uid", "resourceVersion", "resourceVersion0", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                 "generation")


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


def load_checker():
    spec = importlib.util.spec_from_file_location("check_schema", os.path.join(TESTS, "tools", "check_schema.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(os.path.join(TESTS, "emit", "Inputs", "kubernetes.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    return module.check, schema


def merged(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


class Store:
    def __init__(self):
        self.lock = threading.RLock()
        self.objects = {}
        self.version = 0
        self.check, self.schema = load_checker()

    def all(self, resource):
        return [one for (kind, _, _), one in list(self.objects.items()) if kind == resource]

    def everything(self):
        return list(self.objects.values())

    def get(self, resource, namespace, name):
        return self.objects.get((resource, namespace, name))

    def suffix(self):
        self.version += 1
        return f"{self.version:05x}"[-5:]

    def validate(self, resource, given):
        kind, api, namespaced = KINDS[resource]
        plain = copy.deepcopy(given)
        plain.pop("status", None)
        for field in SERVER_FIELDS:
            plain.get("metadata", {}).pop(field, None)
        errors = []
        if kind in self.schema["$defs"]:
            self.check(plain, self.schema["$defs"][kind], self.schema, kind, errors)
        elif plain.get("kind") != kind or plain.get("apiVersion") != api:
            errors.append(f"expected {api} {kind}")
        if kind == "JobSet" and not errors:
            errors += too_long(plain)
        if kind == "Job" and not errors:
            name = plain["metadata"]["name"]
            if len(name) + 1 + len(str(plain["spec"].get("completions", 1) - 1)) > 63:
                errors.append(f"Job: host names of '{name}' exceed 63 characters")
        if errors:
            raise Refused(422, "Invalid", "; ".join(errors[:5]))

    def create(self, resource, given, dry=False):
        metadata = given["metadata"]
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        if key in self.objects:
            raise Refused(409, "AlreadyExists", f'{resource} "{key[2]}" already exists')
        made = copy.deepcopy(given)
        self.version += 1
        made["metadata"].update(uid=str(uuid.uuid4()), resourceVersion=str(self.version), resourceVersion0=str(self.version),
                                creationTimestamp=moment())
        if not dry:
            self.objects[key] = made
        return made

    def delete(self, what, grace=None):
        """A pod that runs ends first; so does what it owns where an object is deleted in the foreground."""
        resource, one = what
        metadata = one["metadata"]
        if resource == "pods" and one["spec"].get("nodeName") and grace != 0:
            wanted = one["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
            held = metadata.get("deletionGracePeriodSeconds")
            metadata.setdefault("deletionTimestamp", moment())
            metadata["deletionGracePeriodSeconds"] = wanted if held is None else min(held, wanted)
            return
        if resource == "pods" and not metadata.get("deletionTimestamp"):  # its Job sees it go
            metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = moment(), 0
            threading.Timer(0.1, self.remove, (resource, one)).start()
            return
        self.remove(resource, one)

    def remove(self, resource, one):
        with self.lock:
            self.objects.pop((resource, one["metadata"].get("namespace", ""), one["metadata"]["name"]), None)


def too_long(job_set):
    name = job_set["metadata"]["name"]
    errors = []
    for part in job_set["spec"]["replicatedJobs"]:
        count = part["template"]["spec"].get("completions", 1)
        pod = f"{name}-{part['name']}-{part.get('replicas', 1) - 1}-{count - 1}-xxxxx"
        if len(pod) > 63:
            errors.append(f"JobSet: names of pods as '{pod}' exceed 63 characters")
    names = [part["name"] for part in job_set["spec"]["replicatedJobs"]]
    if len(set(names)) != len(names):
        errors.append("JobSet: two replicated jobs have one name")
    return errors


class Cluster:
    def __init__(self, nodes, scale, grace, log):
        self.store = Store()
        self.faults, self.requests = [], 0
        for name, (kind, devices) in nodes.items():
            node = self.store.create("nodes", {"apiVersion": "v1", "kind": "Node", "spec": {},
                                               "metadata": {"name": name, "labels": {"accord/device": kind, "kubernetes.io/hostname": name}}})
            node["status"] = {"allocatable": {RESOURCE: str(devices), "cpu": "64"}}
            condition(node, "Ready", "True", "KubeletReady", "kubelet is posting ready status")
        self.store.create("nodes", {"apiVersion": "v1", "kind": "Node", "spec": {}, "metadata": {"name": "control"}})["status"] = {
            "allocatable": {"cpu": "8"}, "conditions": [{"type": "Ready", "status": "True", "reason": "", "message": ""}]}
        self.store.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
        self.controllers = Controllers(self.store, RESOURCE, scale)
        self.kubelet = Kubelet(lambda *asked: self.answer(*asked, {}), nodes, grace, log)

    def answer(self, method, path, body, query):
        """Status and object of a request."""
        with self.store.lock:
            try:
                return self.handle(method, path, body, query)
            except Refused as refused:
                return refused.code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": refused.reason,
                                      "message": refused.message, "code": refused.code}

    def handle(self, method, path, body, query):
        found = re.fullmatch(r"/(?:api/(v1)|apis/([^/]+/[^/]+))(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(/status)?", path)
        if re.fullmatch(r"/api/v1/namespaces/[^/]+", path):
            found = re.fullmatch(r"/(?:api/(v1)|(none))()/(namespaces)/([^/]+)(/status)?", path)
        api, resource = found and (found[1] or found[2]), found and found[4]
        if not found or resource not in KINDS or KINDS[resource][1] != api:
            raise Refused(404, "NotFound", f"the server could not find the requested resource {path}")
        kind, _, namespaced = KINDS[resource]
        namespace = urllib.parse.unquote(found[3] or "") if namespaced else ""
        name = found[5] and urllib.parse.unquote(found[5])
        if method == "GET" and not name:
            return 200, self.listed(resource, kind, api, namespace, query)
        if method == "POST" and not name:
            if body.get("metadata", {}).get("namespace", namespace) != namespace:
                raise Refused(400, "BadRequest", "the namespace of the object does not match the namespace of the request")
            if namespaced:
                body.setdefault("metadata", {})["namespace"] = namespace
                if not self.store.get("namespaces", "", namespace):
                    raise Refused(404, "NotFound", f'namespaces "{namespace}" not found')
            self.store.validate(resource, body)
            return 201, copy.deepcopy(self.store.create(resource, body, query.get("dryRun") == "All"))
        one = self.store.get(resource, namespace, name)
        if one is None:
            raise Refused(404, "NotFound", f'{resource} "{name}" not found')
        if method == "GET":
            return 200, copy.deepcopy(one)
        if method == "PATCH":
            return 200, self.patched(resource, one, body, bool(found[6]))
        if method == "DELETE":
            wanted = (body or {}).get("preconditions", {}).get("resourceVersion")
            if wanted is not None and wanted != one["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict", f"the ResourceVersion in the precondition ({wanted}) does not match")
            self.store.delete((resource, one), (body or {}).get("gracePeriodSeconds"))
            return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def patched(self, resource, one, body, is_status):
        changed = merged(one, {"status": body.get("status", {})} if is_status else {k: v for k, v in body.items() if k != "status"})
        if not is_status and resource not in ("nodes", "pods"):
            self.store.validate(resource, changed)
        self.store.version += 1
        changed["metadata"]["resourceVersion"] = str(self.store.version)
        one.clear()
        one.update(changed)
        return copy.deepcopy(one)

    def listed(self, resource, kind, api, namespace, query):
        wanted = [tuple(part.split("=", 1)) for part in query.get("labelSelector", "").split(",") if part]
        items = [one for (r, n, _), one in sorted(self.store.objects.items()) if r == resource and (not namespace or n == namespace)
                 and all(one["metadata"].get("labels", {}).get(k) == v for k, v in wanted)]
        first, limit = int(query.get("continue", 0)), int(query.get("limit", 1 << 30))
        page = items[first:first + limit]
        metadata = {"resourceVersion": str(self.store.version)}
        if first + limit < len(items):
            metadata["continue"] = str(first + limit)
        return {"kind": kind + "List", "apiVersion": api, "metadata": metadata, "items": copy.deepcopy(page)}

    def set_node(self, name, up):
        with self.store.lock:
            node = self.store.get("nodes", "", name)
            node["status"]["conditions"] = []
            condition(node, "Ready", "True" if up else "Unknown", "KubeletReady" if up else "NodeStatusUnknown",
                      "kubelet is posting ready status" if up else "Kubelet stopped posting node status.")
        (self.kubelet.restore_node if up else self.kubelet.kill_node)(name)

    def run(self, over):
        self.kubelet.start()
        while not over.wait(0.02):
            self.controllers.step()
        self.kubelet.over.set()
        self.kubelet.join(5)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster = None

    def log_message(self, *_):
        pass

    def do(self):
        cluster = self.cluster
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length) if length else b""
        if url.path.startswith("/fake/"):
            return self.say(200, self.asked(url.path, json.loads(text or b"{}")))
        fault = ""
        with cluster.store.lock:
            cluster.requests += 1
            for one in cluster.faults:
                if one["at"] < cluster.requests <= one["at"] + one.get("count", 1):
                    fault = one["kind"]
        if fault and not self.failed(fault):
            return None
        try:
            body = json.loads(text) if text else None
        except ValueError:
            return self.say(400, {"kind": "Status", "message": "the body is no JSON", "code": 400})
        if not isinstance(body, (dict, type(None))):
            return self.say(400, {"kind": "Status", "message": "the body is no object", "code": 400})
        status, answer = cluster.answer(self.command, url.path, body, query)
        if fault == "lost":  # done, but nobody learns of it
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return None
        return self.say(status, answer)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do

    def asked(self, path, body):
        cluster = self.cluster
        if path == "/fake/fault":
            with cluster.store.lock:
                body["at"] += cluster.requests
                cluster.faults = [body] if body.get("kind") else []
        elif path == "/fake/node":
            cluster.set_node(body["name"], body["up"])
        return {"requests": cluster.requests}

    def failed(self, fault):
        """Whether the request is answered in spite of it."""
        if fault in ("500", "429", "503"):
            self.say(int(fault), {"kind": "Status", "message": "etcdserver: leader changed", "code": int(fault)}, {"Retry-After": "0"})
        elif fault == "garbage":
            self.say(200, "<html>404 not found {", {})
        elif fault == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault == "hang":
            time.sleep(3)
            self.close_connection = True
        elif fault in ("slow", "endless"):  # a byte now and then, or ever more of them
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            end = time.monotonic() + 8
            try:
                while time.monotonic() < end:
                    self.wfile.write(b" " * (1 if fault == "slow" else 1 << 16))
                    time.sleep(0.1 if fault == "slow" else 0)
            except OSError:
                pass
            self.close_connection = True
        else:
            return True
        return False

    def say(self, status, answer, headers=()):
        text = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for key, value in dict(headers).items():
            self.send_header(key, value)
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def node_of(text):
    name, what = text.split("=")
    kind, devices = what.split(":")
    return name, (kind, int(devices))


def start(nodes, scale=1.0, grace=1.0, log=None):
    """A running server: its URL and what ends it."""
    cluster = Cluster(dict(nodes), scale, grace, log or open(os.devnull, "wb"))
    over = threading.Event()
    threading.Thread(target=cluster.run, args=(over,), daemon=True).start()
    server = Server(("127.0.0.1", 0), type("ClusterHandler", (Handler,), {"cluster": cluster}))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def end():
        server.shutdown()
        over.set()
        cluster.kubelet.join(5)
    return f"http://127.0.0.1:{server.server_address[1]}", end


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--grace", type=float, default=1.0)
    parser.add_argument("nodes", nargs="+", type=node_of)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    with open(os.path.join(arguments.folder, "output"), "wb") as log:
        url, end = start(arguments.nodes, arguments.scale, arguments.grace, log)
        print(url, flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            threading.Event().wait()
        finally:
            end()


if __name__ == "__main__":
    main()
