// Cycles of one element in a lane as published, for machines that state none of their own.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace accord {

struct PublishedCycles {
  std::string_view kind; ///< as the dnn dialect names operations
  double cycles;
};

/// The latency estimator of Phaze (Wang, Tarnawski, Phanishayee, Mahajan: Integrated Hardware
/// Architecture and Device Placement Search, ICML 2024; repository msr-fiddle/phaze, Estimator),
/// forward operations and gradients. Its normalizations take 1 cycle whatever their kind.
inline constexpr PublishedCycles kPhazeCycles[] = {
    {"add", 1},      {"sub", 1},        {"mul", 1},       {"relu", 1},       {"layer_norm", 1},
    {"rms_norm", 1}, {"batch_norm", 1}, {"dropout", 2},   {"div", 10},       {"sigmoid", 12},
    {"silu", 12},    {"sin", 13},       {"cos", 13},      {"pow", 15},       {"sqrt", 15},
    {"tanh", 27},    {"tanh_grad", 2},  {"pow_grad", 16}, {"sqrt_grad", 16}, {"softmax_grad", 2},
};
/// From that table; nothing for what is not in it.
constexpr std::optional<double> phazeCycles(std::string_view kind) {
  for (const PublishedCycles &entry : kPhazeCycles)
    if (entry.kind == kind)
      return entry.cycles;
  return std::nullopt;
}
/// Softmax there, over `rows` rows of `length`, on `lanes` lanes of all cores together:
/// rows * ceil(length / lanes) + 10 + 10 * ceil(rows * length / lanes). Arguments are at least 1.
constexpr double phazeSoftmaxCycles(int64_t rows, int64_t length, int64_t lanes) {
  __int128 elements = static_cast<__int128>(rows) * length;
  __int128 rounds = elements / lanes + (elements % lanes != 0);
  return static_cast<double>(rows) * static_cast<double>(length / lanes + (length % lanes != 0)) + 10 +
         10 * static_cast<double>(rounds);
}

} // namespace accord
