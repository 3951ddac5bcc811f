"""A function for each command, with its options as keyword arguments. Made by scripts/python_package.py; do not edit."""

from typing import Literal, Optional, Sequence, Union, cast

from .ask import Options, Value, asked, checked, told
from .results import (
    Actor,
    Calibrate,
    Choose,
    Compare,
    CompareCluster,
    Diff,
    Emit,
    Estimate,
    Explain,
    JobSchedule,
    Jobs,
    Latency,
    LayerPlan,
    ListAnswer,
    Mine,
    Noise,
    Operations,
    Partition,
    Placement,
    Plan,
    Prune,
    Rates,
    Schedule,
    Servers,
    Steps,
    Time,
    Tune,
    Verify,
    Vote,
    VoteAnswers,
)

__all__ = [
    "calibrate",
    "choose",
    "compare",
    "compile_",
    "diff",
    "emit",
    "estimate",
    "explain",
    "format_",
    "import_model",
    "jobs",
    "latency",
    "list_",
    "mine",
    "partition",
    "prune",
    "schedule",
    "time",
    "tune",
    "verify",
    "vote",
]


@checked("accuracy", "placements")
def calibrate(
    rows: Value,
    *,
    target: Optional[Value] = None,
    out: Optional[Value] = None,
    where: Optional[Union[Value, Sequence[Value]]] = None,
    prior: Optional[Value] = None,
    cluster: bool = False,
    check: Optional[Value] = None,
    operations: bool = False,
    devices: Optional[Value] = None,
    rates: bool = False,
    application: Optional[Value] = None,
    known: Optional[Union[Value, Sequence[Value]]] = None,
    curves: bool = False,
    batch: Optional[int] = None,
    metric: Optional[float] = None,
    gradient_noise: bool = False,
) -> Union[Calibrate, Operations, Rates, Steps, Noise]:
    """Fit a machine's parameters to measured step times.

    rows: Table of measured steps (.csv)
    target: Machine of all rows: a catalogue name, or FILE.accel[:NAME] (default: the machine that each row names)
    out: Calibration file to write; FOLDER/: one for each machine of the rows
    where: COLUMN=VALUE: only such rows (may be repeated; values of one column are alternatives)
    prior: Calibration that stands where the rows say little, instead of the defaults of data sheets
    cluster: The rows are of the cluster that plans will be of: its steps lie as near as rows that are left out
    check: Score the rows with this calibration instead of fitting
    operations: The rows are single operations: fit and predict their times
    devices: With --operations: table of data sheets (default: devices.csv of the catalogue)
    rates: The rows are rates of jobs by device type (.json, Gavel) or profiles (a folder, Pollux): how well those of left-out models are predicted
    application: With --rates: predict the rates of this one from those of all others; with --curves: its steps
    known: With --application: TYPExDEVICES=RATE, what it was measured to do there
    curves: A folder with a folder for each application, which has its validation-BATCH.csv (Pollux): how well steps with other batches are predicted from the gradient noise
    batch: With --curves --application: the run that is known (default: with the smallest batch)
    metric: With --curves --application: steps until this metric (default: until the end of that run)
    gradient_noise: The rows are gradient noise scales of trainings, as in gradient-noise.csv of the catalogue: how well those of left-out models are predicted
    """
    options: Options = {
        "--target": target,
        "--output": out,
        "--where": where,
        "--prior": prior,
        "--cluster": cluster,
        "--check": check,
        "--operations": operations,
        "--devices": devices,
        "--rates": rates,
        "--application": application,
        "--known": known,
        "--curves": curves,
        "--batch": batch,
        "--metric": metric,
        "--gradient-noise": gradient_noise,
    }
    answer = asked("calibrate", [rows], options, [Calibrate, Operations, Rates, Steps, Noise], writes=False)
    return cast("Union[Calibrate, Operations, Rates, Steps, Noise]", answer)


@checked()
def choose(
    files: Union[Value, Sequence[Value]],
    *,
    from_: Optional[Union[Value, Sequence[Value]]] = None,
    inventory: Optional[Union[Value, Sequence[Value]]] = None,
    train: Optional[Union[Value, Sequence[Value]]] = None,
    deadline: Optional[Value] = None,
    budget: Optional[Value] = None,
    power: Optional[Value] = None,
    minimize: Optional[Literal["cost", "time", "energy", "carbon"]] = None,
    intensity: Optional[Union[Value, Sequence[Value]]] = None,
    samples: Optional[float] = None,
    max_instances: Optional[int] = None,
    spot: bool = False,
    no_spot: bool = False,
    sure: bool = False,
    sky: Optional[Value] = None,
    out: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    effort: Optional[int] = None,
) -> Choose:
    """Choose offers of clouds or of an inventory for trainings, under a deadline, a budget and a power.

    files: .dnn files: each `train` block is a training, beside the others
    from_: Price list with SkyPilot's columns: InstanceType, AcceleratorName, AcceleratorCount, Price, … (may be repeated)
    inventory: A .accel file: its clusters are there, or describe an accelerator of a list (may be repeated)
    train: Which `train` blocks (default: all of the files)
    deadline: Time of each training, as in 48h
    budget: Price of all trainings, as in '5000 USD'
    power: Power of all that run together, as in '20 kW'
    minimize: cost, time, energy or carbon (default: cost)
    intensity: Greenhouse gases of electricity, as in '400 g/kWh' or 'eu-north1=30 g/kWh' (may be repeated)
    samples: Samples of each training (overrides the files)
    max_instances: Instances of one training at most (default: 16)
    spot: Spot instances only (default: both)
    no_spot: No spot instances
    sure: The upper end of the interval of time keeps the deadline
    sky: A .yaml file to write: a task of SkyPilot; of several trainings one file for each
    out: Folder for choose.json, choose.txt and what `accord verify` needs
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    """
    options: Options = {
        "--from": from_,
        "--inventory": inventory,
        "--train": train,
        "--deadline": deadline,
        "--budget": budget,
        "--power": power,
        "--minimize": minimize,
        "--intensity": intensity,
        "--samples": samples,
        "--max-instances": max_instances,
        "--spot": spot,
        "--no-spot": no_spot,
        "--sure": sure,
        "--sky": sky,
        "--output": out,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--effort": effort,
    }
    answer = asked("choose", [files], options, [Choose], writes=False)
    return cast("Choose", answer)


