// Zeros of layers as files of measurements have them: channel by channel, and of networks with a threshold each.
#pragma once
#include "lib/sparsity/solve/FabricLayers.h"

namespace accord {

struct MeasuredZeros {
  std::vector<DataflowLayer> layers; ///< those that files say something of, with their zeros alone
  std::vector<bool> isMeasured;      ///< by layer
  /// What each network of a table is shown to have, by the name of its zeros.
  struct Shown {
    std::string label;
    Rational limit; ///< accuracy: a lower limit where a confidence is required, else as measured
  };
  std::vector<Shown> networks;
  std::vector<Rejection> excluded;   ///< networks that are not accurate enough
  std::vector<Rejection> rejections; ///< what is wrong with the files, or that no network is accurate enough
  std::string metric;
  double confidence = 0;
  size_t limits = 0; ///< that hold at once
};

/// Zeros of the inputs' files for these layers. Traces name them "measured", or "threshold X" where a table has it; a
/// layer of a table without a trace has zeros that are independent with the share that the table says. A1009 for what
/// fits no layer, A1005 where no network is shown to keep the requirement.
MeasuredZeros measuredZeros(std::vector<DataflowLayer> layers, const SparsityRequest &request,
                            const FabricInputs &inputs);

/// What is shown of the accuracy with zeros of this name; empty: no zeros are used, and the most accurate network is
/// taken.
AccuracyEvaluation evaluationOf(const MeasuredZeros &zeros, const std::string &label);

} // namespace accord
