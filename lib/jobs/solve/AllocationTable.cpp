#include "lib/jobs/solve/AllocationTable.h"
#include <algorithm>
#include <numeric>

namespace accord::jobs {
namespace {

constexpr uint64_t kMinStates = 64;
constexpr size_t kResourcesOfState = 64; ///< that take as long as the rest of a state

/// States after one more job.
struct Stage {
  std::vector<int64_t> left; ///< one row for each state
  std::vector<Priced> loss;
  std::vector<unsigned> parent, option; ///< the state before, the option of the job
  size_t size() const { return loss.size(); }
};

class Table {
public:
  Table(const CompactAllocation &problem, const PricedOptions &priced, const FoundChoice &incumbent,
        const SearchControl &control)
      : problem(problem), priced(priced), control(control), n(problem.resources()), start(problem.capacity) {
    allowed = priced.bound - Priced(incumbent.value + 1) * priced.denominator;
    selectJobs();
  }

  TableAnswer run(uint64_t work) {
    TableAnswer answer;
    if (allowed < 0)
      return answer;
    size_t options = 1;
    for (const std::vector<unsigned> &job : jobs)
      options += job.size();
    const uint64_t cost = 1 + n / kResourcesOfState, states = work / options / cost;
    if (cost > 1 && states < kMinStates) {
      answer.exact = false;
      return answer;
    }
    const size_t width = std::max(kMinStates, states);
    selectRemaining();
    stages.emplace_back();
    offer(stages.back(), start.data(), 0, 0, 0, 0);
    for (size_t j = 0; j < jobs.size() && stages.back().size() > 0; ++j) {
      if (!expand(j)) {
        answer.exact = false;
        return answer;
      }
      answer.states += stages.back().size();
      answer.exact &= shrink(stages.back(), width);
    }
    if (stages.back().size() > 0)
      trace(answer.better);
    return answer;
  }

private:
  void selectJobs() {
    for (size_t job = 0; job < problem.jobs(); ++job) {
      std::vector<unsigned> options;
      for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
        if (priced.fits[i] && priced.loss(problem, i) <= allowed)
          options.push_back(i);
      chosen.push_back(priced.best[job]);
      if (options.size() == 1)
        problem.add(options.front(), -1, start);
      else if (options.size() > 1)
        jobs.push_back(std::move(options));
    }
    // Jobs with large losses first: few of their options can be combined.
    auto second = [&](const std::vector<unsigned> &options) {
      Priced min = -1;
      for (unsigned i : options)
        if (Priced loss = priced.loss(problem, i); i != priced.best[problem.jobOf[i]] && (min < 0 || loss < min))
          min = loss;
      return min;
    };
    std::vector<std::pair<Priced, size_t>> order;
    for (size_t j = 0; j < jobs.size(); ++j)
      order.push_back({-second(jobs[j]), j});
    std::sort(order.begin(), order.end());
    std::vector<std::vector<unsigned>> sorted;
    for (auto [loss, j] : order)
      sorted.push_back(std::move(jobs[j]));
    jobs = std::move(sorted);
  }

  /// Smallest and largest sums of uses of the jobs from each on.
  void selectRemaining() {
    remainingMin.assign((jobs.size() + 1) * n, 0);
    remainingMax = remainingMin;
    std::vector<int64_t> min(n), max(n);
    std::vector<size_t> users(n);
    for (size_t j = jobs.size(); j-- > 0;) {
      std::fill(min.begin(), min.end(), kMaxAllocationNumber);
      std::fill(max.begin(), max.end(), 0);
      std::fill(users.begin(), users.end(), 0);
      for (unsigned i : jobs[j])
        for (unsigned u = problem.options[i].firstUse; u < problem.options[i].lastUse; ++u) {
          const auto &[r, amount] = problem.uses[u];
          min[r] = std::min(min[r], amount), max[r] = std::max(max[r], amount), ++users[r];
        }
      for (size_t r = 0; r < n; ++r) {
        remainingMin[j * n + r] = remainingMin[(j + 1) * n + r] + (users[r] == jobs[j].size() ? min[r] : 0);
        remainingMax[j * n + r] = remainingMax[(j + 1) * n + r] + max[r];
      }
    }
  }