@checked()
def compare(
    plan: Value,
    traces: Union[Value, Sequence[Value]],
    *,
    from_: Optional[Value] = None,
    step: Optional[int] = None,
    device: Optional[int] = None,
    report_: Optional[Value] = None,
    rows: Optional[Value] = None,
    operations: Optional[Value] = None,
    all: bool = False,
) -> Union[Compare, CompareCluster]:
    """A plan beside a measured step, operation by operation.

    plan: A folder that `accord compile` wrote, or its plan.json
    traces: A trace of PyTorch's profiler (.json or .json.gz); of a cluster one of each rank, or their folder
    from_: Of a cluster: the .dnn file that the plan was made of, to compare each operation
    step: Number of the step (ProfilerStep#N; default: the one of median length)
    device: Number of the device (default: the one with the most kernel time)
    report_: Write a page with two bars for each operation (.html)
    rows: Write the step as a table for `accord calibrate` (.csv)
    operations: Write the operations as a table for `accord calibrate --operations` (.csv)
    all: Show all operations, in the order of the plan
    """
    options: Options = {
        "--from": from_,
        "--step": step,
        "--device": device,
        "--report": report_,
        "--rows": rows,
        "--operations": operations,
        "--all": all,
    }
    answer = asked("compare", [plan, traces], options, [Compare, CompareCluster], writes=False)
    return cast("Union[Compare, CompareCluster]", answer)


@checked("until")
def compile_(
    file: Value,
    *,
    target: Optional[Value] = None,
    power_level: Optional[Value] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    model_passes: Optional[Value] = None,
    passes: Optional[Value] = None,
    effort: Optional[int] = None,
    framework: Optional[Value] = None,
    out: Optional[Value] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
) -> Union[Plan, Placement]:
    """Find the best plan; write it with latency model, trace and report.

    file: A .dnn file
    target: Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or FILE.accel[:NAME]
    power_level: Level of the devices that have one of this name: power { level NAME { ... } } in their description
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    model_passes: Passes to run on the model, before its training graph is built
    passes: Passes to run on the training graph, as a pipeline: 'a,b{option=1}'
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    framework: Framework that trains on a cluster (overrides the file): a name of the file, its imports or catalog/frameworks.accel
    out: Folder for plan.json, plan.mlir, latency_model.{h,py,js,mlir,csv}, trace.json, report.html, certificate/
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best plan so far is written; it then depends on the machine (default: none)
    """
    options: Options = {
        "--target": target,
        "--power-level": power_level,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--model-passes": model_passes,
        "--passes": passes,
        "--effort": effort,
        "--framework": framework,
        "--output": out,
        "--gap": gap,
        "--time-limit": time_limit,
    }
    answer = asked("compile", [file], options, [Plan, Placement], writes=True)
    return cast("Union[Plan, Placement]", answer)


@checked()
def diff(
    before: Value,
    after: Value,
    *,
    html: Optional[Value] = None,
) -> Diff:
    """What changed between two plans, and why.

    before: A folder or plan.json
    after: A folder or plan.json
    html: Write a page for a browser into this file, too
    """
    options: Options = {
        "--html": html,
    }
    answer = asked("diff", [before, after], options, [Diff], writes=False)
    return cast("Diff", answer)


