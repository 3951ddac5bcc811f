#include "lib/placement/verify/PlacementConfigurations.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Id = PlacementProblem::Id;
constexpr size_t kMost = 1'000'000;

class Configuring {
public:
  Configuring(const PlacementProblem &problem, std::vector<Configuration> &list)
      : p(problem), list(list) {}

  bool run() {
    std::map<int64_t, std::vector<std::vector<Id>>> bySamples; // by kind
    for (Id f = 0; f < p.forms.size(); ++f) {
      const auto &form = p.forms[f];
      int64_t samples = form.data * form.microbatch;
      auto &kinds = bySamples[samples];
      kinds.resize(p.kinds.size());
      if (p.batch % samples == 0 && form.devices() <= p.kinds[form.kind].devices &&
          (p.limits.devices == 0 || form.devices() <= p.limits.devices))
        kinds[form.kind].push_back(f);
    }
    for (const auto &[samples, kinds] : bySamples) {
      std::vector<Id> chosen;
      if (!p.sameForm) {
        for (const auto &forms : kinds)
          for (Id form : forms)
            if (byReplica(form))
              add(samples, {form});
            else
              chosen.push_back(form);
        add(samples, chosen);
      } else if (!combine(samples, kinds, 0, chosen)) {
        return false;
      }
    }
    return list.size() < kMost;
  }

private:
  bool combine(int64_t samples, const std::vector<std::vector<Id>> &kinds, size_t at,
               std::vector<Id> &chosen) {
    if (at == kinds.size())
      return add(samples, chosen);
    if (!combine(samples, kinds, at + 1, chosen))
      return false;
    for (Id form : kinds[at]) {
      if (!chosen.empty() && (byReplica(form) || byReplica(chosen[0])))
        continue; // the form of all stages, or of none
      chosen.push_back(form);
      bool room = combine(samples, kinds, at + 1, chosen);
      chosen.pop_back();
      if (!room)
        return false;
    }
    return true;
  }
  bool byReplica(Id form) const {
    return p.forms[form].order == PlacementProblem::RankOrder::TensorPipelineData;
  }
  bool add(int64_t samples, const std::vector<Id> &forms) {
    if (forms.empty())
      return true;
    std::vector<PipelineSchedule> seen;
    for (PipelineSchedule schedule : p.schedules) {
      if (std::find(seen.begin(), seen.end(), schedule) != seen.end())
        continue;
      seen.push_back(schedule);
      std::vector<int64_t> chunks{1};
      if (schedule == PipelineSchedule::Interleaved) {
        chunks = p.chunks;
        std::sort(chunks.begin(), chunks.end());
        chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
      }
      for (int64_t v : chunks)
        if (v > 1 || schedule != PipelineSchedule::Interleaved)
          list.push_back({p.batch / samples, v, schedule, forms});
    }
    return list.size() < kMost;
  }

  const PlacementProblem &p;
  std::vector<Configuration> &list;
};

} // namespace

bool configurations(const PlacementProblem &problem, std::vector<Configuration> &list) {
  return Configuring(problem, list).run();
}

int64_t mostGroups(const PlacementProblem &p, const Configuration &c) {
  int64_t groups = 0, fewest = INT64_MAX;
  std::vector<int64_t> least(p.kinds.size(), INT64_MAX);
  for (Id f : c.forms) {
    int64_t devices = p.forms[f].devices();
    least[p.forms[f].kind] = std::min(least[p.forms[f].kind], devices);
    fewest = std::min(fewest, devices);
  }
  for (size_t k = 0; k < least.size(); ++k)
    groups += p.kinds[k].devices / least[k];
  if (p.limits.devices > 0)
    groups = std::min(groups, p.limits.devices / fewest);
  if (!p.groups.empty())
    groups = std::min(groups, p.groups.back().most);
  return std::min(groups, static_cast<int64_t>(p.layers.size()) / c.chunks);
}

bool mayHave(const PlacementProblem &p, const Configuration &c, int64_t groups) {
  return p.mayHaveGroups(groups) && (c.chunks == 1 || (groups > 1 && c.microbatches % groups == 0));
}

std::string describe(const Configuration &c) {
  static const char *const names[] = {"GPipe", "1F1B", "interleaved 1F1B", "ZB-H1"};
  return fmt::format("{}{} of {} micro-batches, stages in form {}{}",
                     names[static_cast<size_t>(c.schedule)],
                     c.chunks > 1 ? fmt::format(" with {} chunks", c.chunks) : "", c.microbatches,
                     c.forms[0], c.forms.size() > 1 ? " or others" : "");
}

} // namespace accord
