"""PyTorch models as `.dnn`: `accord.torch.export(model, example_inputs)`.

The model is traced by `torch.export`, written as a `.pt2` without weights, and read by `accord import torch`. Only shapes
are needed, so that models on the device `meta` or under `FakeTensorMode` work as well.
"""
from __future__ import annotations

import importlib
import io
import json
import os
import tempfile
import zipfile
from typing import Any

from .commands import import_model

__all__ = ["export", "save"]

# Integers that a graph looks up by, such as ids of positions, are written up to this many numbers of all tensors.
_MAX_NUMBERS = 1 << 20
# Functions of autograd whose gradient is that of what they compute forward.
_TRUE_GRADIENTS = {"transformers.models.bloom.modeling_bloom.GeLUFunction"}
# Loops and calls of `torch.export` that may be open concurrently are few: a trace of a stack has its last line kept.
_KEPT_METADATA = ("nn_module_stack", "stack_trace")


def _torch() -> Any:
    try:
        torch = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except ImportError as error:
        raise ImportError("accord.torch needs PyTorch 2.6 or newer: pip install torch") from error
    return torch


def _tensors(torch: Any, tree: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _with_batch(torch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Inputs and their dynamic shapes: the first extent of all is the batch. A batch of one is made two, because
    torch.export takes an extent of 1 for a constant."""
    tensors = [one for one in _tensors(torch, (args, kwargs)) if one.dim()]
    batches = {one.shape[0] for one in tensors}
    if len(batches) != 1:
        return args, kwargs, None

    def twice(one: Any) -> Any:
        return torch.cat([one, one]) if isinstance(one, torch.Tensor) and one.dim() and one.shape[0] == 1 else one

    args, kwargs = torch.utils._pytree.tree_map(twice, (args, kwargs))

    def dims(one: Any) -> Any:
        return {0: torch.export.Dim.AUTO} if isinstance(one, torch.Tensor) and one.dim() else None

    shapes = torch.utils._pytree.tree_map(dims, (args, kwargs))
    return args, kwargs, (shapes[0], shapes[1])


class _OwnFunctions:
    """Refuses functions of autograd that are no part of PyTorch while a module is traced: torch.export follows what they
    compute forward, and their gradient would be another one."""

    def __init__(self, torch: Any) -> None:
        self.function = torch.autograd.Function

    def __enter__(self) -> None:
        self.was = was = self.function.__dict__["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not cls.__module__.startswith("torch.") and f"{cls.__module__}.{cls.__qualname__}" not in _TRUE_GRADIENTS:
                raise ValueError(f"the autograd function '{cls.__module__}.{cls.__qualname__}' has a gradient of its own, which "
                                 "has no form in .dnn: write it by operations, or as an operation of your own")
            return was.__get__(None, cls)(*args, **kwargs)

        self.function.apply = classmethod(apply)

    def __exit__(self, *_: Any) -> None:
        self.function.apply = self.was


def trace(model: Any, args: Any, kwargs: dict[str, Any] | None = None, dynamic_shapes: Any = None, train: bool = True) -> Any:
    """The `ExportedProgram` of a module, as it trains, with an open batch where it has one."""
    torch = _torch()
    if isinstance(model, torch.export.ExportedProgram):
        return model
    with _OwnFunctions(torch):
        return _traced(torch, model, args, kwargs, dynamic_shapes, train)


def _traced(torch: Any, model: Any, args: Any, kwargs: dict[str, Any] | None, dynamic_shapes: Any, train: bool) -> Any:
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    kwargs = dict(kwargs or {})
    was = model.training
    model.train(train)
    try:
        if dynamic_shapes is not None:
            return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        args, kwargs, shapes = _with_batch(torch, args, kwargs)
        if shapes is not None:
            try:
                open_batch: Any = tuple(shapes[0]) if not kwargs else None
                if open_batch is None:
                    # With keywords, shapes are stated by the names of the arguments.
                    import inspect

                    names = list(inspect.signature(model.forward).parameters)
                    open_batch = {**dict(zip(names, shapes[0])), **shapes[1]}
                return torch.export.export(model, args, kwargs, dynamic_shapes=open_batch, strict=False)
            except Exception:  # a model that fixes its batch
                pass
        return torch.export.export(model, args, kwargs, strict=False)
    finally:
        model.train(was)


def _program_json(torch: Any, program: Any) -> Any:
    """The graph as torch.export.save writes it, without its weights where the version of torch allows that."""
    try:
        serde = importlib.import_module("torch._export.serde.serialize")
        return serde.serialize(program, serialize_state_dict=False, serialize_constants=False).exported_program
    except (ImportError, AttributeError, TypeError):
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        with zipfile.ZipFile(buffer) as archive:
            name = next(n for n in archive.namelist() if n.endswith(("models/model.json", "serialized_exported_program.json")))
            return archive.read(name)


def _last_line(trace: str) -> str:
    """`file.py:12: y = f(x)` of a stack trace: its last place outside of torch itself, else the last."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    places = [i for i, line in enumerate(lines) if line.startswith("File ")]
    if not places:
        return ""
    own = [i for i in places if "/torch/nn/" not in lines[i] and "/torch/fx/" not in lines[i]]
    at = (own or places)[-1]
    head, _, rest = lines[at][len("File "):].partition(", line ")
    path = os.path.basename(head.strip('"'))
    code = lines[at + 1] if at + 1 < len(lines) and at + 1 not in places else ""
    return f'File "{path}", line {rest}' + (f"\n    {code}" if code else "")


def _strip(graph: dict[str, Any]) -> None:
    for node in graph["nodes"]:
        kept = {key: value for key, value in node["metadata"].items() if key in _KEPT_METADATA}
        if "stack_trace" in kept:
            kept["stack_trace"] = _last_line(kept["stack_trace"])
        node["metadata"] = kept
        for argument in node["inputs"]:
            inner = argument["arg"].get("as_graph")
            if inner:
                _strip(inner["graph"])
    for meta in graph["tensor_values"].values():
        for key in ("strides", "storage_offset"):
            meta[key] = [] if key == "strides" else {"as_int": 0}


def _integers(torch: Any, program: Any) -> dict[str, Any]:
    """The buffers and constants of integers whose numbers are known, small ones first."""
    found = {}
    for source in (dict(program.named_buffers()), program.constants):
        for name, one in source.items():
            if not isinstance(one, torch.Tensor) or one.is_meta or one.dtype not in (torch.int64, torch.int32, torch.bool):
                continue
            if type(one) not in (torch.Tensor, torch.nn.Buffer):
                continue
            found[name] = one.detach().to(torch.int64).contiguous().cpu()
    left, kept = _MAX_NUMBERS, {}
    for name, one in sorted(found.items(), key=lambda item: (item[1].numel(), item[0])):
        if one.numel() <= left:
            left -= one.numel()
            kept[name] = one
    return kept


def _optimizer(optimizer: Any) -> dict[str, Any] | None:
    """Class and settings; an instance, a class, or a name such as "adamw"."""
    if optimizer is None:
        return None
    if isinstance(optimizer, str):
        return {"class": optimizer, "defaults": {}}
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    settings = {} if isinstance(optimizer, type) else dict(optimizer.defaults)
    simple = {key: value for key, value in settings.items() if isinstance(value, (bool, int, float, str))}
    return {"class": kind.__name__, "defaults": simple}


def save(program: Any, path: str, *, optimizer: Any = None, batch: int | None = None) -> str:
    """Writes an `ExportedProgram` as a small `.pt2` without weights: what `accord import torch` reads."""
    torch = _torch()
    for entry in program.module_call_graph:  # how a module is called again, which needs classes of its outputs
        entry.signature = None
    document = json.loads(_program_json(torch, program))
    document["graph_module"]["module_call_graph"] = []
    _strip(document["graph_module"]["graph"])
    document["guards_code"] = []
    config = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def write(name: str, data: str | bytes) -> None:
            # A fixed date: equal programs give equal files.
            entry = zipfile.ZipInfo("model/" + name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        write("archive_format", "pt2")
        write("archive_version", "0")
        write("models/model.json", json.dumps(document, separators=(",", ":")))
        for i, (name, one) in enumerate(_integers(torch, program).items()):
            config[name] = {"path_name": f"tensor_{i}", "is_param": False, "use_pickle": False,
                            "tensor_meta": {"dtype": 5, "sizes": [{"as_int": n} for n in one.shape], "requires_grad": False,
                                            "device": {"type": "cpu", "index": None}, "strides": [],
                                            "storage_offset": {"as_int": 0}, "layout": 7}}
            write(f"data/constants/tensor_{i}", one.numpy().tobytes())
        write("data/constants/model_constants_config.json", json.dumps({"config": config}))
        training = {"optimizer": _optimizer(optimizer), "batch": batch}
        if any(value is not None for value in training.values()):
            write("extra/accord.json", json.dumps(training))
    return path


def export(model: Any, example_inputs: Any = (), optimizer: Any = None, *, kwargs: dict[str, Any] | None = None,
           name: str | None = None, loss: str | dict[str, str] | None = None, batch: int | None = None,
           sizes: dict[str, int] | None = None, dynamic_shapes: Any = None, train: bool = True, unrolled: bool = False,
           output: str | None = None) -> str:
    """The training of a PyTorch module as the text of a `.dnn`.

    model            an nn.Module, or an ExportedProgram
    example_inputs   what it is called with; the first extent of every tensor is the batch
    optimizer        an instance or class of torch.optim, or a name: the optimizer of the `train` block
    kwargs           inputs by name
    name             of the model; of its class unless given
    loss             kind of the loss, or {output: kind}, where the module returns no scalar
    batch            samples of a step in the `train` block; those of the example unless given. Inputs whose first extents
                     differ, such as nodes and edges of a graph, are one sample
    sizes            {symbol: extent} of other open extents
    dynamic_shapes   as of torch.export.export; an open batch unless given
    train            trace the module as it trains (dropout, statistics of batch normalization)
    output           a path to write the text to, as well
    """
    torch = _torch()
    if batch is None:
        tensors = [one for one in _tensors(torch, (example_inputs, kwargs or {})) if one.dim()]
        extents = {one.shape[0] for one in tensors}
        batch = 1 if len(extents) > 1 else next((one for one in extents if isinstance(one, int)), None)
    program = trace(model, example_inputs, kwargs, dynamic_shapes, train)
    name = name or (type(model).__name__ if isinstance(model, torch.nn.Module) else "model")
    losses = [f"{output_name}={kind}" for output_name, kind in loss.items()] if isinstance(loss, dict) else loss
    extents = [f"{symbol}={extent}" for symbol, extent in (sizes or {}).items()]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        save(program, path, optimizer=optimizer, batch=batch if optimizer is not None else None)
        text = import_model("torch", path, name=name, loss=losses, size=extents, unrolled=unrolled)
    if output is not None:
        with open(output, "w") as out:
            out.write(text)
    return text
