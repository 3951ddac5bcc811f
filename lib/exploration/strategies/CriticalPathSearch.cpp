#include "lib/exploration/solve/MiningRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

namespace accord {
namespace {

bool endsWith(llvm::StringRef name, std::initializer_list<llvm::StringRef> words) {
  return llvm::is_contained(words, name.substr(name.rfind('.') + 1));
}

class CriticalPath {
public:
  explicit CriticalPath(MiningRun &run) : run(run), parameters(run.parameters()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!isNumber(i))
        words.push_back(i), rest.push_back(i);
      else if (endsWith(parameters[i].name, {"count"}))
        continue;
      else if (endsWith(parameters[i].name, {"rows", "cols", "lanes"}))
        sizes.push_back(i);
      else
        rest.push_back(i);
    }
  }

  void search() {
    for (uint32_t start = 0; start < 4 && !run.isExhausted(); ++start) {
      until = run.limit() >> (start + 1);
      std::optional<Design> before = run.best();
      Design design(parameters.size(), 0);
      for (size_t i : sizes)
        design[i] = last(i);
      for (size_t i : rest) {
        if (parameters[i].numbers.empty()) // words: each comes at some start
          design[i] = start % (last(i) + 1);
        else if (start == 3 && before)
          design[i] = (*before)[i];
        else
          design[i] = start == 0 ? 0 : start == 1 ? last(i) / 2 : last(i);
      }
      found.reset();
      bestValue = INFINITY;
      walk(design);
      if (found)
        improve(*found);
    }
    until = 0;
    if (!run.best())
      anything();
    if (run.best())
      improve(*run.best());
  }

private:
  /// This start has had its share of evaluations.
  bool over() const { return run.isExhausted() || run.left() < until; }
  uint32_t last(size_t i) const { return parameters[i].labels.size() - 1; }

  double value(const Design &design) {
    double value = run.value(design);
    if (value < bestValue || (value == bestValue && found && design < *found)) {
      bestValue = value;
      found = design;
    }
    return value;
  }

  /// First choice of at least twice the number, or the last there is.
  uint32_t doubled(size_t i, uint32_t choice) const {
    const std::vector<double> &numbers = parameters[i].numbers;
    if (numbers.empty())
      return std::min(choice + 1, last(i));
    uint32_t next = choice;
    while (next < last(i) && (next == choice || numbers[next] < 2 * numbers[choice]))
      ++next;
    return next;
  }
  uint32_t halved(size_t i, uint32_t choice) const {
    const std::vector<double> &numbers = parameters[i].numbers;
    uint32_t next = choice;
    while (next > 0 && (next == choice || 2 * numbers[next] > numbers[choice]))
      --next;
    return next;
  }

  bool isNumber(size_t i) const { return !parameters[i].numbers.empty(); }

  /// As far as its bound tells: limits of area and power are in it.
  bool possible(const Design &design) {
    auto known = may.find(design);
    if (known == may.end())
      known = may.emplace(design, run.boundsLeft() > 0 && run.bounds({{design, design}})[0] < INFINITY).first;
    return known->second;
  }

  /// Lowers `i` until the design may be.
  bool lower(Design &design, size_t i) {
    while (design[i] > 0) {
      --design[i];
      if (possible(design))
        return true;
    }
    return false;
  }

  /// Conflict resolution under a budget: a design that may not be, since `raised` takes too much of
  /// it, gets that from what the critical path waits for least: from one other parameter, else from
  /// several, and what was lowered in vain is put back. False: nothing helps.
  bool afford(Design &design, size_t raised, const std::vector<double> &bottleneckGains, bool sizesToo) {
    if (possible(design))
      return true;
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (i != raised && isNumber(i) && design[i] > 0 && (sizesToo || !isSize(i)))
        order.emplace_back(bottleneckGains.empty() ? 0 : bottleneckGains[i], i);
    std::sort(order.begin(), order.end());
    for (auto [wait, i] : order)
      if (Design one = design; lower(one, i)) {
        design = one;
        return true;
      }
    Design all = design;
    size_t last = 0;
    while (last < order.size() && !lower(all, order[last].second))
      ++last;
    if (last == order.size())
      return false;
    for (size_t k = last + 1; k-- > 0;) {
      size_t i = order[k].second;
      while (all[i] < design[i]) {
        ++all[i];
        if (!possible(all)) {
          --all[i];
          break;
        }
      }
    }
    design = all;
    return true;
  }

