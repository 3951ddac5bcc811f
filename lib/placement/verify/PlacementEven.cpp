#include "lib/placement/verify/PlacementEven.h"
#include "lib/placement/verify/PlacementSimulation.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

class EvenStep {
public:
  EvenStep(const PlacementProblem &problem, const Configuration &configuration,
           const std::vector<EvenStages> &forms, int64_t groups)
      : p(problem), c(configuration), forms(forms), heads{0}, backs{0},
        ends(forms.size(),
             std::vector(static_cast<size_t>(groups),
                         std::vector<double>(static_cast<size_t>(forms[0].most()) + 1))) {
    for (int64_t g = 0; g < groups; ++g) {
      double head = INFINITY, back = INFINITY;
      for (const EvenStages &stages : forms) {
        head = std::min(head, stages.forward(g) + stages.sends(g));
        back = std::min(back, stages.backward(g) + stages.sends(g));
      }
      heads.push_back(heads.back() + head), backs.push_back(backs.back() + back);
    }
  }

  /// With the micro-batches of each chunk that a group holds, or a mean of such.
  void hold(int64_t group, const std::vector<double> &held) {
    auto g = static_cast<size_t>(group);
    std::vector<double> all(static_cast<size_t>(c.chunks), static_cast<double>(c.microbatches));
    std::vector<int8_t> either(all.size(), -1);
    for (size_t f = 0; f < forms.size(); ++f) {
      auto &mine = ends[f][g];
      for (bool last : {false, true}) {
        std::vector<double> takes =
            forms[f].group(group, {all, all, last ? 1.0 : 0.0}, held, either);
        for (size_t n = 0; n < takes.size(); ++n)
          mine[n] = std::max(mine[n], (heads[g] + takes[n] + (last ? 0 : backs[g])) * kLess);
      }
      for (size_t n = mine.size(); n-- > 1;) // so that larger ones never end earlier
        mine[n - 1] = std::min(mine[n - 1], mine[n]);
    }
  }