  /// False if it is stopped.
  bool expand(size_t j) {
    const Stage &from = stages.back();
    Stage to;
    slots.assign(1024, 0);
    std::vector<int64_t> left(n);
    for (size_t state = 0; state < from.size(); ++state) {
      if (control.stopped())
        return false;
      for (unsigned i : jobs[j]) {
        const Priced loss = from.loss[state] + priced.loss(problem, i);
        if (loss > allowed)
          continue;
        std::copy_n(from.left.begin() + state * n, n, left.begin());
        problem.add(i, -1, left);
        offer(to, left.data(), j + 1, loss, state, i);
      }
    }
    stages.push_back(std::move(to));
    return true;
  }

  /// Adds a state before job `j` if it can still be better than the incumbent.
  void offer(Stage &stage, int64_t *left, size_t j, Priced loss, unsigned parent, unsigned option) {
    for (size_t r = 0; r < n; ++r) {
      if (left[r] < remainingMin[j * n + r])
        return;
      if (const int64_t unused = left[r] - remainingMax[j * n + r]; unused > 0) {
        left[r] -= unused;
        loss += Priced(priced.prices[r]) * unused;
      }
    }
    if (loss > allowed)
      return;
    if (slots.size() < 2 * (stage.size() + 1))
      rehash(stage);
    unsigned &slot = find(stage, left);
    if (slot == 0) {
      stage.left.insert(stage.left.end(), left, left + n);
      stage.loss.push_back(loss);
      stage.parent.push_back(parent);
      stage.option.push_back(option);
      slot = stage.size();
    } else if (loss < stage.loss[slot - 1]) {
      stage.loss[slot - 1] = loss;
      stage.parent[slot - 1] = parent;
      stage.option[slot - 1] = option;
    }
  }
  /// The slot of a state (1 + its number), or a free one (0).
  unsigned &find(const Stage &stage, const int64_t *left) {
    uint64_t hash = 0;
    for (size_t r = 0; r < n; ++r)
      hash = (hash ^ static_cast<uint64_t>(left[r])) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
    for (size_t at = hash & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1))
      if (slots[at] == 0 || std::equal(left, left + n, stage.left.begin() + (slots[at] - 1) * n))
        return slots[at];
  }
  void rehash(const Stage &stage) {
    slots.assign(std::max<size_t>(1024, 4 * slots.size()), 0);
    for (size_t state = 0; state < stage.size(); ++state)
      find(stage, stage.left.data() + state * n) = state + 1;
  }

  /// Keeps the states of smallest loss, the first of equal ones. Returns whether all are kept.
  bool shrink(Stage &stage, size_t width) {
    if (stage.size() <= width)
      return true;
    std::vector<unsigned> order(stage.size());
    std::iota(order.begin(), order.end(), 0u);
    auto less = [&](unsigned a, unsigned b) {
      return stage.loss[a] != stage.loss[b] ? stage.loss[a] < stage.loss[b] : a < b;
    };
    std::nth_element(order.begin(), order.begin() + width, order.end(), less);
    order.resize(width);
    std::sort(order.begin(), order.end());
    Stage kept;
    for (unsigned state : order) {
      kept.left.insert(kept.left.end(), stage.left.begin() + state * n, stage.left.begin() + (state + 1) * n);
      kept.loss.push_back(stage.loss[state]);
      kept.parent.push_back(stage.parent[state]);
      kept.option.push_back(stage.option[state]);
    }
    stage = std::move(kept);
    return false;
  }

  /// All jobs are decided: one state is left, with the smallest loss.
  void trace(FoundChoice &better) const {
    better.option = chosen;
    unsigned state = 0;
    for (size_t stage = stages.size(); stage-- > 1;) {
      const unsigned option = stages[stage].option[state];
      better.option[problem.jobOf[option]] = option;
      state = stages[stage].parent[state];
    }
    better.value = 0;
    for (unsigned one : better.option)
      better.value += problem.options[one].value;
  }

  const CompactAllocation &problem;
  const PricedOptions &priced;
  const SearchControl &control;
  const size_t n;
  std::vector<int64_t> start; ///< what fixed jobs leave
  Priced allowed = 0;         ///< largest loss that is better than the incumbent
  std::vector<unsigned> chosen;
  std::vector<std::vector<unsigned>> jobs; ///< options of undecided jobs
  std::vector<int64_t> remainingMin, remainingMax;
  std::vector<Stage> stages;
  std::vector<unsigned> slots; ///< hash table of the last stage; sizes are powers of two
};

} // namespace

TableAnswer improveByTable(const CompactAllocation &problem, const PricedOptions &priced, const FoundChoice &incumbent,
                           uint64_t work, const SearchControl &control) {
  return Table(problem, priced, incumbent, control).run(work);
}

} // namespace accord::jobs
