#include "lib/exploration/strategies/ParetoFront.h"
#include "lib/exploration/solve/MiningRun.h"
#include "lib/search/BestFirstQueue.h"
#include "lib/search/ParetoFront.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

// Rounds are of fixed sizes, so that the same boxes are looked at whatever the threads.
constexpr size_t kBoxes = 32, kDesigns = 16;

/// Value, then costs.
using Numbers = std::vector<double>;

struct FrontNode {
  double uncovered = 0; ///< the least factor by which the list is above it, when it was looked at
  Numbers lowerBound;
  DesignBox box;
  unsigned level = 0; ///< how often the bound of one design was deepened
};

/// How often b is in a.
double ratio(double a, double b) {
  if (a <= b)
    return a < b && b > 0 ? a / b : 1;
  return b > 0 ? a / b : INFINITY;
}

class ParetoFrontSearch {
public:
  ParetoFrontSearch(MiningProblem &problem, double within, const MiningOptions &options)
      : problem(problem), options(options), within(within), threadPool(options.threads) {
    front.costs = problem.costNames();
  }

  ParetoFront search() {
    DesignBox whole = wholeOf(problem.parameters());
    bool empty = designsOf(problem.parameters()) == 0;
    std::vector<FrontNode> first;
    for (Design &design : validDesigns(problem.parameters(), options.known))
      first.push_back({INFINITY, Numbers(front.costs.size() + 1), {design, design}});
    if (!empty) {
      bound(first);
      value(first);
      std::vector<FrontNode> all(1);
      all[0].lowerBound.assign(front.costs.size() + 1, 0);
      all[0].box = std::move(whole);
      bound(all);
      push(std::move(all[0]));
    }
    std::string ended = rounds();
    double left = 0;
    for (const FrontNode &open : heap)
      left = std::max(left, uncovered(open.lowerBound));
    front.within = std::max(within, left - 1);
    for (const Numbers &lowerBound : unproven)
      left = std::max(left, uncovered(lowerBound));
    front.possibly = std::max(within, left - 1);
    front.proof = fmt::format("branch and bound: {}; {} open nodes", ended, heap.size());
    std::sort(front.points.begin(), front.points.end(), [](const auto &a, const auto &b) {
      return std::tie(a.value, a.costs, a.design) < std::tie(b.value, b.costs, b.design);
    });
    return std::move(front);
  }

private:
  double limit() const { return 1 + within; }

  /// The least factor that makes one of the list no worse in anything.
  double uncovered(const Numbers &lowerBound) const {
    double factor = INFINITY;
    for (const Numbers &point : points) {
      double worst = 0;
      for (size_t i = 0; i < point.size() && worst < factor; ++i)
        worst = std::max(worst, ratio(point[i], lowerBound[i]));
      factor = std::min(factor, worst);
    }
    return std::isinf(lowerBound[0]) ? 0 : factor;
  }

  static bool later(const FrontNode &a, const FrontNode &b) {
    if (a.uncovered != b.uncovered)
      return a.uncovered < b.uncovered;
    return a.box.low > b.box.low;
  }
  void push(FrontNode open) {
    if ((open.uncovered = uncovered(open.lowerBound)) <= limit())
      return;
    heap.push(std::move(open));
  }
  /// The first that the list is still far from; those after it may be nearer by now.
  bool next(FrontNode &open) {
    while (!heap.empty()) {
      open = heap.pop();
      double before = open.uncovered, now = uncovered(open.lowerBound);
      if (now == before)
        return true;
      push(std::move(open));
    }
    return false;
  }

  void bound(std::vector<FrontNode> &all) {
    constexpr size_t kStretch = 16; // microseconds each
    threadPool.each((all.size() + kStretch - 1) / kStretch, [&](size_t stretch) {
      for (size_t i = stretch * kStretch; i < std::min(all.size(), (stretch + 1) * kStretch); ++i)
        raise(all[i]);
    });
    front.bounds += all.size();
  }
  void raise(FrontNode &open) {
    open.lowerBound[0] = std::max(open.lowerBound[0], boundOf(problem, open.box));
    if (std::isinf(open.lowerBound[0]))
      return;
    Numbers costs = problem.costs(open.box);
    costs.resize(front.costs.size());
    for (size_t i = 0; i < costs.size(); ++i)
      if (costs[i] > open.lowerBound[i + 1])
        open.lowerBound[i + 1] = costs[i];
  }

  /// Halves of each at the parameter where that brings their bounds nearest to the list.
  void split(std::vector<FrontNode> &all) {
    std::vector<FrontNode> trials;
    std::vector<size_t> ends;
    for (const FrontNode &open : all) {
      for (BoxHalves &halves : halvesOf(open.box))
        for (DesignBox *half : {&halves.low, &halves.high})
          trials.emplace_back(open).box = std::move(*half);
      ends.push_back(trials.size());
    }
    bound(trials);
    size_t at = 0;
    for (size_t b = 0; b < all.size(); ++b) {
      size_t best = at;
      double minSum = INFINITY;
      for (; at < ends[b]; at += 2) {
        double sum = 0;
        for (size_t half : {at, at + 1}) {
          trials[half].uncovered = uncovered(trials[half].lowerBound);
          sum += std::min(std::max(trials[half].uncovered, limit()), 1e300);
        }
        if (sum < minSum)
          minSum = sum, best = at;
      }
      push(std::move(trials[best]));
      push(std::move(trials[best + 1]));
    }
  }