  double step() const {
    std::vector<double> tried;
    for (const auto &of : ends)
      for (const auto &mine : of)
        tried.insert(tried.end(), mine.begin(), mine.end());
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    size_t low = 0, high = tried.size(); // the least that is long enough
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (std::isinf(tried[middle]) || longEnough(tried[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    return low < tried.size() ? tried[low] : INFINITY;
  }

  /// Of each group the most larger stages before it is enough. Of one form.
  template <typename Enough> std::vector<int64_t> most(const Enough &enough) const {
    std::vector<int64_t> most;
    for (const auto &mine : ends[0]) {
      int64_t n = -1;
      while (n + 1 < static_cast<int64_t>(mine.size()) && !enough(mine[static_cast<size_t>(n + 1)]))
        ++n;
      most.push_back(n);
    }
    return most;
  }

private:
  bool longEnough(double step) const {
    int64_t room = 0, groups = static_cast<int64_t>(ends[0].size());
    std::vector<int64_t> alone(forms.size()); // groups that can have no other form
    std::vector<char> some(forms.size());
    std::vector<int64_t> gains; // of the second form, where both can be
    for (size_t g = 0; g < ends[0].size(); ++g) {
      std::vector<int64_t> can;
      for (const auto &of : ends)
        can.push_back(std::upper_bound(of[g].begin(), of[g].end(), step) - of[g].begin() - 1);
      auto best = std::max_element(can.begin(), can.end());
      if (*best < 0)
        return false;
      size_t able = 0;
      for (size_t f = 0; f < forms.size(); ++f)
        able += can[f] >= 0, some[f] |= can[f] >= 0;
      if (able == 1)
        ++alone[static_cast<size_t>(best - can.begin())];
      bool two = forms.size() == 2 && able == 2;
      room += two ? can[0] : *best;
      if (two)
        gains.push_back(can[1] - can[0]);
    }
    auto most = [&](size_t f) {
      const auto &form = p.forms[c.forms[f]];
      return p.kinds[form.kind].devices / form.devices();
    };
    auto others = p.sameForm ? static_cast<int64_t>(forms.size()) - 1 : 0;
    for (size_t f = 0; f < forms.size(); ++f)
      if (alone[f] > std::min(most(f), groups - others) || (p.sameForm && !some[f]))
        return false;
    if (forms.size() == 2) { // as many with the second form as may be, and as are better with it
      int64_t least = std::max(groups - most(0), others) - alone[1],
              largest = std::min(most(1), groups - others) - alone[1];
      std::sort(gains.rbegin(), gains.rend());
      for (size_t i = 0; i < gains.size(); ++i)
        if (auto n = static_cast<int64_t>(i); n < least || (n < largest && gains[i] > 0))
          room += gains[i];
    }
    return room >= forms[0].more();
  }

  static constexpr double kLess = 1 - 1e-10; ///< for sums of doubles
  const PlacementProblem &p;
  const Configuration &c;
  const std::vector<EvenStages> &forms;
  std::vector<double> heads, backs;
  std::vector<std::vector<std::vector<double>>> ends; ///< by form, group, number of larger stages
};

/// Micro-batches in memory by chunk: a mean of moments of the group's order.
const std::vector<double> &meanHeld(EvenKnown &known, const Configuration &c, int64_t groups,
                                    int64_t group, uint64_t &work) {
  // Rounds after the fourth are like those before.
  int64_t m = std::min(c.microbatches, 4 * groups);
  auto [found, isNew] = known.held.try_emplace({groups, c.chunks, m, group});
  if (!isNew)
    return found->second;
  PipelineToReplay shape{c.schedule, groups, c.chunks, m, {}, {}};
  auto v = static_cast<size_t>(c.chunks);
  std::vector<double> mean(v);
  for (size_t weighed = 0; weighed < v; ++weighed) {
    std::vector<int64_t> kept(v, 4);
    kept[weighed] = 5;
    auto [bytes, held] = peakOf(shape, group, kept);
    work += static_cast<uint64_t>(m * c.chunks / 16 + 1);
    for (size_t chunk = 0; chunk < v; ++chunk)
      mean[chunk] += static_cast<double>(held[chunk]) / static_cast<double>(v);
  }
  return found->second = std::move(mean);
}

} // namespace

EvenAnswer evenStep(const PlacementProblem &problem, const Configuration &c, int64_t groups,
                    const PathBound *paths, const std::function<bool(double, double)> &enough,
                    double passes, EvenKnown &known, uint64_t &work) {
  EvenAnswer answer{INFINITY, true, {}};
  std::vector<EvenStages> forms;
  double joules = INFINITY;
  for (auto form : c.forms) {
    forms.emplace_back(problem, c, form, groups, work);
    if (!forms.back().can() && c.forms.size() > 1) // a layer is on other devices
      return {0, false, {}};
    if (!forms.back().can())
      return answer;
    joules = c.forms.size() > 1 ? 0 : forms.back().joules();
  }
  const EvenStages &stages = forms[0];
  auto reaches = [&](double step) { return enough(step, joules); };
  EvenStep even(problem, c, forms, groups);
  for (bool full : {false, true}) {
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> held = meanHeld(known, c, groups, g, work);
      if (full) {
        PipelineToReplay shape{c.schedule, groups, c.chunks, c.microbatches, {}, {}};
        std::vector<int64_t> first = heldAfter(shape, g, windowOf(shape, g));
        held.assign(first.begin(), first.end());
      }
      even.hold(g, held);
    }
    answer.step = even.step();
    answer.proved = reaches(answer.step);
    if (answer.proved)
      return answer;
  }
  if (!paths || forms.size() > 1 ||
      2.0 * static_cast<double>(c.microbatches * stages.stages()) > passes)
    return answer;
  auto [orders, isNew] = known.orders.try_emplace({groups, c.chunks, c.microbatches}, groups,
                                                  c.chunks, c.microbatches);
  work += isNew ? static_cast<uint64_t>(c.microbatches * stages.stages()) : 0;
  std::vector<int64_t> most = even.most(reaches);
  answer.proved =
      weigh(*paths, stages, orders->second, most, reaches, answer.fault) == PathsSay::Enough;
  return answer;
}

} // namespace accord
