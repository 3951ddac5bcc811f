// What a file says of the zeros of a training, and what it asks for, as plain data.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Rational.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// `sparsity for TRAINING { … }` as it was read. Names are of the training graph, once it is there.
struct SparsityRequest {
  std::string train;
  SourceLocation location;
  /// `weights of block.* = {nm(2, 4), unstructured(density = 0.5)}`: what may be chosen for each operation whose
  /// parameter (`Weights`), or that itself (`Activations`: its input, `Gradients`: of its result), has such a name. Of
  /// several rules for one operand the last one holds.
  struct Rule {
    GemmOperand of = GemmOperand::Weights;
    std::string names;                    ///< with `*` for any letters
    std::vector<SparsityPattern> choices; ///< dense is one beside them, unless the pattern is a fact: `given`
    bool given = false;                   ///< no choice: the values are so (activations behind a ReLU)
    std::vector<std::string> texts;       ///< of `choices`, as written
    SourceLocation location;
  };
  std::vector<Rule> rules;
  std::vector<SparseFormat> formats; ///< to choose from; empty: all that fit a pattern
  /// `accuracy "top1" from "file.csv" samples 50000`, `sensitivity from "file.csv"`.
  struct AccuracyMeasurements {
    enum class Kind : uint8_t {
      Measured,   ///< whole network, this model (level A), or its layers (level B, said by the file's columns)
      Published,  ///< the same model, measured by others: `published`
      Sensitivity ///< orders layers alone (level C)
    };
    Kind kind = Kind::Measured;
    std::string metric, file;
    int64_t samples = 0; ///< that accuracies are shares of; 0: not stated, no confidence
    SourceLocation location;
  };
  std::vector<AccuracyMeasurements> measurements;
  /// By how much losses of layers together may exceed their sum: `margin = 1.25`; 0: not stated, estimates alone.
  double margin = 0;
  /// `require accuracy >= 0.74 confidence 0.95`.
  struct Requirement {
    Rational min;
    double confidence = 0; ///< 0: not stated
    SourceLocation location;
  };
  std::optional<Requirement> accuracy;
  /// `require sparse_layers <= 6`: so many layers take zeros that are no given facts.
  struct MaxSparseLayers {
    int64_t layers = 0;
    SourceLocation location;
  };
  std::optional<MaxSparseLayers> sparseLayers;
  double confidence = 0.95; ///< of quantiles of time and memory
  /// `recipe = static` or `dynamic(every = 100)`: whether masks of weights are found again, every so many steps.
  /// Nothing: as each pattern says, in each step. Patterns are as the recipe says, once they are read.
  std::optional<bool> movesMasks;
  int64_t maskPeriod = 1;
  bool keepsFirstDense = false, keepsLastDense = false; ///< `dense_layers = {first, last}`: weights of these
  /// `distribution = erk`: densities of weights are of the network, and those of layers are proportional to the sum of
  /// their dimensions over their product, at most 1. Otherwise each layer has the density of its rule.
  bool isErdosRenyi = false;
  /// `kernels "NVIDIA H200" from "gpu.operations"`: measured 2:4 products; no file: published figures.
  struct KernelMeasurements {
    std::string device, file;
    SourceLocation location;
  };
  std::optional<KernelMeasurements> kernels;
  std::string objective = "step_time"; ///< "energy", "memory", "throughput" (of a dataflow device)
  bool forwardOnly = false;            ///< `phases = forward`: no gradients, for devices that only infer
};

} // namespace accord
