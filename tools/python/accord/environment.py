"""Simulations of jobs that share a cluster as an environment of Gymnasium, for trainers of policies.

    env = accord.JobsEnvironment("workload-1.csv", profiles="traces", servers="16x4", draw=160)
    observation, info = env.reset(seed=0)
    while True:
        action = [0.0] * info["jobs"]          # log weights: 0 is the policy `learned`
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break

Each round is a decision about all jobs that are here: the action has a number for each of them, whose exp multiplies the
priority that the policy `learned` would give; Accord then allocates the devices exactly and packs them on servers. The
reward is minus the integral of the number of jobs over the time to the next decision, so that the sum over an episode is
minus the total completion time. The native module is needed; Gymnasium and NumPy are used where they are installed.
"""

import math
import os
from array import array
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from .engine import native
from .errors import Error, InputError

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]
try:
    import gymnasium

    _Base: Any = gymnasium.Env
except ImportError:
    gymnasium = None
    _Base = object

__all__ = ["JobsActor", "JobsEnvironment"]

Step = Tuple[Dict[str, Any], float, bool, bool, Dict[str, Any]]


class JobsEnvironment(_Base):  # type: ignore[misc]
    """Jobs that arrive, share a cluster and complete, under weights that the caller gives.

    trace, profiles, servers, speeds, draw, load, round, restart
                 as the options of `accord jobs --simulate`. Without a trace, each seed draws a cluster and jobs of one of two
                 synthetic families: those are for training. Whoever wants to say how good a policy is measures it on traces
                 that it was not trained on.
    jobs         synthetic jobs of an episode
    shield       share of the planner's proved bound that weights may lose in a round before the planner's allocation is
                 taken (`info["shielded"]`); 1: never
    max_jobs     rows of an observation and numbers of an action. None: as many as jobs are here. Otherwise observations are
                 filled with rows of 0 (`mask` says which are jobs), and jobs beyond weigh 1.
    max_rounds   rounds after which an episode is truncated; None: never

    An observation is a dictionary: `jobs` (a row of `job_features` for each job), `cluster` (`cluster_features`), and with
    `max_jobs` the `mask`. They are arrays of NumPy, or memoryviews where NumPy is not installed.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        trace: Union[None, str, "os.PathLike[str]"] = None,
        *,
        profiles: Union[None, str, "os.PathLike[str]"] = None,
        servers: str = "",
        speeds: str = "",
        draw: int = 0,
        load: float = 1.0,
        round: Optional[float] = None,
        restart: Optional[float] = None,
        jobs: int = 40,
        shield: float = 1.0,
        max_jobs: Optional[int] = None,
        max_rounds: Optional[int] = None,
    ) -> None:
        self._native = native()
        if self._native is None:
            raise Error("JobsEnvironment needs the native module of the package: see docs/python.md", status=3)
        if trace is None and (profiles or servers or speeds or draw or round is not None or restart is not None):
            raise InputError("profiles, servers, speeds, draw, round and restart belong to a trace")
        for name, value in (("max_jobs", max_jobs), ("max_rounds", max_rounds)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}, but at least 1 is expected")
        if not 0 <= draw <= 1_000_000:
            raise InputError(f"draw is {draw}, but 0 to 1,000,000 jobs are expected")
        if not 0 < jobs <= 10_000:
            raise InputError(f"jobs is {jobs}, but 1 to 10,000 are expected")
        for name, number in (("round", round), ("restart", restart)):
            if number is not None and not number >= 0:
                raise InputError(f"{name} is {number}, but seconds of at least 0 are expected")
        try:
            self._environment = self._native.environment(
                os.fspath(trace) if trace is not None else "",
                os.fspath(profiles) if profiles is not None else "",
                servers,
                speeds,
                draw,
                load,
                -1.0 if round is None else round,
                -1.0 if restart is None else restart,
                jobs,
                shield,
            )
        except ValueError as error:
            raise InputError(str(error).strip()) from None
        self.job_features: List[str]
        self.cluster_features: List[str]
        self.job_features, self.cluster_features = self._native.environment_features()
        self.max_jobs, self.max_rounds = max_jobs, max_rounds
        self._count = self._rounds = 0
        self._seed: Optional[int] = None
        if gymnasium is not None and max_jobs is not None:
            box = gymnasium.spaces.Box
            self.observation_space = gymnasium.spaces.Dict(
                {
                    "jobs": box(-math.inf, math.inf, (max_jobs, len(self.job_features)), numpy.float32),
                    "cluster": box(-math.inf, math.inf, (len(self.cluster_features),), numpy.float32),
                    "mask": gymnasium.spaces.MultiBinary(max_jobs),
                }
            )
            self.action_space = box(-1.0, 1.0, (max_jobs,), numpy.float32)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """Begins an episode; without a seed that of the one before, and 1, more; the first is 0."""
        if gymnasium is not None:
            super().reset(seed=seed)
        if seed is None:
            seed = 0 if self._seed is None else self._seed + 1
        if not 0 <= seed < 1 << 63:
            raise InputError(f"seed is {seed}, but a number from 0 to 2**63 - 1 is expected")
        self._seed, self._rounds = seed, 0
        state = self._asked(self._native.reset, seed)
        return self._observation(state), self._info(state)

    def step(self, action: Sequence[float]) -> Step:
        """Runs a round with a log weight for each job, clamped to -1 .. 1."""
        numbers = action.astype("float64").ravel() if hasattr(action, "astype") else array("d", action)
        expected = self._count if self.max_jobs is None else self.max_jobs
        if len(numbers) != expected:
            raise InputError(f"an action has {expected} numbers here, but there are {len(numbers)}")
        if self.max_jobs is not None:
            numbers = array("d", numbers.tobytes())[: self._count]
            numbers.extend([0.0] * (self._count - len(numbers)))
        state = self._asked(self._native.step, numbers.tobytes())
        self._rounds += 1
        terminated = bool(state[5])
        truncated = not terminated and self.max_rounds is not None and self._rounds >= self.max_rounds
        return self._observation(state), state[4], terminated, truncated, self._info(state)

    def close(self) -> None:
        """Nothing is held that the end of the object does not free."""

    def _asked(self, function: Any, *arguments: Any) -> Any:
        try:
            state = function(self._environment, *arguments)
        except ValueError as error:
            raise InputError(str(error).strip()) from None
        self._count = state[2]
        return state

    @staticmethod
    def _info(state: Any) -> Dict[str, Any]:
        return {"jobs": state[2], "time_s": state[3], "shielded": bool(state[6]), "waited_s": -state[4]}

    def _observation(self, state: Any) -> Dict[str, Any]:
        jobs, cluster, count = state[0], state[1] or bytes(4 * len(self.cluster_features)), state[2]
        width, rows, made = len(self.job_features), count, {}
        if self.max_jobs is not None:
            rows, size = self.max_jobs, 4 * width * self.max_jobs
            jobs = jobs[:size].ljust(size, b"\0")
            mask = bytes(min(count, rows) * [1]).ljust(rows, b"\0")
            made["mask"] = numpy.frombuffer(mask, numpy.int8) if numpy is not None else memoryview(mask)
        if numpy is not None:
            made["jobs"] = numpy.frombuffer(jobs, numpy.float32).reshape(rows, width)
            made["cluster"] = numpy.frombuffer(cluster, numpy.float32)
        else:
            made["jobs"] = memoryview(jobs).cast("f", (rows, width)) if rows else memoryview(jobs)
            made["cluster"] = memoryview(cluster).cast("f")
        return made


class JobsActor:
    """A trained actor (`accord jobs --train FILE.onnx`), which weighs the jobs of an observation.

    `actor(observation)` is a list with the log weight of each job, not clamped yet: the action of an environment.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._native = native()
        if self._native is None:
            raise Error("JobsActor needs the native module of the package: see docs/python.md", status=3)
        try:
            self._actor = self._native.actor(os.fspath(path))
        except ValueError as error:
            raise InputError(str(error).strip()) from None

    def __call__(self, observation: Dict[str, Any]) -> List[float]:
        jobs = observation["jobs"]
        rows = len(jobs) if jobs.nbytes else 0
        count = sum(observation["mask"]) if "mask" in observation else rows
        size = jobs.nbytes // rows * int(count) if rows else 0
        try:
            weights: List[float] = self._native.weigh(self._actor, jobs.tobytes()[:size], observation["cluster"].tobytes(), int(count))
        except ValueError as error:
            raise InputError(str(error).strip()) from None
        return weights + [0.0] * (rows - len(weights))
