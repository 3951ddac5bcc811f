// One design for several jobs.
#pragma once
#include "lib/mine/StepProblem.h"

namespace accord {

/// How values of several jobs become one.
enum class MiningBlend : uint8_t {
  Sum,       ///< of weight * value
  WorstRatio ///< the largest value / value of the job's own best design
};
const char *name(MiningBlend); ///< "sum", "worst_ratio"

/// One job in the ways in which it may run: its value is that of the best of them.
struct MiningJob {
  std::string name;
  std::vector<std::unique_ptr<StepProblem>> ways;
  std::vector<std::string> labels; ///< of the ways: "micro-batch 4, recompute full"
  double weight = 1;
  double best = 1; ///< of `WorstRatio`: value of its own best design

  double value(const Design &design, size_t *way = nullptr);
  double bound(const DesignBox &box);
};

/// Not the owner of its jobs.
class BlendProblem : public MiningProblem {
public:
  BlendProblem(std::vector<MiningJob *> jobs, MiningBlend blend);
  const std::vector<DesignParameter> &parameters() const override;
  double bound(const DesignBox &box) override;
  double value(const Design &design) override;
  std::vector<double> waits(const Design &design) override;

private:
  double blend(const std::function<double(MiningJob &)> &of) const;
  std::vector<MiningJob *> jobs_;
  MiningBlend blend_;
};

} // namespace accord
