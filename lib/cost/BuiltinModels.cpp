#include "lib/cost/BuiltinModels.h"
#include "lib/cost/CoreRate.h"

namespace accord {
namespace {

class PeakModel : public CostModel {
public:
  std::variant<ComputeTime, Issue> compute(const CostQuery &q,
                                           Assumptions &assumptions) const override {
    auto peak = peakFor(q, assumptions);
    if (auto *issue = std::get_if<Issue>(&peak))
      return std::move(*issue);
    assumeSpread(q, assumptions);
    return timeAtPeak(q, std::get<FlopsPerSecond>(peak));
  }
};

} // namespace

std::unique_ptr<CostModel> makePeakModel() { return std::make_unique<PeakModel>(); }

} // namespace accord