  void tightenBound(std::vector<FrontNode> &all) {
    threadPool.each(all.size(), [&](size_t i) {
      FrontNode &open = all[i];
      open.lowerBound[0] = std::max(open.lowerBound[0], tightenedBound(problem, open.box.low, ++open.level));
    });
    front.bounds += all.size();
    for (FrontNode &open : all)
      push(std::move(open));
  }

  /// What a design may be worth at least to be covered: its costs are known.
  double enough(const Numbers &lowerBound) const {
    double enough = INFINITY;
    for (const Numbers &point : points) {
      bool near = true;
      for (size_t i = 1; i < point.size() && near; ++i)
        near = ratio(point[i], lowerBound[i]) <= limit();
      if (near)
        enough = std::min(enough, point[0] / limit());
    }
    return enough;
  }

  void value(std::vector<FrontNode> &all) {
    std::vector<DesignEvaluation> found(all.size());
    std::vector<double> below;
    for (const FrontNode &open : all)
      below.push_back(enough(open.lowerBound));
    threadPool.each(all.size(), [&](size_t i) {
      if (all[i].lowerBound[0] < INFINITY)
        found[i] = evaluationOf(problem, all[i].box.low, below[i]);
      else
        found[i] = {INFINITY, INFINITY};
    });
    front.evaluations += all.size();
    for (size_t i = 0; i < all.size(); ++i) {
      Numbers numbers = std::move(all[i].lowerBound);
      double lowerBound = std::max(numbers[0], found[i].lowerBound);
      if (lowerBound < found[i].value && lowerBound < below[i]) {
        unproven.push_back(numbers);
        unproven.back()[0] = lowerBound;
      }
      numbers[0] = found[i].value;
      add(std::move(numbers), std::move(all[i].box.low));
    }
  }

  void add(Numbers numbers, Design design) {
    if (uncovered(numbers) <= limit())
      return;
    size_t kept = 0;
    for (size_t i = 0; i < points.size(); ++i)
      if (!isAtMost(numbers, points[i])) {
        if (kept != i) {
          points[kept] = std::move(points[i]);
          front.points[kept] = std::move(front.points[i]);
        }
        ++kept;
      }
    points.resize(kept);
    front.points.resize(kept);
    front.points.push_back({std::move(design), numbers[0], {numbers.begin() + 1, numbers.end()}});
    points.push_back(std::move(numbers));
  }

  /// Whether a value that is as low as its bound would make valuing the other needless.
  bool mayCover(const FrontNode &a, const FrontNode &b) const {
    for (size_t i = 0; i < a.lowerBound.size(); ++i)
      if (ratio(a.lowerBound[i], b.lowerBound[i]) > limit())
        return false;
    return true;
  }

  /// How it ended.
  std::string rounds() {
    for (;;) {
      std::vector<FrontNode> openNodes, deeper, designs, put;
      FrontNode open;
      uint64_t trials = 0;
      bool bounds = true, values = true;
      while (openNodes.size() < kBoxes && deeper.size() < kDesigns && designs.size() < kDesigns &&
             put.size() < kBoxes && next(open)) {
        size_t sides = 0;
        for (size_t p = 0; p < open.box.low.size(); ++p)
          sides += open.box.low[p] < open.box.high[p];
        bool tightens = sides == 0 && open.level < problem.numBoundLevels();
        uint64_t needs = tightens ? 1 : 2 * sides;
        if (needs > 0 && front.bounds + trials + needs > options.bounds) {
          bounds = false;
        } else if (needs == 0 && front.evaluations + designs.size() >= options.evaluations) {
          values = false;
        } else if (needs == 0 && std::any_of(designs.begin(), designs.end(),
                                             [&](const FrontNode &one) { return mayCover(one, open); })) {
          put.push_back(std::move(open));
          continue;
        } else {
          trials += needs;
          (tightens ? deeper : needs ? openNodes : designs).push_back(std::move(open));
          continue;
        }
        push(std::move(open));
        break;
      }
      bool none = openNodes.empty() && deeper.empty() && designs.empty();
      for (FrontNode &one : put)
        push(std::move(one));
      if (none)
        return !bounds        ? "the limit of bounds"
               : !values      ? "the limit of evaluations"
               : heap.empty() ? "nothing that the list is not near"
                              : "stopped";
      split(openNodes);
      tightenBound(deeper);
      value(designs);
      if (options.stopped())
        return "stopped";
      if (heap.size() > options.openNodes)
        return "node limit";
    }
  }

  MiningProblem &problem;
  const MiningOptions &options;
  double within;
  ThreadPool threadPool;
  std::vector<Numbers> points;   ///< of `front.points`, in their order
  std::vector<Numbers> unproven; ///< of designs whose own search left something open
  BestFirstQueue<FrontNode, decltype(&later)> heap{later};
  ParetoFront front;
};

} // namespace

ParetoFront mineParetoFront(MiningProblem &problem, double within, const MiningOptions &options) {
  return ParetoFrontSearch(problem, within > 0 ? within : 0, options).search();
}

} // namespace accord
