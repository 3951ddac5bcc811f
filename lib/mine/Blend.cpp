#include "lib/mine/Blend.h"
#include <algorithm>
#include <cmath>

namespace accord {

const char *name(MiningBlend blend) { return blend == MiningBlend::Sum ? "sum" : "worst_ratio"; }

double MiningJob::value(const Design &design, size_t *way) {
  double least = INFINITY;
  for (size_t i = 0; i < ways.size(); ++i)
    if (double one = ways[i]->value(design); one < least) {
      least = one;
      if (way)
        *way = i;
    }
  return least;
}

double MiningJob::bound(const DesignBox &box) {
  double least = INFINITY;
  for (const auto &way : ways)
    least = std::min(least, way->bound(box));
  return least;
}

BlendProblem::BlendProblem(std::vector<MiningJob *> jobs, MiningBlend blend)
    : jobs_(std::move(jobs)), blend_(blend) {}

const std::vector<DesignParameter> &BlendProblem::parameters() const {
  return jobs_.front()->ways.front()->parameters();
}

double BlendProblem::blend(const std::function<double(MiningJob &)> &of) const {
  double all = 0;
  for (MiningJob *job : jobs_) {
    double one = of(*job);
    if (std::isinf(one)) // no job may be left out
      return INFINITY;
    all = blend_ == MiningBlend::Sum ? all + job->weight * one : std::max(all, one / job->best);
  }
  return all;
}

double BlendProblem::bound(const DesignBox &box) {
  return blend([&](MiningJob &job) { return job.bound(box); });
}

double BlendProblem::value(const Design &design) {
  return blend([&](MiningJob &job) { return job.value(design); });
}

/// Of the job that decides, in the way that it runs.
std::vector<double> BlendProblem::waits(const Design &design) {
  std::vector<double> all;
  double most = -1;
  for (MiningJob *job : jobs_) {
    size_t way = 0;
    double value = job->value(design, &way);
    double share = blend_ == MiningBlend::Sum ? job->weight * value : value / job->best;
    std::vector<double> mine = job->ways[way]->waits(design);
    if (mine.empty())
      return {};
    if (blend_ == MiningBlend::WorstRatio) {
      if (share > most)
        most = share, all = mine;
      continue;
    }
    all.resize(mine.size());
    for (size_t i = 0; i < mine.size(); ++i)
      all[i] += mine[i] * (std::isinf(share) ? 1 : share);
  }
  return all;
}

} // namespace accord
