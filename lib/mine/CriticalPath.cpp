#include "lib/mine/Run.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord {
namespace {

bool endsWith(const std::string &name, std::initializer_list<const char *> words) {
  size_t dot = name.rfind('.');
  std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
  return std::any_of(words.begin(), words.end(), [&](const char *word) { return last == word; });
}

class CriticalPath {
public:
  explicit CriticalPath(MiningRun &run) : run(run), parameters(run.parameters()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].numbers.empty())
        rest.push_back(i);
      else if (endsWith(parameters[i].name, {"count"}))
        counts.push_back(i);
      else if (endsWith(parameters[i].name, {"rows", "cols", "lanes"}))
        sizes.push_back(i);
      else
        rest.push_back(i);
    }
  }

  void search() {
    for (int start = 0; start < 4 && !run.spent(); ++start) {
      until = run.limit() / 5 * static_cast<uint64_t>(4 - start);
      std::optional<Design> before = run.best();
      Design design(parameters.size(), 0);
      for (size_t i : sizes)
        design[i] = last(i);
      for (size_t k = 0; k < rest.size(); ++k) {
        size_t i = rest[k];
        if (parameters[i].numbers.empty()) // words: each comes at some start
          design[i] = static_cast<uint32_t>(start) % (last(i) + 1);
        else if (start == 3 && before)
          design[i] = (*before)[i];
        else
          design[i] = start == 0 ? last(i) / 2 : start == 1 ? 0 : last(i);
      }
      found.reset();
      worth = INFINITY;
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
  bool over() const { return run.spent() || run.left() < until; }
  uint32_t last(size_t i) const { return static_cast<uint32_t>(parameters[i].spelled.size() - 1); }

  double value(const Design &design) {
    double value = run.value(design);
    if (value < worth || (value == worth && found && design < *found)) {
      worth = value;
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

  /// What may be doubled, what is waited for most first; without a word about waiting all of it.
  std::vector<Design> larger(const Design &design, bool &told) {
    std::vector<double> waits = run.problem().waits(design);
    told = waits.size() == parameters.size();
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!parameters[i].numbers.empty() && !isSize(i) && design[i] < last(i) &&
          (!told || waits[i] > 0))
        order.emplace_back(told ? -waits[i] : 0, i);
    std::sort(order.begin(), order.end());
    std::vector<Design> all;
    for (auto [wait, i] : order) {
      all.push_back(design);
      all.back()[i] = doubled(i, design[i]);
    }
    return all;
  }

  /// Doubles what is waited for most while that helps; the value.
  double grow(Design &design) {
    double now = value(design);
    for (bool better = std::isfinite(now); better && !over();) {
      better = false;
      bool told;
      std::vector<Design> all = larger(design, told);
      if (!told)
        run.values(all); // the best of them, not the first
      size_t best = all.size();
      for (size_t i = 0; i < all.size() && !(told && best < i); ++i)
        if (double then = value(all[i]); then < now) {
          now = then;
          best = i;
        }
      if ((better = best < all.size()))
        design = std::move(all[best]);
    }
    return now;
  }

  bool isSize(size_t i) const { return std::find(sizes.begin(), sizes.end(), i) != sizes.end(); }

  /// The tree of sizes, level by level. A node that is worse than the best of this start is kept
  /// once (hysteresis): the subtree ends at the second in a row.
  void walk(const Design &root) {
    std::map<Design, int> level = {{root, 0}}; // with how many in a row were worse
    while (!level.empty() && !over()) {
      std::map<Design, int> below;
      // Of a level the largest first.
      for (auto node = level.rbegin(); node != level.rend() && !over(); ++node) {
        Design design = node->first;
        double before = worth;
        int worse = grow(design) > before ? node->second + 1 : 0;
        for (size_t i : sizes) {
          Design child = node->first;
          child[i] = halved(i, child[i]);
          if (worse > 1 || child[i] == node->first[i])
            continue;
          auto place = below.emplace(child, worse).first;
          place->second = std::min(place->second, worse);
        }
      }
      level = std::move(below);
    }
  }

  /// Where all starts failed: the least of all numbers, with each choice of one other.
  void anything() {
    Design least(parameters.size(), 0);
    value(least);
    for (size_t i = 0; i < parameters.size() && !run.best(); ++i)
      for (uint32_t choice = 1; choice <= last(i) && !run.best() && !run.spent(); ++choice) {
        Design design = least;
        design[i] = choice;
        value(design);
      }
  }

  /// Neighbours of a design: one parameter a step or a doubling away, then two against each other.
  std::vector<Design> neighbours(const Design &design, bool pairs) const {
    std::vector<std::vector<uint32_t>> moves(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].numbers.empty()) {
        for (uint32_t other = 0; other <= std::min(last(i), 16u); ++other)
          moves[i].push_back(other);
      } else {
        uint32_t at = design[i];
        moves[i] = {at > 0 ? at - 1 : at, at < last(i) ? at + 1 : at, doubled(i, at),
                    halved(i, at)};
      }
      std::sort(moves[i].begin(), moves[i].end());
      moves[i].erase(std::unique(moves[i].begin(), moves[i].end()), moves[i].end());
      std::erase(moves[i], design[i]);
    }
    std::vector<Design> all;
    for (size_t i = 0; i < parameters.size(); ++i)
      for (uint32_t to : moves[i]) {
        Design near = design;
        near[i] = to;
        if (!pairs)
          all.push_back(near);
        for (size_t j = i + 1; pairs && j < parameters.size(); ++j)
          for (uint32_t other : moves[j]) {
            bool words = parameters[i].numbers.empty() || parameters[j].numbers.empty();
            if (!words && (to > design[i]) == (other > design[j]))
              continue; // more of both, or less of both
            near[j] = other;
            all.push_back(near);
            near[j] = design[j];
          }
      }
    return all;
  }

  void improve(Design at) {
    double now = value(at);
    for (bool pairs = false; !over();) {
      std::vector<Design> near = neighbours(at, pairs);
      std::vector<double> values = run.values(near);
      size_t best = near.size();
      for (size_t i = 0; i < near.size(); ++i)
        if (values[i] < (best < near.size() ? values[best] : now))
          best = i;
      if (best < near.size()) {
        now = values[best];
        at = near[best];
        pairs = false;
      } else if (pairs) {
        break;
      } else {
        pairs = true;
      }
    }
  }

  MiningRun &run;
  const std::vector<DesignParameter> &parameters;
  std::vector<size_t> sizes, counts, rest;
  std::optional<Design> found; ///< best of this start
  double worth = INFINITY;
  uint64_t until = 0; ///< evaluations to be left over by this start
};

} // namespace

MiningResult mineByCriticalPath(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "wham", kUsualEvaluations);
  run.screen();
  if (!run.empty())
    CriticalPath(run).search();
  return run.conclude(run.empty() || run.complete());
}

} // namespace accord
