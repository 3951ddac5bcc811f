"""The document `accord prune --json, prune.json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Accuracy", "AnswerEntry", "Detour", "Kernel", "Layer", "LayerOption", "Mask", "MaskSearch", "Memory", "Operation", "Option", "OptionProduct", "Pipeline", "PipelineUse", "Problem", "Product", "Prune", "Resources", "Rule", "Sparsity", "Stage", "Step", "StepLayer", "Use"]


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


class Memory(Record):
    """An object of the document."""

    evicts: bool = key()
    passes: int = key("how often streamed weights are read for an image")
    ultra_buffers: bool = key()
    weights: Literal["block_ram", "ultra_ram", "streamed"] = key()


class Use(Record):
    """An object of the document."""

    bits: int = key("to and from the memory beside the chip, for an image")
    block_rams: int = key()
    luts: int = key()
    multipliers: int = key()
    ultra_rams: int = key()


class Stage(Record):
    """An object of the document."""

    cycles: float = key("", "cycles")
    memory: Optional[Memory] = key()
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
    use: Optional[Use] = key()


class Detour(Record):
    """An object of the document."""

    bits: int = key()
    channels: int = key()
    columns: int = key()
    rows: int = key()


class Sparsity(Record):
    """An object of the document."""

    channels: Optional[List[List[float]]] = key("the same of each channel, where it was measured")
    label: str = key()
    loss: int = key()
    windows: List[float] = key("shares of windows by how many products are zero")


class Layer(Record):
    """An object of the document."""

    name: str = key()
    activation_bits: int = key("", "bit")
    channels: int = key()
    columns: int = key()
    detours: Optional[List[Detour]] = key("values that go around the layer")
    filters: int = key()
    groups: int = key()
    input_columns: int = key()
    input_rows: int = key()
    kernel_columns: int = key()
    kernel_rows: int = key()
    rows: int = key()
    sparsity: List[Sparsity] = key()
    weight_bits: int = key("", "bit")


class Resources(Record):
    """Memories of the device; without them they are not part of the problem."""

    bandwidth_Bps: float = key("of the memory beside the chip; 0: enough")
    block_rams: int = key("of 18 Kibit")
    luts: int = key("look-up tables; 0: enough")
    ultra_rams: int = key("of 288 Kibit")


class PipelineUse(Record):
    """Of all layers, with the image and its result."""

    bits: int = key("to and from the memory beside the chip, for an image")
    block_rams: int = key()
    luts: int = key()
    multipliers: int = key()
    ultra_rams: int = key()


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
    min_interval_cycles: Optional[float] = key("no interval is shorter; the interval where it is proven the shortest", "cycles")
    multiplier_columns: int = key()
    multiplier_rows: int = key()
    multipliers: int = key()
    multipliers_of_device: int = key()
    resources: Optional[Resources] = key("memories of the device; without them they are not part of the problem")
    saturating: int = key("index of the layer that limits any such device")
    together: Optional[Literal[True]] = key("all layers take zeros of one name")
    use: Optional[PipelineUse] = key("of all layers, with the image and its result")


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


class Mask(Record):
    """An object of the document."""

    time_s: float = key("", "s")
    elements: float = key()
    transposable: bool = key()


class Product(Record):
    """An object of the document."""

    columns: float = key()
    depth: float = key()
    rows: float = key()
    speedup: float = key()


class Kernel(Record):
    """An object of the document."""

    deviation: float = key("of log(estimated / measured): 90 % of the products are within it where they are left out")
    device: str = key()
    masks: List[Mask] = key()
    products: List[Product] = key()
    reach: float = key("octaves from a product to the nearest other, at most")
    type: str = key()
    width: float = key("octaves of the neighbourhood that an estimate is the mean of")


class MaskSearch(Record):
    """An object of the document."""

    bandwidth_Bps: float = key("of the device's memory")
    element_bits: float = key("", "bit")
    elements: float = key()
    expected_max_s: float = key("", "s")
    expected_min_s: float = key("", "s")
    expected_s: float = key("of a step, as all times here", "s")
    matrices: float = key()
    period: float = key("steps from one search to the next")
    transposable: bool = key()
    type: str = key()


class OptionProduct(Record):
    """An object of the document."""

    operation: str = key()
    columns: float = key()
    dense_s: float = key("of one execution, as all times here", "s")
    depth: float = key()
    executions: float = key()
    expected_max_s: float = key("", "s")
    expected_min_s: float = key("", "s")
    expected_s: float = key("", "s")
    ideal_s: float = key("", "s")
    rows: float = key()
    type: str = key()


class LayerOption(Record):
    """An object of the document."""

    bound: str = key()
    time_s: float = key("ideal: at the rates of the core; so are the parts below", "s")
    energy_J: float = key("", "J")
    bytes: float = key("", "B")
    data_gradient_s: float = key("", "s")
    encoding: str = key("MLIR's #sparse_tensor.encoding of the weights; empty: dense")
    energy_quantile_J: float = key("", "J")
    expected_max_s: float = key("", "s")
    expected_min_s: float = key("", "s")
    expected_s: float = key("with kernels as measured or published, and masks that are found again", "s")
    format: str = key()
    forward_s: float = key("", "s")
    gradient_sync_s: float = key("", "s")
    label: str = key()
    loss: str = key("an exact fraction")
    mask_search: Optional[MaskSearch] = key()
    metadata_bytes: float = key("", "B")
    products: List[OptionProduct] = key("2:4 products that kernels compute")
    sparsity: str = key()
    time_quantile_s: float = key("ideal, and not exceeded by masks with the confidence", "s")
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

    time_s: float = key("ideal: at the rates of the core", "s")
    energy_J: float = key("", "J")
    dense_energy_J: float = key("", "J")
    dense_state_bytes: float = key("", "B")
    dense_time_s: float = key("", "s")
    expected_max_s: float = key("", "s")
    expected_min_s: float = key("", "s")
    expected_s: float = key("with kernels as measured or published, and masks that are found again", "s")
    kernels: List[Kernel] = key("measured 2:4 products; empty: published figures")
    kernels_source: str = key("file of kernels")
    layers: List[StepLayer] = key()
    other_time_s: float = key("", "s")
    recipe: str = key("of masks of weights: static, dynamic, dynamic(every = 100)")
    scope: str = key("which layers' weights may have zeros, and how a density is divided")
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
