"""errors.py EXAMPLES FOLDER: what is wrong is said as the command says it, with the place in Python."""
import importlib.util
import os
import signal
import stat
import sys
import threading
import time
import warnings

import accord
from accord.units import GB, s


def says(what, function, kind=accord.InputError):
    try:
        print(f"{what}: ACCEPTED {function()!r}")
    except kind as error:
        print(f"{what}: {type(error).__name__} {error}")
        return error


def bad_model():
    m = accord.Model("bad", hidden=64)
    a, labels = m.input("a", "fp32", [m.hidden]), m.input("labels", "int32")
    wrong = m.reshape(a, [3, 5])  # marker of the place
    m.loss(m.cross_entropy(m.linear(wrong, out=10), labels))
    return m


def program(folder, text):
    """A program that stands for `accord`."""
    path = os.path.join(folder, "stand-in")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable}\nimport signal, sys, time\n{text}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def interrupted(folder, text):
    """An estimate whose program does `text` when Ctrl-C comes."""
    before = os.environ.get("ACCORD")
    ready = os.path.join(folder, "ready")
    if os.path.exists(ready):
        os.remove(ready)
    waits = f"def end():\n    {text}\nsignal.signal(signal.SIGINT, lambda *_: end())\nopen({ready!r}, 'w').close()\ntime.sleep(100)"
    os.environ["ACCORD"] = program(folder, waits)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run, it may be ignored

    def interrupt():
        while not os.path.exists(ready):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        return repr(accord.partition("graph.json"))
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    finally:
        os.environ.pop("ACCORD")
        if before is not None:
            os.environ["ACCORD"] = before


def builders(m):
    """Mistakes that Python itself refuses."""
    q = m.zeros(3)
    other = bad_model()
    mistakes = [
        lambda: m.liner(q),
        lambda: m.call("liner", q),
        lambda: m(hiden=3),
        lambda: m.input("a", "fp32"),
        lambda: q + "x",
        lambda: q + other.zeros(3),
        lambda: q.assign(q),
        lambda: list(q),
        lambda: bool(q),
        lambda: 3 if m.hidden else 4,
        lambda: m.hidden + "x",
        lambda: accord.Model("a b"),
        lambda: accord.Model("a", linear=3),
        lambda: accord.Model("a", name=3),
        lambda: 3 * GB * s,
        lambda: accord.Machine("x", clock=GB),
        lambda: accord.Machine("x", clock=float("nan")),
        lambda: accord.Machine("x", clock=object()),
        lambda: accord.Machine("x").add("two\nlines"),
        lambda: accord.Machine("x", clock=accord.cited(3, 'a "quote"')),
        lambda: accord.pow2(True, 3),
        lambda: accord.one_of(),
        lambda: accord.quantity("80"),
        lambda: accord.Text("a.json", ""),
        lambda: accord.Module("f", "x").result(q),
        lambda: accord.Training(m, "a100_80g", require=3),
        lambda: accord.Training("m", "a100_80g", 3),
        lambda: accord.nothing,
    ]
    for one in mistakes:
        says("refused", one, (TypeError, ValueError, AttributeError))


def main():
    warnings.simplefilter("ignore")
    examples, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    m = bad_model()
    error = says("built", lambda: accord.estimate(accord.Training(m, "a100_80g", batch=3)))
    note = error.diagnostics[0].notes[0]
    with open(note.file, encoding="utf-8") as file:
        print("place:", "marker of the place" in file.readlines()[note.line - 1], error.diagnostics[0].code, error.status)
    says("text", lambda: accord.estimate(accord.Text("bad.dnn", 'train t = nothing() on a100_80g { batch = 3 }\n')))
    says("no file", lambda: accord.verify("nothing"))
    says("option", lambda: accord.estimate("x.dnn", traget="a100_80g"), TypeError)
    says("printing", lambda: accord.compile("x.dnn", until="cost"), TypeError)
    says("value", lambda: accord.estimate(os.path.join(examples, "01-first-plan", "gpt2_xl.dnn"), target="a100_80"))
    says("number", lambda: accord.compile("x.dnn", effort=-1))
    says("none given", lambda: accord.compile(), TypeError)
    says("no path", lambda: accord.verify(None), TypeError)
    says("number for a path", lambda: accord.compile(3), TypeError)
    says("attribute", lambda: accord.list("objectives").versoin, AttributeError)
    says("bytes", lambda: accord.compile(b"x.dnn"), TypeError)
    error = says("infeasible", lambda: accord.compile(os.path.join(examples, "05-constraints-that-fail", "too_fast.dnn")), accord.Infeasible)
    print("conflict:", [one.constraint for one in error.conflict], error.status, error.answer.report())
    says("another", lambda: accord.list("objectives").diff(3), TypeError)
    says("load", lambda: accord.load(folder), accord.Error)
    says("loads", lambda: accord.load(__file__), accord.Error)
    says("folder", lambda: accord.list("objectives").verify(), accord.Error)
    says("table", lambda: accord.list("objectives").table("nothing"), KeyError)
    if importlib.util.find_spec("pandas") is None:
        says("pandas", lambda: accord.list("objectives").to_pandas(), ImportError)
    builders(m)
    unknown = '{"command": "partition", "version": "0", "status": "unknown", "stopped": "interrupted"}'
    partial = '{"command": "partition", "version": "0", "status": "feasible", "stopped": "interrupted"'
    print("no answer:", interrupted(folder, f"print('{unknown}'); sys.exit(4)"))
    print("an answer:", interrupted(folder, f"print('{partial + REST}'); sys.exit(0)"))
    os.environ["ACCORD"] = program(folder, f"print('{unknown}'); sys.exit(4)")
    says("unknown", lambda: accord.partition("graph.json"), accord.Unknown)
    os.environ["ACCORD"] = program(folder, "sys.exit(3)")
    says("internal", lambda: accord.partition("graph.json"), accord.InternalError)
    os.environ["ACCORD"] = program(folder, "import os; os.kill(os.getpid(), 9)")
    says("killed", lambda: accord.partition("graph.json"), accord.Error)


# The keys that every document of `partition` has, besides those above.
REST = ', "objective": {"name": "bottleneck", "value": 2, "unit": "s"}, "bound": {"value": 1, "unit": "s", "proof": "x"}, "gap": 1, '
REST += '"certificate_sha256": "0", "work": 1, "rule": "sum", "accelerators": 1, "processors": 0, "nodes": 0, "stages": []}'

main()
