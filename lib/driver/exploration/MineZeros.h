// Which zeros of a training's weights a search of designs tries.
#pragma once
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/exploration/space/DesignSpace.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

class Session;

struct MineZeroChoices {
  /// Each a choice for the whole network. Without the dense one, which always is one more.
  std::vector<StepZeros> choices;
  std::vector<std::string> assumptions;
};

/// Of `sparsity for …`, if the session's training has such a block: all choices that keep the budget of accuracy and
/// that leave no more of any layer than another one. Nothing after errors: A0705 where zeros are no static N:M of
/// weights, where cores use them in other ways or their use is open, and where there are more than `kMaxZeroChoices`.
std::optional<MineZeroChoices> zeroChoicesOf(Session &session, const DesignSpace &space);

/// With the dense one.
constexpr size_t kMaxZeroChoices = 64;

} // namespace accord
