"""The document `accord mine --json, mine.json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bound", "Certificate", "Choice", "Compared", "ComparedDesign", "Conflict", "Convergence", "Delay", "Dense", "DenseDesign", "Design", "DesignEntry", "DesignStep", "Evaluated", "EvaluatedDesign", "Fraction", "Individual", "IndividualDesign", "Limit", "Mine", "Objective", "Parameter", "ParetoFront", "ParetoFrontDesign", "Placement", "Reference", "Relaxed", "Requirement", "Search", "Sensitivity", "Space", "Sparsity", "Stage", "Stages", "Step"]


class Objective(Record):
    """An object of the document."""

    name: str = key("step_time, tdp_time, energy, area_time, an expression that is minimized, or minimax_regret of one of them")
    value: Optional[float] = key("null: no design")
    unit: str = key()


class Bound(Record):
    """An object of the document."""

    value: Optional[float] = key()
    unit: str = key()
    proof: str = key()


class Stage(Record):
    """An object of the document."""

    backward_s: float = key("with gradients of weights and what is computed again", "s")
    design: str = key("name of one of the designs")
    devices: int = key()
    first_layer: str = key()
    forward_s: float = key("of a micro-batch", "s")
    last_layer: str = key()
    layers: int = key()
    memory_bytes: float = key("", "B")
    step_tail_s: float = key("after the last micro-batch: exchange of gradients, update", "s")


class Placement(Record):
    """On a cluster: degrees, micro-batches, and layers by what is computed again."""

    tensor_parallel: int = key()
    pipeline_parallel: int = key("device groups in a row")
    data_parallel: int = key()
    microbatch: int = key()
    microbatches: int = key()
    devices: int = key()
    recompute: Dict[str, int] = key("layers by policy")
    schedule: Literal["gpipe", "one_f_one_b", "interleaved", "zero_bubble", "zero_bubble_v"] = key()
    sequence_parallel: bool = key()
    virtual_stages: int = key("virtual pipeline stages of a device")
    zero: int = key()


class Sparsity(Record):
    """An object of the document."""

    layer: str = key()
    m: int = key()
    n: int = key()
    transposable: Optional[Literal[True]] = key("along the outputs, too")


class Step(Record):
    """An object of the document."""

    job: str = key()
    value: Optional[float] = key("of the metric")
    step_time_s: float = key("", "s")
    throughput: float = key("samples a second")
    batch: int = key()
    energy_J: float = key("", "J")
    alternative: str = key("micro-batch and recomputation, and degrees on a cluster")
    individual_best: Optional[float] = key("value of the job's own best design")
    memory_bytes: float = key("", "B")
    placement: Optional[Placement] = key("on a cluster: degrees, micro-batches, and layers by what is computed again")
    sparsity: Optional[List[Sparsity]] = key("layers whose weights have zeros: n of every m along the reduction are kept")
    weight: Optional[float] = key("what it counts in the sum, where that is not 1")


class Design(Record):
    """An object of the document."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class Stages(Record):
    """A design for each stage of the pipeline (--stages)."""

    value: float = key("of the metric; area_time with the mean area of the devices")
    bound: float = key("no stages on any designs of the space have a smaller value; 0: not known")
    proof: str = key("what the bound follows from")
    gap: Optional[float] = key()
    stages: List[Stage] = key()
    best_accel_sha256: Optional[str] = key("of best.accel, where it describes these designs")
    bounds: int = key("bounds of sets of designs that were computed for them")
    candidates: int = key("designs for stages, of each tensor degree and micro-batch")
    common: float = key("the same of the best common design: not less")
    designs: List[Design] = key()
    evaluations: int = key("designs evaluated for classes and mixes of layers")
    step: Step = key()


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()
    file: str = key()
    line: int = key()


class Certificate(Record):
    """An object of the document."""

    name: str = key()
    sha256: str = key()


