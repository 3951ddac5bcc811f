"""Plays the kubelets of nodes: runs the containers of pods that are bound to them as processes of this machine, tells the API
server how they are, and ends them as a kubelet does: hook, SIGTERM, SIGKILL within the grace period.

    kubernetes_kubelet.py API_URL NODE...      (the API server asks for nothing, as that of `kubectl proxy`)

As a command it is for real API servers, and nodes whose names stand in the file at $ACCORD_TEST_NODES_DOWN are dead.

A preStop hook is not run, because its `kill -1` is meant for the processes of a container: SIGUSR1 goes to the group of the
process instead."""
import calendar
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request


def moment(seconds=None):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def expand(text, variables):
    """$(NAME) is a variable, $$ a $, and all else what it is."""
    def one(found):
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])
    return re.sub(r"\$\$|\$\(([^)]*)\)", one, text)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Container:
    def __init__(self, pod, log):
        self.uid = pod["metadata"]["uid"]
        self.started = time.time()
        self.ended = None
        self.code = None
        self.asked = self.termed = False
        self.ends_at = self.term_at = None
        (spec,) = pod["spec"]["containers"]
        fields = {"spec.nodeName": pod["spec"].get("nodeName", ""), "metadata.name": pod["metadata"]["name"]}
        for kind in ("labels", "annotations"):
            for key, value in pod["metadata"].get(kind, {}).items():
                fields[f"metadata.{kind}['{key}']"] = value
        variables = {}
        for one in spec.get("env", []):
            if "value" in one:
                variables[one["name"]] = expand(one["value"], variables)
            else:
                variables[one["name"]] = fields[one["valueFrom"]["fieldRef"]["fieldPath"]]
        # Each container has a file of its own there; its text is the message with which it ends.
        self.message = tempfile.NamedTemporaryFile(prefix="termination-")
        variables = {name: self.message.name if value == "/dev/termination-log" else value for name, value in variables.items()}
        hook = spec.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
        self.saves = any("kill -USR1" in word for word in hook)
        self.pause = int(re.search(r"sleep (\d+)", hook[-1])[1]) if self.saves else 0
        words = [expand(word, variables) for word in spec.get("command", []) + spec.get("args", [])]
        environment = {"PATH": os.environ["PATH"], **variables}
        try:
            self.process = subprocess.Popen(words, env=environment, cwd=spec.get("workingDir"), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            self.process, self.code, self.ended = None, 128, time.time()
            print(f"kubelet: {words[:1]}: {error}", file=sys.stderr)

    def send(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def look(self):
        if self.code is None and self.process.poll() is not None:
            self.code = self.process.returncode if self.process.returncode >= 0 else 128 - self.process.returncode
            self.ended = time.time()
            self.send(signal.SIGKILL)  # what it left

    def end(self, grace, now, scale):
        """As often as it is asked: the earliest end holds."""
        if not self.asked:
            self.asked = True
            if self.saves:
                self.send(signal.SIGUSR1)
            self.began = now
        end = self.began + grace * scale
        self.ends_at = end if self.ends_at is None else min(self.ends_at, end)
        if not self.termed and now >= min(self.began + self.pause * scale, self.ends_at):
            self.termed = True
            self.send(signal.SIGTERM)
        if now >= self.ends_at:
            self.send(signal.SIGKILL)

    def state(self):
        if self.code is None:
            return {"running": {"startedAt": moment(self.started)}}
        reason = "Completed" if self.code == 0 else "OOMKilled" if self.code == 251 else "Error"
        self.message.seek(0)
        return {"terminated": {"exitCode": self.code, "reason": reason, "startedAt": moment(self.started),
                               "finishedAt": moment(self.ended), "message": self.message.read(4096).decode(errors="replace")}}


class Kubelet(threading.Thread):
    """`request(method, path, body)` gives a status and an object."""

    def __init__(self, request, nodes, scale=1.0, log=subprocess.DEVNULL, heartbeat=False):
        super().__init__(daemon=True)
        self.request, self.nodes, self.scale, self.log, self.heartbeat = request, set(nodes), scale, log, heartbeat
        self.dead, self.containers, self.told = set(), {}, {}
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.beaten = 0

    def run(self):
        while not self.over.wait(0.02):
            try:
                self.step()
            except (OSError, KeyError, ValueError) as error:
                print(f"kubelet: {type(error).__name__}: {error}", file=sys.stderr)
        for one in self.containers.values():
            if one.process and one.code is None:
                one.send(signal.SIGKILL)

    def kill_node(self, node):
        with self.lock:
            self.dead.add(node)
            for (_, name), one in self.containers.items():
                if one.node == node and one.process and one.code is None:
                    one.send(signal.SIGKILL)

    def restore_node(self, node):
        with self.lock:
            self.dead.discard(node)
            for key in [key for key, one in self.containers.items() if one.node == node]:
                one = self.containers[key]  # nothing survived
                one.look()
                self.told.pop(one.uid, None)

    def beat(self):
        if self.heartbeat and time.time() - self.beaten > 5:
            self.beaten = time.time()
            for node in self.nodes - self.dead:
                self.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [
                    {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                     "lastHeartbeatTime": moment(), "lastTransitionTime": moment()}]}})

    def step(self):
        self.beat()
        _, listed = self.request("GET", "/api/v1/pods", None)
        with self.lock:
            pods = {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in listed["items"]
                    if p["spec"].get("nodeName") in self.nodes - self.dead}
            for key, pod in pods.items():
                self.care(key, pod)
            for key in [key for key, one in self.containers.items() if key not in pods and one.node not in self.dead]:
                one = self.containers.pop(key)
                if one.process and one.code is None:
                    one.send(signal.SIGKILL)

    def care(self, key, pod):
        path = f"/api/v1/namespaces/{key[0]}/pods/{key[1]}"
        one = self.containers.get(key)
        deleted = pod["metadata"].get("deletionTimestamp")
        phase = pod.get("status", {}).get("phase")
        if one is None or one.uid != pod["metadata"]["uid"]:
            if phase in ("Succeeded", "Failed") or deleted:
                if deleted:
                    self.request("DELETE", path, {"gracePeriodSeconds": 0})
                return
            one = self.containers[key] = Container(pod, self.log)
            one.node = pod["spec"]["nodeName"]
        if one.code is None:
            one.look()
        if deleted and one.code is None:
            one.end(pod["metadata"].get("deletionGracePeriodSeconds", 30), time.time(), self.scale)
        said = json.dumps(one.state())
        if self.told.get(one.uid) != said:
            phase = "Running" if one.code is None else "Succeeded" if one.code == 0 else "Failed"
            ready = "True" if one.code is None else "False"
            status, _ = self.request("PATCH", path + "/status", {"status": {
                "phase": phase, "startTime": moment(one.started), "podIP": "127.0.0.1",
                "conditions": [*[c for c in pod.get("status", {}).get("conditions", []) if c["type"] not in ("Ready", "ContainersReady")],
                               {"type": "Ready", "status": ready, "lastTransitionTime": moment()},
                               {"type": "ContainersReady", "status": ready, "lastTransitionTime": moment()}],
                "containerStatuses": [{"name": pod["spec"]["containers"][0]["name"], "ready": one.code is None, "restartCount": 0,
                                       "image": pod["spec"]["containers"][0]["image"], "imageID": "", "state": one.state()}]}})
            if status == 200:
                self.told[one.uid] = said
        elif deleted and one.code is not None:
            self.request("DELETE", path, {"gracePeriodSeconds": 0})


def http_request(url):
    def request(method, path, body):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        asked = urllib.request.Request(url + path, method=method, headers={"Content-Type": kind},
                                       data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, {}
    return request


def main():
    kubelet = Kubelet(http_request(sys.argv[1]), sys.argv[2:], heartbeat=True)
    kubelet.start()
    try:
        while kubelet.is_alive():
            time.sleep(0.1)
            down = set()
            if os.path.exists(os.environ.get("ACCORD_TEST_NODES_DOWN", "")):
                with open(os.environ["ACCORD_TEST_NODES_DOWN"], encoding="utf-8") as file:
                    down = set(file.read().split())
            for node in kubelet.nodes:
                if node in down and node not in kubelet.dead:
                    kubelet.kill_node(node)
                elif node not in down and node in kubelet.dead:
                    kubelet.restore_node(node)
    except KeyboardInterrupt:
        kubelet.over.set()


if __name__ == "__main__":
    main()