@checked()
def emit(
    backend: Literal["torchrun", "megatron", "accelerate", "deepspeed", "titan", "maxtext", "slurm", "kubernetes", "chakra", "ensemble"],
    plan: Value,
    *,
    out: Optional[Value] = None,
    classes: Optional[int] = None,
    timeout_ms: Optional[float] = None,
    hosts: Optional[Union[Value, Sequence[Value]]] = None,
    port: Optional[int] = None,
    rank: Optional[int] = None,
    script: Optional[Value] = None,
    image: Optional[Value] = None,
    resource: Optional[Value] = None,
    kind: Optional[Literal["job", "jobset", "trainjob"]] = None,
    runtime: Optional[Value] = None,
    node_label: Optional[Value] = None,
    smoke: bool = False,
    constraint: Optional[Value] = None,
    switches: Optional[int] = None,
    topology: Optional[Value] = None,
    prefer_topology: bool = False,
    group_topology: Optional[Value] = None,
    queue: Optional[Value] = None,
    device_name: Optional[Value] = None,
    product: Optional[Value] = None,
    virtual: bool = False,
) -> Emit:
    """Write a launch script or manifest for a plan.

    backend: torchrun, megatron, accelerate, deepspeed, titan, maxtext, slurm or kubernetes; chakra: execution traces; ensemble: what trains, measures and starts the members of a vote
    plan: A folder that `accord compile` wrote, or its plan.json; ensemble: one of `accord vote`, or its vote.json
    out: File to write (default: standard output); chakra and ensemble: a folder
    classes: Ensemble: how many labels there are
    timeout_ms: Ensemble: from a request to its answer (default: 100)
    hosts: Ensemble: of the used devices, in their order (default: this machine)
    port: Ensemble: of the first member of each host; others follow (default: 8501)
    rank: Chakra: the trace of this rank alone
    script: Kubernetes: the training script in the image
    image: Kubernetes: the container's image
    resource: Kubernetes: the name of a device (default: nvidia.com/gpu)
    kind: Kubernetes: job (a Service and an indexed Job), jobset or trainjob (default: job)
    runtime: Kubernetes: the ClusterTrainingRuntime of a TrainJob (default: torch-distributed)
    node_label: Kubernetes: the label of servers that says which devices they have; empty: none does (default: accord/device)
    smoke: Megatron-LM: a script that builds the model without its memory and compares its parameters with the plan's
    constraint: Slurm: features that servers have to have
    switches: Slurm: at most so many leaf switches connect the servers
    topology: Kubernetes: a label of which all servers of the job have the same value, as of a rack
    prefer_topology: Kubernetes: the job starts all the same where --topology cannot be
    group_topology: Where the servers of each group that exchanges across servers are together: Slurm, block (of topology/block); Kubernetes with --queue, a label
    queue: Kubernetes: the LocalQueue of Kueue that admits the job
    device_name: What Slurm (gres/gpu:NAME) or the label of servers calls the devices (default: the plan's type, in lower case with '-')
    product: What nvidia-smi or its like call the devices, for the guard (default: by the catalogue, or the plan's type)
    virtual: There are no devices, as in tests: the guard compares names of the scheduler alone
    """
    options: Options = {
        "--output": out,
        "--classes": classes,
        "--timeout-ms": timeout_ms,
        "--hosts": hosts,
        "--port": port,
        "--rank": rank,
        "--script": script,
        "--image": image,
        "--resource": resource,
        "--kind": kind,
        "--runtime": runtime,
        "--node-label": node_label,
        "--smoke": smoke,
        "--constraint": constraint,
        "--switches": switches,
        "--topology": topology,
        "--prefer-topology": prefer_topology,
        "--group-topology": group_topology,
        "--queue": queue,
        "--device-name": device_name,
        "--product": product,
        "--virtual": virtual,
    }
    answer = asked("emit", [backend, plan], options, [Emit], writes=False)
    return cast("Emit", answer)


@checked()
def estimate(
    file: Value,
    *,
    target: Optional[Value] = None,
    power_level: Optional[Value] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    model_passes: Optional[Value] = None,
    passes: Optional[Value] = None,
    effort: Optional[int] = None,
    html: Optional[Value] = None,
) -> Estimate:
    """What each operation of a training step costs on a machine.

    file: A .dnn file
    target: Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or FILE.accel[:NAME]
    power_level: Level of the devices that have one of this name: power { level NAME { ... } } in their description
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    model_passes: Passes to run on the model, before its training graph is built
    passes: Passes to run on the training graph, as a pipeline: 'a,b{option=1}'
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    html: Write a page for a browser into this file, too
    """
    options: Options = {
        "--target": target,
        "--power-level": power_level,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--model-passes": model_passes,
        "--passes": passes,
        "--effort": effort,
        "--html": html,
    }
    answer = asked("estimate", [file], options, [Estimate], writes=False)
    return cast("Estimate", answer)


@checked("markdown")
def explain(
    plan: Optional[Value] = None,
    operation: Optional[Value] = None,
) -> Explain:
    """Why a number of a plan is what it is, or what an error code means.

    plan: A folder that `accord compile` wrote, a plan.json, or a code such as A0104
    operation: Name of an operation, of a cluster's plan of a layer; without one, the plan as a whole
    """
    options: Options = {}
    answer = asked("explain", [plan, operation], options, [Explain], writes=False)
    return cast("Explain", answer)


@checked("check", "print")
def format_(
    files: Union[Value, Sequence[Value]],
) -> str:
    """Format .accel and .dnn files in place; every comment stays.

    files: Files to format
    """
    options: Options = {}
    return told(["fmt", "--print"], [files], options)


@checked()
def import_model(
    kind: Literal["huggingface", "onnx", "torch", "scalesim", "pipedream", "dnn-partitioning", "chakra", "tosa", "linalg", "stablehlo"],
    file: Union[Value, Sequence[Value]],
    *,
    out: Optional[Value] = None,
    name: Optional[Value] = None,
    size: Optional[Union[Value, Sequence[Value]]] = None,
    batch: Optional[Value] = None,
    untie: bool = False,
    loss: Optional[Union[Value, Sequence[Value]]] = None,
    unrolled: bool = False,
    inputs: Optional[int] = None,
) -> str:
    """Convert a model of another format to .dnn.

    huggingface: A config.json of Hugging Face transformers (bert, bloom, camembert, clip, deepseek_v3, falcon, gemma, gemma2, gemma3, gemma3_text, gpt2, gpt_neox, gpt_oss, llama, mamba, mistral, mixtral, opt, phi3, qwen2, qwen3, qwen3_moe, roberta, t5, vit, whisper, xlm-roberta)
    onnx: An ONNX model as it infers; a loss is added
    torch: A program of torch.export, for training or as it infers
    scalesim: A layer list of SCALE-Sim: convolutions, or M, N, K
    pipedream: A profiled graph of PipeDream: given times and sizes
    dnn-partitioning: A profiled graph of dnn-partitioning: given times and sizes
    chakra: An execution trace of Chakra (one rank): times, sizes, dependences
    tosa: An MLIR module in TOSA as it infers; a loss is added
    linalg: An MLIR module in Linalg as it infers; a loss is added
    stablehlo: A StableHLO module, as it infers or a whole training step, as JAX exports it in generic form

    out: The .dnn to write (default: print it)
    name: Name of the model (default: of the file or its folder)
    size: NAME=N: a length of the inputs (seq; default: positions, up to 8192)
    batch: NAME: the symbolic dimension that is the batch (default: one called batch, else the first)
    untie: Weights that Identity nodes give another name are weights of their own
    loss: [OUTPUT=]KIND: the loss of an output or of all (cross_entropy, mse, smooth_l1, binary_cross_entropy, none)
    unrolled: Write layers that repeat each, as the file does, not as one 'repeat'
    inputs: N: the first N arguments are inputs, the others weights (default: those with an open batch, or the first)
    """
    options: Options = {
        "--output": out,
        "--name": name,
        "--size": size,
        "--batch": batch,
        "--untie": untie,
        "--loss": loss,
        "--unrolled": unrolled,
        "--inputs": inputs,
    }
    return told(["import", kind], [file], options)