  /// What may be doubled, what is waited for most first; without a word about waiting all of it.
  std::vector<Design> larger(const Design &design, bool &reported) {
    std::vector<double> bottleneckGains = run.problem().bottleneckGains(design);
    reported = bottleneckGains.size() == parameters.size();
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!parameters[i].numbers.empty() && !isSize(i) && design[i] < last(i) && (!reported || bottleneckGains[i] > 0))
        order.emplace_back(reported ? -bottleneckGains[i] : 0, i);
    std::sort(order.begin(), order.end());
    std::vector<Design> all;
    for (auto [wait, i] : order) {
      Design more = design;
      more[i] = doubled(i, design[i]);
      while (more[i] > design[i] && !possible(more)) // as many as may be
        --more[i];
      if (more[i] == design[i]) {
        more[i] = doubled(i, design[i]);
        if (!afford(more, i, reported ? bottleneckGains : std::vector<double>(), false))
          continue;
      }
      all.push_back(std::move(more));
    }
    return all;
  }

  /// Doubles what is waited for most while that helps; the value.
  double grow(Design &design) {
    double now = value(design);
    for (bool better = std::isfinite(now); better && !over();) {
      better = false;
      bool reported;
      std::vector<Design> all = larger(design, reported);
      if (!reported)
        run.values(all); // the best of them, not the first
      size_t best = all.size();
      for (size_t i = 0; i < all.size() && !(reported && best < i); ++i)
        if (double then = value(all[i]); then < now) {
          now = then;
          best = i;
        }
      if ((better = best < all.size()))
        design = std::move(all[best]);
    }
    return now;
  }

  /// With the words that suit it best.
  double respell(Design &design, double now) {
    for (size_t i : words)
      for (uint32_t other = 0; other <= std::min(last(i), 16u) && !over(); ++other) {
        Design with = design;
        with[i] = other;
        if (double then = value(with); then < now)
          now = then, design = std::move(with);
      }
    return now;
  }

  bool isSize(size_t i) const { return std::find(sizes.begin(), sizes.end(), i) != sizes.end(); }

  /// The tree of sizes, first below what was best. A node that is worse than the best of this start
  /// is kept once (hysteresis): the subtree ends at the second in a row.
  void walk(const Design &root) {
    struct Node {
      double parent; ///< value of the best design with the sizes that these follow from
      int depth;     ///< halvings
      Design sizes;
      int worse; ///< how many in a row were
      bool operator<(const Node &other) const {
        return std::tie(parent, depth, other.sizes) < std::tie(other.parent, other.depth, sizes);
      }
    };
    std::set<Node> open = {{INFINITY, 0, root, 0}};
    std::set<Design> seen = {root};
    while (!open.empty() && !over()) {
      Node node = std::move(open.extract(open.begin()).value());
      Design design = node.sizes;
      double before = bestValue, grown = grow(design);
      if (grown < before)
        grown = respell(design, grown);
      int worse = grown > before ? node.worse + 1 : 0;
      for (size_t i : sizes) {
        Design child = node.sizes;
        child[i] = halved(i, child[i]);
        for (size_t word : words)
          child[word] = design[word];
        if (worse < 2 && seen.insert(child).second)
          open.insert({grown, node.depth + 1, std::move(child), worse});
      }
    }
  }

  /// Where all starts failed: the least of all numbers, with each choice of one other.
  void anything() {
    Design min(parameters.size(), 0);
    value(min);
    for (size_t i = 0; i < parameters.size() && !run.best(); ++i)
      for (uint32_t choice = 1; choice <= last(i) && !run.best() && !run.isExhausted(); ++choice) {
        Design design = min;
        design[i] = choice;
        value(design);
      }
  }

  /// Neighbours of a design: one parameter a step or a doubling away, what others give up for it;
  /// `pairs`: one more, each other one less. First what raises what is waited for most.
  std::vector<Design> neighbours(const Design &design, bool pairs) {
    std::vector<double> bottleneckGains = run.problem().bottleneckGains(design);
    if (bottleneckGains.size() != parameters.size())
      bottleneckGains.assign(parameters.size(), 0);
    std::vector<size_t> order(parameters.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(-bottleneckGains[a], a) < std::pair(-bottleneckGains[b], b);
    });
    std::vector<Design> all;
    for (size_t i : order)
      for (uint32_t to : moves(design, i)) {
        Design near = design;
        near[i] = to;
        bool up = isNumber(i) && to > design[i];
        if (!pairs) {
          if (!up || afford(near, i, bottleneckGains, true))
            all.push_back(near);
          continue;
        }
        if (!up && isNumber(i))
          continue;
        for (size_t k = order.size(); k-- > 0;) {
          size_t j = order[k];
          if (j == i || (!isNumber(i) && !isNumber(j) && j < i))
            continue;
          for (uint32_t other : moves(design, j)) {
            if (up && isNumber(j) && other > design[j])
              continue; // more of both
            Design pair = near;
            pair[j] = other;
            all.push_back(pair);
          }
          if (Design pair = near; up && isNumber(j) && !possible(near) && lower(pair, j))
            all.push_back(pair);
        }
      }
    return all;
  }

  /// Other choices of a parameter that are near.
  std::vector<uint32_t> moves(const Design &design, size_t i) const {
    std::vector<uint32_t> to;
    uint32_t at = design[i];
    if (!isNumber(i))
      for (uint32_t other = 0; other <= std::min(last(i), 16u); ++other)
        to.push_back(other);
    else
      to = {at > 0 ? at - 1 : at, at < last(i) ? at + 1 : at, doubled(i, at), halved(i, at)};
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    std::erase(to, at);
    return to;
  }

  void improve(Design at) {
    constexpr size_t kRound = 8; // valued at once
    double now = value(at);
    for (bool pairs = false; !over();) {
      std::vector<Design> near = neighbours(at, pairs);
      bool better = false;
      for (size_t first = 0; first < near.size() && !better && !over(); first += kRound) {
        std::vector<Design> round = llvm::ArrayRef(near).slice(first, std::min(kRound, near.size() - first)).vec();
        std::vector<double> values = run.values(round);
        size_t best = std::min_element(values.begin(), values.end()) - values.begin();
        if (values[best] < now) {
          now = values[best], at = round[best];
          better = true;
        }
      }
      if (!better && pairs)
        break;
      pairs = !better;
    }
  }

  MiningRun &run;
  const std::vector<DesignParameter> &parameters;
  std::vector<size_t> sizes, words, rest; ///< `rest`: words and all but sizes and counts
  std::optional<Design> found;            ///< best of this start
  double bestValue = INFINITY;
  std::unordered_map<Design, bool, DesignHash> may;
  uint64_t until = 0; ///< evaluations to be left over by this start
};

} // namespace

MiningResult mineByCriticalPath(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "wham", kDefaultEvaluations);
  run.screenInfeasible();
  if (!run.empty())
    CriticalPath(run).search();
  return run.conclude(run.empty() || run.complete());
}

} // namespace accord
