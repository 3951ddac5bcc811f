#!/usr/bin/env python3
"""Writes the modules of test/import/Inputs/*.stablehlo.mlir anew: make_stablehlo.py FOLDER

Needs jax, which no test does. A decoder of one layer with a step of gradient descent; a convolutional network with a step
that also has momentum; a perceptron as it infers."""
import pathlib
import sys

import jax
import jax.numpy as jnp

SEQ, HIDDEN, HEADS, VOCAB, BATCH = 16, 32, 2, 50, 4
Shape = jax.ShapeDtypeStruct


def tensors(tree):
    return jax.tree.map(lambda shape: Shape(shape, jnp.float32), tree, is_leaf=lambda x: isinstance(x, tuple))


def norm(x, p):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]


def block(x, p):
    q, k, v = jnp.split(norm(x, p["ln1"]) @ p["qkv"] + p["qkv_b"], 3, -1)
    split = lambda t: t.reshape(t.shape[0], SEQ, HEADS, HIDDEN // HEADS).transpose(0, 2, 1, 3)
    q, k, v = split(q), split(k), split(v)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(HIDDEN // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((SEQ, SEQ), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v).transpose(0, 2, 1, 3).reshape(x.shape)
    x = x + (mixed @ p["o"] + p["o_b"])
    return x + (jax.nn.gelu(norm(x, p["ln2"]) @ p["up"] + p["up_b"]) @ p["down"] + p["down_b"])


def decoder(p, tokens):
    x = p["wte"][tokens] + p["wpe"]
    for layer in p["layers"]:
        x = block(x, layer)
    return norm(x, p["ln"]) @ p["head"]


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def decoder_step(p, tokens, labels):
    loss, gradients = jax.value_and_grad(lambda p: cross_entropy(decoder(p, tokens), labels))(p)
    return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), loss


def conv(x, w, stride=1, groups=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                        feature_group_count=groups)


def images(p, x):
    x = jax.nn.relu(conv(x, p["stem"]) + p["stem_b"])
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    mean = x.mean((0, 1, 2), keepdims=True)
    variance = ((x - mean)**2).mean((0, 1, 2), keepdims=True)
    x = (x - mean) * (jax.lax.rsqrt(variance + 1e-5) * p["bn"]["scale"]) + p["bn"]["offset"]
    x = jax.nn.silu(conv(x, p["depth"], groups=8))
    x = conv(x, p["point"], 2).mean((1, 2))
    return x @ p["out"] + p["out_b"]


def images_step(p, m, x, labels):
    loss, g = jax.value_and_grad(lambda p: -(jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(images(p, x))).sum(-1).mean())(p)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
    return jax.tree.map(lambda w, m: w - 0.1 * m, p, m), m, loss


def perceptron(p, x):
    x = jax.nn.sigmoid(x @ p["w1"] + p["b1"])
    x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * p["scale"]
    return jnp.einsum("bi,oi->bo", jnp.tanh(x), p["w2"])


def main():
    vector, layer = (HIDDEN,), {
        "ln1": {"g": (HIDDEN,), "b": (HIDDEN,)}, "ln2": {"g": (HIDDEN,), "b": (HIDDEN,)}, "qkv": (HIDDEN, 3 * HIDDEN),
        "qkv_b": (3 * HIDDEN,), "o": (HIDDEN, HIDDEN), "o_b": (HIDDEN,), "up": (HIDDEN, 4 * HIDDEN), "up_b": (4 * HIDDEN,),
        "down": (4 * HIDDEN, HIDDEN), "down_b": (HIDDEN,)}
    text = tensors({"wte": (VOCAB, HIDDEN), "wpe": (SEQ, HIDDEN), "layers": [layer, layer],
                    "ln": {"g": vector, "b": vector}, "head": (HIDDEN, VOCAB)})
    picture = tensors({"stem": (3, 3, 3, 8), "stem_b": (8,), "bn": {"scale": (8,), "offset": (8,)}, "depth": (3, 3, 1, 8),
                       "point": (1, 1, 8, 16), "out": (16, 10), "out_b": (10,)})
    small = tensors({"w1": (20, 30), "b1": (30,), "scale": (30,), "w2": (5, 30)})
    tokens, labels = Shape((BATCH, SEQ), jnp.int32), Shape((BATCH,), jnp.int32)
    image = Shape((BATCH, 16, 16, 3), jnp.float32)
    for name, function, arguments in [("decoder", decoder_step, (text, tokens, tokens)),
                                      ("images", images_step, (picture, picture, image, labels)),
                                      ("perceptron", perceptron, (small, Shape((BATCH, 20), jnp.float32)))]:
        module = jax.jit(function).lower(*arguments).compiler_ir("stablehlo").operation
        file = pathlib.Path(sys.argv[1]) / f"{name}.stablehlo.mlir"
        text = module.get_asm(print_generic_op_form=True, enable_debug_info=True, pretty_debug_info=False)
        file.write_text(text.replace(f"{pathlib.Path(__file__).resolve().parent}/", ""))  # no folder of this machine


main()
