"""What an actor answers in C++ and in NumPy: a trained one, and networks of all operators that actors have."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import accord


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def evaluate(model, jobs, cluster):
    """The answer of an ONNX model, by NumPy in double."""
    values = {one.name: numpy_helper.to_array(one).astype("float64") for one in model.graph.initializer}
    values.update(jobs=jobs.astype("float64"), cluster=cluster.astype("float64").reshape(1, -1))
    for node in model.graph.node:
        of = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        x = [values[name] for name in node.input]
        turned = lambda i, key: x[i].T if of.get(key) else x[i]
        values[node.output[0]] = {
            "MatMul": lambda: x[0] @ x[1],
            "Gemm": lambda: of.get("alpha", 1) * (turned(0, "transA") @ turned(1, "transB")) + (of.get("beta", 1) * x[2] if len(x) > 2 else 0),
            "Add": lambda: x[0] + x[1],
            "Sub": lambda: x[0] - x[1],
            "Mul": lambda: x[0] * x[1],
            "Div": lambda: x[0] / x[1],
            "Tanh": lambda: np.tanh(x[0]),
            "Relu": lambda: np.maximum(x[0], 0),
            "Sigmoid": lambda: 1 / (1 + np.exp(-x[0])),
            "Exp": lambda: np.exp(x[0]),
            "Softmax": lambda: softmax(x[0], of.get("axis", -1)),
            "ReduceMean": lambda: x[0].mean(axis=of["axes"][0], keepdims=True),
            "ReduceSum": lambda: x[0].sum(axis=int(x[1][0]), keepdims=True),
            "ReduceMax": lambda: x[0].max(axis=of["axes"][0], keepdims=True),
            "Concat": lambda: np.concatenate(x, axis=of["axis"]),
            "Transpose": lambda: x[0].transpose(of.get("perm")),
            "Identity": lambda: x[0],
            "Constant": lambda: numpy_helper.to_array(of["value"]).astype("float64"),
        }[node.op_type]()
    return values[model.graph.output[0].name].ravel()


def made(path, nodes, tensors, job=13, cluster=5):
    """Saves a model of these nodes, with random tensors of these shapes or those that are given."""
    random = np.random.default_rng(7)
    floats = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    of = {name: random.normal(size=one) if isinstance(one, tuple) else one for name, one in tensors.items()}
    graph = helper.make_graph(
        nodes,
        "actor",
        [floats("jobs", ["n", job]), floats("cluster", [1, cluster])],
        [floats("out", ["n", 1])],
        [numpy_helper.from_array(one.astype("float32"), name) for name, one in of.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(model, path)
    return model


def attention(path):
    """Jobs look at one another: every operator once or more."""
    n = helper.make_node
    half = numpy_helper.from_array(np.array([[0.5]], "float32"))
    columns = numpy_helper.from_array(np.array([1], "int64"))
    nodes = [
        n("MatMul", ["jobs", "q"], ["Q"]),
        n("Gemm", ["jobs", "k", "kb"], ["K"], transB=1, alpha=0.5, beta=2.0),
        n("Transpose", ["K"], ["KT"], perm=[1, 0]),
        n("MatMul", ["Q", "KT"], ["S"]),
        n("Softmax", ["S"], ["A"], axis=-1),
        n("MatMul", ["A", "jobs"], ["V"]),
        n("ReduceMean", ["V"], ["mean"], axes=[0], keepdims=1),
        n("ReduceMax", ["jobs"], ["max"], axes=[0], keepdims=1),
        n("Sub", ["V", "mean"], ["D"]),
        n("Concat", ["mean", "max", "cluster"], ["C"], axis=1),
        n("Gemm", ["C", "c"], ["G"]),
        n("Sigmoid", ["G"], ["gate"]),
        n("Gemm", ["D", "d", "db"], ["H"]),
        n("Mul", ["H", "gate"], ["HG"]),
        n("Relu", ["HG"], ["R"]),
        n("Constant", [], ["half"], value=half),
        n("Constant", [], ["axes"], value=columns),
        n("Add", ["R", "half"], ["P"]),
        n("ReduceSum", ["P", "axes"], ["sum"], keepdims=1),
        n("Div", ["P", "sum"], ["N"]),
        n("Exp", ["N"], ["E"]),
        n("Identity", ["E"], ["I"]),
        n("MatMul", ["I", "w"], ["L"]),
        n("Tanh", ["L"], ["out"]),
    ]
    shapes = {"q": (13, 4), "k": (4, 13), "kb": (4,), "c": (31, 6), "d": (13, 6), "db": (1, 6), "w": (6, 1)}
    onnx.checker.check_model(made(path, nodes, shapes))
    return path


def compare(path, observations):
    """The largest difference between the two answers."""
    actor, model = accord.JobsActor(path), onnx.load(path)
    return max(
        float(np.abs(np.array(actor(seen)) - evaluate(model, seen["jobs"], seen["cluster"])).max()) for seen in observations
    )


if __name__ == "__main__":
    trained, folder = sys.argv[1:]
    environment = accord.JobsEnvironment(jobs=12)
    actor, observations, total = accord.JobsActor(trained), [], 0.0
    seen, info = environment.reset(seed=4)
    over = False
    while not over:
        observations.append(seen)
        seen, reward, over, _, info = environment.step(actor(seen))
        total += reward
    print("trained: within 1e-5", compare(trained, observations) < 1e-5, "and it answers", len(set(actor(observations[-9]))) > 0)
    random = np.random.default_rng(1)
    drawn = [
        {"jobs": random.normal(size=(n, 13)).astype("float32"), "cluster": random.normal(size=5).astype("float32")}
        for n in (1, 2, 3, 17, 200)
    ]
    print("trained, on random features:", compare(trained, drawn) < 1e-5)
    print("attention:", compare(attention(folder + "/attention.onnx"), drawn) < 1e-5)
    # What is no actor.
    n = helper.make_node
    last = lambda nodes: [*nodes, n("MatMul", ["jobs" if not nodes else "x", "w"], ["out"])]
    made(folder + "/unknown.onnx", last([n("Erf", ["jobs"], ["x"])]), {"w": (13, 1)})
    made(folder + "/shape.onnx", last([]), {"w": (12, 1)})
    made(folder + "/answer.onnx", last([]), {"w": (13, 2)})
    made(folder + "/rows.onnx", last([n("Add", ["jobs", "two"], ["x"])]), {"w": (13, 1), "two": (2, 13)})
    made(folder + "/keepdims.onnx", [n("ReduceMean", ["jobs"], ["out"], axes=[1], keepdims=0)], {})
    made(folder + "/nan.onnx", last([]), {"w": np.full((13, 1), np.nan)})
    made(folder + "/features.onnx", last([]), {"w": (7, 1)}, job=7)
    made(folder + "/nowhere.onnx", last([n("Tanh", ["y"], ["x"])]), {"w": (13, 1)})
