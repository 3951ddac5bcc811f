#include "lib/jobs/solve/AllocationSearch.h"
#include "lib/jobs/solve/AllocationTable.h"
#include "lib/jobs/solve/LagrangePrices.h"
#include <algorithm>
#include <cmath>
#include <memory>

namespace accord::jobs {
namespace {

constexpr int kMaxRounds = 6;         ///< of one relaxation, each with more options
constexpr uint64_t kRelaxedWork = 50; ///< of a product of two uses in a relaxation, in units of pricing one
constexpr uint64_t kSystemWork = 64;  ///< cubes of rows of a linear system that take as long as a unit
constexpr double kMinRows = 256;      ///< of a relaxation, whatever is left of the budget
constexpr double kRelaxations = 8;    ///< of as many rows as possible that the budget is enough for
constexpr size_t kNodesToTable = 64;  ///< half of the nodes before the second dynamic program
constexpr double kMissing = 1e-7;     ///< shares of capacities below are rounding
constexpr double kWholeShare = 1e-6;  ///< of an option: from 0 or 1 where it is taken as whole

class Search {
public:
  Search(const CompactAllocation &problem, const SearchBudget &budget, const SearchControl &control)
      : problem(problem), budget(budget), control(control), denominator(priceDenominator(problem)) {
    answer.proof.denominator = denominator;
  }

  SearchAnswer run() {
    auto zero = std::make_shared<const Prices>(problem.resources(), 0);
    open.push_back({-1, 0, 0,
                    PricedOptions::floorOf(priceOptions(problem, PartialAllocation(problem), *zero, denominator).bound,
                                           denominator),
                    zero});
    bool first = true;
    while (!open.empty() && (first || !ended())) {
      first = false;
      process(take());
      if (tableIsDue() && !open.empty())
        improveAtRoot();
    }
    answer.complete = open.empty();
    closeOpen();
    answer.bound = std::max(answer.found.value, leafBound);
    if (!answer.complete && answer.bound >= rootBound) {
      answer.bound = rootBound;
      answer.proof.nodes.assign(1, {-1, {}, root.prices});
    }
    return std::move(answer);
  }

private:
  struct Task {
    int64_t parent = -1; ///< node
    unsigned option = 0; ///< of the job on which the parent branches
    size_t depth = 0;
    int64_t bound = 0; ///< by the prices
    std::shared_ptr<const Prices> prices;
  };
  /// How the search came to a node.
  struct Step {
    int64_t parent = -1;
    unsigned option = 0;
  };
  /// What a node knows when it branches.
  struct Evaluation {
    PricedOptions priced;
    OpenOptions columns;
    std::vector<double> shares; ///< of the columns
  };

  bool ended() const {
    return work >= budget.work || answer.proof.nodes.size() + open.size() >= budget.nodes || control.stopped();
  }

  static bool lessPromising(const Task &a, const Task &b) {
    if (a.bound != b.bound)
      return a.bound < b.bound;
    return a.depth != b.depth ? a.depth < b.depth : a.parent < b.parent;
  }
  Task take() {
    if (answer.found.found()) {
      if (!heap)
        std::make_heap(open.begin(), open.end(), lessPromising);
      heap = true;
      std::pop_heap(open.begin(), open.end(), lessPromising);
    }
    Task task = std::move(open.back());
    open.pop_back();
    return task;
  }
  void put(Task task) {
    open.push_back(std::move(task));
    if (heap)
      std::push_heap(open.begin(), open.end(), lessPromising);
  }

  /// Branches whose bound is at most this are closed: they have nothing better, or not more than the gap allows.
  int64_t cutoff() const {
    const int64_t value = answer.found.value;
    if (value <= 0 || !(control.gap > 0))
      return value;
    return value + static_cast<int64_t>(static_cast<double>(value) * std::min(control.gap, 1.0));
  }

  PartialAllocation partialOf(const Task &task) const {
    PartialAllocation partial(problem);
    if (task.parent < 0)
      return partial;
    partial.fix(problem, task.option);
    for (int64_t node = task.parent; steps[node].parent >= 0; node = steps[node].parent)
      partial.fix(problem, steps[node].option);
    return partial;
  }

