"""The document `accord compile --json of a cluster, plan.json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Accuracy", "Architecture", "Bound", "Budget", "BytesByKind", "Communication", "Conflict", "Data", "Decision", "Devices", "Estimate", "Flow", "Framework", "Groups", "GroupsStage", "Link", "Memory", "MemoryEntry", "Objective", "ParallelConfig", "ParetoFront", "Placement", "Problem", "Recompute", "Run", "RunInput", "RunValue", "RunnersUp", "Sparsity", "Stage", "Step", "StepTimeEstimate", "Tensor", "Traffic", "Training", "WhatIf"]


class Objective(Record):
    """An object of the document."""

    name: Literal["step_time", "energy", "price", "tdp_time", "memory", "carbon"] = key()
    value: float = key()
    unit: str = key()


class Bound(Record):
    """No plan of this space is better."""

    value: float = key()
    unit: str = key()
    proof: str = key()


class Memory(Record):
    """Of one device."""

    activations_bytes: int = key("", "B")
    allocated_bytes: Optional[int] = key("with buckets of gradients, as the allocator of the framework counts at its peak; where one is stated", "B")
    capacity_bytes: int = key("what a plan may use of the device", "B")
    device_capacity_bytes: Optional[int] = key("of the device", "B")
    gradients_bytes: int = key("", "B")
    host_bytes: Optional[int] = key("of the host's memory, for one device; none unless stated", "B")
    on_device_bytes: Optional[int] = key("with contexts and communication buffers, as a tool of the driver shows", "B")
    optimizer_states_bytes: int = key("", "B")
    peak_bytes: int = key("their sum", "B")
    reserved_bytes: Optional[int] = key("what the allocator has then", "B")
    weights_bytes: int = key("", "B")
    workspace_bytes: int = key("", "B")


class Devices(Record):
    """An object of the document."""

    count: int = key()
    device_type: str = key()
    first: int = key("rank within the device type")
    first_node: int = key()
    nodes: int = key()


class ParallelConfig(Record):
    """An object of the document."""

    microbatch: int = key()
    context: Optional[int] = key("devices that share each sample along its sequence, beside data; 1 unless stated")
    context_exchange: Optional[Literal["ring", "all_gather", "all_to_all"]] = key("how keys and values of other parts of a sequence come")
    data: int = key()
    expert: Optional[int] = key("replicas that divide the experts; 1 unless stated")
    expert_tensor: Optional[int] = key("tensor parallel devices that divide each expert's matrices; 1 unless stated")
    optimizer_on_host: Optional[bool] = key()
    rank_order: Optional[Literal["tensor_data_pipeline", "tensor_pipeline_data"]] = key("tensor_data_pipeline unless stated")
    ring_overlap: Optional[bool] = key("products in pieces, beside the exchange of others")
    sequence: bool = key()
    tables: Optional[Literal["whole", "rows", "columns"]] = key("of embedding tables that replicas divide")
    tensor: int = key()
    weights_on_host: Optional[bool] = key()
    zero: int = key("ZeRO stage")


class Recompute(Record):
    """An object of the document."""

    count: int = key()
    layers: List[str] = key()
    policy: str = key()


class Step(Record):
    """Where the time of a device goes in one step."""

    backward_s: float = key("", "s")
    bubble_s: float = key("", "s")
    forward_s: float = key("", "s")
    gradient_sync_s: float = key("", "s")
    host_s: float = key("", "s")
    recompute_s: float = key("", "s")
    transfer_s: float = key("", "s")
    update_s: float = key("", "s")


class Stage(Record):
    """An object of the document."""

    memory: Optional[Memory] = key("of one device")
    backward_s: float = key("of one micro-batch, with both gradients and what is computed again", "s")
    bubble: Optional[float] = key("of the step")
    devices: Optional[Devices] = key()
    forward_s: float = key("of one micro-batch, with what is received", "s")
    group: int = key()
    in_flight: int = key("micro-batches whose activations it holds when the memory use of its devices is highest")
    layer_count: int = key()
    layers: List[str] = key("names; runs as block[0..11]")
    parallel_config: ParallelConfig = key()
    recompute: List[Recompute] = key()
    step: Optional[Step] = key("where the time of a device goes in one step")
    virtual_stage: int = key()


class MemoryEntry(Record):
    """Of the device whose memory use is highest."""

    activations_bytes: int = key("", "B")
    allocated_bytes: Optional[int] = key("with buckets of gradients, as the allocator of the framework counts at its peak; where one is stated", "B")
    capacity_bytes: int = key("what a plan may use of the device", "B")
    device_capacity_bytes: Optional[int] = key("of the device", "B")
    gradients_bytes: int = key("", "B")
    host_bytes: Optional[int] = key("of the host's memory, for one device; none unless stated", "B")
    on_device_bytes: Optional[int] = key("with contexts and communication buffers, as a tool of the driver shows", "B")
    optimizer_states_bytes: int = key("", "B")
    peak_bytes: int = key("their sum", "B")
    reserved_bytes: Optional[int] = key("what the allocator has then", "B")
    stage: int = key()
    weights_bytes: int = key("", "B")
    workspace_bytes: int = key("", "B")


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()
    file: str = key()
    line: int = key()
    detail: Optional[str] = key()


class Architecture(Record):
    """What frameworks call the model, where it was looked for."""

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


class Communication(Record):
    """An object of the document."""

    time_s: float = key("each time", "s")
    bytes: float = key("each time", "B")
    exposed_s: Optional[float] = key("not hidden behind the backward pass", "s")
    from_stage: Optional[int] = key()
    intra_node: bool = key()
    per_step: int = key("how often")
    stage: Optional[int] = key()
    to_stage: Optional[int] = key()
    what: Literal["activations", "gradients"] = key()


class Framework(Record):
    """What a framework makes of memory; where one is stated."""

    name: str = key()
    communication_bytes: int = key("outside of the allocator", "B")
    confidence: float = key("of the margin")
    context_bytes: int = key("outside of the allocator", "B")
    margin: float = key("share that the prediction may be too low")
    reserved_ratio: float = key("reserved over allocated bytes")


class Data(Record):
    """An object of the document."""

    count: int = key()
    first: int = key()
    stride: int = key()


class Tensor(Record):
    """An object of the document."""

    count: int = key()
    first: int = key()
    stride: int = key()


class GroupsStage(Record):
    """An object of the document."""

    data: Data = key()
    data_groups: int = key()
    device_type: str = key()
    tensor: Tensor = key()
    tensor_groups: int = key("such groups in the stage")


class Groups(Record):
    """An object of the document."""

    stages: List[GroupsStage] = key("the first tensor and data group of each device group")
    first_pipeline: List[int] = key("ranks of the first pipeline group, each within its device type")
    rule: str = key()


class ParetoFront(Record):
    """An object of the document."""

    step_time_s: float = key("", "s")
    throughput: float = key("samples per second")
    energy_J: float = key("of one step", "J")
    devices: int = key()
    memory_bytes: int = key("of the device whose memory use is highest", "B")
    parallel_degrees: str = key()
    price: float = key("of one step")
    what: str = key()


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


class RunnersUp(Record):
    """An object of the document."""

    value: float = key("of the objective")
    gap: float = key("share of the objective by which another plan of these degrees may be better")
    step_time_s: float = key("", "s")
    tensor_parallel: int = key()
    pipeline_parallel: int = key()
    data_parallel: int = key()
    microbatch: int = key()
    microbatches: int = key()
    bubble: float = key("of the devices' time")
    context_parallel: Optional[int] = key()
    devices: int = key()
    fits: bool = key()
    memory_bytes: int = key("of its device whose memory use is highest", "B")
    relative_loss: float = key("share that the objective is worse")
    schedule: Literal["gpipe", "one_f_one_b", "interleaved", "zero_bubble", "zero_bubble_v"] = key()
    sequence_parallel: bool = key()
    uniform_config: bool = key()
    virtual_stages: int = key()
    zero: int = key("ZeRO stage")


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


class Budget(Record):
    """An object of the document."""

    max: int = key()
    used: int = key()
    what: str = key()


class Decision(Record):
    """An object of the document."""

    layers: List[str] = key()
    option: str = key()
    options: int = key("to choose from")


class Sparsity(Record):
    """Zeros of layers, chosen together with the placement."""

    accuracy: Optional[Accuracy] = key()
    budgets: List[Budget] = key()
    decisions: List[Decision] = key("layers that are decided together")
    dense_value: Optional[float] = key("of the objective, of the best dense plan that was found")
    parts: int = key("parts of the choices of zeros that the search looked at")


class StepTimeEstimate(Record):
    """90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: these degrees at the rates of the data sheet."""

    high_s: float = key("", "s")
    ideal_s: float = key("", "s")
    low_s: float = key("", "s")
    source: str = key("the calibration")


class Flow(Record):
    """An object of the document."""

    kind: Literal["tensor", "context", "expert", "tables", "data", "pipeline", "host"] = key()
    bytes: float = key("", "B")
    group: int = key()
    link: int = key("position among the links")


class BytesByKind(Record):
    """Of these, by what they are sent for."""

    context: Optional[float] = key()
    data: Optional[float] = key()
    expert: Optional[float] = key()
    host: Optional[float] = key()
    pipeline: Optional[float] = key()
    tables: Optional[float] = key()
    tensor: Optional[float] = key()


class Link(Record):
    """An object of the document."""

    name: str = key()
    bytes: float = key("sent by all devices", "B")
    bandwidth: float = key("of one link in one direction, bytes/s")
    busiest_bytes: Optional[float] = key("that these devices send", "B")
    busiest_rank: Optional[int] = key("first rank of the devices whose link carries more than any other one")
    bytes_by_kind: BytesByKind = key("of these, by what they are sent for")
    device_type: str = key()
    devices: int = key("that share one link")
    used: int = key("links that carry any")
    utilization: float = key("share of the step for which that link carries them at its bandwidth")


class Traffic(Record):
    """What devices send over which links in one step, inside of layers, too."""

    busiest_link: Optional[int] = key("of the links, the position of that with the highest utilization")
    flows: List[Flow] = key("of each device of a stage's group, the mean over them")
    links: List[Link] = key("each a kind of equal links: a level of a network, or what joins devices to their hosts")


class Training(Record):
    """All steps, where the job states samples or tokens to train on."""

    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    price: float = key()
    samples: float = key()
    steps: float = key()
    tokens: Optional[float] = key()


class WhatIf(Record):
    """An object of the document."""

    value: float = key("of the objective then")
    what: str = key()


class Placement(Answer):
    """Stages on groups of devices: what accord verify, explain, diff and emit read, with certificate/placement.json, from which it follows. Times in _s are seconds."""

    _table = "stages"
    schema: Literal[2] = key()
    command: Literal["compile"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key("unknown: the search ended before it found a plan or proved that none fits")
    job: str = key()
    kind: Literal["placement"] = key()
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key("no plan of this space is better")
    gap: Optional[float] = key("distance to the bound as a share")
    step_time_s: Optional[float] = key("", "s")
    throughput: Optional[float] = key("samples per second")
    batch: int = key("samples per step")
    tensor_parallel: Optional[int] = key("of the first stage")
    pipeline_parallel: Optional[int] = key("device groups in a row")
    data_parallel: Optional[int] = key("of the first stage")
    microbatch: Optional[int] = key()
    microbatches: Optional[int] = key()
    energy_J: Optional[float] = key("of one step, of devices and hosts", "J")
    stages: Optional[List[Stage]] = key("in their order; stage s is on device group s modulo pipeline_parallel, and what belongs to the group stands at its first stage")
    memory: Optional[MemoryEntry] = key("of the device whose memory use is highest")
    conflict: List[Conflict] = key()
    assumptions: List[str] = key()
    architecture: Optional[Architecture] = key("what frameworks call the model, where it was looked for")
    bubble: Optional[float] = key("of the devices' time")
    certificate_sha256: str = key("of certificate/placement.json, from which this follows")
    cluster: str = key()
    communication: Optional[List[Communication]] = key("of one device")
    context_parallel: Optional[int] = key("of the first stage, where devices share samples along their sequences; beside data_parallel")
    devices: Optional[int] = key("used")
    framework: Optional[Framework] = key("what a framework makes of memory; where one is stated")
    groups: Optional[Groups] = key()
    host_power_W: Optional[float] = key("of the hosts alone, in W", "W")
    layers: int = key()
    mfu: Optional[float] = key("model FLOPs utilization of the devices used, a share; only where their peak is known")
    model: str = key()
    model_flops: float = key("of one step", "FLOP")
    optimizer: str = key()
    parameters: int = key()
    pareto_front: List[ParetoFront] = key("this plan and those with fewer devices or less memory, none of which beats another in everything")
    precision: str = key()
    price: Optional[float] = key("of one step")
    relaxations: List[str] = key("what would make it feasible")
    run: Optional[Run] = key("all steps, with failures, where the job states how long to train")
    runners_up: List[RunnersUp] = key("best first")
    schedule: Optional[Literal["gpipe", "one_f_one_b", "interleaved", "zero_bubble", "zero_bubble_v"]] = key()
    sequence_parallel: Optional[bool] = key()
    sizes: Dict[str, int] = key("integer parameters of the model, by name")
    sparsity: Optional[Sparsity] = key("zeros of layers, chosen together with the placement")
    step_time_estimate: Optional[StepTimeEstimate] = key("90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: these degrees at the rates of the data sheet")
    traffic: Optional[Traffic] = key("what devices send over which links in one step, inside of layers, too")
    training: Optional[Training] = key("all steps, where the job states samples or tokens to train on")
    uniform_config: Optional[bool] = key("all stages have the degrees of the first")
    virtual_stages: Optional[int] = key("stages of each device group")
    what_if: List[WhatIf] = key()
    zero: Optional[int] = key("ZeRO stage")
