"""The networks of the catalogue as ONNX graphs, described here once more from their papers and reference code.

Weights are initializers whose numbers would lie in a file beside the model; nothing needs that file. `main` writes
NAME.onnx for every name given."""
import sys

import onnx
from onnx import TensorProto, helper


class Graph:
    """Builds one graph; every method adds a node and returns the name of what it gives."""

    def __init__(self, opset=13):
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.opset, self.count, self.scope = opset, 0, ""

    def input(self, name, dims, integers=False):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64 if integers else TensorProto.FLOAT, dims))
        return name

    def output(self, name):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def weight(self, name, dims):
        tensor = TensorProto(name=self.scope + name, data_type=TensorProto.FLOAT, dims=dims)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights.bin")
        self.initializers.append(tensor)
        return tensor.name

    def numbers(self, values, kind=TensorProto.INT64, dims=None):
        self.count += 1
        name = f"constant_{self.count}"
        self.initializers.append(helper.make_tensor(name, kind, [len(values)] if dims is None else dims, values))
        return name

    def scalar(self, value):
        return self.numbers([value], TensorProto.FLOAT, [])

    def node(self, op, *inputs, outputs=1, name=None, **attributes):
        self.count += 1
        names = [f"value_{self.count}" + ("" if i == 0 else f"_{i}") for i in range(outputs)]
        path = "/" + (self.scope + (name or f"{op}_{self.count}")).replace(".", "/") + "/" + op
        self.nodes.append(helper.make_node(op, list(inputs), names, name=path, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels, out, kernel, stride=1, padding=0, groups=1, bias=False, name="conv"):
        rows, columns = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        top, left = padding if isinstance(padding, tuple) else (padding, padding)
        weights = [self.weight(name + ".weight", [out, channels // groups, rows, columns])]
        if bias:
            weights.append(self.weight(name + ".bias", [out]))
        return self.node("Conv", x, *weights, name=name, kernel_shape=[rows, columns], strides=[stride] * 2,
                         pads=[top, left, top, left], group=groups)

    def norm(self, x, channels, epsilon=1e-5, name="bn"):
        weights = [self.weight(f"{name}.{role}", [channels]) for role in ("weight", "bias", "mean", "var")]
        return self.node("BatchNormalization", x, *weights, name=name, epsilon=epsilon)

    def conv_bn(self, x, channels, out, kernel, stride=1, padding=0, groups=1, epsilon=1e-5, name="conv"):
        return self.norm(self.conv(x, channels, out, kernel, stride, padding, groups, name=name), out, epsilon, name + "_bn")

    def relu(self, x):
        return self.node("Relu", x)

    def pool(self, op, x, kernel, stride, padding=0):
        return self.node(op, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def gemm(self, x, inputs, out, name="fc"):
        return self.node("Gemm", x, self.weight(name + ".weight", [out, inputs]), self.weight(name + ".bias", [out]),
                         name=name, transB=1)

    def dropout(self, x, rate):
        if self.opset < 12:
            return self.node("Dropout", x, ratio=rate)
        return self.node("Dropout", x, self.scalar(rate))

    def classifier(self, x, channels, classes=1000, drop=0):
        x = self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)
        return self.gemm(self.dropout(x, drop) if drop else x, channels, classes)

    def save(self, path):
        graph = helper.make_graph(self.nodes, "main", self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="test")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


def vgg16():
    g = Graph()
    x, channels = g.input("image", ["N", 3, 224, 224]), 3
    for stage, (out, layers) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for layer in range(layers):
            x = g.relu(g.conv(x, channels, out, 3, 1, 1, bias=True, name=f"stage{stage}.conv{layer}"))
            channels = out
        x = g.pool("MaxPool", x, 2, 2)
    x = g.node("Reshape", x, g.numbers([0, -1]))
    for i, (inputs, out) in enumerate(((25088, 4096), (4096, 4096))):
        x = g.dropout(g.relu(g.gemm(x, inputs, out, f"fc{i}")), 0.5)
    g.output(g.gemm(x, 4096, 1000, "fc2"))
    return g


def resnet_stages(g, x, blocks, expansion, strides=(1, 2, 2, 2), groups=1, group_width=64):
    x = g.pool("MaxPool", g.relu(g.conv_bn(x, 3, 64, 7, 2, 3, name="conv1")), 3, 2, 1)
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out, inner = width * expansion, width * groups * group_width // 64
        for block in range(count):
            g.scope = f"layer{stage + 1}.{block}."
            stride = strides[stage] if block == 0 else 1
            side = x
            if stride != 1 or channels != out:
                side = g.conv_bn(x, channels, out, 1, stride, name="downsample")
            if expansion == 1:
                h = g.relu(g.conv_bn(x, channels, out, 3, stride, 1, name="conv1"))
                h = g.conv_bn(h, out, out, 3, 1, 1, name="conv2")
            else:
                h = g.relu(g.conv_bn(x, channels, inner, 1, name="conv1"))
                h = g.relu(g.conv_bn(h, inner, inner, 3, stride, 1, groups, name="conv2"))
                h = g.conv_bn(h, inner, out, 1, name="conv3")
            x, channels = g.relu(g.node("Add", h, side)), out
            g.scope = ""
    return x, channels


def resnet(blocks, expansion, **more):
    g = Graph()
    x, channels = resnet_stages(g, g.input("image", ["N", 3, 224, 224]), blocks, expansion, **more)
    g.output(g.node("Softmax", g.classifier(x, channels), axis=1))
    return g


def inverted_residual(g, x, channels, wide, out, kernel, stride, squeeze, function, squeeze_function, gate, epsilon):
    h = x
    if wide != channels:
        h = function(g.conv_bn(h, channels, wide, 1, epsilon=epsilon, name="expand"))
    h = function(g.conv_bn(h, wide, wide, kernel, stride, kernel // 2, wide, epsilon, name="depthwise"))
    if squeeze:
        s = squeeze_function(g.conv(g.node("GlobalAveragePool", h), wide, squeeze, 1, bias=True, name="squeeze"))
        h = g.node("Mul", h, gate(g.conv(s, squeeze, wide, 1, bias=True, name="excite")))
    h = g.conv_bn(h, wide, out, 1, epsilon=epsilon, name="project")
    return g.node("Add", x, h) if stride == 1 and channels == out else h


def mobilenet_v2():
    g = Graph(opset=10)  # bounds of Clip as attributes
    relu6 = lambda x: g.node("Clip", x, min=0.0, max=6.0)
    x, channels = relu6(g.conv_bn(g.input("image", ["N", 3, 224, 224]), 3, 32, 3, 2, 1, name="stem")), 32
    for stage, (times, out, count, stride) in enumerate(((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                         (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))):
        for block in range(count):
            g.scope = f"features.{stage}.{block}."
            x = inverted_residual(g, x, channels, times * channels, out, 3, stride if block == 0 else 1, 0, relu6, None,
                                  None, 1e-5)
            channels = out
    g.scope = ""
    g.output(g.classifier(relu6(g.conv_bn(x, channels, 1280, 1, name="last")), 1280, drop=0.2))
    return g


def mobilenet_v3_large():
    g = Graph(opset=14)
    six = lambda: (g.scalar(0.0), g.scalar(6.0))
    shifted = lambda x: g.node("Clip", g.node("Add", x, g.scalar(3.0)), *six())
    relu = lambda x: g.relu(x)
    # Once as older exporters take it apart, once as one operator; the gate as its own.
    swish = lambda x: g.node("Div", g.node("Mul", x, shifted(x)), g.scalar(6.0))
    hard_swish = lambda x: g.node("HardSwish", x)
    gate = lambda x: g.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)
    x, channels = swish(g.conv_bn(g.input("image", ["N", 3, 224, 224]), 3, 16, 3, 2, 1, epsilon=1e-3, name="stem")), 16
    rows = ((3, 16, 16, 0, relu, 1), (3, 64, 24, 0, relu, 2), (3, 72, 24, 0, relu, 1), (5, 72, 40, 24, relu, 2),
            (5, 120, 40, 32, relu, 1), (5, 120, 40, 32, relu, 1), (3, 240, 80, 0, swish, 2), (3, 200, 80, 0, swish, 1),
            (3, 184, 80, 0, hard_swish, 1), (3, 184, 80, 0, swish, 1), (3, 480, 112, 120, swish, 1),
            (3, 672, 112, 168, swish, 1), (5, 672, 160, 168, swish, 2), (5, 960, 160, 240, hard_swish, 1),
            (5, 960, 160, 240, hard_swish, 1))
    for i, (kernel, wide, out, squeeze, function, stride) in enumerate(rows):
        g.scope = f"features.{i}."
        x = inverted_residual(g, x, channels, wide, out, kernel, stride, squeeze, function, relu, gate, 1e-3)
        channels = out
    g.scope = ""
    x = g.node("GlobalAveragePool", swish(g.conv_bn(x, 160, 960, 1, epsilon=1e-3, name="last")))
    hidden = hard_swish(g.gemm(g.node("Squeeze", x, g.numbers([2, 3])), 960, 1280, "hidden"))
    g.output(g.gemm(g.dropout(hidden, 0.2), 1280, 1000, "logits"))
    return g


def efficientnet_b0():
    g = Graph()
    silu = lambda x: g.node("Mul", x, g.node("Sigmoid", x))
    sigmoid = lambda x: g.node("Sigmoid", x)
    x, channels = silu(g.conv_bn(g.input("image", ["N", 3, 224, 224]), 3, 32, 3, 2, 1, name="stem")), 32
    for stage, (times, kernel, stride, out, count) in enumerate((
            (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
            (6, 3, 1, 320, 1))):
        for block in range(count):
            g.scope = f"stage{stage}.{block}."
            x = inverted_residual(g, x, channels, times * channels, out, kernel, stride if block == 0 else 1,
                                  channels // 4, silu, silu, sigmoid, 1e-5)
            channels = out
    g.scope = ""
    g.output(g.classifier(silu(g.conv_bn(x, channels, 1280, 1, name="last")), 1280, drop=0.2))
    return g


def inception_v3():
    g = Graph()

    def conv(x, channels, out, kernel=1, stride=1, padding=0):
        return g.relu(g.conv_bn(x, channels, out, kernel, stride, padding, epsilon=1e-3, name=f"conv{g.count}"))

    def chain(x, channels, *steps):
        for out, *rest in steps:
            x, channels = conv(x, channels, out, *rest), out
        return x

    def mean(x):
        return g.pool("AveragePool", x, 3, 1, 1)

    def join(*parts):
        return g.node("Concat", *parts, axis=1)

    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    x = chain(g.input("image", ["N", 3, 299, 299]), 3, (32, 3, 2), (32, 3), (64, 3, 1, 1))
    x = g.pool("MaxPool", x, 3, 2)
    x = g.pool("MaxPool", chain(x, 64, (80,), (192, 3)), 3, 2)
    channels = 192
    for pool in (32, 64, 64):
        x = join(chain(x, channels, (64,)), chain(x, channels, (48,), (64, 5, 1, 2)),
                 chain(x, channels, (64,), (96, 3, 1, 1), (96, 3, 1, 1)), conv(mean(x), channels, pool))
        channels = 224 + pool
    x = join(conv(x, 288, 384, 3, 2), chain(x, 288, (64,), (96, 3, 1, 1), (96, 3, 2)), g.pool("MaxPool", x, 3, 2))
    for c in (128, 160, 160, 192):
        x = join(conv(x, 768, 192), chain(x, 768, (c,), (c, *row), (192, *column)),
                 chain(x, 768, (c,), (c, *column), (c, *row), (c, *column), (192, *row)), conv(mean(x), 768, 192))
    side = chain(g.pool("AveragePool", x, 5, 3), 768, (128,), (768, 5))
    auxiliary = g.classifier_named(side, 768, "auxiliary")
    x = join(chain(x, 768, (192,), (320, 3, 2)), chain(x, 768, (192,), (192, *row), (192, *column), (192, 3, 2)),
             g.pool("MaxPool", x, 3, 2))
    channels = 1280
    for _ in range(2):
        forks = []
        for h in (chain(x, channels, (384,)), chain(x, channels, (448,), (384, 3, 1, 1))):
            forks.append(join(conv(h, 384, 384, (1, 3), 1, (0, 1)), conv(h, 384, 384, (3, 1), 1, (1, 0))))
        x = join(conv(x, channels, 320), *forks, conv(mean(x), channels, 192))
        channels = 2048
    g.output(g.classifier(x, 2048, drop=0.5))
    g.output(auxiliary)
    return g


def classifier_named(self, x, channels, name):
    return self.gemm(self.node("Flatten", self.node("GlobalAveragePool", x), axis=1), channels, 1000, name)


Graph.classifier_named = classifier_named


def unet():
    g = Graph()

    def double(x, channels, out):
        x = g.relu(g.conv_bn(x, channels, out, 3, 1, 1, name="first"))
        return g.relu(g.conv_bn(x, out, out, 3, 1, 1, name="second"))

    x, channels, kept = g.input("image", ["N", 3, 512, 512]), 3, []
    for i, out in enumerate((64, 128, 256, 512, 1024)):
        g.scope = f"down{i}."
        x = double(g.pool("MaxPool", x, 2, 2) if i else x, channels, out)
        kept.append(x)
        channels = out
    for i, out in enumerate((512, 256, 128, 64)):
        g.scope = f"up{i}."
        wide = g.node("ConvTranspose", x, g.weight("up.weight", [2 * out, out, 2, 2]), g.weight("up.bias", [out]), name="up",
                      kernel_shape=[2, 2], strides=[2, 2])
        x = double(g.node("Concat", kept[3 - i], wide, axis=1), 2 * out, out)
    g.scope = ""
    g.output(g.conv(x, 64, 2, 1, bias=True, name="logits"))
    return g


def ssd_resnet34():
    g = Graph()
    x, channels = resnet_stages(g, g.input("image", ["N", 3, 300, 300]), (3, 4, 6), 1, strides=(1, 2, 1))
    maps = [(x, channels)]
    for i, (inner, out, stride, padding) in enumerate(((256, 512, 2, 1), (256, 512, 2, 1), (128, 256, 2, 1),
                                                       (128, 256, 1, 0), (128, 256, 1, 0))):
        g.scope = f"extra{i}."
        x = g.relu(g.conv(x, channels, inner, 1, bias=True, name="narrow"))
        x, channels = g.relu(g.conv(x, inner, out, 3, stride, padding, bias=True, name="shrink")), out
        maps.append((x, channels))
    for values, name in ((4, "offsets"), (81, "classes")):
        heads = []
        for i, ((x, channels), boxes) in enumerate(zip(maps, (4, 6, 6, 6, 4, 4))):
            g.scope = f"{name}{i}."
            h = g.conv(x, channels, boxes * values, 3, 1, 1, bias=True, name="head")
            # The batch as the file computes it: from the shape of the map.
            n = g.node("Gather", g.node("Shape", h), g.numbers([0], dims=[]), axis=0)
            n = g.node("Unsqueeze", n, g.numbers([0]))
            heads.append(g.node("Reshape", h, g.node("Concat", n, g.numbers([values, -1]), axis=0)))
        g.scope = ""
        g.output(g.node("Transpose", g.node("Concat", *heads, axis=2), perm=[0, 2, 1]))
    return g


def bert(layers=24, hidden=1024, heads=16, vocab=30522, seq=512, masked=76, taken_apart=True):
    """BERT with both heads of its pre-training; `taken_apart`: normalization and gelu in their parts, as exporters before
    operator set 17 write them. Queries are scaled before the product, as the catalogue's attention does."""
    g = Graph(opset=13 if taken_apart else 17)
    each = hidden // heads

    def linear(x, inputs, out, name):
        weight = g.weight(name + ".weight", [inputs, out])
        return g.node("Add", g.node("MatMul", x, weight, name=name), g.weight(name + ".bias", [out]))

    def norm(x, name):
        scale, offset = g.weight(name + ".weight", [hidden]), g.weight(name + ".bias", [hidden])
        if not taken_apart:
            return g.node("LayerNormalization", x, scale, offset, name=name, epsilon=1e-12)
        difference = g.node("Sub", x, g.node("ReduceMean", x, axes=[-1]))
        square = g.node("ReduceMean", g.node("Pow", difference, g.scalar(2.0)), axes=[-1])
        root = g.node("Sqrt", g.node("Add", square, g.scalar(1e-12)))
        return g.node("Add", g.node("Mul", g.node("Div", difference, root), scale), offset)

    def gelu(x):
        one = g.node("Add", g.node("Erf", g.node("Div", x, g.scalar(2**0.5))), g.scalar(1.0))
        return g.node("Mul", g.node("Mul", x, one), g.scalar(0.5))

    tokens, segments = g.input("tokens", ["N", "S"], True), g.input("segments", ["N", "S"], True)
    places = g.input("places", ["N", "M"], True)
    g.scope = "embeddings."
    words, positions = g.weight("words", [vocab, hidden]), g.weight("positions", [512, hidden])
    x = g.node("Add", g.node("Gather", words, tokens), g.node("Gather", g.weight("segments", [2, hidden]), segments))
    position = g.node("Gather", positions, g.node("Unsqueeze", g.numbers(list(range(seq))), g.numbers([0])))
    x = g.dropout(norm(g.node("Add", x, position), "norm"), 0.1)
    for i in range(layers):
        g.scope = f"layer.{i}."
        shape = g.node("Shape", x)
        n, s = (g.node("Gather", shape, g.numbers([axis])) for axis in (0, 1))
        split = g.node("Concat", n, s, g.numbers([heads, each]), axis=0)
        turn = lambda y, perm: g.node("Transpose", g.node("Reshape", y, split), perm=perm)
        q = turn(linear(x, hidden, hidden, "query"), [0, 2, 1, 3])
        k = turn(linear(x, hidden, hidden, "key"), [0, 2, 3, 1])
        v = turn(linear(x, hidden, hidden, "value"), [0, 2, 1, 3])
        q = g.node("Div", q, g.scalar(each**0.5))
        shares = g.dropout(g.node("Softmax", g.node("MatMul", q, k), axis=-1), 0.1)
        mixed = g.node("Transpose", g.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        mixed = g.node("Reshape", mixed, g.node("Concat", n, s, g.numbers([hidden]), axis=0))
        attended = g.dropout(linear(mixed, hidden, hidden, "output"), 0.1)
        x = norm(g.node("Add", x, attended), "attention_norm")
        inner = gelu(linear(x, hidden, 4 * hidden, "up"))
        x = norm(g.node("Add", x, g.dropout(linear(inner, 4 * hidden, hidden, "down"), 0.1)), "norm")
    g.scope = "heads."
    guessed = g.node("GatherND", x, g.node("Unsqueeze", places, g.numbers([-1])), batch_dims=1)
    guessed = norm(gelu(linear(guessed, hidden, hidden, "transform")), "transform_norm")
    logits = g.node("MatMul", guessed, g.node("Transpose", words, perm=[1, 0]))
    g.output(g.node("Add", logits, g.weight("word_bias", [vocab])))
    first = g.node("Gather", x, g.numbers([0], dims=[]), axis=1)
    pooled = g.node("Tanh", g.gemm(first, hidden, hidden, "pooler"))
    g.output(g.gemm(pooled, hidden, 2, "follows"))
    return g


MODELS = {
    "vgg16": vgg16,
    "resnet18": lambda: resnet((2, 2, 2, 2), 1),
    "resnet50": lambda: resnet((3, 4, 6, 3), 4),
    "resnet101": lambda: resnet((3, 4, 23, 3), 4),
    "resnext101_32x8d": lambda: resnet((3, 4, 23, 3), 4, groups=32, group_width=8),
    "inception_v3": inception_v3,
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3_large": mobilenet_v3_large,
    "efficientnet_b0": efficientnet_b0,
    "unet": unet,
    "ssd_resnet34": ssd_resnet34,
    "bert_large": bert,
    "bert_base": lambda: bert(12, 768, 12, taken_apart=False),
}


def main():
    for path in sys.argv[1:]:
        MODELS[path.split("/")[-1][:-len(".onnx")]]().save(path)


if __name__ == "__main__":
    main()