  /// A new node of the proof, as the child of a task's parent for all slots of its option.
  size_t append(const Task &task) {
    const size_t number = answer.proof.nodes.size();
    answer.proof.nodes.emplace_back();
    steps.push_back({task.parent, task.option});
    if (task.parent >= 0)
      link(task.parent, task.option, number);
    return number;
  }
  void link(size_t parent, unsigned option, size_t child) {
    for (unsigned slot : problem.options[option].slots)
      answer.proof.nodes[parent].next[slot] = child;
  }
  void closeAt(size_t node, Prices prices, int64_t bound) {
    answer.proof.nodes[node].prices = std::move(prices);
    leafBound = std::max(leafBound, bound);
  }

  void closeOpen() {
    std::sort(open.begin(), open.end(), [](const Task &a, const Task &b) {
      return a.parent != b.parent ? a.parent < b.parent : a.option < b.option;
    });
    for (const Task &task : open)
      closeAt(append(task), *task.prices, task.bound);
    open.clear();
  }

  void process(const Task &task) {
    const size_t node = append(task);
    if (task.bound <= cutoff() && node > 0)
      return closeAt(node, *task.prices, task.bound);
    const PartialAllocation partial = partialOf(task);
    Evaluation now;
    now.priced = price(partial, *task.prices);
    if (!now.priced.possible) // a job that may not wait has no option that fits
      return closeAt(node, *task.prices, -1);
    if (auto proof = evaluate(partial, now))
      return closeAt(node, std::move(*proof), -1);
    if (node == 0)
      finishRoot(now);
    if (const int64_t bound = now.priced.wholeBound(); bound <= cutoff())
      return closeAt(node, now.priced.prices, bound);
    branch(node, task.depth, partial, now);
  }

  PricedOptions price(const PartialAllocation &partial, Prices prices) {
    work += problem.options.size() + problem.uses.size();
    return priceOptions(problem, partial, std::move(prices), denominator);
  }

  Relaxation relaxColumns(const PartialAllocation &partial, const OpenOptions &columns, RelaxedObjective objective) {
    for (unsigned option : columns.options) {
      const uint64_t terms = 1 + problem.options[option].lastUse - problem.options[option].firstUse;
      work += kRelaxedWork * terms * (terms + 1) / 2;
    }
    const uint64_t rest = budget.work - std::min(budget.work, work);
    const double rows = std::cbrt(static_cast<double>(rest) * static_cast<double>(kSystemWork) / kRelaxations);
    Relaxation relaxed =
        relax(problem, partial.left, columns, objective, control, static_cast<size_t>(std::max(kMinRows, rows)));
    work += relaxed.work / kSystemWork;
    return relaxed;
  }

  /// Options of open jobs whose loss is at most what a better allocation may lose, or all that fit.
  OpenOptions columnsOf(const PricedOptions &priced, bool all) const {
    const Priced allowed = priced.bound - Priced(cutoff() + 1) * denominator;
    OpenOptions columns;
    for (size_t job = 0; job < problem.jobs(); ++job) {
      if (priced.best[job] == PricedOptions::kNone)
        continue;
      columns.first.push_back(columns.options.size());
      for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
        if (priced.fits[i] && (all || i == priced.best[job] || priced.loss(problem, i) <= allowed))
          columns.options.push_back(i);
    }
    columns.first.push_back(columns.options.size());
    return columns;
  }

  /// Improves the prices of a node. Returns prices that prove that nothing fits, if there are.
  std::optional<Prices> evaluate(const PartialAllocation &partial, Evaluation &now) {
    bool all = !answer.found.found();
    now.columns = columnsOf(now.priced, all);
    for (int round = 0; round < kMaxRounds; ++round) {
      Relaxation relaxed = relaxColumns(partial, now.columns, RelaxedObjective::Value);
      if (relaxed.overflow > kMissing) {
        if (!all && round + 1 < kMaxRounds) {
          all = true;
          now.columns = columnsOf(now.priced, all);
          continue;
        }
        if (auto proof = proveThatNothingFits(partial, now.priced))
          return proof;
      }
      PricedOptions next = price(partial, wholePrices(relaxed.prices, denominator));
      now.shares = std::move(relaxed.shares);
      const bool missed = !all && round + 1 < kMaxRounds && addColumns(next, now.columns);
      if (next.bound < now.priced.bound)
        now.priced = std::move(next);
      if (now.priced.wholeBound() <= cutoff())
        return {};
      if (!missed) {
        roundShares(partial, now, relaxed.prices);
        return {};
      }
    }
    return {};
  }

