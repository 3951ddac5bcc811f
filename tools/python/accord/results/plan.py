"""The document `accord compile --json, plan.json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional, Tuple

from ..answer import Answer
from ..record import Record, key

__all__ = ["Access", "Alternative", "Architecture", "AtPeak", "Bound", "Calibration", "Carried", "Conflict", "Core", "Costs", "Estimate", "Graph", "Loop", "LoopTensor", "Machine", "MachineMemory", "Memory", "Objective", "Operation", "OperationCost", "OperationPart", "Origin", "Part", "Plan", "Problem", "Proven", "Region", "Run", "RunInput", "RunValue", "Schedule", "ScheduleRegion", "Slice", "Slot", "Stage", "StaticTensor", "Step", "StepTimeEstimate", "Tile", "Timeline", "Value", "WhatIf"]


class Objective(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()
    unit: str = key()


class Bound(Record):
    """No plan of this space is better."""

    value: float = key()
    unit: str = key()
    proof: str = key()


class Stage(Record):
    """An object of the document."""

    name: str = key()
    time_s: float = key("", "s")
    devices: int = key()
    layers: List[str] = key()
    memory_bytes: int = key("", "B")


class AtPeak(Record):
    """An object of the document."""

    activations: int = key()
    buffers: int = key()
    gradients: int = key()
    inputs: int = key()
    optimizer_states: int = key()
    temporaries: int = key()
    weights: int = key()


class Timeline(Record):
    """An object of the document."""

    bytes: List[int] = key("", "B")
    time_ps: int = key("", "ps")


class Memory(Record):
    """An object of the document."""

    at_peak: AtPeak = key()
    capacity_bytes: int = key("", "B")
    peak_bytes: int = key("", "B")
    timeline: List[Timeline] = key()
    when_ps: int = key("", "ps")


class Conflict(Record):
    """An object of the document."""

    constraint: str = key("as the user wrote it, or 'device memory'")
    file: str = key()
    line: int = key()
    detail: str = key("what is needed against what there is")


class Architecture(Record):
    """What frameworks call the model."""

    activation: Literal["none", "relu", "gelu", "swiglu", "geglu", "silu", "squared_relu"] = key()
    attention_bias: Optional[Literal[True]] = key("of queries, keys and values")
    attention_dropout: Optional[float] = key("of the softmax")
    causal: Optional[Literal[True]] = key("attention looks back alone")
    class_tokens: Optional[int] = key("trained tokens before the patches")
    classes: Optional[int] = key()
    dropout: Optional[float] = key("share, of what blocks add to their input")
    embedding_norm: Optional[Literal[True]] = key("a norm stands behind the embedding")
    embedding_scale: Optional[float] = key()
    encoder_layers: Optional[int] = key()
    encoder_sequence: Optional[int] = key()
    expert_capacity: Optional[float] = key("slots of an expert over its even share of the tokens")
    expert_layers: Optional[int] = key()
    expert_parameters: Optional[int] = key()
    experts: Optional[int] = key()
    experts_normalized: Optional[Literal[True]] = key("the weights of the experts of a token add up to 1")
    experts_per_token: Optional[int] = key()
    family: Literal["other", "decoder", "encoder", "encoder_decoder", "vision"] = key("other: no transformer, or one that is not understood")
    final_norm: Optional[Literal[True]] = key("a norm stands before the head")
    fused_attention: Optional[Literal[True]] = key("attention is one operation that keeps no scores")
    head_bias: Optional[Literal[True]] = key()
    head_size: Optional[int] = key()
    head_transform: Optional[Literal[True]] = key("a product, an activation and a norm stand before the head")
    heads: Optional[int] = key()
    hidden: Optional[int] = key()
    image_size: Optional[int] = key()
    inner: Optional[int] = key("width of feed-forward networks; with experts, of one of them")
    inner_dropout: Optional[float] = key("between the products of a feed-forward network")
    irregular: Optional[Literal[True]] = key("blocks differ in sizes, which are left out")
    key_value_heads: Optional[int] = key("fewer than heads: grouped queries")
    layers: Optional[int] = key("blocks; of an encoder with a decoder, those of the decoder")
    linear_bias: Optional[Literal[True]] = key("of products, but those of queries, keys and values")
    logit_scale: Optional[float] = key()
    max_positions: Optional[int] = key("rows of the table of learned positions")
    norm: Literal["none", "layer_norm", "rms_norm"] = key()
    norm_after: Optional[Literal[True]] = key("norms stand behind blocks")
    norm_bias: Optional[Literal[True]] = key("norms have an offset")
    norm_epsilon: Optional[float] = key()
    not_understood: Optional[str] = key("of family other: why")
    pair_head: Optional[Literal[True]] = key("a second head tells whether two sentences follow each other")
    parameters: int = key("trained scalars")
    patch_size: Optional[int] = key()
    positions: Literal["none", "learned", "rope", "relative", "sinusoidal", "alibi"] = key()
    predicted_positions: Optional[int] = key("positions of a sample of which the head predicts tokens, where these are not all")
    relative_buckets: Optional[int] = key("rows of a table of relative positions")
    relative_distance: Optional[int] = key()
    rotary_base: Optional[float] = key()
    segments: Optional[int] = key("rows of the table of kinds of tokens")
    sequence: Optional[int] = key("tokens of a sample")
    tied_embeddings: Optional[Literal[True]] = key("the weights of the head are those of the embedding")
    unscaled_attention: Optional[Literal[True]] = key("scores are not divided by the root of the head's size")
    vocabulary: Optional[int] = key()


class Part(Record):
    """An object of the document."""

    core: int = key()
    compute_s: float = key("", "s")
    type: str = key()


class Tile(Record):
    """An object of the document."""

    memory: int = key()
    extents: List[int] = key()
    groups: List[List[int]] = key()
    order: List[int] = key()


class OperationCost(Record):
    """An object of the document."""

    core: int = key()
    bound: str = key()
    gap: Optional[float] = key("no tiles take less than 1 - gap of the time; 0 where they are proven best")
    cycles: float = key("", "cycles")
    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    bytes: List[float] = key("", "B")
    compute_s: float = key("", "s")
    formula: str = key()
    instances: Optional[int] = key()
    kernel_launch_overhead_s: Optional[float] = key("", "s")
    model: str = key()
    parts: Optional[List[Part]] = key()
    tiles: Optional[List[Tile]] = key()
    transfer_s: List[float] = key("", "s")
    type: str = key()


class Alternative(Record):
    """An object of the document."""

    operation: int = key()
    costs: List[OperationCost] = key()


class Costs(Record):
    """An object of the document."""

    assumptions: List[str] = key()
    operations: List[OperationCost] = key()
    alternatives: Optional[List[Alternative]] = key("of operations that could run on another number of instances of their core: what that would cost")


class Access(Record):
    """An object of the document."""

    map: str = key("from the iterators of the domain: (d0, d1, d2) -> (d0, d2)")
    shape: str = key("4x1024x1600xbf16")
    tensor: str = key("a parameter or the operation that made it; empty for a result")
    written: bool = key()


class Loop(Record):
    """An object of the document."""

    kind: Literal["parallel", "reduction"] = key()
    extent: int = key()


class LoopTensor(Record):
    """An object of the document."""

    at: List[List[Tuple[int, int]]] = key()
    bits: int = key()
    sizes: Optional[List[int]] = key("elements of each dimension, where the loops of a padded window reach more")
    written: Optional[Literal[True]] = key()


class OperationPart(Record):
    """An object of the document."""

    name: str = key()
    kind: str = key()
    core: Literal["none", "tensor", "vector", "network"] = key()
    flops: int = key("", "FLOP")
    contraction: bool = key()
    domain: List[Loop] = key()
    tensors: Optional[List[LoopTensor]] = key()
    type: str = key()


class Operation(Record):
    """An object of the document."""

    name: str = key()
    kind: str = key()
    phase: Literal["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"] = key()
    core: Literal["none", "tensor", "vector", "network"] = key()
    flops: int = key("of one execution; a multiply-accumulate is 2", "FLOP")
    file: Optional[str] = key()
    line: Optional[int] = key()
    column: Optional[int] = key()
    accesses: Optional[List[Access]] = key()
    body: Optional[int] = key()
    bytes_read: int = key()
    bytes_written: int = key()
    causal: Optional[Literal[True]] = key("attention in one kernel, which leaves out the tiles that a causal mask hides")
    contraction: bool = key("counts towards model FLOPs")
    domain: Optional[List[Loop]] = key()
    given_s: Optional[float] = key("seconds of one execution on any machine; there only if they were measured elsewhere", "s")
    operands: List[int] = key()
    parts: Optional[List[OperationPart]] = key("of a fused operation: what runs inside of it, in order; its flops are their sum")
    region: int = key()
    results: List[int] = key()
    tensors: Optional[List[LoopTensor]] = key("operands, then results; `at` has a list of [loop, stride] for each dimension, whose sum is the position")
    type: str = key("arithmetic: bf16, fp32, ...")


class Carried(Record):
    """An object of the document."""

    argument: int = key()
    initial: int = key()
    result: int = key()
    yielded: int = key()


class Slice(Record):
    """An object of the document."""

    inside: int = key()
    stacked: int = key()


class Region(Record):
    """An object of the document."""

    name: str = key()
    count: int = key("iterations each time it is entered")
    operations: List[int] = key()
    carried: List[Carried] = key()
    owner: Optional[int] = key()
    parent: Optional[int] = key()
    reverse: Optional[Literal[True]] = key()
    stashed: List[Slice] = key()
    unstashed: List[Slice] = key()


class StaticTensor(Record):
    """An object of the document."""

    name: str = key()
    bytes: int = key("", "B")
    category: Literal["weights", "gradients", "optimizer_states", "activations", "temporaries", "buffers", "inputs"] = key()
    quantized: Optional[Literal[True]] = key()


class Value(Record):
    """An object of the document."""

    name: str = key()
    bytes: int = key("of one instance; of a stack: the whole", "B")
    alias: Optional[int] = key()
    category: Literal["weights", "gradients", "optimizer_states", "activations", "temporaries", "buffers", "inputs"] = key()
    region: Optional[int] = key()
    slices: Optional[int] = key("iterations of a stack")


class Graph(Record):
    """An object of the document."""

    microbatch: int = key()
    microbatches: int = key()
    operations: List[Operation] = key()
    model: str = key()
    optimizer: str = key()
    parameters: int = key()
    precision: str = key()
    recompute: Literal["none", "selective", "full"] = key()
    regions: List[Region] = key("[0] one micro-batch, [1] the update, then bodies of repeats")
    static_tensors: List[StaticTensor] = key()
    values: List[Value] = key()


class Calibration(Record):
    """The efficiency that measured steps, or those of other machines, give it."""

    parameters: Dict[str, float] = key("in base units, by name: `accord calibrate` writes the same names")
    source: str = key("the file, or whose defaults these are")


class Origin(Record):
    """An object of the document."""

    file: Optional[str] = key()
    line: Optional[int] = key()
    column: Optional[int] = key()
    source: Optional[str] = key("who says so")
    text: str = key("as written: '312 TFLOP/s'")


class Core(Record):
    """An object of the document."""

    name: str = key()
    kind: Literal["none", "tensor", "vector", "network"] = key()
    count: int = key()
    cycles: Dict[str, float] = key("", "cycles")
    cols: int = key()
    dataflow: str = key()
    efficiency: float = key()
    half_performance_work_flops: float = key("", "FLOP")
    lanes: int = key()
    mapping: Literal["split", "per_instance", "any"] = key()
    origins: Dict[str, Origin] = key()
    overlap_drain: bool = key()
    overlap_fill: bool = key()
    peak_flops_per_s: Dict[str, float] = key("", "FLOP/s")
    reads: int = key()
    rows: int = key()


class MachineMemory(Record):
    """An object of the document."""

    name: str = key()
    kind: str = key()
    bandwidth_bytes_per_s: float = key("", "B/s")
    capacity_bytes: float = key("", "B")
    double_buffered: bool = key()
    efficiency: float = key()
    energy_per_byte_J: float = key("", "J/B")
    latency_s: float = key("", "s")
    origins: Dict[str, Origin] = key()
    sector_bytes: Optional[float] = key("", "B")


class Machine(Record):
    """An object of the document."""

    name: str = key()
    file: Optional[str] = key()
    line: Optional[int] = key()
    column: Optional[int] = key()
    area_m2: Optional[float] = key("", "m²")
    calibration: Optional[Calibration] = key("the efficiency that measured steps, or those of other machines, give it")
    clock_hz: float = key("", "Hz")
    cores: List[Core] = key()
    cost_model: str = key()
    energy_per_flop_J: float = key("", "J/FLOP")
    energy_per_flop_by_type_J: Optional[Dict[str, float]] = key("", "J/FLOP")
    host_bandwidth_bytes_per_s: Optional[float] = key("", "B/s")
    host_overhead_per_microbatch_s: float = key("", "s")
    host_overhead_per_step_s: float = key("", "s")
    idle_W: float = key("", "W")
    kernel_launch_overhead_s: float = key("", "s")
    memories: List[MachineMemory] = key()
    origins: Dict[str, Origin] = key()
    tdp_W: float = key("", "W")


class RunValue(Record):
    """An object of the document."""

    value: float = key("mean")
    high: float = key("95 % quantile, or the mean where that is above it")
    low: float = key("5 % quantile, or the mean where that is below it")


class Estimate(Record):
    """An object of the document."""

    time_s: RunValue = key("calendar time")
    energy_J: RunValue = key()
    carbon_g: RunValue = key()
    checkpoint_interval_s: float = key("of training between two checkpoints", "s")
    checkpoint_s: float = key("of writing one", "s")
    checkpoints_s: float = key("", "s")
    device_hours: RunValue = key()
    goodput: RunValue = key("effective training time ratio")
    interruptions: RunValue = key("failures, those during outages among them")
    lost_work_s: float = key("", "s")
    outages_s: float = key("", "s")
    price: RunValue = key()
    spare_servers_needed: int = key("minimum of spare servers with which at most 0.1 % of the time is spent waiting for repair")
    step_s: float = key("means of what the calendar time consists of: this one and the next five", "s")
    stragglers_s: float = key("", "s")
    waiting_for_repair_s: float = key("", "s")


class RunInput(Record):
    """An object of the document."""

    value: float = key("median")
    high: float = key("95 % quantile")
    low: float = key("5 % quantile")


class Problem(Record):
    """An object of the document."""

    step_time_s: RunInput = key("without stragglers")
    asynchronous: bool = key()
    blocking_s: RunInput = key("of an asynchronous checkpoint")
    carbon_g_per_J: float = key("", "J")
    checkpoint_bytes: float = key("", "B")
    checkpoint_bytes_per_s: RunInput = key()
    detection_s: RunInput = key()
    devices: int = key()
    energy_per_step_J: RunInput = key()
    failures_per_s: RunInput = key("of one device in a second")
    idle_W: float = key("of all devices while no step runs", "W")
    interval_s: float = key("as asked for; 0: the best is chosen", "s")
    price_per_s: float = key("", "s")
    repair_s: RunInput = key()
    repair_share: float = key("of failures")
    restart_s: RunInput = key()
    samples: float = key("that all steps see together")
    servers: int = key()
    slowdown: RunInput = key("share by which stragglers lengthen a step")
    spare_servers: int = key("-1: always enough")
    steps: float = key()


class Run(Record):
    """All steps, with failures, where the job states how long to train."""

    assumptions: List[str] = key()
    estimate: Estimate = key()
    problem: Problem = key()


class Step(Record):
    """An object of the document."""

    early: bool = key()
    from_: int = key(name="from")
    other: int = key()
    rule: Literal["chain", "pair", "compulsory", "energy", "set"] = key()
    task: int = key()
    tasks: Optional[List[int]] = key()
    time: int = key()
    to: int = key()


class Proven(Record):
    """An object of the document."""

    kind: Literal["trivial", "path", "set", "windows", "solver", "budgets", "subsets"] = key()
    proof: str = key()
    resource: int = key()
    steps: List[Step] = key()
    tasks: List[int] = key()
    unit_ps: Optional[int] = key("", "ps")
    value_ps: int = key("", "ps")
    weights: Optional[List[int]] = key("of `tasks`, times `unit_ps`: none that may run at once have more than 1 as the sum of weight / duration")


class Slot(Record):
    """An object of the document."""

    core: int = key()
    instance: int = key()
    operation: int = key()
    start_ps: int = key("", "ps")
    duration_ps: int = key("", "ps")


class ScheduleRegion(Record):
    """An object of the document."""

    critical_path_ps: int = key("", "ps")
    length_ps: int = key("from the start of one iteration to that of the next", "ps")
    overhang_ps: Optional[int] = key("how long an iteration goes on after the next has started, where iterations overlap", "ps")
    proven: Optional[Proven] = key()
    resource_bound_ps: int = key("", "ps")
    slots: List[Slot] = key()


class Schedule(Record):
    """An object of the document."""

    proof: str = key()
    bound_ps: int = key("", "ps")
    regions: List[ScheduleRegion] = key()
    step_ps: int = key("", "ps")
    stopped: Optional[Literal["work limit", "time limit", "interrupted"]] = key()


class StepTimeEstimate(Record):
    """90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet."""

    high_s: float = key("", "s")
    ideal_s: float = key("", "s")
    low_s: float = key("", "s")
    source: str = key("the calibration")


class WhatIf(Record):
    """An object of the document."""

    step_time_s: float = key("", "s")
    throughput: float = key()
    change: str = key()
    feasible: bool = key()
    memory_bytes: int = key("", "B")
    note: str = key("what it gains")


class Plan(Answer):
    """The whole plan: what accord verify, explain and diff read. Times in _s are seconds, in _ps whole picoseconds."""

    _table = "operations"
    schema: Literal[2] = key()
    command: Literal["compile"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    job: str = key()
    objective: Objective = key()
    bound: Bound = key("no plan of this space is better")
    gap: float = key("distance to the bound as a share")
    step_time_s: float = key("", "s")
    throughput: float = key("samples per second")
    batch: int = key("samples per step")
    tensor_parallel: int = key()
    pipeline_parallel: int = key()
    data_parallel: int = key()
    microbatch: int = key()
    microbatches: int = key()
    energy_J: float = key("of one step", "J")
    flops: float = key("of all operations of one step", "FLOP")
    stages: List[Stage] = key()
    memory: Memory = key()
    conflict: List[Conflict] = key()
    assumptions: List[str] = key()
    architecture: Optional[Architecture] = key("what frameworks call the model")
    costs: Costs = key()
    critical_path: List[int] = key()
    excluded_candidates: Optional[int] = key("of an infeasible plan: micro-batch sizes and kinds of recomputation that bounds exclude, all there are")
    graph: Graph = key()
    machine: Machine = key()
    mfu: float = key("model FLOPs utilization, a share")
    model_flops: float = key("multiply-accumulates of one step, times 2", "FLOP")
    recompute: Literal["none", "selective", "full"] = key()
    run: Optional[Run] = key("all steps, with failures, where the job states how long to train")
    schedule: Schedule = key()
    sequence: Optional[int] = key("tokens of a sample")
    step_time_estimate: Optional[StepTimeEstimate] = key("90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet")
    timing_ps: List[List[int]] = key("earliest and latest start of each operation in its region", "ps")
    what_if: Optional[List[WhatIf]] = key("the same training with one thing changed, planned anew")
