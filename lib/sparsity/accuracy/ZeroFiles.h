// Files of zeros that were measured: by channel and window, and by the threshold that made them.
#pragma once
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"

namespace accord {

/// Of some layers, how many products of a window of one channel were zero, weight and activation together.
struct ZeroTraces {
  struct Channel {
    std::string threshold;           ///< that they were measured with; empty: none is named
    std::string layer;               ///< with `*` for any letters
    int64_t channel = 0;             ///< from 0
    std::vector<double> counts = {}; ///< of windows, by zeros
    SourceLocation location = {};
  };
  std::string file;
  std::vector<Channel> channels; ///< in the order of the file
};

/// What is left of a network that was measured with some thresholds of pruning, each a whole configuration.
struct ThresholdTable {
  struct Density {
    std::string layer;  ///< with `*` for any letters; empty: all layers
    double density = 1; ///< of products that are not zero
    SourceLocation location = {};
  };
  struct Network {
    std::string threshold;          ///< as written
    Rational share;                 ///< of answers that were right
    int64_t right = 0, samples = 0; ///< 0 samples: not known
    std::vector<Density> densities = {};
    SourceLocation location = {};
  };
  std::string file, metric;
  std::vector<Network> networks; ///< in the order of the file
};

/// A table of comma-separated values with one line of names: `layer`, `channel` (from 0), `zeros` (of a window's
/// products) and `count` or `share` (of windows); perhaps `threshold` and `note`. What is not there is 0. A1009 with
/// line and column, at most 20.
std::variant<ZeroTraces, std::vector<Rejection>> readZeroTraces(std::string_view text, const std::string &file);

/// `threshold`, `density` (of products that are not zero, 0 to 1), one column that is named as the metric (a share) or
/// `right`, perhaps `layer`, `samples` and `note`. Lines of one threshold are of one network: its accuracy is in the
/// first, and in the others the same or left empty. A1009 as above.
std::variant<ThresholdTable, std::vector<Rejection>> readThresholds(std::string_view text, const std::string &file);

} // namespace accord