  /// Adds the best option of each job where it is none of the columns. Returns whether there was one.
  bool addColumns(const PricedOptions &priced, OpenOptions &columns) const {
    OpenOptions more;
    for (size_t j = 0; j + 1 < columns.first.size(); ++j) {
      more.first.push_back(more.options.size());
      const auto begin = columns.options.begin() + columns.first[j],
                 end = columns.options.begin() + columns.first[j + 1];
      more.options.insert(more.options.end(), begin, end);
      const unsigned best = priced.best[problem.jobOf[*begin]];
      if (std::find(begin, end, best) == end)
        more.options.push_back(best);
    }
    more.first.push_back(more.options.size());
    const bool added = more.options.size() > columns.options.size();
    if (added)
      columns = std::move(more);
    return added;
  }

  std::optional<Prices> proveThatNothingFits(const PartialAllocation &partial, const PricedOptions &priced) {
    OpenOptions columns;
    for (size_t job = 0; job < problem.jobs(); ++job) {
      if (!problem.mandatory[job] || !partial.open(job))
        continue;
      columns.first.push_back(columns.options.size());
      for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
        if (priced.fits[i])
          columns.options.push_back(i);
    }
    columns.first.push_back(columns.options.size());
    Relaxation relaxed = relaxColumns(partial, columns, RelaxedObjective::Fit);
    const double max = relaxed.prices.empty() ? 0 : *std::max_element(relaxed.prices.begin(), relaxed.prices.end());
    if (!(max > 0))
      return {};
    for (double &one : relaxed.prices)
      one /= max;
    Prices prices = wholePrices(relaxed.prices, int64_t(1) << 40);
    Priced spare = 0;
    for (size_t r = 0; r < prices.size(); ++r)
      spare += Priced(prices[r]) * partial.left[r];
    for (size_t j = 0; j + 1 < columns.first.size(); ++j) {
      Priced cheapest = -1;
      for (unsigned i = columns.first[j]; i < columns.first[j + 1]; ++i) {
        const unsigned option = columns.options[i];
        const Priced cost = -problem.reduced(option, prices, 0);
        if (cheapest < 0 || cost < cheapest)
          cheapest = cost;
      }
      spare -= cheapest;
    }
    if (spare >= 0)
      return {};
    return prices;
  }

  void offer(FoundChoice choice) {
    if (choice.value <= answer.found.value)
      return;
    answer.found = std::move(choice);
    report();
  }
  void report() const {
    if (control.progress)
      control.progress(
          {"search", static_cast<double>(std::max<int64_t>(0, answer.found.value)), static_cast<double>(rootBound)});
  }

  /// Offers an allocation near the shares of the relaxation: each job has the option in the middle of its shares.
  void roundShares(const PartialAllocation &partial, const Evaluation &now, const std::vector<double> &prices) {
    std::vector<unsigned> option(problem.jobs());
    for (size_t job = 0; job < problem.jobs(); ++job)
      if (!partial.open(job))
        option[job] = partial.option[job];
    for (const Segment &segment : segmentsOf(now)) {
      size_t member = segment.first;
      double sum = 0;
      for (auto [column, share] : segment.shares)
        for (sum += share; member < segment.last && static_cast<double>(member - segment.first) + 0.5 < sum; ++member) {
          const unsigned chosen =
              now.columns.options[now.columns.first[member] + column - now.columns.first[segment.first]];
          option[problem.jobOf[chosen]] = chosen;
        }
      for (; member < segment.last; ++member) { // by rounding of the shares
        const unsigned chosen = now.columns.options[now.columns.first[member]];
        option[problem.jobOf[chosen]] = chosen;
      }
    }
    work += 4 * (problem.options.size() + problem.uses.size());
    offer(repair(problem, prices, std::move(option)));
  }

  void finishRoot(const Evaluation &now) {
    rootBound = now.priced.wholeBound();
    report();
    root = now.priced;
    improveAtRoot();
  }

  /// Runs the next dynamic program, with more work than the one before. The first is part of the root; the others come
  /// once there are so many nodes that their time does not matter.
  void improveAtRoot() {
    constexpr uint64_t kShares[] = {64, 8, 1}; // of the work
    const uint64_t some = budget.table / kShares[tables++];
    if (tables == std::size(kShares))
      tablesDone = true;
    if (some == 0 || rootBound <= cutoff())
      return;
    TableAnswer table = improveByTable(problem, root, answer.found, some, control);
    if (table.better.found())
      offer(std::move(table.better));
    tablesDone |= table.exact;
  }
  bool tableIsDue() const { return !tablesDone && tables > 0 && answer.proof.nodes.size() >= kNodesToTable << tables; }