@checked()
def jobs(
    file: Optional[Value] = None,
    *,
    jobs: Optional[Value] = None,
    target: Optional[Value] = None,
    out: Optional[Value] = None,
    after: Optional[Value] = None,
    at: Optional[Value] = None,
    events: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    effort: Optional[int] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
    simulate: Optional[Value] = None,
    profiles: Optional[Value] = None,
    servers: Optional[Value] = None,
    policy: Optional[Union[Literal["tiresias", "optimus", "fifo", "max_min_fairness", "max_min_fairness_perf", "finish_time_fairness_perf", "min_total_duration_perf", "exact_las", "exact", "learned", "bandit", "actor", "srpt", "srsf", "las", "earliest_deadline", "sia", "pollux_objective", "tenant_fairness", "shockwave_objective", "all"], Sequence[Literal["tiresias", "optimus", "fifo", "max_min_fairness", "max_min_fairness_perf", "finish_time_fairness_perf", "min_total_duration_perf", "exact_las", "exact", "learned", "bandit", "actor", "srpt", "srsf", "las", "earliest_deadline", "sia", "pollux_objective", "tenant_fairness", "shockwave_objective", "all"]]]] = None,
    speeds: Optional[Literal["measured", "fitted", "predicted"]] = None,
    gradient_noise: Optional[Value] = None,
    round: Optional[float] = None,
    restart: Optional[float] = None,
    schedule: Optional[Value] = None,
    seeds: Optional[int] = None,
    draw: Optional[int] = None,
    load: Optional[float] = None,
    history: Optional[Value] = None,
    write_history: Optional[Value] = None,
    actor: Optional[Value] = None,
    shield: Optional[Value] = None,
    train: Optional[Value] = None,
    train_budget: Optional[int] = None,
    train_seed: Optional[int] = None,
    reference: Optional[Literal["tiresias", "optimus", "fifo", "max_min_fairness", "max_min_fairness_perf", "finish_time_fairness_perf", "min_total_duration_perf", "exact_las", "exact", "learned", "bandit", "actor", "srpt", "srsf", "las", "earliest_deadline", "sia", "pollux_objective", "tenant_fairness", "shockwave_objective"]] = None,
    curve: bool = False,
    noise: Optional[Value] = None,
    mtbf: Optional[Value] = None,
    repair: Optional[Value] = None,
    checkpoint: Optional[Value] = None,
    outage: Optional[Union[Value, Sequence[Value]]] = None,
    drain: Optional[Union[Value, Sequence[Value]]] = None,
    power: Optional[Value] = None,
    device_power: Optional[Value] = None,
    max_restarts: Optional[int] = None,
    tenants: Optional[Value] = None,
    deadline: Optional[float] = None,
) -> Union[JobSchedule, Jobs, Actor]:
    """Jobs that share a cluster: schedule a `jobs` block, or replay a trace under policies.

    file: A .dnn file with a `jobs` block, to be scheduled on its cluster
    jobs: Which `jobs` block, where a file has several
    target: The cluster (overrides the file), as of accord compile
    out: Folder for jobs.json, jobs.csv, trace.json, report.html, certificate/ (default: out); with --simulate for simulation.json, simulation.txt, report.html and schedule.csv (default: none)
    after: Folder of the plan that runs: what is left of it is planned again
    at: With --after: now, on the clock of the block, 3h for example
    events: With --after: a .json file with what did not go as planned
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best schedule so far is written; it then depends on the machine (default: none)
    simulate: A workload of Pollux (.csv), a trace of Gavel, or a log of jobs: which jobs arrive when
    profiles: How fast the jobs of a simulation are: a folder with a folder for each application (Pollux), or throughputs by device type (.json, Gavel)
    servers: 16x4 is 16 servers of 4 devices; v100=8x1,k80=24x1 names the types (of Sia's profiles: of their files)
    policy: Policies to compare, 'all' for all that the trace allows (default: those that have their own replay and Accord's)
    speeds: 'measured' (default); 'fitted': policies estimate speeds from the steps that a job ran so far; 'predicted' (Gavel): from the types that it ran on and the other models' rates
    gradient_noise: A .csv file (application, noise in samples): jobs of Pollux' and Sia's workloads choose their batches by these noise scales, and progress by the measured ones
    round: Seconds between two decisions (default: 60, of Gavel 360)
    restart: Seconds without progress each time that a job starts or its devices change (default: 30, of Gavel 0)
    schedule: A .csv file to write: which job is on which servers when
    seeds: Simulations of each policy, with other failures and noise; intervals of 90 %
    draw: Jobs that each seed draws from the trace, with replacement, at random times of the same rate
    load: With --draw: how many times as often jobs arrive (default: 1)
    history: A .csv file of jobs that were complete before, from which 'learned', 'bandit' and 'actor' begin
    write_history: A .csv file to write: the work of the jobs of the trace, for --history
    actor: An .onnx file of a network that weighs the jobs of each round: the policy 'actor'
    shield: Share of the proved bound that an actor's allocation may lose in a round before the planner's is taken (default: 5%)
    train: An .onnx file to write: an actor is trained on jobs drawn from the trace (--draw), or on synthetic ones without --simulate
    train_budget: With --train: simulations (default: 20,000)
    train_seed: - 1000000] With --train: of all that is random (default: 0)
    reference: Policy with which the others are compared seed by seed: shorter, longer or no gain
    curve: With --reference: the regret of each policy after so many jobs, and after how many it is within 2 %; with --history, policies that learn are simulated without it too
    noise: Log-normal noise of speeds, 5% for example: of each job, and of each job in each round
    mtbf: Mean time between failures of a server, 30d for example
    repair: Time until a server that failed is back (default: 1 h)
    checkpoint: Time between two checkpoints of a job, to which a failure sets it back (default: nothing is lost)
    outage: 3@1h..2h: server 3 fails at 1 h and is back at 2 h
    drain: The same without loss: jobs leave at the end of a round
    power: Limit of the power of all devices, 20kW,10kW@8h for example; devices that exceed it are off
    device_power: Power of one device, 300W or v100=300W,k80=150W
    max_restarts: Restarts of a job in an hour; 0 is no limit
    tenants: vision=2,speech=1: tenants with weights, which jobs belong to in turn (default: applications)
    deadline: Deadline of each job, as a multiple of its time alone (default: what the trace says)
    """
    options: Options = {
        "--jobs": jobs,
        "--target": target,
        "--output": out,
        "--after": after,
        "--at": at,
        "--events": events,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--effort": effort,
        "--gap": gap,
        "--time-limit": time_limit,
        "--simulate": simulate,
        "--profiles": profiles,
        "--servers": servers,
        "--policy": policy,
        "--speeds": speeds,
        "--gradient-noise": gradient_noise,
        "--round": round,
        "--restart": restart,
        "--schedule": schedule,
        "--seeds": seeds,
        "--draw": draw,
        "--load": load,
        "--history": history,
        "--write-history": write_history,
        "--actor": actor,
        "--shield": shield,
        "--train": train,
        "--train-budget": train_budget,
        "--train-seed": train_seed,
        "--reference": reference,
        "--curve": curve,
        "--noise": noise,
        "--mtbf": mtbf,
        "--repair": repair,
        "--checkpoint": checkpoint,
        "--outage": outage,
        "--drain": drain,
        "--power": power,
        "--device-power": device_power,
        "--max-restarts": max_restarts,
        "--tenants": tenants,
        "--deadline": deadline,
    }
    answer = asked("jobs", [file], options, [JobSchedule, Jobs, Actor], writes=True)
    return cast("Union[JobSchedule, Jobs, Actor]", answer)


