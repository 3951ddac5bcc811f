// What was chosen of offers: for the terminal, as JSON, and as tasks of SkyPilot.
#pragma once
#include "lib/offers/problem/Offers.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord::offers {

/// Rows of the price lists that nothing can be said of: equal accelerators, or equal reasons.
struct LeftOutReport {
  std::string training;    ///< empty: all
  std::string accelerator; ///< as lists name it
  std::string reason;
  int64_t rows = 0;
  SourceLocation first; ///< of them
};

struct OfferReport {
  OfferProblem problem;
  OfferChoice choice;
  std::vector<std::vector<RunnerUp>> runnersUp; ///< of each training, the best first
  std::vector<LeftOutReport> leftOut;
  int64_t offers = 0;                       ///< in the lists and the inventory
  int64_t compared = 0;                     ///< of them in options; the rest is dominated by them, or left out
  std::vector<std::string> assumptions;     ///< of offers, times and prices
  std::vector<std::string> planAssumptions; ///< of the plans, which are many
  std::vector<std::string> checked;         ///< what was proved again
  std::string certificate;                  ///< SHA-256 of what it follows from; empty: no files are written
  std::vector<std::string> searchAlone; ///< what follows from the search alone, because proving it again takes too long
};

/// "optimal", "feasible", "infeasible" or "unknown".
const char *name(OfferStatus status);
/// "cost", "time", "energy" or "carbon".
const char *name(OfferObjective objective);

/// A row for each training and one for each runner-up, the front of price and time, what was left out and assumed.
std::string offerText(const OfferReport &report, const TextStyle &style);
llvm::json::Value offerJson(const OfferReport &report);
llvm::json::Value offerSchema();

/// The chosen option of one training as a task of SkyPilot (docs.skypilot.co, "SkyPilot YAML"): infra, accelerators,
/// instance_type, use_spot and num_nodes. `run` starts one process a device with torchrun on `train.py`, which stands
/// for the script of the user. Nothing where the option is of an inventory.
std::optional<std::string> skyTask(const OfferReport &report, unsigned training);

/// The provider of the servers of an inventory.
constexpr const char *kOwnProvider = "inventory";

} // namespace accord::offers