  /// Open jobs that follow one another and are equal, with the same columns: shares of their columns by slot.
  struct Segment {
    size_t first = 0, last = 0;                      ///< jobs among the columns
    std::vector<std::pair<unsigned, double>> shares; ///< column of the first job, and the sum of shares of all
  };
  std::vector<Segment> segmentsOf(const Evaluation &now) const {
    const OpenOptions &columns = now.columns;
    std::vector<Segment> segments;
    for (size_t j = 0; j + 1 < columns.first.size(); ++j) {
      const size_t count = columns.first[j + 1] - columns.first[j];
      if (j == 0 || !continues(columns, j, count)) {
        segments.push_back({j, j, {}});
        for (unsigned i = 0; i < count; ++i)
          segments.back().shares.push_back({columns.first[j] + i, 0});
      }
      Segment &segment = segments.back();
      segment.last = j + 1;
      for (unsigned i = 0; i < count; ++i)
        segment.shares[i].second += now.shares[columns.first[j] + i];
    }
    for (Segment &segment : segments)
      std::sort(segment.shares.begin(), segment.shares.end(), [&](const auto &a, const auto &b) {
        return problem.options[columns.options[a.first]].minSlot < problem.options[columns.options[b.first]].minSlot;
      });
    return segments;
  }
  /// Whether job `j` of the columns continues the segment of the one before.
  bool continues(const OpenOptions &columns, size_t j, size_t count) const {
    const unsigned here = columns.first[j], before = columns.first[j - 1];
    const size_t job = problem.jobOf[columns.options[here]];
    if (problem.jobOf[columns.options[before]] + 1 != job || problem.equal[job - 1] != problem.equal[job] ||
        here - before != count)
      return false;
    for (unsigned i = 0; i < count; ++i)
      if (columns.options[here + i] - problem.first[job] != columns.options[before + i] - problem.first[job - 1])
        return false;
    return true;
  }

  /// The job with the largest part of its value in the balance; with whole shares, the open one with the smallest loss
  /// of a second option. Equal jobs take options in the order of slots, so that at most one of them is between two.
  size_t jobToBranch(const Evaluation &now) const {
    double bestScore = 0;
    size_t best = problem.jobs();
    for (const Segment &segment : segmentsOf(now)) {
      double sum = 0, low = 1e300, high = 0;
      for (auto [column, share] : segment.shares)
        if (share > kWholeShare) {
          const double value = problem.options[now.columns.options[column]].value;
          low = std::min(low, value), high = std::max(high, value);
        }
      for (auto [column, share] : segment.shares) {
        sum += share;
        const double part = std::abs(sum - std::round(sum)), score = part * (1 + high - low);
        if (part > kWholeShare && score > bestScore) {
          bestScore = score;
          const size_t member = std::min<size_t>(sum, segment.last - segment.first - 1);
          best = problem.jobOf[now.columns.options[now.columns.first[segment.first + member]]];
        }
      }
    }
    if (best < problem.jobs())
      return best;
    Priced smallest = -1;
    for (size_t job = 0; job < problem.jobs(); ++job)
      for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
        if (now.priced.fits[i] && i != now.priced.best[job])
          if (const Priced loss = now.priced.loss(problem, i); smallest < 0 || loss < smallest) {
            smallest = loss;
            best = job;
          }
    if (best < problem.jobs())
      return best;
    return std::find_if(now.priced.best.begin(), now.priced.best.end(),
                        [](unsigned one) { return one != PricedOptions::kNone; }) -
           now.priced.best.begin();
  }

  void branch(size_t node, size_t depth, const PartialAllocation &partial, const Evaluation &now) {
    const size_t job = jobToBranch(now);
    if (job >= problem.jobs()) // all are fixed: without prices the bound is the value
      return closeAt(node, Prices(problem.resources(), 0), partial.value);
    size_t ways = problem.neverFits[job].size();
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
      ways += problem.options[i].slots.size();
    answer.proof.nodes[node].job = problem.original[job];
    answer.proof.nodes[node].next.assign(ways, 0);
    closeImpossible(node, job, partial, now);
    std::vector<std::pair<Priced, unsigned>> kept;
    closePriced(node, job, now, kept);
    auto prices = std::make_shared<const Prices>(now.priced.prices);
    std::sort(kept.begin(), kept.end(), [](const auto &a, const auto &b) {
      return a.first != b.first ? a.first > b.first : a.second > b.second;
    });
    for (auto [loss, option] : kept)
      put({static_cast<int64_t>(node), option, depth + 1, PricedOptions::floorOf(now.priced.bound - loss, denominator),
           prices});
  }

