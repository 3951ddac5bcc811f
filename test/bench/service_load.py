#!/usr/bin/env python3
"""Submissions at a steady rate, with watchers of all events beside them, against a scheduler process.

usage: test/bench/service_load.py PROGRAM|URL [options]
  PROGRAM    `accord`: it serves 16 devices of this machine for the time of the test, in a folder that is removed
  URL        http://HOST:PORT of an `accord serve`; --token (or ACCORD_TOKEN) is that of a submitter, --pid its process
  --rate N, --seconds N, --watchers N, --threads N, --command WORDS   submissions a second, for how long; of the jobs
  --state FOLDER   of PROGRAM, kept; --database URL, else SQLite
  --realtime       this program and the server, not what it starts, run before others (root)
Latencies are counted from when a submission was due, not from when it was sent, so a server that falls behind shows it.
On a machine that others use, compare processor time and the time for which threads waited for a processor.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def watch(host, port, token, count, ready, ends, answer):
    """Holds `count` streams; counts the events of each and remembers when the first stream had which job."""
    selector = selectors.DefaultSelector()
    request = f"GET /v1/events/stream HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    events, begun, tails, seen, text, lost = [0] * count, [False] * count, [b""] * count, {}, b"", 0
    for i in range(count):
        one = socket.create_connection((host, port), timeout=10)
        one.sendall(request)
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ, i)
    while not ends.is_set():
        for key, _ in selector.select(0.2):
            i = key.data
            try:
                data = key.fileobj.recv(262144)
            except BlockingIOError:
                continue
            if not data:
                lost += 1
                selector.unregister(key.fileobj)
                continue
            begun[i] = begun[i] or b"id: " in data
            whole = tails[i] + data
            events[i] += whole.count(b"\ndata: ")
            tails[i] = whole[-6:]  # too short to have a mark of its own
            if i == 0:
                now, text = time.time(), text + data
                *blocks, text = text.split(b"\n\n")
                for block in blocks:
                    if b"\ndata: " in block:
                        event = json.loads(block.split(b"\ndata: ", 1)[1])
                        seen.setdefault(event.get("job", 0), now)
        if not ready.is_set() and all(begun):
            ready.set()
    answer.put((events, seen, lost))


class Submitters:
    """Threads with a connection each; the next submission that is due is taken by whoever is free."""

    def __init__(self, options, host, port):
        self.options, self.host, self.port = options, host, port
        self.lock, self.next, self.begin = threading.Lock(), 0, time.time() + 0.2
        self.latencies, self.slow, self.done, self.failures = [], {}, {}, []

    def run(self):
        total = int(self.options.rate * self.options.seconds)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        headers = {"Authorization": "Bearer " + self.options.token, "Content-Type": "application/json"}
        while True:
            with self.lock:
                number, self.next = self.next, self.next + 1
            if number >= total:
                return
            due = self.begin + number / self.options.rate
            time.sleep(max(0, due - time.time()))
            job = {"name": f"load-{number}", "command": shlex.split(self.options.command), "samples": 1e6, "key": f"{self.begin}-{number}"}
            try:
                connection.request("POST", "/v1/jobs", json.dumps(job), headers)
                response = connection.getresponse()
                body = response.read()
                if response.status != 201:
                    raise OSError(f"{response.status} {body[:200]}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(str(error))
                connection.close()
                continue
            self.latencies.append(time.time() - due)
            second = int(due - self.begin)
            self.slow[second] = max(self.slow.get(second, 0), self.latencies[-1])
            self.done[json.loads(body)["id"]] = time.time()


def memory_of(pid):
    """Resident memory now and at its highest, threads."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return f"{lines['VmRSS'].strip()} resident, at most {lines['VmHWM'].strip()}, {lines['Threads'].strip()} threads"


