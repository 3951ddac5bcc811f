"""The document `accord prune --json, prune.json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Accuracy", "AnswerEntry", "Layer", "LayerOption", "Operation", "Option", "Pipeline", "Problem", "Prune", "Rule", "Sparsity", "Stage", "Step", "StepLayer"]


class Accuracy(Record):
    """An object of the document."""

    assumptions: List[str] = key()
    basis: str = key()
    confidence: str = key()
    guaranteed: bool = key()
    inputs: List[str] = key()
    metric: str = key()
    min_accuracy: str = key("an exact fraction")
    min_accuracy_fraction: float = key()
    required: Optional[str] = key()


class AnswerEntry(Record):
    """An object of the document."""

    value: int = key()
    bound: Optional[int] = key("null: no limit")
    bytes: int = key("", "B")
    choice: List[int] = key()
    energy_pJ: int = key("", "pJ")
    feasible: bool = key()
    loss: int = key()
    slowest_ps: int = key("", "ps")
    states: int = key()
    time_ps: int = key("", "ps")


class Stage(Record):
    """An object of the document."""

    cycles: float = key("", "cycles")
    bottleneck: Literal["products", "input", "output"] = key()
    busy: float = key()
    fine: int = key()
    groups: int = key()
    in_: int = key(name="in")
    input_cycles: float = key("", "cycles")
    layer: str = key()
    min_cycles: float = key("", "cycles")
    multipliers: int = key()
    out: int = key()
    output_cycles: float = key("", "cycles")
    product_cycles: float = key("", "cycles")
    sparse: bool = key()
    sparsity: str = key()


class Sparsity(Record):
    """An object of the document."""

    label: str = key()
    loss: int = key()
    windows: List[float] = key("shares of windows by how many products are zero")


class Layer(Record):
    """An object of the document."""

    name: str = key()
    activation_bits: int = key("", "bit")
    channels: int = key()
    columns: int = key()
    filters: int = key()
    groups: int = key()
    input_columns: int = key()
    input_rows: int = key()
    kernel_columns: int = key()
    kernel_rows: int = key()
    rows: int = key()
    sparsity: List[Sparsity] = key()
    weight_bits: int = key("", "bit")


class Pipeline(Record):
    """An object of the document."""

    stages: List[Stage] = key()
    bottleneck: int = key("index of the slowest layer")
    bound_ps: int = key("", "ps")
    clock_Hz: float = key("", "Hz")
    explanation: str = key()
    images_per_second: float = key("", "1/s")
    interval_cycles: float = key("", "cycles")
    layers: List[Layer] = key()
    loss: int = key()
    loss_budget: Optional[int] = key("null: no limit")
    max_images_per_second: float = key("", "1/s")
    multiplier_columns: int = key()
    multiplier_rows: int = key()
    multipliers: int = key()
    multipliers_of_device: int = key()
    saturating: int = key("index of the layer that limits any such device")


class Option(Record):
    """An object of the document."""

    bytes: int = key("", "B")
    energy_pJ: int = key("", "pJ")
    label: str = key()
    loss: int = key("in 10^-12")
    sparse: bool = key()
    time_ps: int = key("", "ps")


class Operation(Record):
    """An object of the document."""

    name: str = key()
    options: List[Option] = key()
    stage: int = key()


class Rule(Record):
    """An object of the document."""

    max: int = key()
    options: List[List[int]] = key()


class Problem(Record):
    """An object of the document."""

    objective: Literal["step_time", "energy", "memory", "slowest_stage"] = key()
    operations: List[Operation] = key()
    byte_budget: Optional[int] = key("null: no limit")
    groups: List[List[int]] = key()
    loss_budget: Optional[int] = key("null: no limit")
    rules: List[Rule] = key()


class LayerOption(Record):
    """An object of the document."""

    bound: str = key()
    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    bytes: float = key("", "B")
    data_gradient_s: float = key("", "s")
    encoding: str = key("MLIR's #sparse_tensor.encoding of the weights; empty: dense")
    energy_quantile_J: float = key("", "J")
    format: str = key()
    forward_s: float = key("", "s")
    gradient_sync_s: float = key("", "s")
    label: str = key()
    loss: str = key("an exact fraction")
    metadata_bytes: float = key("", "B")
    sparsity: str = key()
    time_quantile_s: float = key("", "s")
    update_s: float = key("", "s")
    weight_gradient_s: float = key("", "s")


class StepLayer(Record):
    """An object of the document."""

    name: str = key()
    chosen: int = key("index into options; 0: dense")
    executions: float = key()
    options: List[LayerOption] = key()
    parameter: str = key()
    uses: str = key()


class Step(Record):
    """An object of the document."""

    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    dense_energy_J: float = key("", "J")
    dense_state_bytes: float = key("", "B")
    dense_time_s: float = key("", "s")
    layers: List[StepLayer] = key()
    other_time_s: float = key("", "s")
    state_bytes: float = key("", "B")
    time_quantile_s: float = key("", "s")


class Prune(Answer):
    """Zeros of each layer of a training step (step, with the problem of the choice and its answer), or of layers side by side on a dataflow device (pipeline); what is claimed of accuracy."""

    command: Literal["prune"] = key()
    version: str = key()
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    objective: Literal["step_time", "throughput", "energy", "memory"] = key()
    gap: float = key()
    batch: int = key()
    microbatch: int = key()
    assumptions: List[str] = key()
    accuracy: Optional[Accuracy] = key()
    answer: Optional[AnswerEntry] = key()
    confidence: float = key()
    excluded_options: List[str] = key("choices that measurements do not allow, and why")
    machine: str = key()
    model: str = key()
    pipeline: Optional[Pipeline] = key()
    problem: Optional[Problem] = key()
    proven: bool = key()
    step: Optional[Step] = key()
    training: str = key()
