"""interrupt.py SEARCH.dnn OUT: Ctrl-C and exceptions while a search runs in this process; the module then goes on as before."""

import os
import signal
import sys
import threading
import time

from accord import _native

SMALL = {
    "job.dnn": 'import "catalog/a100.accel"\nimport "catalog/gpt2.dnn"\n'
    "train t = gpt2_medium() on a100_80g { batch = 8, precision = mixed(bf16), optimizer = adam }\n"
}
search, out = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run, it may be ignored
before = _native.run(["estimate", "job.dnn", "--json"], SMALL)


def again(what):
    after = _native.run(["estimate", "job.dnn", "--json"], SMALL)
    print(f"{what}: as before {after == before and after.status == 0}")


def interrupt(times):
    for _ in range(times):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)


def interrupted(times):
    thread = threading.Thread(target=interrupt, args=(times,))
    began = time.monotonic()
    thread.start()
    try:
        try:
            answer = _native.run(["compile", search, "-o", out, "--effort", "20"])
            said = "the best so far" if answer.stopped and answer.status == 0 else f"status {answer.status}"
        finally:
            thread.join()
    except KeyboardInterrupt as error:
        said = f"KeyboardInterrupt, {'with' if hasattr(error, 'answer') else 'without'} an answer"
    print(f"Ctrl-C, {times}: {said}; {'soon' if time.monotonic() - began < 60 else 'late'}")


def raises():
    raise ZeroDivisionError("of the caller")


interrupted(1)
again("after one")
interrupted(2)
again("after two")
try:
    _native.run(["compile", search, "-o", out, "--effort", "20"], stop=raises)
except ZeroDivisionError as error:
    print(f"stop: {error}, status {error.answer.status}")
again("after an exception")
for wrong in (("estimate",), ([3],), (["list"], {"a": 3}), ([], None, 3), (), (["list"], 3), (None,)):
    try:
        print(f"ACCEPTED {_native.run(*wrong)}")
    except (TypeError, AttributeError) as error:
        print(f"{type(error).__name__}: {error}")
print(_native.run(["estimate", "\udcff.dnn"]).messages.strip().splitlines()[0])
