// Prices of configurations by the cost model: the network of a `train` block with the sizes that a tuning proposes.
//
// A hyper-parameter changes the price where it has the name of a parameter of the model, or is `batch`, `optimizer` or
// `precision` (of the training alone: an inference has its own). The training graph is built once for each distinct
// network; batches and numbers of devices of the same network share it.
//
// A step is planned as `accord estimate` does with the largest micro-batch that fits. On several devices of a cluster
// the batch is divided among them, and gradients are reduced over its network.
#pragma once
#include "lib/driver/Options.h"
#include "lib/tuning/solve/PricedTrials.h"
#include "llvm/ADT/StringMap.h"

namespace accord {

class NetworkPricer final : public tuning::Pricer {
public:
  /// The file of `options`; blocks and numbers of devices are those of `priced`, which is kept by reference and gets
  /// what follows from the blocks. `keepsGraphs`: false elaborates each configuration anew, as a verifier wants it.
  NetworkPricer(const Options &options, const tuning::TuningProblem &problem, tuning::PricedTuning &priced,
                bool keepsGraphs = true);
  ~NetworkPricer() override;

  /// Reads the blocks and their machines, and which hyper-parameters change prices. What is wrong, with places; nothing
  /// where all is right.
  std::optional<Errors> prepare();
  Result<tuning::Price, Errors> price(const tuning::Configuration &configuration) override;
  /// What is assumed for all prices, in words.
  const std::vector<std::string> &assumptions() const { return assumptions_; }
  size_t numGraphs() const;

private:
  class Block;
  Result<tuning::Price, Errors> made(const tuning::Configuration &configuration);

  const Options &options_;
  const tuning::TuningProblem &problem_;
  tuning::PricedTuning &priced_;
  const bool keepsGraphs_;
  std::unique_ptr<Block> training_, inference_;
  double unitSamples_ = 0;
  llvm::StringMap<tuning::Price> prices_; ///< by `keyOf` of both blocks; of inferences by that of theirs
  llvm::StringMap<tuning::InferencePrice> inferences_;
  std::vector<std::string> assumptions_;
};

} // namespace accord