  /// One leaf for all ways of a job that use more than is left of a resource, or are not in the order of equal jobs.
  void closeImpossible(size_t node, size_t job, const PartialAllocation &partial, const Evaluation &now) {
    std::vector<size_t> leaf(problem.resources() + 1, 0); // of each resource, last of the order of equal jobs
    auto leafOf = [&](size_t reason) {
      if (leaf[reason] == 0) {
        leaf[reason] = answer.proof.nodes.size();
        answer.proof.nodes.emplace_back();
        steps.push_back({static_cast<int64_t>(node), 0});
      }
      return leaf[reason];
    };
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i) {
      if (now.priced.fits[i])
        continue;
      size_t reason = problem.resources();
      for (unsigned u = problem.options[i].firstUse; u < problem.options[i].lastUse; ++u)
        if (const ResourceUse &use = problem.uses[u]; use.amount > partial.left[use.resource])
          reason = use.resource;
      link(node, i, leafOf(reason));
    }
    for (auto [slot, resource] : problem.neverFits[job])
      answer.proof.nodes[node].next[slot] = leafOf(resource);
  }

  /// Leaves for the options that the prices of the node exclude, several in one where their largest value and smallest
  /// uses are excluded too; the others are `kept` with their losses.
  void closePriced(size_t node, size_t job, const Evaluation &now, std::vector<std::pair<Priced, unsigned>> &kept) {
    const Priced limit = Priced(cutoff() + 1) * denominator;
    const Priced others = now.priced.bound - now.priced.value[now.priced.best[job]];
    std::optional<Envelope> group;
    size_t leaf = 0;
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i) {
      if (!now.priced.fits[i])
        continue;
      if (others + now.priced.value[i] >= limit) {
        kept.push_back({now.priced.loss(problem, i), i});
        continue;
      }
      Envelope joined = group ? join(*group, i) : envelopeOf(i);
      if (!group || others + joined.reduced(now.priced.prices, denominator) >= limit) {
        joined = envelopeOf(i);
        leaf = answer.proof.nodes.size();
        answer.proof.nodes.push_back({-1, {}, now.priced.prices});
        steps.push_back({static_cast<int64_t>(node), i});
      }
      leafBound = std::max(
          leafBound, PricedOptions::floorOf(others + joined.reduced(now.priced.prices, denominator), denominator));
      group = std::move(joined);
      link(node, i, leaf);
    }
  }

  struct Envelope {
    int64_t value = 0;
    std::vector<int64_t> amounts;
    Priced reduced(const Prices &prices, int64_t denominator) const {
      Priced sum = Priced(value) * denominator;
      for (size_t r = 0; r < amounts.size(); ++r)
        sum -= Priced(prices[r]) * amounts[r];
      return sum;
    }
  };
  Envelope envelopeOf(unsigned option) const {
    Envelope made{problem.options[option].value, std::vector<int64_t>(problem.resources(), 0)};
    problem.add(option, 1, made.amounts);
    return made;
  }
  Envelope join(const Envelope &group, unsigned option) const {
    Envelope made = envelopeOf(option);
    made.value = std::max(made.value, group.value);
    for (size_t r = 0; r < made.amounts.size(); ++r)
      made.amounts[r] = std::min(made.amounts[r], group.amounts[r]);
    return made;
  }

  const CompactAllocation &problem;
  const SearchBudget &budget;
  const SearchControl &control;
  const int64_t denominator;
  SearchAnswer answer;
  std::vector<Step> steps; ///< of the nodes
  std::vector<Task> open;
  bool heap = false; ///< `open` is one
  uint64_t work = 0;
  int64_t leafBound = -1, rootBound = 0;
  PricedOptions root;
  size_t tables = 0; ///< dynamic programs that were run
  bool tablesDone = false;
};

} // namespace

SearchAnswer searchAllocation(const CompactAllocation &problem, const SearchBudget &budget,
                              const SearchControl &control) {
  return Search(problem, budget, control).run();
}

} // namespace accord::jobs
