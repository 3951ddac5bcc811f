#include "lib/verify/PlacementEven.h"
#include "lib/verify/PlacementSimulation.h"
#include "lib/verify/PlacementStages.h"
#include "lib/verify/PlacementWorth.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

class EvenStep {
public:
  EvenStep(const PlacementProblem &problem, const Configuration &configuration, int64_t groups,
           EvenHeld &known, uint64_t &work)
      : p(problem), c(configuration), groups(groups), known(known), work(work),
        form(configuration.forms[0]), layers(static_cast<int64_t>(problem.layers.size())),
        stages(groups * configuration.chunks), least(layers / stages), more(layers % stages),
        memory(static_cast<double>(p.kinds[p.forms[form].kind].memory)) {
    crossing.resize(static_cast<size_t>(layers) + 1);
    equalUntil.assign(static_cast<size_t>(layers) + 1, layers);
    for (auto l = static_cast<size_t>(layers) - 1; l-- > 0;)
      equalUntil[l] =
          p.layers[l].of == p.layers[l + 1].of ? equalUntil[l + 1] : static_cast<int64_t>(l) + 1;
    for (const auto &edge : p.edges)
      if (edge.to == edge.from + 1)
        crossing[edge.to] = std::max(crossing[edge.to], static_cast<double>(edge.bytes));
  }

  double run() {
    if (least == 0)
      return INFINITY; // fewer layers than stages
    working = INFINITY;
    for (Id l = 0; l < p.layers.size(); ++l) {
      const auto &cost = p.cost(l, form);
      if (!cost || !mayBeOn(p, l, p.forms[form].kind))
        return INFINITY;
      for (const auto &keep : cost->keeps)
        working = std::min(working, static_cast<double>(keep.working));
    }
    auto m = static_cast<double>(c.microbatches);
    double head = 0, back = 0;
    std::vector<std::vector<double>> ends; // by group, number of larger stages
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> times = groupTimes(g), mine;
      for (double time : times)
        mine.push_back(head + m * time + std::max(back, updates(g)));
      for (size_t n = mine.size(); n-- > 1;) // so that larger ones never end earlier
        mine[n - 1] = std::min(mine[n - 1], mine[n]);
      ends.push_back(std::move(mine));
      head += window(g, least, [&](Id l) { return static_cast<double>(costOf(l).forward); }) +
              arrives(g) + static_cast<double>(p.perMicrobatch);
      back +=
          window(g, least,
                 [&](Id l) { return static_cast<double>(costOf(l).backward + costOf(l).weight); }) +
          arrives(g + 1);
    }
    std::vector<double> tried;
    for (const auto &mine : ends)
      tried.insert(tried.end(), mine.begin(), mine.end());
    std::sort(tried.begin(), tried.end());
    for (double step : tried) {
      int64_t room = 0;
      bool all = true;
      for (const auto &mine : ends) {
        auto within = std::upper_bound(mine.begin(), mine.end(), step) - mine.begin();
        all &= within > 0;
        room += within - 1;
      }
      if (all && room >= more)
        return step * (1 - 1e-11);
    }
    return INFINITY;
  }

