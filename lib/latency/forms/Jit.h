// The latency model as machine code of this process: for sweeps over many configurations.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include <functional>
#include <memory>

namespace mlir {
class DialectRegistry;
}

namespace accord {

/// The dialects of the model's MLIR form: func, arith, math and scf.
void registerLatencyDialects(mlir::DialectRegistry &registry);

struct LatencyJitOptions {
  /// Arguments that will be given other values than their initial ones; all when empty. What depends on none of them is
  /// computed once, by the compiler.
  std::vector<std::string> varying;
  bool batches = true;   ///< compile `evaluate` of many configurations
  bool single = true;    ///< compile `evaluate` of one configuration
  unsigned optimize = 2; ///< 0..3
};

/// Where the values of one argument lie, one per configuration. Of the argument's own type.
union LatencyColumn {
  const int64_t *integers;
  const double *reals;
};

/// Where results go, one per configuration; null where one is not wanted.
struct LatencyColumns {
  double *step = nullptr, *memory = nullptr, *flops = nullptr;
  LatencyStatus *status = nullptr;
};

/// Compiled from the model's MLIR form: the same results as every other form, bit for bit.
class LatencyJit {
public:
  /// A0806: the machine has no code generator, an unknown argument varies, or LLVM says why.
  static Result<std::unique_ptr<LatencyJit>> compile(const LatencyModel &model, const LatencyJitOptions &options);
  ~LatencyJit();

  /// All arguments of the model, in order; those that do not vary are ignored.
  LatencyEvaluation evaluate(const std::vector<double> &arguments) const;
  /// `n` configurations: `columns` holds the varying arguments, in the order of `varying()`.
  void evaluate(size_t n, const std::vector<LatencyColumn> &columns, const LatencyColumns &results) const;
  /// The same from any storage: `value(i, argument)` is what configuration i gives an argument.
  std::vector<LatencyEvaluation> evaluate(size_t n, const std::function<double(size_t, size_t)> &value) const;
  /// Indices of arguments, ascending.
  const std::vector<size_t> &varying() const { return arguments; }
  const LatencyArgument &argument(size_t i) const { return described[i]; }

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
