"""instructions.py CATALOG EXAMPLES FOLDER: cores at the level of instructions that are built in Python.

Each one of the catalogue and of the examples, read from its text and built again, prints the same words, formatted, and a training
and a program on it are answered by the same bytes. Two are written by hand, as somebody would.
"""
import os
import re
import sys
import warnings

import accord
from accord.units import B, GHz, GiB, KiB, MHz, MiB, cycle, cycles

CATALOG, EXAMPLES, FOLDER = sys.argv[1:]
KINDS = "opcode fetch stage execute unit registers memory cache"
TRAINING = """model tiny() {
  input x : float[3, 8, 8]
  input label : int32[1]
  let features = global_avg_pool(relu(conv2d(x, out = 8, kernel = 3, padding = 1)))
  loss cross_entropy(reshape(linear(features, out = 10), [1, 10]), label)
}
train t = tiny() on chip {
  batch     = 1
  precision = fp32
  optimizer = sgd
}
"""
DOT = "program dot on oma {\n  li r2, 0\n  loop i 64 {\n    load r0, dmem[0x1000 + 4*i : 4 B], r4\n    mac r2, r0, r0, r2\n  }\n}\n"


# ------------------------------------------------------------- by hand


def oma():
    core = accord.Microarchitecture("oma", {"registers": 16, "memory": 12 * KiB, "math": 8}, window=1)
    one = 1 * cycle
    core.opcode("mov", reads=1, writes=1, does="move")
    core.opcode("add", reads=2, writes=1, does="add")
    core.opcode("mul", reads=2, writes=1, does="multiply")
    core.opcode("mac", reads=3, writes=1, does="multiply_add")
    core.opcode("load", reads=1, writes=1, loads=1, does="load")
    core.opcode("store", reads=2, stores=1, does="store")
    core.opcode("li", writes=1, immediates=1, does="constant")
    core.opcode("addi", reads=1, writes=1, immediates=1, does="add_immediate")
    core.opcode("bne", reads=2, redirects=True, does="branch")
    for name in ("beq", "blt", "bge"):
        core.opcode(name, reads=2, redirects=True)
    core.opcode("jump", redirects=True)
    for name, does in (("sub", "subtract"), ("div", "divide"), ("max", "max"), ("min", "min"), ("gt", "greater"), ("eq", "equal")):
        core.opcode(name, reads=2, writes=1, does=does)
    for name, does in (("exp", "exp"), ("log", "log"), ("sqrt", "square_root"), ("tanh", "tanh"), ("erf", "erf")):
        core.opcode(name, reads=1, writes=1, does=does)
    core.fetch("ifs", width=1, buffer=1, latency=one, to="decode")
    core.stage("decode", capacity=1, latency=one, to=["execute"])
    core.execute("execute", capacity=1, latency=one, units=["fu", "mau", "imau", "other"])
    files = ["r", "sp"]
    core.unit("fu", entries=1, reads=files, writes=files, operations=dict.fromkeys(["mov", "add", "mul", "mac", "li", "addi"], one))
    mau = core.unit("mau", entries=1, reads=files, writes=files, loads="dmem", stores="dmem")
    mau.operation("load", one)
    mau.operation("store", latency=one)
    core.unit("imau", entries=1, reads=files, operations=dict.fromkeys(["bne", "beq", "blt", "bge", "jump"], one))
    other = core.unit("other", entries=1, reads=files, writes=files, operations=dict.fromkeys(["sub", "max", "min", "gt", "eq"], one))
    for name in ("div", "exp", "log", "sqrt", "tanh", "erf"):
        other.operation(name, core["math"], interval=core["math"])
    core.registers("r", core["registers"], width="32 bit")
    core.registers("sp", width="32 bit")
    core.memory("dmem", begin=4 * KiB, size=core["memory"], port_width=4 * B, requests=1, read_latency=one, write_latency=one)
    return core


def oma_chip():
    chip = accord.Machine("chip", clock=accord.cited(100 * MHz, "assumed: none is published"))
    capacity = accord.cited(64 * GiB, "assumed, so that trainings fit; ACADL's OMA has 12 KiB")
    bandwidth = accord.cited(4 * B / cycle, "a port of one word, as the microarchitecture has it")
    chip.memory("dmem", "dram", capacity=capacity, bandwidth=bandwidth)
    chip.core("oma", "vector", types=["fp32"], microarchitecture=oma()(registers=32, memory=64 * GiB))
    return chip


