"""An ensemble of five members as real processes, beside what follows from its table of votes and its service times.

usage: ensemble.py ACCORD FOLDER STEP... [--requests N] [--slack MS]
Steps: calm, killed, stopped, slow, lost, planned, collected, scripts, overhead. Prints a line for each, and ends with 1 at what disagrees.
"""
import argparse
import collections
import http.client
import itertools
import json
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

MEMBERS = ["m", "m.2", "m.3", "m.4", "m.5"]
CLASSES = 10
QUORUM = 3
TIMEOUT = 600  # ms
# Of a member: milliseconds, constant and lognormal.
CONSTANT, MEDIAN, SIGMA = 4.0, 6.0, 0.4
LOST, CHANGED = 0.05, 0.01

TRAINING = """model m(hidden = 64) {
  input x : float[hidden]
  input y : float[hidden]
  loss mse(linear(x, out = hidden), y)
}
train t = m() on a100_80g { batch = 64 }
ensemble five of t {
  member m = m()
  votes from "votes.csv"
  size = 5
  devices = {a100_80g: 5}
  answer { undelivered = {a100_80g: %s}, corrupted = {a100_80g: %s}, quorum = %d }
}
"""


# The same members where answers are planned: quantiles of 4 ms + lognormal(6 ms, 0.4).
ANSWERS = (
    TRAINING[: TRAINING.index("  answer {")]
    + """  answer {
    timeout = %d ms
    quorum = %d
    latency = {m: {a100_80g: {p50: 10 ms, p90: 14.02 ms, p99: 19.22 ms, p9999: 30.57 ms}}}
    network = {a100_80g: {%s}}
    energy = {m: {a100_80g: 1 J}}
    memory = {m: 1 MiB}
    undelivered = {a100_80g: 0.01}
  }
  require no_answer <= 0.01
  minimize answer_error
}
"""
)


class Failed(Exception):
    pass


def fail(text):
    raise Failed(text)


class Pauses:
    """The longest time for which this machine let a thread wait that wanted to go on: where that is long, nobody answered in time."""

    def __enter__(self):
        self.longest, self.ends = 0.0, False
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()

    def watch(self):
        while not self.ends:
            before = time.monotonic()
            time.sleep(0.01)
            self.longest = max(self.longest, time.monotonic() - before - 0.01)


def expect(holds, text):
    if not holds:
        fail(text)


# ---- The table and what follows from it


def draw_table(samples, seed):
    """Votes with errors that go together: some inputs are hard for all members. {pattern of wrong members: samples}"""
    draw = random.Random(seed)
    table = collections.Counter()
    for _ in range(samples):
        error = 0.55 if draw.random() < 0.08 else 0.05
        table[tuple(draw.random() < error for _ in MEMBERS)] += 1
    return table


def write_table(table, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(["count"] + MEMBERS) + "\n")
        for wrong, count in sorted(table.items()):
            file.write(",".join([str(count)] + ["wrong" if one else "right" for one in wrong]) + "\n")


def exact(table, lost, changed):
    """(wrong, none): shares of answers by going through all that may happen. Nobody who is wrong differs from another who is."""
    total = sum(table.values())
    wrong = none = 0.0
    for pattern, count in table.items():
        bad = [one or False for one in pattern]
        for arrives in itertools.product((False, True), repeat=5):
            chance = math.prod(1 - lost if one else lost for one in arrives)
            number = sum(arrives)
            if number < QUORUM:
                none += chance * count / total
                continue
            # How many of the votes that arrive are wrong: each that is right is changed with some probability.
            right = sum(1 for i in range(5) if arrives[i] and not bad[i])
            for turned in range(right + 1):
                share = math.comb(right, turned) * changed**turned * (1 - changed) ** (right - turned)
                wrongs = number - right + turned
                if 2 * wrongs > number:
                    wrong += chance * share * count / total
                elif 2 * wrongs == number:  # a tie: the smaller label, which is the wrong one where the true one is the last
                    wrong += chance * share * count / total / CLASSES
    return wrong, none


