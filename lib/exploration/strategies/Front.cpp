#include "lib/exploration/strategies/Front.h"
#include "lib/exploration/solve/Run.h"
#include "lib/support/Workers.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

// Rounds are of fixed sizes, so that the same boxes are looked at whatever the threads.
constexpr size_t kBoxes = 32, kDesigns = 16;

/// Value, then costs.
using Numbers = std::vector<double>;

struct Open {
  double uncovered = 0; ///< the least factor by which the list is above it, when it was looked at
  Numbers least;
  DesignBox box;
  unsigned tier = 0; ///< how often the bound of one design was deepened
};

/// How often b is in a.
double ratio(double a, double b) {
  if (a <= b)
    return a < b && b > 0 ? a / b : 1;
  return b > 0 ? a / b : INFINITY;
}

bool noBetter(const Numbers &a, const Numbers &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] < b[i])
      return false;
  return true;
}

class FrontSearch {
public:
  FrontSearch(MiningProblem &problem, double within, const MiningOptions &options)
      : problem(problem), options(options), within(within), workers(options.threads) {
    front.costs = problem.costNames();
  }

  MiningFront search() {
    DesignBox whole;
    bool empty = false;
    for (const DesignParameter &parameter : problem.parameters()) {
      empty |= parameter.spelled.empty();
      whole.low.push_back(0);
      whole.high.push_back(static_cast<uint32_t>(parameter.spelled.size() - 1));
    }
    std::vector<Open> first;
    for (Design &design : designsAmong(problem.parameters(), options.known))
      first.push_back({INFINITY, Numbers(front.costs.size() + 1), {design, design}});
    if (!empty) {
      bound(first);
      value(first);
      std::vector<Open> all(1);
      all[0].least.assign(front.costs.size() + 1, 0);
      all[0].box = std::move(whole);
      bound(all);
      push(std::move(all[0]));
    }
    std::string ended = rounds();
    double left = 0;
    for (const Open &open : heap)
      left = std::max(left, uncovered(open.least));
    front.within = std::max(within, left - 1);
    for (const Numbers &least : unproven)
      left = std::max(left, uncovered(least));
    front.possibly = std::max(within, left - 1);
    front.proof = fmt::format("branch and bound: {}; {} boxes open", ended, heap.size());
    std::sort(front.points.begin(), front.points.end(), [](const auto &a, const auto &b) {
      return std::tie(a.value, a.costs, a.design) < std::tie(b.value, b.costs, b.design);
    });
    return std::move(front);
  }

private:
  double limit() const { return 1 + within; }

  /// The least factor that makes one of the list no worse in anything.
  double uncovered(const Numbers &least) const {
    double factor = INFINITY;
    for (const Numbers &point : points) {
      double worst = 0;
      for (size_t i = 0; i < point.size() && worst < factor; ++i)
        worst = std::max(worst, ratio(point[i], least[i]));
      factor = std::min(factor, worst);
    }
    return std::isinf(least[0]) ? 0 : factor;
  }

  static bool later(const Open &a, const Open &b) {
    if (a.uncovered != b.uncovered)
      return a.uncovered < b.uncovered;
    return a.box.low > b.box.low;
  }
  void push(Open open) {
    if ((open.uncovered = uncovered(open.least)) <= limit())
      return;
    heap.push_back(std::move(open));
    std::push_heap(heap.begin(), heap.end(), later);
  }
  Open pop() {
    std::pop_heap(heap.begin(), heap.end(), later);
    Open open = std::move(heap.back());
    heap.pop_back();
    return open;
  }
  /// The first that the list is still far from; those after it may be nearer by now.
  bool next(Open &open) {
    while (!heap.empty()) {
      open = pop();
      double before = open.uncovered, now = uncovered(open.least);
      if (now == before)
        return true;
      push(std::move(open));
    }
    return false;
  }

  void bound(std::vector<Open> &all) {
    constexpr size_t kStretch = 16; // microseconds each
    workers.each((all.size() + kStretch - 1) / kStretch, [&](size_t stretch) {
      for (size_t i = stretch * kStretch; i < std::min(all.size(), (stretch + 1) * kStretch); ++i)
        raise(all[i]);
    });
    front.bounds += all.size();
  }
  void raise(Open &open) {
    open.least[0] = std::max(open.least[0], boundOf(problem, open.box));
    if (std::isinf(open.least[0]))
      return;
    Numbers costs = problem.costs(open.box);
    costs.resize(front.costs.size());
    for (size_t i = 0; i < costs.size(); ++i)
      if (costs[i] > open.least[i + 1])
        open.least[i + 1] = costs[i];
  }