@checked()
def latency(
    file: Value,
    *,
    target: Optional[Value] = None,
    power_level: Optional[Value] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    model_passes: Optional[Value] = None,
    passes: Optional[Value] = None,
    effort: Optional[int] = None,
    out: Optional[Value] = None,
    format: Optional[Union[Literal["c", "python", "javascript", "mlir", "csv"], Sequence[Literal["c", "python", "javascript", "mlir", "csv"]]]] = None,
    at: Optional[Union[Value, Sequence[Value]]] = None,
) -> Latency:
    """Step time, memory and FLOPs as functions of sizes and of the machine.

    file: A .dnn file
    target: Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or FILE.accel[:NAME]
    power_level: Level of the devices that have one of this name: power { level NAME { ... } } in their description
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    model_passes: Passes to run on the model, before its training graph is built
    passes: Passes to run on the training graph, as a pipeline: 'a,b{option=1}'
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    out: Folder for latency_model.{h,py,js,mlir,csv}
    format: Formats to write: c, python, javascript, mlir, csv; printed where there is no folder
    at: Values to evaluate at: batch=64,microbatch=1,2,4 (every combination)
    """
    options: Options = {
        "--target": target,
        "--power-level": power_level,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--model-passes": model_passes,
        "--passes": passes,
        "--effort": effort,
        "--output": out,
        "--format": format,
        "--at": at,
    }
    answer = asked("latency", [file], options, [Latency], writes=True)
    return cast("Latency", answer)


@checked()
def list_(
    kind: Literal["machines", "models", "operations", "objectives"],
    file: Optional[Value] = None,
) -> ListAnswer:
    """The machines, models, operations and objectives that have names.

    kind: machines, models, operations or objectives
    file: Of machines and models: those of this file, instead of the catalogue's
    """
    options: Options = {}
    answer = asked("list", [kind, file], options, [ListAnswer], writes=False)
    return cast("ListAnswer", answer)