private:
  const PlacementProblem::Cost &costOf(Id l) const { return *p.cost(l, form); }

  /// Least sum of a stage with so many layers, wherever it begins.
  template <typename Each> double window(int64_t stage, int64_t size, Each each) {
    int64_t low = stage * least, high = low + std::min(stage, more);
    if (stage + 1 == stages)
      low = high = layers - size; // all that is left
    high = std::min(high, layers - size);
    if (equalUntil[static_cast<size_t>(low)] >= high + size) {
      ++work;
      return static_cast<double>(size) * each(static_cast<Id>(low));
    }
    double sum = 0, best = INFINITY;
    for (int64_t l = low; l < high + size; ++l) {
      ++work;
      sum += each(static_cast<Id>(l));
      if (l >= low + size)
        sum -= each(static_cast<Id>(l - size));
      if (l + 1 >= low + size)
        best = std::min(best, sum);
    }
    return best;
  }

  /// Of a pass into a stage, and of its gradient back, where that blocks.
  double arrives(int64_t stage) const {
    if (stage <= 0 || stage >= stages || !p.blockingTransfers || groups == 1)
      return 0;
    const auto &f = p.forms[form];
    int64_t low = stage * least, high = low + std::min(stage, more);
    double bytes = INFINITY;
    for (int64_t at = low; at <= std::min(high, layers - 1); ++at)
      bytes = std::min(bytes, crossing[static_cast<size_t>(at)]);
    const auto &link = p.links[f.kind * p.kinds.size() + f.kind];
    std::vector<LinearTime> ways{link.across};
    bool neighbours = f.order == PlacementProblem::RankOrder::TensorPipelineData;
    if (2 * (neighbours ? f.tensor : f.devices()) <= p.kinds[f.kind].perServer)
      ways.push_back(link.inside);
    return static_cast<double>(leastTime(ways, bytes * static_cast<double>(f.data * f.microbatch) /
                                                   static_cast<double>(f.devices())));
  }

  double updates(int64_t group) {
    double sum = 0;
    for (int64_t s = group; s < stages; s += groups)
      sum += window(s, least, [&](Id l) { return static_cast<double>(costOf(l).update); });
    return sum;
  }

  /// Micro-batches in flight by chunk: a mean of moments of the group's order.
  const std::vector<double> &meanHeld(int64_t group) {
    // Rounds after the fourth are like those before.
    int64_t m = std::min(c.microbatches, 4 * groups);
    auto [found, isNew] = known.try_emplace({groups, c.chunks, m, group});
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

  /// Least time of a micro-batch in all chunks of a group, by how many of them are larger.
  std::vector<double> groupTimes(int64_t group) {
    const std::vector<double> &held = meanHeld(group);
    std::vector<double> prices{0};
    for (const auto &one : p.classes)
      if (const auto &cost = one.costs[form])
        for (const auto &a : cost->keeps)
          for (const auto &b : cost->keeps)
            if (b.again > a.again && b.kept < a.kept)
              for (double in : held)
                if (in > 0)
                  prices.push_back(static_cast<double>(b.again - a.again) /
                                   (in * static_cast<double>(a.kept - b.kept)));
    std::sort(prices.begin(), prices.end());
    prices.erase(std::unique(prices.begin(), prices.end(),
                             [](double a, double b) { return b - a <= 1e-9 * b; }),
                 prices.end());
    prices.push_back(prices.back() * 100);
    std::vector<double> best(static_cast<size_t>(std::min(more, c.chunks)) + 1, 0);
    for (double price : prices) {
      double sum = -price * (memory - working);
      std::vector<double> extra;
      for (int64_t chunk = 0; chunk < c.chunks; ++chunk) {
        int64_t s = chunk * groups + group;
        auto each = [&](Id l) {
          const auto &cost = costOf(l);
          double keeps = INFINITY;
          for (const auto &keep : cost.keeps)
            keeps = std::min(keeps, static_cast<double>(keep.again) +
                                        price * held[static_cast<size_t>(chunk)] *
                                            static_cast<double>(keep.kept));
          return static_cast<double>(cost.forward + cost.backward + cost.weight) +
                 price * static_cast<double>(cost.resident) + keeps;
        };
        double fewest = window(s, least, each);
        sum += fewest + static_cast<double>(p.perMicrobatch) + arrives(s) + arrives(s + 1);
        if (more > 0)
          extra.push_back(window(s, least + 1, each) - fewest);
      }
      std::sort(extra.begin(), extra.end());
      for (size_t n = 0; n < best.size(); ++n) {
        best[n] = std::max(best[n], sum);
        if (n < extra.size())
          sum += extra[n];
      }
    }
    return best;
  }

  const PlacementProblem &p;
  const Configuration &c;
  int64_t groups;
  EvenHeld &known;
  uint64_t &work;
  Id form;
  int64_t layers, stages, least, more;
  double memory, working = 0;
  std::vector<int64_t> equalUntil; ///< the first layer behind one that is of another class
  std::vector<double> crossing;    ///< bytes of a sample into a layer from the one before
};

} // namespace

double evenStep(const PlacementProblem &problem, const Configuration &configuration, int64_t groups,
                EvenHeld &held, uint64_t &work) {
  return EvenStep(problem, configuration, groups, held, work).run();
}

} // namespace accord