class ComparedDesign(Record):
    """One design and what the jobs take on it."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class Convergence(Record):
    """An object of the document."""

    bound: Optional[float] = key()
    bounds: int = key()
    evaluations: int = key()
    incumbent: Optional[float] = key()
    processor_s: Optional[float] = key("compared by time: since the search began; depends on the machine", "s")


class Search(Record):
    """How a design was searched for."""

    value: Optional[float] = key("null: no design")
    bound: Optional[float] = key("no design of the space has a smaller value; 0: not known")
    proof: str = key("what the bound follows from")
    gap: Optional[float] = key()
    bounds: int = key("bounds of sets of designs that were computed")
    convergence: List[Convergence] = key("whenever incumbent or bound changed")
    evaluations: int = key("designs evaluated")
    is_optimal: bool = key("no design has a smaller value as designs are evaluated; the bound may be below, for another schedule")
    processor_s: Optional[float] = key("compared by time; depends on the machine", "s")
    strategy: str = key()


class Compared(Record):
    """An object of the document."""

    design: Optional[ComparedDesign] = key("one design and what the jobs take on it")
    search: Search = key("how a design was searched for")


class DenseDesign(Record):
    """One design and what the jobs take on it."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class Dense(Record):
    """With zeros to choose from: the best design where nothing is zero, by the same search."""

    design: Optional[DenseDesign] = key("one design and what the jobs take on it")
    search: Search = key("how a design was searched for")


class DesignEntry(Record):
    """One design and what the jobs take on it."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class DesignStep(Record):
    """An object of the document."""

    step_time_s: float = key("", "s")
    energy_J: Optional[float] = key("", "J")


class EvaluatedDesign(Record):
    """An object of the document."""

    value: float = key()
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    non_dominated: bool = key("no other evaluated design is as good in value, area and tdp")
    steps: Optional[List[DesignStep]] = key("by job, in the order of the best design's")
    tdp_W: Optional[float] = key("", "W")


class Evaluated(Record):
    """Designs that the search evaluated, as many as a page can show."""

    count: int = key("evaluated designs that satisfy the requirements and have room for the jobs")
    designs: List[EvaluatedDesign] = key("by value: non-dominated ones, the best with each choice of each parameter, and others drawn evenly")
    is_truncated: bool = key("there were more of them at a time than the search keeps")
    non_dominated: int = key("of these, designs that no other one of them is as good as in value, area and tdp; of the designs that were not evaluated nothing is said")


class IndividualDesign(Record):
    """One design and what the jobs take on it."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class Individual(Record):
    """An object of the document."""

    design: Optional[IndividualDesign] = key("one design and what the jobs take on it")
    search: Search = key("how a design was searched for")


class Delay(Record):
    """An object of the document."""

    core: str = key()
    operations: int = key("each counted once, however often it runs")
    seconds: float = key("that they begin later for it, in a step")


class Fraction(Record):
    """An object of the document."""

    fraction: float = key()
    resource: str = key("a core, the bandwidth of a memory, the launch of kernels or the host, by its name")


class Limit(Record):
    """An object of the document."""

    job: str = key()
    delays: Optional[List[Delay]] = key("cores that keep operations waiting which have no slack where cores are unlimited")
    fractions: List[Fraction] = key()