def service(t):
    """P(a member's time <= t), t in ms."""
    return 0.0 if t <= CONSTANT else 0.5 * (1 + math.erf(math.log((t - CONSTANT) / MEDIAN) / SIGMA / math.sqrt(2)))


def equal_votes(table, lost, changed):
    """{number of equal votes that arrive, at most: probability}; three of them are needed to be certain before the time-out."""
    total = sum(table.values())
    chances = collections.Counter()
    for wrong in range(6):
        share = sum(count for pattern, count in table.items() if sum(pattern) == wrong) / total
        for turned in range(5 - wrong + 1):  # of the right ones
            turns = math.comb(5 - wrong, turned) * changed**turned * (1 - changed) ** (5 - wrong - turned)
            bad, good = wrong + turned, 5 - wrong - turned
            for a in range(bad + 1):
                for b in range(good + 1):
                    arrive = math.comb(bad, a) * math.comb(good, b) * (1 - lost) ** (a + b) * lost ** (5 - a - b)
                    chances[max(a, b)] += share * turns * arrive
    return chances


def answered_with_losses(chances, t):
    """P(an answer, or that there is none, within t): at the time-out at the latest."""
    share = service(t)
    if t >= TIMEOUT:
        return 1.0
    return sum(chance * sum(math.comb(equal, k) * share**k * (1 - share) ** (equal - k) for k in range(3, equal + 1)) for equal, chance in chances.items())


def check_latency(report, planned, options):
    """p50, p90 and p99 beside those of a distribution, with the interval of a quantile of so many requests; and the time of transport."""
    text = []
    for key, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        measured = report["latency_ms"][key]
        # The normal approximation of how many of them are below it.
        width = 3 * math.sqrt(q * (1 - q) / report["requests"])
        low, middle, high = (quantile(planned, min(1 - 1e-9, at)) for at in (q - width, q, q + width))
        text.append(f"{key} {measured:.2f} ms (planned {middle:.2f}, {low:.2f} to {high:.2f})")
        expect(low <= measured <= high + options.slack, f"{key} is {measured} ms, planned {low} to {high} ms")
    return ", ".join(text)


def answered_by(table, t, members=5):
    """P(an answer is certain within t): when the third equal vote is there, of the first `members` members."""
    share = service(t)
    total = sum(table.values())
    chance = 0.0
    for pattern, count in table.items():
        wrong = sum(pattern[:members])
        equal = max(wrong, members - wrong)
        chance += count / total * sum(math.comb(equal, k) * share**k * (1 - share) ** (equal - k) for k in range(3, equal + 1))
    return chance


def quantile(of, q):
    low, high = 0.0, 10000.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if of(middle) >= q else (middle, high)
    return high


def true_label(sample):
    """lib/voting/problem/VoteRows: the first number of splitmix64 below the number of classes."""
    mask = (1 << 64) - 1
    state = sample
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        if z <= mask - (mask % CLASSES + 1) % CLASSES:
            return z % CLASSES


# ---- Processes


