#!/usr/bin/env python3
"""Runs `accord compare` and `accord import chakra` on broken traces: each gets an error with its file, and nothing crashes.

usage: broken_traces.py PLAN good.json good.et WORK
"""
import gzip
import json
import os
import subprocess
import sys


def one(changes=None, **beside):
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "args": {}}
    event.update(changes or {})
    return json.dumps({"traceEvents": [event], **beside}).encode()


def kineto(good):
    packed = gzip.compress(good, mtime=0)
    lists = b'{"traceEvents":['
    return {
        "empty": b"", "brace": b"{", "no events": b"{}", "other keys": b'{"a": 1}', "no trace": b"[]", "no list": b'{"traceEvents": 3}',
        "two lists": b'{"traceEvents": [], "traceEvents": []}', "half": good[:len(good) // 2], "no end": good[:-1], "start": good[:200],
        "more behind": good + b"x", "two": good + good, "negative duration": one({"dur": -1}), "negative start": one({"ts": -5}),
        "huge start": one({"ts": 1e300}), "infinite": lists + b'{"ph":"X","cat":"cpu_op","name":"a","ts":1e999,"dur":1}]}',
        "duration in words": one({"dur": "3"}), "no duration": lists + b'{"ph":"X","cat":"kernel","name":"k","ts":1}]}',
        "negative shape": one({"args": {"Input Dims": [[-1, 2]]}}), "words as shape": one({"args": {"Input Dims": ["a"]}}),
        "half an element": one({"args": {"Input Dims": [[1.5]]}}), "half an id": one({"cat": "cuda_runtime", "args": {"correlation": 1.5}}),
        "negative id": one({"args": {"External id": -7}}), "sequence in words": one({"args": {"Sequence number": "x"}}),
        "no event": lists + b"3]}", "comma": lists + b'{"ph":"X"},]}', "no comma": lists + b'{"ph":"X"} {"ph":"X"}]}',
        "key without quotes": b"{traceEvents: []}", "deep": lists + b'{"a":' * 500 + b"1" + b"}" * 500 + b"]}",
        "not a number": lists + b'{"ph":"X","cat":"cpu_op","name":"a","ts":NaN,"dur":1}]}', "only names": lists + b'{"ph":"M","name":"x"}]}',
        "no time": one({"dur": 0}), "begin alone": one({"ph": "B"}), "a long value": b'{"x":"' + b"a" * (2 << 20) + b'","traceEvents":[]}',
        "no UTF-8": lists + b'{"ph":"X","cat":"cpu_op","name":"a\xff","ts":1,"dur":1}]}', "half of gzip": packed[:len(packed) // 2],
        "damaged gzip": packed[:500] + b"\0" * 100 + packed[600:], "two bytes of gzip": b"\x1f\x8b", "gzip in gzip": gzip.compress(packed, mtime=0),
        "another file": b"PK\x03\x04" + b"x" * 100, "a word": b'"abc"', "null": b"null",
    }


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(body):
    return varint(len(body)) + body


def node(number, kind=4, data=(), control=(), name=b"n", more=b""):
    body = b"\x08" + varint(number) + b"\x12" + varint(len(name)) + name + b"\x18" + varint(kind)
    for key, ids in ((b"\x22", control), (b"\x2a", data)):
        packed = b"".join(varint(i) for i in ids)
        body += key + varint(len(packed)) + packed if packed else b""
    return message(body + more)


def attribute(name, value):
    body = b"\x0a" + varint(len(name)) + name + value
    return b"\x52" + varint(len(body)) + body


def chakra(good):
    head = message(b"\x0a\x051.0.0")
    return {
        "empty": b"", "header alone": head, "half": good[:len(good) // 2], "no end": good[:-3], "start": good[:1], "zeros": b"\0" * 4096,
        "text": b"this is no trace\n" * 20, "json": b'{"traceEvents": []}', "endless length": b"\xff" * 20, "long message": head + b"\xff\xff\xff\xff\x0f",
        "wrong wire type": head + message(b"\x0f\x01"), "name without end": head + message(b"\x12\x7fabc"), "cut in a node": head + b"\x20\x08\x01",
        "one id twice": head + node(1) + node(1), "unknown id": head + node(1, data=[9]), "unknown control": head + node(1, control=[9]),
        "itself": head + node(1, data=[1]), "cycle": head + node(1, data=[2]) + node(2, data=[1]), "no kind": head + node(1, kind=0),
        "a kind beyond": head + node(1, kind=99), "metadata alone": head + node(1, kind=1), "huge duration": head + node(1, more=b"\x38" + b"\xff" * 9 + b"\x01"),
        "negative size": head + node(1, more=attribute(b"num_ops", b"\x48" + b"\xff" * 9 + b"\x01")),
        "size in words": head + node(1, more=attribute(b"tensor_size", b"\xea\x01\x01x")),
        "no collective": head + node(1, kind=7, more=attribute(b"comm_type", b"\x48\x63")),
        "endless seconds": head + node(1, more=attribute(b"accord_seconds", b"\x19" + b"\0" * 6 + b"\xf0\x7f")),
        "negative seconds": head + node(1, more=attribute(b"accord_seconds", b"\x19" + b"\0" * 6 + b"\xf0\xbf")),
        "no number": head + node(1, more=attribute(b"accord_seconds", b"\x19" + b"\0" * 6 + b"\xf8\x7f")),
        "name is no UTF-8": head + node(1, name=b"\xff\xfe"), "gzip": gzip.compress(good, mtime=0),
    }


def main():
    plan, good_json, good_et, work = sys.argv[1:5]
    os.makedirs(work, exist_ok=True)
    with open(good_json, "rb") as file:
        events = file.read()
    with open(good_et, "rb") as file:
        nodes = file.read()
    wrong = runs = 0
    for command, suffix, cases in ((["compare", plan], ".json", kineto(events)), (["import", "chakra"], ".et", chakra(nodes))):
        for what, content in cases.items():
            path = os.path.join(work, what.replace(" ", "_") + suffix)
            with open(path, "wb") as out:
                out.write(content)
            run = subprocess.run(["accord", *command, path], capture_output=True, timeout=60)
            text = (run.stdout + run.stderr).decode("utf-8", "replace")
            runs += 1
            if run.returncode != 1 or "error[A" not in text or os.path.basename(path) not in text:
                wrong += 1
                print(f"{command[0]} ({what}): exit status {run.returncode}: {text[:300]!r}")
    print(f"{runs} broken traces are refused" if not wrong else f"{wrong} of {runs} answers are wrong")
    return 1 if wrong else 0


sys.exit(main())