@checked()
def mine(
    file: Union[Value, Sequence[Value]],
    *,
    space: Optional[Value] = None,
    strategy: Optional[Literal["exact", "exhaustive", "random", "annealing", "wham", "bayes", "phaze", "genetic"]] = None,
    metric: Optional[Value] = None,
    aggregation: Optional[Literal["minimax_regret", "sum"]] = None,
    weights: Optional[Union[float, Sequence[float]]] = None,
    evaluations: Optional[int] = None,
    checkpoint: Optional[Value] = None,
    checkpoint_every: Optional[int] = None,
    resume: Optional[Value] = None,
    seed: Optional[int] = None,
    compare_: Optional[Union[bool, Literal["evaluations", "time"]]] = None,
    strategies: Optional[Union[Literal["exact", "exhaustive", "random", "annealing", "wham", "bayes", "phaze", "genetic"], Sequence[Literal["exact", "exhaustive", "random", "annealing", "wham", "bayes", "phaze", "genetic"]]]] = None,
    pareto_front: Optional[Value] = None,
    schedule_effort: Optional[int] = None,
    sensitivity: bool = False,
    reference: Optional[Value] = None,
    stages: Optional[int] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
    out: Optional[Value] = None,
) -> Mine:
    """Search a design space for the best accelerator for training.

    file: One or several .dnn files
    space: Accelerator with choices (1..64, pow2 2..128 MiB, {8, 16}): a name of the file, its imports or the catalogue, or FILE.accel[:NAME] (default: what the file trains on)
    strategy: exact, exhaustive, random, annealing, wham, bayes, phaze, genetic (default: exact)
    metric: Objective to minimize: step_time, tdp_time (throughput per watt of TDP is maximized), energy, area_time, or an expression such as 'step_time * area^0.5' or 'maximize throughput / area' (default: the objective of the file)
    aggregation: Of several files: minimax_regret (each job against its own best design) or sum (default: minimax_regret)
    weights: Of --aggregation sum: weight of each file, such as 3,1 (default: equal weights)
    evaluations: Maximum number of design evaluations
    checkpoint: Of exact: checkpoint file of the designs evaluated so far
    checkpoint_every: in [1 - 1099511627776]=256 Evaluations between two checkpoints
    resume: Of exact: go on from such a file; the answer is that of an unbroken search
    seed: Random seed of stochastic strategies (default: 1)
    compare_: Run all strategies on the same problem, each with as many evaluations as the chosen one took; --compare=time: as much processor time, which depends on the machine
    strategies: Of --compare: only these strategies, such as wham,bayes (default: all)
    pareto_front: Also the Pareto front in objective, area and TDP, to this relative epsilon: 1% where none is given, 0 for all. Takes longer than the search itself (default: 1%)
    schedule_effort: Also search for better schedules and higher bounds of the designs that may be best, with the effort of `accord compile` or a number up to 12: the gap is what that leaves. Takes longer than the search itself (default: 4)
    sensitivity: Also the best design with each choice of each parameter, and with each limit relaxed by 10 %; a search for each
    reference: A machine that the best design is compared with in the report: a name, or FILE.accel[:NAME]
    stages: Also a design for each pipeline stage of a job on a cluster: number of candidates for each mix of layers (default: 4)
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best design so far is written; it then depends on the machine (default: none)
    out: Folder for mine.json, report.html, best.accel, one .accel for each job, convergence.csv, front
    """
    options: Options = {
        "--space": space,
        "--strategy": strategy,
        "--metric": metric,
        "--aggregation": aggregation,
        "--weights": weights,
        "--evaluations": evaluations,
        "--checkpoint": checkpoint,
        "--checkpoint-every": checkpoint_every,
        "--resume": resume,
        "--seed": seed,
        "--compare": compare_,
        "--strategies": strategies,
        "--pareto-front": pareto_front,
        "--schedule-effort": schedule_effort,
        "--sensitivity": sensitivity,
        "--reference": reference,
        "--stages": stages,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--gap": gap,
        "--time-limit": time_limit,
        "--output": out,
    }
    answer = asked("mine", [file], options, [Mine], writes=True)
    return cast("Mine", answer)


@checked()
def partition(
    file: Value,
    *,
    accelerators: Optional[int] = None,
    processors: Optional[int] = None,
    microbatches: Optional[int] = None,
    memory: Optional[Value] = None,
    bandwidth: Optional[Value] = None,
    no_replicas: bool = False,
    objective: Optional[Literal["load", "latency", "makespan"]] = None,
    non_contiguous: bool = False,
    effort: Optional[int] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
    out: Optional[Value] = None,
    html: Optional[Value] = None,
) -> Union[Partition, LayerPlan]:
    """Which stage of a pipeline runs which nodes of a profiled graph.

    file: A graph of dnn-partitioning, Piper or PHAZE, or profiled_layers (.json), a profile of PipeDream (.txt), or costs of Alpa (.npy)
    accelerators: How many there are (default of .json: its maxFPGAs)
    processors: Of .json: how many there are (default: its maxCPUs)
    microbatches: Of layers: in a batch (default: what the file says)
    memory: Of each accelerator: 16GiB (default of .json: its maxSizePerFPGA; of .txt: no limit)
    bandwidth: Of .txt and layers: between two accelerators, and of an all-reduce: 12GB/s
    no_replicas: Of .txt and layers: each stage on one accelerator, or on one replica
    objective: Of layers: the load of the longest stage, the latency of one micro-batch, or the makespan of a step (default: load)
    non_contiguous: Of .json with nodes: a device may hold any nodes, not an interval of the pipeline alone
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 10)
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best stages so far are printed; it then depends on the machine (default: none)
    out: Folder for stages.json and report.html
    html: Write a page for a browser into this file, too
    """
    options: Options = {
        "--accelerators": accelerators,
        "--processors": processors,
        "--microbatches": microbatches,
        "--memory": memory,
        "--bandwidth": bandwidth,
        "--no-replicas": no_replicas,
        "--objective": objective,
        "--non-contiguous": non_contiguous,
        "--effort": effort,
        "--gap": gap,
        "--time-limit": time_limit,
        "--output": out,
        "--html": html,
    }
    answer = asked("partition", [file], options, [Partition, LayerPlan], writes=False)
    return cast("Union[Partition, LayerPlan]", answer)


