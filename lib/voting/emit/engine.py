#!/usr/bin/env python3
"""A member's network by ONNX Runtime: accord member NAME ensemble.json -- python3 engine.py MODEL.onnx

Reads lines {"id": N, "input": …} and writes lines {"id": N, "label": K, "probabilities": […]}. `input` is what the
model's first input takes, as nested lists without the batch. The model's first output has a number for each label:
probabilities, or logits (then their softmax is taken). Put your own library here, if the network is of another one.
"""
import json
import math
import sys


def main():
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        sys.exit(f"engine.py: {error.name} is not installed: pip install onnxruntime")
    session = onnxruntime.InferenceSession(sys.argv[1])
    first = session.get_inputs()[0]
    kind = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32"}.get(first.type, "float32")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            scores = session.run(None, {first.name: numpy.asarray([asked["input"]], dtype=kind)})[0][0].astype(float).tolist()
        except Exception as error:  # of one input: the others go on
            print(json.dumps({"id": asked["id"], "error": str(error)}), flush=True)
            continue
        if min(scores) < 0 or abs(sum(scores) - 1) > 1e-3:
            top = max(scores)
            scores = [math.exp(score - top) for score in scores]
        total = sum(scores)
        shares = [score / total for score in scores]
        print(json.dumps({"id": asked["id"], "label": shares.index(max(shares)), "probabilities": shares}), flush=True)


if __name__ == "__main__":
    main()
