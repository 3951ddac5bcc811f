// Zeros that a step of a job may run with, as plain data.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace accord {

/// Weights of one layer of which `kept` of every `of` neighbours along the reduction are not zero (N:M), the same ones
/// in all steps. They are stored without the zeros.
struct MinedZeros {
  std::string layer; ///< name of its forward product
  int64_t kept = 1, of = 1;
  bool transposable = false; ///< along the outputs, too
  friend bool operator==(const MinedZeros &, const MinedZeros &) = default;
};

/// "nm(2, 4) transposable".
inline std::string patternText(const MinedZeros &zeros) {
  return fmt::format("nm({}, {}){}", zeros.kept, zeros.of, zeros.transposable ? " transposable" : "");
}
/// "nm(2, 4) in 16 layers, nm(1, 4) in 1 layer"; empty: nothing is zero.
inline std::string zerosText(const std::vector<MinedZeros> &zeros) {
  std::vector<std::pair<std::string, size_t>> patterns;
  for (const MinedZeros &one : zeros) {
    const std::string text = patternText(one);
    auto known = std::ranges::find(patterns, text, &std::pair<std::string, size_t>::first);
    if (known == patterns.end())
      patterns.emplace_back(text, 1);
    else
      ++known->second;
  }
  std::string all;
  for (const auto &[text, count] : patterns)
    all += fmt::format("{}{} in {} layer{}", all.empty() ? "" : ", ", text, count, count == 1 ? "" : "s");
  return all;
}

/// All that prices of a step with zeros follow from, beside its graph and a machine.
struct StepZeros {
  std::vector<MinedZeros> layers;
  /// What the tensor cores of all designs make of zeros: it is not open in any space. Nothing: they compute them.
  std::optional<SparseCore> core = std::nullopt;
  bool empty() const { return layers.empty(); }
};

/// Whether zeros can be mined for cores that use them so: weights that stay are skipped and stored as N:M.
inline bool minesZerosOn(const SparseCore &core) {
  const SparseAcceleration &weights = core.stationary;
  return weights.mode == SparseAcceleration::Mode::Skip && weights.compress && weights.of > 0 &&
         core.streaming.mode == SparseAcceleration::Mode::None && !core.streaming.compress;
}
/// Whether two cores make the same of such zeros; of nothing: they compute them.
inline bool isSameUse(const std::optional<SparseCore> &a, const std::optional<SparseCore> &b) {
  auto numbers = [](const SparseCore &core) {
    return std::tuple(core.stationary.mode, core.stationary.compress, core.stationary.kept, core.stationary.of,
                      core.streaming.mode, core.streaming.compress, core.tile, core.metadataBits, core.setupCycles,
                      core.gatedEnergy, core.wordsPerCycle);
  };
  return a && b ? numbers(*a) == numbers(*b) : a.has_value() == b.has_value();
}

} // namespace accord
