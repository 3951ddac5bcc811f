// A design space: parameters that are left open, and one design of it, as plain data.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// One choice that a description leaves open.
struct DesignParameter {
  std::string name;                ///< "tc.count", "tc.array.rows", "glb.capacity", "tc.dataflow"
  std::vector<std::string> labels; ///< what may be chosen, as it is written: "16 MiB"
  std::vector<double> numbers;     ///< the same in base units, ascending; empty: words
  SourceLocation location;
};

/// By parameter: position of what is chosen.
using Design = std::vector<uint32_t>;

/// All designs between two, both included, in every parameter.
struct DesignBox {
  Design low, high;
  bool one() const { return low == high; }
};

/// All designs.
inline DesignBox wholeOf(const std::vector<DesignParameter> &parameters) {
  DesignBox all;
  for (const DesignParameter &parameter : parameters) {
    all.low.push_back(0);
    all.high.push_back(parameter.labels.size() - 1);
  }
  return all;
}

/// How many designs; nothing: above 2^63. A parameter without choices makes it 0.
inline std::optional<uint64_t> designsOf(const std::vector<DesignParameter> &parameters) {
  constexpr uint64_t kMax = uint64_t(1) << 63;
  uint64_t size = 1;
  bool large = false;
  for (const DesignParameter &parameter : parameters) {
    uint64_t choices = parameter.labels.size();
    if (!choices)
      return 0;
    large |= size > kMax / choices;
    size = large ? 1 : size * choices;
  }
  return large ? std::nullopt : std::optional(size);
}

/// The last parameter counts fastest.
inline Design designAt(const std::vector<DesignParameter> &parameters, uint64_t point) {
  Design design(parameters.size());
  for (size_t i = parameters.size(); i-- > 0;) {
    uint64_t choices = parameters[i].labels.size();
    design[i] = point % choices;
    point /= choices;
  }
  return design;
}

/// Whether it has a choice of each parameter.
inline bool isValidDesign(const Design &design, const std::vector<DesignParameter> &parameters) {
  bool valid = design.size() == parameters.size();
  for (size_t i = 0; valid && i < design.size(); ++i)
    valid = design[i] < parameters[i].labels.size();
  return valid;
}

/// By parameter, what a valid design chooses, as it is written.
inline std::vector<std::string> labelsOf(const std::vector<DesignParameter> &parameters, const Design &design) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < design.size(); ++i)
    labels.push_back(parameters[i].labels[design[i]]);
  return labels;
}

} // namespace accord
