// Designs that were mined, with all that emitters print: what `accord mine` answers.
#pragma once
#include "lib/exploration/problem/Design.h"
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/machine/model/Plan.h"
#include <cmath>
#include <map>
#include <optional>

namespace accord {

/// Where a search stood.
struct ConvergencePoint {
  uint64_t evaluations = 0, bounds = 0;
  double incumbent = 0, bound = 0; ///< infinite: no design yet
  double seconds = 0;              ///< of processor time; 0 where that is not asked for
};

/// What a job's step takes on a design that was evaluated.
struct EvaluatedStep {
  double seconds = 0, joules = 0;
  friend bool operator==(const EvaluatedStep &, const EvaluatedStep &) = default;
};

/// A design that a search evaluated, with what it takes.
struct EvaluatedDesign {
  Design design;
  double value = 0;                 ///< of the metric, finite
  std::vector<double> costs;        ///< by `EvaluatedDesigns::costs`
  bool nonDominated = false;        ///< no other evaluated design is as good in value and all costs
  std::vector<EvaluatedStep> steps; ///< by job; empty: not known
};

/// Designs that a search evaluated and that may be, as many as a page can show: the non-dominated among them, the best
/// with each choice of each parameter, and others drawn evenly.
struct EvaluatedDesigns {
  std::vector<std::string> costs;       ///< "area" (m2), "tdp" (W): those that the space knows
  uint64_t count = 0;                   ///< of all that were evaluated and may be
  uint64_t nonDominated = 0;            ///< of these
  bool truncated = false;               ///< more were non-dominated at a time than the search keeps: some are missing
  std::vector<EvaluatedDesign> designs; ///< by value, then costs, then in the order of parameters
};

struct MiningResult {
  std::string strategy;
  std::optional<Design> best;
  double value = 0; ///< infinite without a design
  double bound = 0; ///< no design of the space can be worth less; 0: not known
  /// None of the space is worth less than `value` as designs are valued (a step by the schedule
  /// that Accord finds); `bound` is less where one may be, by another schedule.
  bool isOptimal = false;
  uint64_t evaluations = 0, bounds = 0;
  double seconds = 0; ///< of processor time; 0 where that is not asked for
  /// Whenever the incumbent changed, or the bound by more than 1e-4 of itself; the last of all.
  std::vector<ConvergencePoint> convergence;
  EvaluatedDesigns evaluated;
  /// Of `exact`: evaluated designs that may be worth less than `value` by other schedules, with their bounds, the least
  /// first; and what no design is below that was not evaluated (0: not known).
  std::vector<std::pair<double, Design>> unsettled;
  double unevaluatedBound = 0;
  std::string proof;    ///< what proves the bound
  bool refused = false; ///< nothing was searched: `error` says why
  /// A checkpoint of another problem, one that cannot be read or written; a space too large for the
  /// strategy. Empty: none.
  std::string error;
  /// Of the value; 0 without a design.
  double gap() const { return value > 0 && std::isfinite(value) ? (value - bound) / value : 0; }
};

/// One design of a Pareto front.
struct ParetoPoint {
  Design design;
  double value = 0;
  std::vector<double> costs; ///< by `ParetoFront::costs`
};

/// Designs of which none is better than another in everything.
struct ParetoFront {
  std::vector<std::string> costs;  ///< names of what designs take besides their value
  std::vector<ParetoPoint> points; ///< by value
  /// Every design of the space is in everything within this share of one of the points, as designs
  /// are valued; 0: they are the whole front. Infinite: nothing is known.
  double within = 0;
  /// The same whatever values their own searches leave possible: `within` or more.
  double possibly = 0;
  uint64_t evaluations = 0, bounds = 0;
  std::string proof;
};

/// How a job is placed on devices of a design.
struct MinedPlacement {
  int64_t devices = 1, tensor = 1, pipeline = 1, data = 1;
  bool sequence = false; ///< sequence parallel
  int64_t microbatch = 1, microbatches = 1, virtualStages = 1;
  int zero = 0;
  std::string schedule;                             ///< "one_f_one_b", …
  std::map<std::string, int64_t> recomputePolicies; ///< layers by policy
};

/// What one job takes on a design.
struct MinedStep {
  std::string job, alternative; ///< "micro-batch 4, recompute full"
  int64_t batch = 1;
  double step = 0;                              ///< seconds
  double joules = 0;                            ///< of a step
  double bytes = 0;                             ///< of device memory
  double value = 0;                             ///< of the metric
  double ownBest = 0;                           ///< value of the job's own best design; 0: not known
  std::optional<MinedPlacement> placement = {}; ///< on a cluster
  double weight = 1;                            ///< in a sum of several jobs
  std::vector<MinedZeros> zeros = {};           ///< of its weights, by layer
};

struct MinedDesign {
  std::string name;                ///< "common", or the job's
  std::vector<std::string> chosen; ///< by parameter, as written
  Machine machine;
  std::vector<MinedStep> steps;
  std::string text; ///< as a description
};

/// One search, and the design that it found.
struct MinedAnswer {
  MiningResult result;
  std::optional<MinedDesign> design;
};

/// Share of a step for which its longest path waits for one resource.
struct LimitShare {
  std::string resource; ///< "core mxu", "bandwidth hbm", "kernel floor", "host"
  double share = 0;
};

/// Critical operations that a kind of core keeps waiting.
struct CoreDelay {
  std::string core;
  uint64_t operations = 0; ///< each counted once, however often it runs
  double seconds = 0;      ///< that they begin later for it, in a step
};

/// What one choice of a parameter is worth. Infinite: no such design may be.
struct ChoiceSensitivity {
  uint32_t choice = 0;
  double value = 0;       ///< of the design that differs from the best in this alone
  bool searched = false;  ///< for the best of all designs that choose it
  bool isOptimal = false; ///< none of them is worth less than `best` as designs are valued
  double best = 0, bound = 0;
  std::string reason; ///< it may not be
};

/// A requirement, and what more of it would be worth.
struct RequirementSensitivity {
  std::string text;
  double used = 0;     ///< share of the limit that the best design takes; 0: it is no limit
  std::string figures; ///< "39.22 mm2 of 50 mm2"
  /// What is limited, where that is area (mm2) or design power (W) and nothing else. Empty: it is something else.
  std::string figure;
  double limit = 0;
  bool atMost = true; ///< false: at least
  /// By `kRelaxed`, searched for as long as before; nothing: not searched.
  std::optional<MiningResult> relaxed;
  std::vector<std::string> chosen; ///< by parameter, of the best then
};
constexpr double kRelaxationFactor = 1.1;

/// What a job's step on the best design waits for; nothing where it is placed on a cluster.
struct JobLimits {
  std::string job;
  std::vector<LimitShare> shares;
  std::vector<CoreDelay> delays; ///< by cores that delay anything
};

/// What is found out about the best design.
struct MiningFindings {
  std::string left;                                       ///< why what was asked for is not there; empty: it is
  std::vector<JobLimits> limits;                          ///< by job
  std::vector<double> bottleneckGains;                    ///< by parameter, of the step; empty: not known
  std::vector<std::vector<ChoiceSensitivity>> parameters; ///< by parameter
  std::vector<RequirementSensitivity> requirements;
  /// A machine that is compared with, and the jobs on it that it has room for.
  std::optional<MinedDesign> reference;
};

/// The front, its designs as far as files are written of them.
struct MinedParetoFront {
  ParetoFront front;
  std::vector<MinedDesign> designs; ///< by point
};

/// One stage of a pipeline, and the design that it is on.
struct MinedStage {
  size_t design = 0;       ///< of `MinedStages::designs`
  std::string first, last; ///< layers
  int64_t layers = 0, devices = 0;
  double forward = 0, backward = 0, finish = 0; ///< seconds; backward with gradients of weights
  double bytes = 0;                             ///< peak of device memory
};

/// What a search for the designs of stages came to.
struct StageSearch {
  /// Of the metric: seconds; W s of all devices; m2 s of the mean area of its devices.
  double value = 0;
  double common = 0; ///< the same of the best common design, which is no less
  double bound = 0;  ///< no stages on any designs of the space are worth less; 0: not known
  uint64_t candidates = 0, evaluations = 0, bounds = 0;
  std::string proof;
  double gap() const { return value > 0 ? (value - bound) / value : 0; }
};

/// A pipeline whose stages are on designs of their own.
struct MinedStages : StageSearch {
  MinedStep step;
  std::vector<MinedStage> stages;
  std::vector<MinedDesign> designs; ///< by stage as they come, each once
  std::string text;                 ///< designs and their cluster as a description; empty: none, or it was not read
  std::string sha256;               ///< of the text; empty: there is none
  std::string left;                 ///< why there is no such description
};

/// A file that proves an answer.
struct CertificateFile {
  std::string name;   ///< within the folder of the answer
  std::string sha256; ///< of its text
};

struct MiningPlan {
  std::string space, size; ///< its name and number of designs
  std::string metric;      ///< "step_time", …, or an expression
  std::string unit;        ///< of an expression, in base units: "m^2*s"
  std::string aggregation; ///< "sum", "minimax_regret"; empty: one job
  std::vector<DesignParameter> parameters;
  std::vector<std::string> requirements;
  MinedAnswer best;             ///< of all jobs
  std::vector<MinedAnswer> own; ///< several jobs: of each alone
  /// With zeros: the best design of all jobs where nothing is zero, by the same search.
  std::optional<MinedAnswer> dense;
  std::vector<MinedAnswer> compared; ///< other strategies on the same problem
  bool comparedByTime = false;       ///< with equal processor time; else equal evaluations
  std::optional<MinedParetoFront> front;
  std::optional<MinedStages> stages; ///< where a design for each stage was asked for
  MiningFindings findings;
  std::vector<Conflict> conflicts; ///< a requirement that no design keeps, at most one
  std::vector<std::string> assumptions;
  std::vector<CertificateFile> certificate; ///< certificate and plans, by name
  std::string version;
};

} // namespace accord