@checked()
def prune(
    file: Value,
    *,
    target: Optional[Value] = None,
    power_level: Optional[Value] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    model_passes: Optional[Value] = None,
    passes: Optional[Value] = None,
    effort: Optional[int] = None,
    framework: Optional[Value] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
    confidence: Optional[float] = None,
    traces: Optional[Value] = None,
    thresholds: Optional[Value] = None,
    weight_bits: Optional[int] = None,
    activation_bits: Optional[int] = None,
    out: Optional[Value] = None,
) -> Union[Prune, Placement]:
    """Choose a sparsity pattern and a storage format for each layer of a training, on a cluster with its placement.

    file: A .dnn file
    target: Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or FILE.accel[:NAME]
    power_level: Level of the devices that have one of this name: power { level NAME { ... } } in their description
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    model_passes: Passes to run on the model, before its training graph is built
    passes: Passes to run on the training graph, as a pipeline: 'a,b{option=1}'
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    framework: Framework that trains on a cluster (overrides the file): a name of the file, its imports or catalog/frameworks.accel
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best plan on a cluster so far is written; it then depends on the machine (default: none)
    confidence: Confidence level of the limits of time and memory
    traces: Table of zero products by layer and channel (.csv), on a device of layers side by side
    thresholds: Table of thresholds with density and accuracy (.csv): one of them is taken
    weight_bits: Bits of a weight, on a device of layers side by side
    activation_bits: Bits of an activation there
    out: Folder for prune.json, sparsity.mlir and report.html; on a cluster for what accord compile writes
    """
    options: Options = {
        "--target": target,
        "--power-level": power_level,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--model-passes": model_passes,
        "--passes": passes,
        "--effort": effort,
        "--framework": framework,
        "--gap": gap,
        "--time-limit": time_limit,
        "--confidence": confidence,
        "--traces": traces,
        "--thresholds": thresholds,
        "--weight-bits": weight_bits,
        "--activation-bits": activation_bits,
        "--output": out,
    }
    answer = asked("prune", [file], options, [Prune, Placement], writes=True)
    return cast("Union[Prune, Placement]", answer)


@checked()
def schedule(
    file: Value,
    *,
    target: Optional[Value] = None,
    power_level: Optional[Value] = None,
    train: Optional[Value] = None,
    batch: Optional[Value] = None,
    microbatch: Optional[Value] = None,
    recompute: Optional[Value] = None,
    precision: Optional[Value] = None,
    optimizer: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    model_passes: Optional[Value] = None,
    passes: Optional[Value] = None,
    effort: Optional[int] = None,
    gap: Optional[Value] = None,
    time_limit: Optional[Value] = None,
    out: Optional[Value] = None,
    html: Optional[Value] = None,
    export_problem: Optional[Value] = None,
) -> Schedule:
    """When each operation runs on which core, or each job of a project.

    file: A .dnn file, a project or shop of a public library, or a problem that was exported: .sm, .mm, .rcp, .sch, .jss, .fjs, .mlir, .json
    target: Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or FILE.accel[:NAME]
    power_level: Level of the devices that have one of this name: power { level NAME { ... } } in their description
    train: Which `train` block, or which model of a file without one
    batch: Samples per step (overrides the file)
    microbatch: Micro-batch size, or a choice of them (overrides the file)
    recompute: none, selective or full, or a choice of them: {none, full} (overrides the file)
    precision: fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)
    optimizer: sgd, momentum, adam or adamw (overrides the file)
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    model_passes: Passes to run on the model, before its training graph is built
    passes: Passes to run on the training graph, as a pipeline: 'a,b{option=1}'
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4, of projects 10)
    gap: Stop at this relative gap to the proven bound: 2%
    time_limit: none, or a time such as '30 s', after which the best schedule so far is printed; it then depends on the machine (default: none)
    out: Of projects: folder for problem.mlir and what `accord verify` needs
    html: Write a page for a browser into this file, too
    export_problem: Of projects: file for the problem, .mlir or .json; of .dnn: folder for one .json a region
    """
    options: Options = {
        "--target": target,
        "--power-level": power_level,
        "--train": train,
        "--batch": batch,
        "--microbatch": microbatch,
        "--recompute": recompute,
        "--precision": precision,
        "--optimizer": optimizer,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--model-passes": model_passes,
        "--passes": passes,
        "--effort": effort,
        "--gap": gap,
        "--time-limit": time_limit,
        "--output": out,
        "--html": html,
        "--export-problem": export_problem,
    }
    answer = asked("schedule", [file], options, [Schedule], writes=False)
    return cast("Schedule", answer)


@checked()
def time(
    program: Value,
    *,
    on: Value,
    microarchitecture: Optional[Value] = None,
    register: Optional[Union[Value, Sequence[Value]]] = None,
    zero: Optional[Union[Value, Sequence[Value]]] = None,
    max_evaluated: Optional[int] = None,
    full: bool = False,
    trace: Optional[Value] = None,
    trace_instructions: Optional[int] = None,
    out: Optional[Value] = None,
) -> Time:
    """How long a program of instructions takes on a core, and what its cycles wait for.

    program: A program as text, which begins with the word `program`, or assembly
    on: The machine: FILE.accel, FILE.accel:NAME, or a microarchitecture or accelerator of the catalogue
    microarchitecture: Which one of the machine, whatever the program says: a declaration, or the name of a core
    register: Of assembly: what a register holds first, as in r1=0x1000 (may be repeated)
    zero: Of assembly: a register that is always 0, as in x0 (may be repeated)
    max_evaluated: Instructions that may be evaluated before loops recur (default: 200000000)
    full: Evaluate every instruction, as if no loop recurred
    trace: File for a trace of the first instructions, for ui.perfetto.dev
    trace_instructions: How many instructions the trace has (default: 1000)
    out: Folder for time.json, microarchitecture.html, program.txt, trace.json and what `accord verify` needs
    """
    options: Options = {
        "--on": on,
        "--microarchitecture": microarchitecture,
        "--register": register,
        "--zero": zero,
        "--max-evaluated": max_evaluated,
        "--full": full,
        "--trace": trace,
        "--trace-instructions": trace_instructions,
        "--output": out,
    }
    answer = asked("time", [program], options, [Time], writes=False)
    return cast("Time", answer)


