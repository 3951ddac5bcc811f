// The latency model of a plan: step time, memory and FLOPs of a training job as functions of sizes and of the machine,
// as one description from which every form is printed.
#pragma once
#include "lib/latency/model/Expression.h"
#include "lib/support/Result.h"

namespace accord {

/// Seconds, bytes, FLOPs of a step.
struct LatencyResult {
  double step = 0, memory = 0, flops = 0;
};

struct LatencyModel {
  /// Two integers or two reals that have to be in order; else the model is not asked there.
  struct Guard {
    NodeId min, max;  ///< least <= most
    std::string text; ///< what is wrong when it does not hold: "the micro-batch exceeds the batch"
  };
  /// What a node is, for people: one line each.
  struct Label {
    NodeId node;
    std::string text;
  };
  struct Output {
    std::string name; ///< a C identifier: "step_time_s"
    std::string text;
    NodeId node; ///< a real
  };
  /// What a form checks itself with.
  struct Sample {
    std::vector<double> arguments;
    LatencyResult result;
  };

  std::string name; ///< prefix of the C functions: a C identifier (see `cName`)
  std::string model, machine, version;
  Expressions nodes; ///< over `nodes.arguments()`: batch, microbatch, sequence, then the machine's
  std::vector<Guard> guards;
  std::vector<Output> outputs;    ///< step_time_s, memory_bytes, flops
  std::vector<Label> labels;      ///< by ascending node
  std::vector<Sample> samples;    ///< the first is the plan's own
  std::vector<std::string> notes; ///< what was assumed and left out, and why
  double planStep = 0;            ///< seconds that the plan says at the arguments' initial values
  /// The model gives `planStep` there; else a little less, as the plan waits without need.
  bool exact = false;

  const std::vector<LatencyArgument> &arguments() const { return nodes.arguments(); }
  /// Index by name.
  std::optional<size_t> argument(const std::string &name) const;
  std::vector<double> initial() const; ///< of all arguments, in order
  std::vector<NodeId> roots() const;   ///< of guards and outputs
  bool uses(NodeKind kind) const;      ///< whether guards or outputs need such a node
};

constexpr size_t kBatch = 0, kMicrobatch = 1, kSequence = 2; ///< of the arguments
constexpr size_t kStepTime = 0, kMemory = 1, kFlops = 2;     ///< of the outputs

/// 0: the model holds there; i + 1: argument i is outside of its range; then the guards.
using LatencyStatus = int32_t;
/// "microbatch = 0 is outside of 1..65536" for what `evaluate` returned.
std::string explain(const LatencyModel &model, LatencyStatus status, const std::vector<double> &arguments);
/// "1..65536, multiples of 4" of an argument; "1, 2, 4" of a list; "1024 only: …" of a held one.
std::string rangeText(const LatencyArgument &argument);

struct LatencyEvaluation {
  LatencyStatus status = 0;
  LatencyResult result; ///< NaN when status is not 0
};
/// `arguments` in the order of the model's.
LatencyEvaluation evaluate(const LatencyModel &model, const std::vector<double> &arguments);
/// The others at their initial values.
LatencyEvaluation evaluate(const LatencyModel &model, int64_t batch, int64_t microbatch, int64_t sequence);

/// Fills `samples`: the plan's own point, the corners of small sizes, and others in between chosen by a fixed sequence.
void addSamples(LatencyModel &model, unsigned count);

/// "gpt-2 xl" -> "gpt_2_xl".
std::string cName(const std::string &name);

} // namespace accord