class ParetoFrontDesign(Record):
    """An object of the document."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    value: Optional[float] = key()
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class ParetoFront(Record):
    """Designs of which none is better in everything."""

    proof: str = key()
    bounds: int = key()
    designs: List[ParetoFrontDesign] = key("by value")
    epsilon: Optional[float] = key("every design of the space is in everything within this share of one of them, as designs are evaluated; 0: the whole front; null: not known")
    epsilon_upper_bound: Optional[float] = key("the same whatever schedules there are of the designs that are not listed")
    evaluations: int = key()
    objectives: List[Literal["value", "area", "tdp"]] = key("value, area, tdp")


class Reference(Record):
    """A machine that the best design is compared with."""

    name: str = key("common, the job that it is for, the strategy that found it, or its number on the front")
    area_mm2: Optional[float] = key("", "mm²")
    chosen: Dict[str, str] = key("value by parameter, as written")
    steps: List[Step] = key()
    tdp_W: Optional[float] = key("", "W")


class Relaxed(Record):
    """The best design with this limit times factor, searched for with twice the effort of the search."""

    value: Optional[float] = key()
    bound: Optional[float] = key("no design has a smaller value then, by any schedule")
    chosen: Dict[str, str] = key()
    factor: float = key()
    is_optimal: bool = key("value is the minimum as designs are evaluated")


class Requirement(Record):
    """An object of the document."""

    figure: Optional[Literal["area", "tdp"]] = key("what is limited, where that is one of these alone")
    is_maximum: Optional[bool] = key("false: it is a minimum")
    limit: Optional[float] = key("in mm2 of an area, in W of a tdp")
    relaxed: Optional[Relaxed] = key("the best design with this limit times factor, searched for with twice the effort of the search")
    requirement: str = key()
    usage: Optional[str] = key("the numbers of used, with their units")
    utilization: Optional[float] = key("share of the limit; not there: it is none")


class Choice(Record):
    """An object of the document."""

    value: Optional[float] = key("of the design that differs in this alone; null: it may not be")
    bound: Optional[float] = key("no design with this choice has a smaller value, by any schedule; null: none may be")
    best: Optional[float] = key("minimum value that was found of all designs with this choice")
    choice: str = key()
    chosen: Optional[Literal[True]] = key()
    is_optimal: Optional[bool] = key("best is the minimum as designs are evaluated")
    reason: Optional[str] = key("it may not be")


class Sensitivity(Record):
    """An object of the document."""

    bottleneck_gain: Optional[float] = key("by what share a better choice of this alone shortens the step at most")
    choices: List[Choice] = key()
    parameter: str = key()


class Parameter(Record):
    """An object of the document."""

    name: str = key()
    values: List[str] = key()


class Space(Record):
    """An object of the document."""

    name: str = key()
    designs: str = key("their number, exact")
    parameters: List[Parameter] = key()
    requirements: List[str] = key()


class Mine(Answer):
    """The best accelerator of a design space for training jobs."""

    schema: Literal[2] = key()
    command: Literal["mine"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key("unknown: the search ended before it found a design or proved that there is none")
    objective: Objective = key()
    bound: Bound = key()
    gap: Optional[float] = key("distance to the bound as a share; null: no bound is known")
    stages: Optional[Stages] = key("a design for each stage of the pipeline (--stages)")
    conflict: Optional[List[Conflict]] = key("a requirement that no design keeps")
    assumptions: List[str] = key()
    certificate: Optional[List[Certificate]] = key("what proves the answer: certificate, and the plans by which its designs are evaluated")
    compared: Optional[List[Compared]] = key("other strategies on the same problem")
    compared_by: Optional[Literal["evaluations", "time"]] = key("what the compared strategies had as much of as the chosen one")
    dense: Optional[Dense] = key("with zeros to choose from: the best design where nothing is zero, by the same search")
    design: Optional[DesignEntry] = key("one design and what the jobs take on it")
    evaluated: Optional[Evaluated] = key("designs that the search evaluated, as many as a page can show")
    individual: Optional[List[Individual]] = key("several jobs: the best design of each alone")
    limits: Optional[List[Limit]] = key("of the design, by job: shares of the step, by what binds the operations of its longest path")
    pareto_front: Optional[ParetoFront] = key("designs of which none is better in everything")
    reference: Optional[Reference] = key("a machine that the best design is compared with")
    requirements: Optional[List[Requirement]] = key("what the design takes of each requirement's limit")
    search: Search = key("how a design was searched for")
    sensitivity: Optional[List[Sensitivity]] = key("by parameter: the value of each choice")
    space: Space = key()