def threads_of(pid):
    """By the name of threads: seconds that they ran, and that they could have run if a processor had been free."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
                name = file.read().strip()
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                ran, waited = (int(word) / 1e9 for word in file.read().split()[:2])
        except FileNotFoundError:
            continue
        before = found.get(name, (0, 0))
        found[name] = (before[0] + ran, before[1] + waited)
    return found


def time_of(host, port, token, path):
    begin = time.time()
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.request("GET", path, headers={"Authorization": "Bearer " + token})
    answer = connection.getresponse()
    size = len(answer.read())
    return f"{path} {(time.time() - begin) * 1e3:.0f} ms, {size / 1e6:.2f} MB"


def serve(options, folder):
    """Starts the program; its process, URL and token."""
    words = [options.target, "serve", "--engine", "local", "--engine-option", "nodes=n1=a100:8,n2=a100:8", "--listen", "127.0.0.1:0",
             "--state", folder]
    if options.database:
        words += ["--database", options.database]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    said = process.stdout.readline()
    if " at http" not in said:
        raise SystemExit(f"the program does not serve: {said}")
    with open(os.path.join(folder, "operator.token"), encoding="ascii") as file:
        return process, said.split(" at ")[1].split()[0], file.read().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--token", default=os.environ.get("ACCORD_TOKEN", ""))
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--command", default="sleep 1000")
    parser.add_argument("--state")
    parser.add_argument("--database")
    parser.add_argument("--realtime", action="store_true")
    options = parser.parse_args()
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    if options.target.startswith("http"):
        options.url = options.target
        return measure(options)
    folder = options.state or tempfile.mkdtemp(prefix="accord-load-")
    process, options.url, options.token = serve(options, folder)
    options.pid = process.pid
    try:
        measure(options)
    finally:
        process.terminate()
        process.wait(30)
        if not options.state:
            shutil.rmtree(folder, ignore_errors=True)


def measure(options):
    url = urllib.parse.urlsplit(options.url)
    ready, ends, answer = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
    watcher = multiprocessing.Process(
        target=watch, args=(url.hostname, url.port, options.token, options.watchers, ready, ends, answer), daemon=True)
    watcher.start()
    if not ready.wait(60):
        raise SystemExit("the watchers did not get their streams within 60 s")
    if options.realtime and options.pid:
        for task in map(int, os.listdir(f"/proc/{options.pid}/task")):
            if os.sched_getscheduler(task) != os.SCHED_BATCH:  # else it plans behind the others
                os.sched_setscheduler(task, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    before = threads_of(options.pid) if options.pid else None
    if options.pid:
        print(f"server, before    {memory_of(options.pid)}")
    load = Submitters(options, url.hostname, url.port)
    threads = [threading.Thread(target=load.run) for _ in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.time() - load.begin
    after = threads_of(options.pid) if options.pid else None
    time.sleep(2)
    ends.set()
    events, seen, lost = answer.get(timeout=30)
    delays = [seen[job] - done for job, done in load.done.items() if job in seen]
    print(f"submissions       {len(load.latencies)} in {took:.1f} s, {len(load.failures)} failed {load.failures[:3]}")
    for name, values in (("submission", load.latencies), ("until the event", delays)):
        print(f"{name:<17} p50 {percentile(values, 0.5) * 1e3:.1f} ms, p99 {percentile(values, 0.99) * 1e3:.1f} ms, "
              f"max {max(values, default=float('nan')) * 1e3:.1f} ms")
    print("slowest, each s   " + " ".join(f"{load.slow.get(second, 0) * 1e3:.0f}" for second in range(int(took) + 1)))
    print(f"watchers          {options.watchers}, of each {min(events, default=0)} to {max(events, default=0)} events, "
          f"{sum(events)} in all, {lost} lost their stream; of {len(load.done)} jobs {len(delays)} were seen")
    for path in ("/v1/jobs?limit=100", "/v1/jobs?limit=1000", "/v1/cluster", "/v1/runs?limit=1000", "/metrics"):
        print(f"answer            {time_of(url.hostname, url.port, options.token, path)}")
    if not options.pid:
        return
    print(f"server, after     {memory_of(options.pid)}")
    spent = {name: [now - was for now, was in zip(after[name], before.get(name, (0, 0)))] for name in after}
    for name, (ran, waited) in sorted(spent.items(), key=lambda item: -item[1][0]):
        print(f"threads           {name:<15} {ran:6.2f} s ran, {waited:6.2f} s waited for a processor")
    print(f"threads           {'all':<15} {sum(ran for ran, _ in spent.values()):6.2f} s ran, of {took:.0f} s; load average "
          f"{os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
