"""Accord in Python: plans, latency models and accelerators for DNN training.

    import accord

    plan = accord.compile("gpt2.dnn", target="a100_80g")
    plan.step_time_s, plan.memory.peak_bytes, plan.gap
    plan.to_pandas()          # its operations as a table
    plan.report()             # the page, in a notebook
    plan.verify()             # proves it again

Each command of the tool is a function with the command's options as keyword arguments. Its answer has an attribute for
each key of the document that the command prints with --json. `Model`, `Training`, `Machine` and `Cluster` build texts of
the two languages. Python's standard library is all that is needed. Modules are loaded when they are used, so that
`accord.progress` alone stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from .answer import Answer as Answer, Report as Report, load as load
    from .ask import run as run
    from .commands import (
        calibrate as calibrate,
        choose as choose,
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
        verify as verify,
        vote as vote,
    )
    from .engine import version as version
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
    from .model import Model as Model, Module as Module
    from .results import Placement as Placement, Plan as Plan
    from .source import Source as Source, Text as Text
    from .training import Job as Job, Jobs as Jobs, Training as Training
    from .units import Quantity as Quantity, one_of as one_of, pow2 as pow2, quantity as quantity, span as span

_PLACES: Dict[str, "tuple[str, str]"] = {
    **{name: ("answer", name) for name in ("Answer", "Report", "load")},
    "run": ("ask", "run"),
    **{
        name.rstrip("_"): ("commands", name)
        for name in (
            "calibrate choose compile_ diff emit estimate explain format_ import_model jobs latency list_ mine partition "
            "prune schedule time verify vote"
        ).split()
    },
    "version": ("engine", "version"),
    **{
        name: ("errors", name)
        for name in "AccordWarning Diagnostic Error Infeasible InputError InternalError Unknown".split()
    },
    **{name: ("layout", name) for name in ("cited", "shape")},
    **{name: ("machine", name) for name in ("Cluster", "Machine")},
    **{name: ("model", name) for name in ("Model", "Module")},
    **{name: ("results", name) for name in ("Placement", "Plan")},
    **{name: ("source", name) for name in ("Source", "Text")},
    **{name: ("training", name) for name in ("Job", "Jobs", "Training")},
    **{name: ("units", name) for name in ("Quantity", "one_of", "pow2", "quantity", "span")},
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        module, attribute = _PLACES[name]
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> List[str]:
    return sorted({*globals(), *_PLACES})