  /// Halves of each at the parameter where that brings their bounds nearest to the list.
  void split(std::vector<Open> &all) {
    std::vector<Open> trials;
    std::vector<size_t> ends;
    for (const Open &open : all) {
      for (size_t p = 0; p < open.box.low.size(); ++p) {
        uint32_t low = open.box.low[p], high = open.box.high[p];
        if (low == high)
          continue;
        trials.push_back(open);
        trials.back().box.high[p] = low + (high - low) / 2;
        trials.push_back(open);
        trials.back().box.low[p] = low + (high - low) / 2 + 1;
      }
      ends.push_back(trials.size());
    }
    bound(trials);
    size_t at = 0;
    for (size_t b = 0; b < all.size(); ++b) {
      size_t best = at;
      double least = INFINITY;
      for (; at < ends[b]; at += 2) {
        double sum = 0;
        for (size_t half : {at, at + 1}) {
          trials[half].uncovered = uncovered(trials[half].least);
          sum += std::min(std::max(trials[half].uncovered, limit()), 1e300);
        }
        if (sum < least)
          least = sum, best = at;
      }
      push(std::move(trials[best]));
      push(std::move(trials[best + 1]));
    }
  }

  void deepen(std::vector<Open> &all) {
    workers.each(all.size(), [&](size_t i) {
      Open &open = all[i];
      open.least[0] = std::max(open.least[0], deepened(problem, open.box.low, ++open.tier));
    });
    front.bounds += all.size();
    for (Open &open : all)
      push(std::move(open));
  }

  /// What a design may be worth at least to be covered: its costs are known.
  double enough(const Numbers &least) const {
    double enough = INFINITY;
    for (const Numbers &point : points) {
      bool near = true;
      for (size_t i = 1; i < point.size() && near; ++i)
        near = ratio(point[i], least[i]) <= limit();
      if (near)
        enough = std::min(enough, point[0] / limit());
    }
    return enough;
  }

  void value(std::vector<Open> &all) {
    std::vector<Appraisal> found(all.size());
    std::vector<double> below;
    for (const Open &open : all)
      below.push_back(enough(open.least));
    workers.each(all.size(), [&](size_t i) {
      if (all[i].least[0] < INFINITY)
        found[i] = appraisalOf(problem, all[i].box.low, below[i]);
      else
        found[i] = {INFINITY, INFINITY};
    });
    front.evaluations += all.size();
    for (size_t i = 0; i < all.size(); ++i) {
      Numbers numbers = std::move(all[i].least);
      double least = std::max(numbers[0], found[i].bound);
      if (least < found[i].value && least < below[i]) {
        unproven.push_back(numbers);
        unproven.back()[0] = least;
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
      if (!noBetter(points[i], numbers)) {
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
  bool mayCover(const Open &a, const Open &b) const {
    for (size_t i = 0; i < a.least.size(); ++i)
      if (ratio(a.least[i], b.least[i]) > limit())
        return false;
    return true;
  }

  /// How it ended.
  std::string rounds() {
    for (;;) {
      std::vector<Open> boxes, deeper, designs, put;
      Open open;
      uint64_t trials = 0;
      bool bounds = true, values = true;
      while (boxes.size() < kBoxes && deeper.size() < kDesigns && designs.size() < kDesigns &&
             put.size() < kBoxes && next(open)) {
        size_t sides = 0;
        for (size_t p = 0; p < open.box.low.size(); ++p)
          sides += open.box.low[p] < open.box.high[p];
        bool deepens = sides == 0 && open.tier < problem.tiers();
        uint64_t needs = deepens ? 1 : 2 * sides;
        if (needs > 0 && front.bounds + trials + needs > options.bounds) {
          bounds = false;
        } else if (needs == 0 && front.evaluations + designs.size() >= options.evaluations) {
          values = false;
        } else if (needs == 0 && std::any_of(designs.begin(), designs.end(), [&](const Open &one) {
                     return mayCover(one, open);
                   })) {
          put.push_back(std::move(open));
          continue;
        } else {
          trials += needs;
          (deepens ? deeper : needs ? boxes : designs).push_back(std::move(open));
          continue;
        }
        push(std::move(open));
        break;
      }
      bool none = boxes.empty() && deeper.empty() && designs.empty();
      for (Open &one : put)
        push(std::move(one));
      if (none)
        return !bounds        ? "the limit of bounds"
               : !values      ? "the limit of evaluations"
               : heap.empty() ? "nothing that the list is not near"
                              : "stopped";
      split(boxes);
      deepen(deeper);
      value(designs);
      if (options.stop && options.stop->load(std::memory_order_relaxed))
        return "stopped";
      if (heap.size() > options.boxes)
        return "the limit of boxes";
    }
  }

  MiningProblem &problem;
  const MiningOptions &options;
  double within;
  Workers workers;
  std::vector<Numbers> points;   ///< of `front.points`, in their order
  std::vector<Numbers> unproven; ///< of designs whose own search left something open
  std::vector<Open> heap;
  MiningFront front;
};

} // namespace

MiningFront mineFront(MiningProblem &problem, double within, const MiningOptions &options) {
  return FrontSearch(problem, within > 0 ? within : 0, options).search();
}

} // namespace accord
