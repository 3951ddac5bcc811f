"""Accord in Python: plans, latency models and accelerators for DNN training.

    import accord

    plan = accord.compile("gpt2.dnn", target="a100_80g")
    plan.step_time_s, plan.memory.peak_bytes, plan.gap
    plan.to_pandas()          # its operations as a table
    plan.report()             # the page, in a notebook
    plan.verify()             # proves it again

Each command of the tool is a function with the command's options as keyword arguments. Its answer has an attribute for
each key of the document that the command prints with --json. `Model`, `Training`, `Machine`, `Cluster` and others build
texts of the two languages. Python's standard library is all that is needed. Modules are loaded when they are used, so that
`accord.progress` alone stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

if TYPE_CHECKING:
    from .answer import Answer as Answer, Report as Report, load as load
    from .ask import run as run
    from .commands import (
        calibrate as calibrate,
        choose as choose,
        compare as compare,
        compile_ as compile,
        diff as diff,
        emit as emit,
        estimate as estimate,
        explain as explain,
        format_ as format,
        import_model as import_model,
        jobs as jobs,
        latency as latency,
        list_ as list,
        mine as mine,
        partition as partition,
        prune as prune,
        schedule as schedule,
        time as time,
        tune as tune,
        verify as verify,
        vote as vote,
    )
    from .engine import version as version
    from .environment import JobsActor as JobsActor, JobsEnvironment as JobsEnvironment
    from .errors import (
        AccordWarning as AccordWarning,
        Diagnostic as Diagnostic,
        Error as Error,
        Infeasible as Infeasible,
        InputError as InputError,
        InternalError as InternalError,
        Unknown as Unknown,
    )
    from .layout import cited as cited, shape as shape
    from .machine import Cluster as Cluster, Machine as Machine
    from .microarchitecture import Microarchitecture as Microarchitecture
    from .model import Model as Model, Module as Module
    from .results import Placement as Placement, Plan as Plan
    from .source import Source as Source, Text as Text
    from .training import Job as Job, Jobs as Jobs, Training as Training
    from .units import Quantity as Quantity, one_of as one_of, pow2 as pow2, quantity as quantity, span as span
    from .variants import Ensemble as Ensemble, Sparsity as Sparsity

# Where each name is; a `_` behind a name keeps that of Python itself out of its module.
_MODULES = {
    "answer": "Answer Report load",
    "ask": "run",
    "commands": "calibrate choose compare compile_ diff emit estimate explain format_ import_model jobs latency list_ mine partition prune schedule time tune verify vote",
    "engine": "version",
    "environment": "JobsActor JobsEnvironment",
    "errors": "AccordWarning Diagnostic Error Infeasible InputError InternalError Unknown",
    "layout": "cited shape",
    "machine": "Cluster Machine",
    "microarchitecture": "Microarchitecture",
    "model": "Model Module",
    "results": "Placement Plan",
    "source": "Source Text",
    "training": "Job Jobs Training",
    "units": "Quantity one_of pow2 quantity span",
    "variants": "Ensemble Sparsity",
}
_PLACES: Dict[str, Tuple[str, str]] = {
    name.rstrip("_"): (module, name) for module, names in _MODULES.items() for name in names.split()
}

__all__ = [
    "AccordWarning",
    "Answer",
    "Cluster",
    "Diagnostic",
    "Ensemble",
    "Error",
    "Infeasible",
    "InputError",
    "InternalError",
    "Job",
    "Jobs",
    "JobsActor",
    "JobsEnvironment",
    "Machine",
    "Microarchitecture",
    "Model",
    "Module",
    "Placement",
    "Plan",
    "Quantity",
    "Report",
    "Source",
    "Sparsity",
    "Text",
    "Training",
    "Unknown",
    "calibrate",
    "choose",
    "cited",
    "compare",
    "compile",
    "diff",
    "emit",
    "estimate",
    "explain",
    "format",
    "import_model",
    "jobs",
    "latency",
    "list",
    "load",
    "mine",
    "one_of",
    "partition",
    "pow2",
    "prune",
    "quantity",
    "run",
    "schedule",
    "shape",
    "span",
    "time",
    "tune",
    "verify",
    "version",
    "vote",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        module, attribute = _PLACES[name]
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> List[str]:
    return sorted({*globals(), *_PLACES})