def spark():
    core = accord.Microarchitecture("spark", {"side": 4}, window=64)
    side, one = core["side"], 1 * cycle
    core.opcode("copy", loads=1, stores=1)
    core.opcode("feed", writes=1, loads=1)
    core.opcode("mac", reads=3, writes=3)
    core.opcode("drain", reads=1, stores=1)
    core.fetch("front", width=8, buffer=32, to="decode")
    core.stage("decode", capacity=16, width=8, to=["move", "compute"])
    core.execute("move", capacity=8, width=8, units=["dma", "rows.port", "columns.port", "mesh.out"])
    core.execute("compute", capacity=16, width=16, units="mesh.mac")
    both = ["dram", "spad"]
    core.unit("dma", entries=4, loads=both, stores=both).operation("copy", 4 * cycles, "1 + bytes / 16")
    core.memory("dram", size=1 * GiB, port_width=16 * B, requests=16, row=2 * KiB, row_miss=24 * cycles)
    spad = core.memory("spad", begin=1 * GiB, size=64 * KiB, port_width=16 * B, banks=4, requests=8)
    feeder = core.template("feeder")
    feeder.unit("port", entries=2, writes=feeder.registers("v", width="16 bit"), loads=spad, operations={"feed": one})
    pe = core.template("pe")
    a, b, acc = pe.registers("a", width="16 bit"), pe.registers("b", width="16 bit"), pe.registers("acc", width="32 bit")
    pe.unit("mac", entries=2, reads=[pe.west("a"), pe.north("b"), acc], writes=[a, b, acc], operations={"mac": one})
    pe.unit("out", entries=1, reads=acc, stores=spad, operations={"drain": one})
    rows = core.array("rows", (side, 1), feeder)
    columns = core.array("columns", (1, side), feeder)
    core.array("mesh", (side, side), pe, west={"a": rows["v"]}, north={"b": columns["v"]})
    return core


# ----------------------------------------------- of a text, entry by entry


def of_text(lines, parts, unit=None):
    """Calls the builder for each line of a declaration that `accord fmt` wrote, up to its closing brace."""
    for line in lines:
        if line == "}":
            return
        head, _, rest = line.partition(" {")
        kind, _, named = head.partition(" ")
        inner = rest.strip().removesuffix("}").strip() if rest.strip().endswith("}") else None
        if kind == "operation":
            unit.operation(named, **entries_of(inner))
        elif kind == "template":
            name, _, parameters = named.partition("(")
            of_text(lines, parts.template(name, parameters_of(parameters)))
        elif kind == "array":
            found = re.match(r"(\w+)\[(.*) x (.*)\] : (.*)", named)
            parts.array(found[1], (found[2], found[3]), found[4], **entries_of(inner, lines if line.endswith("{") else ()))
        elif kind in KINDS.split():
            name, _, count = named.rstrip("]").partition("[")
            options = {"count": count} if count else {}
            if kind == "unit":
                rows = list(split(inner)) if inner is not None else rows_of(lines)
                made = parts.unit(name, **options, **entries([one for one in rows if not one.startswith("operation ")]))
                of_text(iter([*(one for one in rows if one.startswith("operation ")), "}"]), parts, made)
            else:
                getattr(parts, kind)(name, **options, **entries_of(inner, lines if inner is None else ()))
        else:
            parts.entry(*(one.strip() for one in line.split("=", 1)))


def split(text):
    """At the commas that are in no brackets."""
    depth, start = 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            if text[start:i].strip():
                yield text[start:i].strip()
            start = i + 1


def rows_of(lines):
    """Lines up to a closing brace."""
    rows = []
    for line in lines:
        if line == "}":
            break
        rows.append(line.rstrip(","))
    return rows


def entries(rows):
    return {key.strip(): held.strip() for key, held in (row.split("=", 1) for row in rows)}


def entries_of(inner, lines=()):
    return entries([*split(inner or ""), *rows_of(lines)])


def parameters_of(text):
    pairs = (one.partition("=") for one in split(text.rstrip(")")))
    return {name.strip(): held.strip() or None for name, _, held in pairs}


def declarations(path):
    """The declarations of a file, without comments, as `accord fmt` writes them, long lines joined."""
    text = re.sub(r"(?m)^\s*///?.*\n|\s+//.*$", "", accord.run("fmt", path, print=True))
    lines = []
    for line in text.splitlines():
        held = lines[-1] if lines else ""
        inside = held.count("(") + held.count("[") > held.count(")") + held.count("]") or ("= {" in held and held.count("{") > held.count("}"))
        if inside:
            lines[-1] = f"{held} {line.strip()}"
        else:
            lines.append(line.strip())
    return [line for line in lines if line]


