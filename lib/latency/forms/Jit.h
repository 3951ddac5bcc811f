// The latency model as machine code of this process: for sweeps over many configurations.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include <functional>
#include <memory>

namespace accord {

struct LatencyJitOptions {
  /// Arguments that will be given other values than their initial ones; all when empty. What depends on none of them is
  /// computed once, by the compiler.
  std::vector<std::string> varying;
  bool batches = true;   ///< compile `evaluate` of many configurations
  bool single = true;    ///< compile `evaluate` of one configuration
  unsigned optimize = 2; ///< 0..3
};

/// Compiled from the model's MLIR form: the same results as every other form, bit for bit.
class LatencyJit {
public:
  /// A0806: the machine has no code generator, an unknown argument varies, or LLVM says why.
  static Result<std::unique_ptr<LatencyJit>> compile(const LatencyModel &model, const LatencyJitOptions &options);
  ~LatencyJit();
  static constexpr unsigned kLanes = 8; ///< configurations that one pass of a batch takes at once

  /// All arguments of the model, in order; those that do not vary are ignored.
  LatencyEvaluation evaluate(const std::vector<double> &arguments) const;
  /// `n` configurations: `value(i, argument)` is what configuration i gives an argument.
  std::vector<LatencyEvaluation> evaluate(size_t n, const std::function<double(size_t, size_t)> &value) const;
  /// `blocks` * kLanes configurations: a column for each varying argument, in the order of `varying()`, holds int64_t
  /// or double, as the argument is. One result for each goes to every other array.
  void evaluateBlocks(int64_t blocks, const std::vector<const void *> &columns, double *step, double *memory,
                      double *flops, LatencyStatus *status) const;
  /// Indices of arguments, ascending.
  const std::vector<size_t> &varying() const { return arguments; }

private:
  struct Code;
  LatencyJit();
  /// The 8 bytes that the code reads; false where no integer of 64 bits is `value`.
  static bool encode(const LatencyArgument &argument, double value, int64_t &bits);
  std::unique_ptr<Code> code;
  std::vector<size_t> arguments;
  std::vector<LatencyArgument> described; ///< those that vary
};

} // namespace accord