class Ensemble:
    def __init__(self, accord, folder, table):
        self.accord, self.folder, self.processes = accord, folder, {}
        self.votes = os.path.join(folder, "votes.csv")
        write_table(table, self.votes)

    def run(self, *words):
        done = subprocess.run([self.accord, *words], capture_output=True, text=True, check=False)
        if done.returncode not in (0,):
            fail(f"{' '.join(words)} ends with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def plan(self, lost, changed):
        """accord vote and accord emit ensemble; ports that are free."""
        self.plan_text(TRAINING % (lost, changed, QUORUM))
        with open(os.path.join(self.folder, "out", "vote.json"), encoding="utf-8") as file:
            self.answer = json.load(file)["answer"]

    def plan_text(self, text):
        source = os.path.join(self.folder, "five.dnn")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        self.run("vote", source, "-o", os.path.join(self.folder, "out"))
        self.scripts = os.path.join(self.folder, "run")
        self.run("emit", "ensemble", os.path.join(self.folder, "out"), "-o", self.scripts, "--classes", str(CLASSES), "--timeout-ms", str(TIMEOUT))
        self.config = os.path.join(self.scripts, "ensemble.json")
        with open(self.config, encoding="utf-8") as file:
            config = json.load(file)
        expect([one["name"] for one in config["members"]] == MEMBERS, f"members are {config['members']}")
        expect(config["quorum"] == QUORUM and config["timeout_ms"] == TIMEOUT, f"quorum and time-out of {config}")
        held = [socket.socket() for _ in MEMBERS]
        for one, member in zip(held, config["members"]):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
            member["url"] = f"http://127.0.0.1:{one.getsockname()[1]}"
        for one in held:
            one.close()
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def begin(self, name, *words):
        process = subprocess.Popen([self.accord, *words], stdout=subprocess.PIPE, text=True)
        self.processes[name] = process
        line = process.stdout.readline()
        expect(" at http://" in line, f"{' '.join(words)} says {line!r}")
        return line.strip().rsplit(" at ", 1)[1]

    def member(self, name, *words, constant=CONSTANT, median=MEDIAN):
        times = ["--service-ms", str(constant), "--service-median-ms", str(median), "--service-sigma", str(SIGMA), "--parallel", "0"]
        self.begin(name, "member", name, self.config, "--votes", self.votes, "--seed", str(MEMBERS.index(name) + 1), *times, *words)

    def members(self, *words):
        for name in MEMBERS:
            self.member(name, *words)

    def serve(self, *words):
        self.url = self.begin("server", "answer", self.config, "--listen", "127.0.0.1:0", *words)

    def ask(self, requests, connections=16, seed=1, rate=0):
        done = subprocess.run(
            [self.accord, "ask", "--server", self.url, "--votes", self.votes, "--requests", str(requests), "--connections", str(connections)]
            + ["--seed", str(seed), "--rate", str(rate), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        expect(done.returncode == 0, f"ask ends with {done.returncode}: {done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        expect(report["requests"] == requests and report["failed"] == 0, f"not each request was answered once: {report}")
        expect(report["answered"] + report["none"]["number"] == requests, f"answers do not add up: {report}")
        return report

    def http(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.url.split("//")[1], timeout=30)
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def statistics(self):
        return self.http("GET", "/statistics")[1]

    def send(self, name, number):
        self.processes[name].send_signal(number)

    def end(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def close(self):
        for name in list(self.processes):
            self.end(name)


def tally(before, after, name, key):
    value = [next(one for one in side["members"] if one["name"] == name)[key] for side in (before, after)]
    return value[1] - value[0]


# ---- Steps


def calm(ensemble, table, options):
    """All members are there: errors as in the table, latency as the order statistics of service times."""
    ensemble.plan(0, 0)
    ensemble.members()
    ensemble.serve()
    report = ensemble.ask(options.requests, connections=options.connections)
    wrong, none = exact(table, 0, 0)
    expect(report["none"]["number"] == 0 and none == 0, f"requests without an answer: {report['none']}")
    expect(report["wrong"]["low"] <= wrong <= report["wrong"]["high"], f"{wrong} of the table is outside of {report['wrong']}")
    expect(not report["contradictions"], f"contradicts the plan: {report['contradictions']}")
    expect(wrong <= fraction(ensemble.answer["wrong"]), "the plan's bound is below the table's share")
    text = [f"calm: {report['requests']} requests, {report['requests_per_s']:.0f}/s, wrong {100 * report['wrong']['share']:.3f} %"]
    text.append(f"(table {100 * wrong:.3f} %, certified at most {100 * fraction(ensemble.answer['wrong']):.3f} %)")
    text.append(check_latency(report, lambda t: answered_by(table, t), options))
    seen = ensemble.statistics()
    expect(seen["requests"] == seen["answered"] == options.requests and seen["open"] == 0, f"statistics: {seen}")
    expect(seen["wrong"] == report["wrong"]["number"], "server and client count other errors")
    for name, document in (("ask", report), ("statistics", seen)):
        with open(os.path.join(ensemble.folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
    print(", ".join(text))


def fraction(value):
    over, _, under = str(value).partition("/")
    return float(over) / float(under or 1)


def killed(ensemble, table, options):
    """Members die while requests are under way: answers as long as there is a quorum, and again when they are back."""
    ensemble.plan(0, 0)
    ensemble.members()
    ensemble.serve()
    asking = subprocess.Popen(
        [ensemble.accord, "ask", "--server", ensemble.url, "--votes", ensemble.votes, "--requests", str(options.requests), "--connections", "16", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    while ensemble.statistics()["answered"] < options.requests / 4:
        time.sleep(0.01)
    ensemble.end("m.2")
    while ensemble.statistics()["answered"] < options.requests / 2:
        time.sleep(0.01)
    ensemble.end("m.5")
    report = json.loads(asking.communicate()[0])
    expect(report["failed"] == 0 and report["requests"] == options.requests and report["none"]["number"] == 0, f"killed: {report}")
    seen = ensemble.statistics()
    refused = sum(tally({"members": [dict.fromkeys(one, 0) | {"name": one["name"]} for one in seen["members"]]}, seen, name, "unavailable") for name in ("m.2", "m.5"))
    expect(refused > 0, "nobody saw that members are gone")
    ensemble.end("m")
    below = ensemble.ask(200)
    expect(below["answered"] == 0 and below["none"]["number"] == 200, f"answers without a quorum: {below}")
    status, body = ensemble.http("POST", "/answer", '{"id": 5, "input": 1}')
    expect(status == 503 and body["error"] == "no quorum" and body["id"] == 5, f"{status} {body}")
    expect(sorted(one["member"] for one in body["missing"] if one["reason"] == "refused") == ["m", "m.2", "m.5"], f"missing: {body}")
    for name in ("m", "m.2", "m.5"):
        ensemble.member(name)
    time.sleep(1.2)  # the longest pause between attempts is a second
    again = ensemble.ask(500)
    expect(again["answered"] == 500, f"after they are back: {again}")
    print(f"killed: {report['answered']} of {report['requests']} answered while two die, none of 200 without a quorum ({below['latency_ms']['p50']:.2f} ms), all when they are back")


def stopped(ensemble, table, options):
    """Members stand still: nobody waits for them without need, and never beyond the time-out."""
    ensemble.plan(0, 0)
    ensemble.members()
    ensemble.serve("--max-connections", "3500")
    ensemble.ask(200)
    ensemble.send("m.3", signal.SIGSTOP)
    first = min(3000, options.requests)
    report = ensemble.ask(first)
    expect(report["none"]["number"] == 0, f"one stands still: {report}")
    # Four members say 2 against 2: only then the fifth is waited for.
    total = sum(table.values())
    ties = sum(count for pattern, count in table.items() if sum(one for i, one in enumerate(pattern) if i != 2) == 2) / total
    late = tally({"members": [{"name": "m.3", "late": 0}]}, ensemble.statistics(), "m.3", "late")
    expect(abs(late / first - ties) <= 4 * math.sqrt(ties / first), f"waited for {late} of {first}, planned {ties}")
    planned = ties * first
    if options.requests > first:  # it takes no more connections after some thousand requests, and is not waited for any more
        report = ensemble.ask(options.requests)
        expect(report["none"]["number"] == 0, f"one stands still: {report}")
    expect(report["max_latency_ms"] <= TIMEOUT + 150 + options.slack, f"an answer took {report['max_latency_ms']} ms")
    for name in ("m", "m.5"):
        ensemble.send(name, signal.SIGSTOP)
    below = ensemble.ask(60)
    expect(below["answered"] == 0, f"answers without a quorum: {below}")
    expect(TIMEOUT <= below["latency_ms"]["p50"] <= TIMEOUT + 100 + options.slack, f"no answer after {below['latency_ms']}")
    for name in ("m", "m.3", "m.5"):
        ensemble.send(name, signal.SIGCONT)
    time.sleep(0.2)
    again = ensemble.ask(500)
    expect(again["answered"] == 500, f"after they go on: {again}")
    print(
        f"stopped: {report['answered']} answered with one that stands still, p50 {report['latency_ms']['p50']:.2f} ms, {late} of {first} waited for it (planned {planned:.0f});"
        f" none with three, after {below['latency_ms']['p50']:.1f} ms; all when they go on"
    )


def slow(ensemble, table, options):
    """A member that is later than the time-out is one that is lost."""
    ensemble.plan(0, 0)
    for name in MEMBERS[:4]:
        ensemble.member(name)
    ensemble.member("m.5", constant=1000)
    ensemble.serve()
    report = ensemble.ask(options.requests)
    expect(report["none"]["number"] == 0, f"one is slow: {report}")
    seen = ensemble.statistics()
    member = next(one for one in seen["members"] if one["name"] == "m.5")
    expect(member["in_time"] == 0 and member["late"] > 0, f"the slow one: {member}")
    planned = quantile(lambda t: answered_by(table, t, 4) / answered_by(table, 1e9, 4), 0.5)
    print(f"slow: {report['answered']} answered, p50 {report['latency_ms']['p50']:.2f} ms (planned {planned:.2f} of those that are no tie)")


def lost(ensemble, table, options):
    """Votes are lost, and wrong on their way: shares of wrong and of missing answers as planned."""
    ensemble.plan(LOST, CHANGED)
    ensemble.members("--lost", str(LOST), "--changed", str(CHANGED))
    ensemble.serve()
    report = ensemble.ask(options.requests, connections=options.connections * 4)
    wrong, none = exact(table, LOST, CHANGED)
    expect(abs(fraction(ensemble.answer["none"]) - none) < 1e-9, f"the plan states {ensemble.answer['none']} without an answer, exact is {none}")
    expect(report["none"]["low"] <= none <= report["none"]["high"], f"{none} without an answer is outside of {report['none']}")
    expect(report["wrong"]["low"] <= wrong <= report["wrong"]["high"], f"{wrong} is outside of {report['wrong']}")
    expect(not report["contradictions"], f"contradicts the plan: {report['contradictions']}")
    chances = equal_votes(table, LOST, CHANGED)
    latency = check_latency(report, lambda t: answered_with_losses(chances, t), options)
    print(
        f"lost: {report['requests']} requests, {report['requests_per_s']:.0f}/s, wrong {100 * report['wrong']['share']:.3f} % (exact {100 * wrong:.3f} %, certified at most"
        f" {100 * fraction(ensemble.answer['wrong']):.3f} %), none {100 * report['none']['share']:.4f} % (planned {100 * none:.4f} %), {latency}"
    )


def collected(ensemble, table, options):
    """The table that the emitted script collects from the members is the one that they answer from."""
    ensemble.plan(0, 0)
    for name in MEMBERS:
        ensemble.member(name, constant=0, median=0)
    inputs = os.path.join(ensemble.folder, "inputs.jsonl")
    number = 2000
    samples = random.Random(5).sample(range(sum(table.values())), number)
    with open(inputs, "w", encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps({"input": sample, "truth": true_label(sample)}) + "\n")
    script = [sys.executable, os.path.join(ensemble.scripts, "collect_votes.py"), ensemble.config, inputs, "-o", os.path.join(ensemble.folder, "collected.csv")]
    few = subprocess.run(script, capture_output=True, text=True, check=False)
    expect(few.returncode == 1 and "the guarantee needs" in few.stderr, f"too few samples: {few.stdout}{few.stderr}")
    done = subprocess.run([*script, "--min-samples", "0"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"collect_votes.py: {done.stdout}{done.stderr}")
    rows = [pattern for pattern, count in sorted(table.items()) for _ in range(count)]
    planned = collections.Counter(rows[sample] for sample in samples)
    found = collections.Counter()
    with open(os.path.join(ensemble.folder, "collected.csv"), encoding="utf-8") as file:
        expect(file.readline().strip() == ",".join(["count"] + MEMBERS), "the columns")
        for line in file:
            count, *votes = line.strip().split(",")
            found[tuple(vote == "wrong" for vote in votes)] += int(count)
    expect(found == planned, f"collected {found}, the members have {planned}")
    source = os.path.join(ensemble.folder, "again.dnn")
    with open(source, "w", encoding="utf-8") as file:
        file.write((TRAINING % (0, 0, QUORUM)).replace("votes.csv", "collected.csv"))
    ensemble.run("vote", source, "-o", os.path.join(ensemble.folder, "again"))
    done = subprocess.run([*script, "--min-samples", "0", "--by-class"], capture_output=True, text=True, check=False)
    with open(os.path.join(ensemble.folder, "collected.csv"), encoding="utf-8") as file:
        expect(file.readline().strip() == ",".join(["count", "class"] + MEMBERS), "the columns by class")
        by_class = collections.Counter()
        for line in file:
            count, label, *_ = line.strip().split(",")
            by_class[int(label)] += int(count)
    expect(by_class == collections.Counter(true_label(sample) for sample in samples), f"by class {by_class}")
    soft = os.path.join(ensemble.folder, "soft.json")
    with open(ensemble.config, encoding="utf-8") as file:
        config = json.load(file) | {"rule": "soft"}
    with open(soft, "w", encoding="utf-8") as file:
        json.dump(config, file)
    done = subprocess.run([*script[:2], soft, *script[3:], "--min-samples", "0"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"collect_votes.py of soft votes: {done.stdout}{done.stderr}")
    with open(os.path.join(ensemble.folder, "collected.csv"), encoding="utf-8") as file:
        expect(file.readline().strip() == ",".join(["count"] + MEMBERS + ["vote"]), "the columns of soft votes")
        for line in file:  # probabilities of stubs are 1 for their label
            _, *votes, vote = line.strip().split(",")
            expect((vote == "wrong") == (votes.count("wrong") > 2), f"a soft vote: {line}")
    print(f"collected: {number} samples as the members have them, and accord vote reads them")


def planned(ensemble, table, options):
    """What a plan of answers states of wrong and missing answers, and of when they are decided, with a loss of 1 % of the votes. How long votes
    are on their way is measured before, as a user would: by members that take no time, asked as often."""
    connections = options.connections * 2
    ensemble.plan(0, 0)
    for name in MEMBERS:
        ensemble.member(name, constant=0, median=0)
    ensemble.serve()
    way = ensemble.ask(min(options.requests, 20000), connections=connections, rate=connections / 0.012)
    ensemble.close()
    quantiles = {**{f"p{q}": way["latency_ms"][f"p{q}"] for q in (50, 90, 99)}, "p9999": way["max_latency_ms"]}
    ensemble.plan_text(ANSWERS % (TIMEOUT, QUORUM, ", ".join(f"{q}: {value:.3f} ms" for q, value in quantiles.items())))
    with open(os.path.join(ensemble.folder, "out", "answer.json"), encoding="utf-8") as file:
        best = json.load(file)["best"]
    ensemble.members("--lost", "0.01")
    ensemble.serve()
    report = ensemble.ask(options.requests, connections=connections)
    expect(not report["contradictions"], f"contradicts the plan: {report['contradictions']}")
    wrong, none = exact(table, 0.01, 0)
    expect(wrong <= fraction(best["wrong"]) and none <= fraction(best["none"]), f"exact are {wrong} and {none}, planned {best}")
    expect(report["wrong"]["low"] <= wrong <= report["wrong"]["high"], f"{wrong} is outside of {report['wrong']}")
    text = []
    for time_of in best["times"]:
        share = fraction(time_of["share"])
        key = {0.5: "p50", 0.99: "p99", 0.999: "p99_9"}[share]
        limit = time_of["decided_ps"] / 1e9
        # The server decides then; the one who asks hears of it a little later.
        expect(report["latency_ms"][key] <= limit + quantiles["p50"] + options.slack, f"{key} is {report['latency_ms'][key]} ms, planned at most {limit}")
        text.append(f"{key} {report['latency_ms'][key]:.2f} ms (planned at most {limit:.2f})")
    print(
        f"planned: {report['requests']} requests, wrong {100 * report['wrong']['share']:.3f} % (planned at most {100 * fraction(best['wrong']):.3f} %),"
        f" none {100 * report['none']['share']:.4f} % (planned at most {100 * fraction(best['none']):.4f} %), " + ", ".join(text)
        + "; on the way " + ", ".join(f"{q} {value:.2f} ms" for q, value in quantiles.items())
    )


def scripts(ensemble, table, options):
    """The emitted scripts start members with an engine of the user, and the server; ended, they leave nobody behind."""
    ensemble.plan(0, 0)
    engine = os.path.join(ensemble.folder, "engine.py")
    with open(engine, "w", encoding="utf-8") as file:
        file.write("import json, sys\nfor line in sys.stdin:\n  asked = json.loads(line)\n  print(json.dumps({'id': asked['id'], 'label': asked['input'][0] % 10}), flush=True)\n")
    folder = os.path.join(ensemble.scripts, "start")
    with open(ensemble.config, encoding="utf-8") as file:
        urls = [member["url"] for member in json.load(file)["members"]]
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    place = "127.0.0.1:%d" % held.getsockname()[1]
    held.close()
    path = os.path.dirname(os.path.abspath(subprocess.run(["which", ensemble.accord], capture_output=True, text=True, check=True).stdout.strip()))
    world = os.environ | {"ENGINE": f"{sys.executable} {engine}", "ADDRESS": "127.0.0.1", "LISTEN": place, "PATH": path + os.pathsep + os.environ["PATH"]}
    for i, name in enumerate(sorted(os.listdir(folder))):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        # On ports that are free, as in ensemble.json.
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text.replace(f":{8501 + i}", ":" + urls[i].rsplit(":", 1)[1]))
        ensemble.processes[name] = subprocess.Popen(["sh", os.path.join(folder, name)], env=world, stdout=subprocess.DEVNULL)
    ensemble.processes["server"] = subprocess.Popen(["sh", os.path.join(ensemble.scripts, "answer.sh")], env=world, stdout=subprocess.DEVNULL)
    ensemble.url = "http://" + place
    answer = None
    for _ in range(300):
        try:
            answer = ensemble.http("POST", "/answer", '{"id": 8, "input": [47]}')
            if answer[0] == 200 and len(answer[1]["voted"]) >= QUORUM:
                break
        except OSError:
            pass
        time.sleep(0.1)
    expect(answer and answer[0] == 200 and answer[1]["label"] == 7 and answer[1]["id"] == 8, f"answered {answer}")
    for name in os.listdir(folder):
        ensemble.send(name, signal.SIGTERM)
        ensemble.processes.pop(name).wait(20)
    status, body = ensemble.http("POST", "/answer", '{"id": 9, "input": [47]}')
    expect(status == 503 and len(body["missing"]) == 5, f"after the end: {status} {body}")
    print(f"scripts: {answer[1]['voted']} say {answer[1]['label']}; nobody is left after the end")


def overhead(ensemble, table, options):
    """Members that take no time: what is left is the voting server, the members' servers and the transport."""
    ensemble.plan(0, 0)
    for name in MEMBERS:
        ensemble.member(name, constant=0, median=0)
    ensemble.serve()
    text = []
    for connections in (1, 8, 64):
        report = ensemble.ask(options.requests, connections=connections)
        text.append(
            f"{connections} at once: {report['requests_per_s']:.0f}/s, p50 {report['latency_ms']['p50']:.3f} ms, p99 {report['latency_ms']['p99']:.3f} ms, p99.9 {report['latency_ms']['p99_9']:.3f} ms"
        )
    print("overhead: " + "; ".join(text))


STEPS = {step.__name__: step for step in (calm, killed, stopped, slow, lost, planned, collected, scripts, overhead)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("accord")
    parser.add_argument("folder")
    parser.add_argument("steps", nargs="+", choices=STEPS)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--slack", type=float, default=100, help="milliseconds that a busy machine may take")
    options = parser.parse_args()
    table = draw_table(20000, 11)
    for step in options.steps:
        for left in reversed(range(4)):
            try:
                with Pauses() as pauses:
                    run(step, table, options)
                break
            except Failed as failed:
                # A machine that stands still for longer than that says nothing about who answers in time.
                if pauses.longest < 0.1 or left == 0:
                    sys.exit(f"FAILED: {failed} (the machine paused for {1000 * pauses.longest:.0f} ms)")


def run(step, table, options):
    folder = os.path.join(options.folder, step)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ensemble = Ensemble(options.accord, folder, table)
    try:
        STEPS[step](ensemble, table, options)
    finally:
        ensemble.close()


main()