def words(text):
    return re.findall(r"[\w.]+|[^\s\w]", re.sub(r",\s*(?=[}\n])|,\n|\n", " ", text).replace(",", " "))


def built(path):
    """(text, what is built of it) of each microarchitecture of a file."""
    lines = iter(declarations(path))
    for line in lines:
        if not line.startswith("microarchitecture ") or line.startswith("microarchitecture ="):
            continue
        head = line.removesuffix("{").strip()
        name, _, parameters = head.partition(" ")[2].partition("(")
        body = []
        depth = 1
        for one in lines:
            depth += one.count("{") - one.count("}")
            body.append(one)
            if depth == 0:
                break
        made = accord.Microarchitecture(name, parameters_of(parameters))
        of_text(iter(body), made)
        yield "\n".join([line, *body]), made


def answer_on(core, imports=()):
    """What an estimate says of a core, which is built or named."""
    chip = accord.Machine("chip", clock=1 * GHz)
    for one in imports:
        chip.use(one)
    chip.memory("outside", "dram", capacity=64 * GiB, bandwidth=4 * B / cycle)
    chip.core("c", "vector", types=["fp32"], microarchitecture=core)
    chip.path("outside", "c")
    return accord.estimate(accord.Text("tiny.dnn", 'import "chip.accel"\n' + TRAINING, [chip])).as_dict()


def check(what, holds):
    print(f"{what}: {'same' if holds else 'NOT THE SAME'}")


def main():
    warnings.simplefilter("ignore")
    files, texts, cores = [], {}, {}
    for folder in (CATALOG, os.path.join(EXAMPLES, "15-microarchitecture")):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if not name.endswith(".accel") or "\nmicroarchitecture " not in open(path, encoding="utf-8").read():
                continue
            for text, made in built(path):
                texts[made.name], cores[made.name] = text, (made, name)
                files.append(made.save(os.path.join(FOLDER, made.name)))
                check(f"{name}: {made.name}", words(made.text()) == words(text))
    for made in (oma(), spark()):
        check(f"by hand: {made.name}", words(made.text()) == words(texts[made.name]))
        files.append(made.save(os.path.join(FOLDER, "hand")))
    accord.run("fmt", *files, check=True)
    print(f"{len(files)} files are formatted")

    training = accord.Text("tiny.dnn", 'import "chip.accel"\n' + TRAINING, [oma_chip()])
    known = accord.Text("tiny.dnn", 'import "catalog/oma.accel"\n' + TRAINING.replace("on chip", "on oma_chip"))
    mine, theirs = accord.estimate(training).as_dict(), accord.estimate(known).as_dict()
    check("an estimate", mine["operations"] == theirs["operations"] and mine["totals"] == theirs["totals"])
    for name in ("oma", "rocket", "riscv_vector_dtim", "plasticine"):
        made, file = cores[name]
        mine, theirs = answer_on(made), answer_on(f"{name}()", [f"catalog/{file}"])
        check(f"an estimate on {name}", all(mine[part] == theirs[part] for part in ("operations", "totals")))
    dot = accord.Text("dot.txt", DOT)
    check("a program", accord.time(dot, on=oma()).as_dict()["cycles"] == accord.time(dot, on="oma").as_dict()["cycles"])


def says(what, function):
    try:
        print(f"{what}: ACCEPTED {function()!r}")
    except (accord.InputError, TypeError, ValueError) as error:
        print(f"{what}: {type(error).__name__} {error}")


def wrong(change):
    """OMA with one part too many, which the command refuses at the line of Python that made it."""
    core = oma()
    change(core)
    return accord.time(accord.Text("dot.txt", DOT), on=core)


def refusals():
    says("parameter", lambda: oma()(registres=32))
    says("expression", lambda: oma()["maths"])
    says("template", lambda: accord.Microarchitecture("a").template("pe", {"width": None})(widht=1))
    says("name", lambda: oma().opcode("a b"))
    says("key", lambda: wrong(lambda core: core.registers("s", 4, wide="32 bit")))
    says("missing", lambda: wrong(lambda core: core.stage("late", to="execute")))
    says("unknown", lambda: wrong(lambda core: core.unit("lsu", entries=1, loads="dmen")))
    says("opcode", lambda: wrong(lambda core: core.unit("lsu", entries=1).operation("lod", 1)))
    says("cycles", lambda: wrong(lambda core: core.unit("lsu", entries=1, operations={"load": 3 * MiB})))


main()
refusals()
