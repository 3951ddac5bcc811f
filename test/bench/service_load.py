#!/usr/bin/env python3
"""Submissions at a steady rate, with watchers of all events beside them, against a scheduler process.

usage: test/bench/service_load.py URL [--token TOKEN] [--rate N] [--seconds N] [--watchers N] [--pid PID] [--command WORDS]
  URL        http://HOST:PORT of `accord serve`; the token (or ACCORD_TOKEN) is that of a submitter
  --pid      of the server, for its memory and processor time
  --command  of the jobs that are submitted, default `true`
Latencies are counted from when a submission was due, not from when it was sent, so a server that falls behind shows it.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import selectors
import shlex
import socket
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
        self.latencies, self.done, self.failures = [], {}, []

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
            self.done[json.loads(body)["id"]] = time.time()


def usage_of(pid):
    """Resident bytes at their highest and now, threads, seconds of processor time."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return lines["VmHWM"].strip(), lines["VmRSS"].strip(), lines["Threads"].strip(), (int(fields[11]) + int(fields[12])) / ticks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--token", default=os.environ.get("ACCORD_TOKEN", ""))
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--command", default="true")
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    ready, ends, answer = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
    watcher = multiprocessing.Process(
        target=watch, args=(url.hostname, url.port, options.token, options.watchers, ready, ends, answer), daemon=True)
    watcher.start()
    if not ready.wait(60):
        raise SystemExit("the watchers did not get their streams within 60 s")
    before = usage_of(options.pid) if options.pid else None
    load = Submitters(options, url.hostname, url.port)
    threads = [threading.Thread(target=load.run) for _ in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.time() - load.begin
    after = usage_of(options.pid) if options.pid else None
    time.sleep(2)
    ends.set()
    events, seen, lost = answer.get(timeout=30)
    delays = [seen[job] - done for job, done in load.done.items() if job in seen]
    print(f"submissions       {len(load.latencies)} in {took:.1f} s, {len(load.failures)} failed {load.failures[:3]}")
    for name, values in (("submission", load.latencies), ("until the event", delays)):
        print(f"{name:<17} p50 {percentile(values, 0.5) * 1e3:.1f} ms, p99 {percentile(values, 0.99) * 1e3:.1f} ms, "
              f"max {max(values, default=float('nan')) * 1e3:.1f} ms")
    print(f"watchers          {options.watchers}, of each {min(events, default=0)} to {max(events, default=0)} events, "
          f"{sum(events)} in all, {lost} lost their stream; of {len(load.done)} jobs {len(delays)} were seen")
    if before:
        print(f"server            {after[1]} resident, at most {after[0]}, {after[2]} threads, "
              f"{after[3] - before[3]:.1f} s of processor time")


if __name__ == "__main__":
    main()