@checked()
def tune(
    file: Value,
    *,
    tuning: Optional[Value] = None,
    table_: Optional[Value] = None,
    engine: Optional[Literal["local", "slurm", "serve"]] = None,
    engine_option: Optional[Union[Value, Sequence[Value]]] = None,
    program: Optional[Value] = None,
    devices: Optional[int] = None,
    node: Optional[int] = None,
    trials: Optional[int] = None,
    target: Optional[float] = None,
    max_time: Optional[Value] = None,
    proposals: Optional[Literal["density", "priced", "random"]] = None,
    sharing: Optional[Value] = None,
    history: Optional[Union[Value, Sequence[Value]]] = None,
    seed: Optional[int] = None,
    seeds: Optional[int] = None,
    compare_: Optional[Union[Value, Sequence[Value]]] = None,
    out: Optional[Value] = None,
) -> Union[Tune, Servers]:
    """Search hyper-parameters, or the parameters of a server while a training runs.

    file: A .dnn file with a `tuning` block
    tuning: Which `tuning` block, where a file has several
    table_: A .csv file of trials that were run before: a column for each hyper-parameter, seconds of a unit, and 1, 2, … with the value after each unit; of a server a column for each parameter and samples_per_second; the tuning is simulated
    engine: Programs train, on the machines of this engine; serve: as jobs of a running accord serve
    engine_option: KEY=VALUE of the engine, as of accord serve: nodes=here=cpu:4; of serve: server, devices, type, tenant, token-file, authority, priority, elastic, patience (may be repeated)
    program: With --engine: what trains one trial, a command of the shell; of a server: the training that runs; docs/learning.md says what it finds in its environment
    devices: With --table: devices of the cluster (default: 1)
    node: With --table: devices of a node (default: all)
    trials: Trials at most (default: as the file says, else 100)
    target: The tuning ends when a value is as good (overrides the file)
    max_time: Nothing begins later, as in '2 h'
    proposals: How configurations are proposed: 'density' (as BOHB does; the default), 'priced' (the same for each second that a unit is expected to take), or 'random'
    sharing: How devices are given to trials: 'joint' with the search, or 'fixed:2', two for each (default: joint)
    history: Folder of an earlier tuning, or a journal of Optuna (JournalFileBackend), the best of which is tried first; 'serve' or the URL of a service: what it keeps of earlier tunings of this name (may be repeated)
    seed: Of what is drawn at random (default: 1)
    seeds: With --table: tunings with so many seeds, with intervals of 95 %
    compare_: With --seeds: other ways to tune, as in random/fixed:1 or density/fixed:2, of a server unsafe or random; 'all' for all that there are
    out: Folder for tune.json, tune.txt, report.html, trials.csv and optuna.log, of a server servers.json, servers.txt and intervals.csv; of programs also for their trials or record, from which an interrupted tuning goes on
    """
    options: Options = {
        "--tuning": tuning,
        "--table": table_,
        "--engine": engine,
        "--engine-option": engine_option,
        "--program": program,
        "--devices": devices,
        "--node": node,
        "--trials": trials,
        "--target": target,
        "--max-time": max_time,
        "--proposals": proposals,
        "--sharing": sharing,
        "--history": history,
        "--seed": seed,
        "--seeds": seeds,
        "--compare": compare_,
        "--output": out,
    }
    answer = asked("tune", [file], options, [Tune, Servers], writes=False)
    return cast("Union[Tune, Servers]", answer)


@checked()
def verify(
    plan: Value,
    *,
    solver: Optional[Value] = None,
    from_: Optional[Union[Value, Sequence[Value]]] = None,
    no_manifest: bool = False,
    allow_trusted: bool = False,
) -> Verify:
    """Check an answer and its certificate independently.

    plan: A folder that `accord compile`, `mine`, `prune`, `vote` or `schedule` wrote, a plan.json, or a schedule in the plan dialect (.mlir)
    solver: SMT solver that re-checks the queries: z3, cvc5 or a path
    from_: Sources from which the answer was made: its command is run again on them, and every file compared
    no_manifest: Prove what certificates say, whatever files were changed since they were written
    allow_trusted: Accept bounds that assume the answer of a solver alone, without a proof that can be replayed
    """
    options: Options = {
        "--solver": solver,
        "--from": from_,
        "--no-manifest": no_manifest,
        "--allow-trusted": allow_trusted,
    }
    answer = asked("verify", [plan], options, [Verify], writes=False)
    return cast("Verify", answer)


@checked("widths")
def vote(
    file: Value,
    *,
    ensemble: Optional[Value] = None,
    calibration: Optional[Value] = None,
    ideal: bool = False,
    cost_model: Optional[Value] = None,
    load_pass_plugin: Optional[Union[Value, Sequence[Value]]] = None,
    fuse: bool = False,
    threads: Optional[int] = None,
    effort: Optional[int] = None,
    out: Optional[Value] = None,
) -> Union[Vote, VoteAnswers]:
    """Choose the members of an ensemble and their devices, with a guaranteed error of their majority vote.

    file: A .dnn file with an `ensemble`
    ensemble: Name of the `ensemble` block, where there are several
    calibration: Calibration that its machine takes instead of its own (written by accord calibrate -o)
    ideal: Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)
    cost_model: Cost model by name, built in or from a plugin
    load_pass_plugin: Shared library with passes or cost models (may be repeated)
    fuse: Fuse element-wise operations into the product or normalization that makes their tensor
    threads: Threads to use; the result is the same
    effort: Work of the search: 0 is a first answer, each step about doubles it, at most 40 (default: 4)
    out: Folder for vote.json and report.html
    """
    options: Options = {
        "--ensemble": ensemble,
        "--calibration": calibration,
        "--ideal": ideal,
        "--cost-model": cost_model,
        "--load-pass-plugin": load_pass_plugin,
        "--fuse": fuse,
        "--threads": threads,
        "--effort": effort,
        "--output": out,
    }
    answer = asked("vote", [file], options, [Vote, VoteAnswers], writes=True)
    return cast("Union[Vote, VoteAnswers]", answer)
