// Periods of the sequence of kinds first (a property of strings), then which of them are copies
// that hand values on (a property of the graph).
#include "lib/import/text/Repeats.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>
#include <climits>
#include <map>
#include <queue>
#include <tuple>

namespace accord::import {
namespace {

/// Longest common extensions by hashes modulo 2^61 - 1. What hashes alike by chance costs a look:
/// every copy is compared step by step before it is believed.
class Extensions {
public:
  explicit Extensions(const std::vector<Step> &steps) {
    prefix = {0};
    power = {1};
    for (const Step &step : steps) {
      prefix.push_back(times(prefix.back(), kBase) + step.kind + 1);
      prefix.back() %= kPrime;
      power.push_back(times(power.back(), kBase));
    }
  }
  /// How far the sequences from `i` and from `j` on agree.
  int forward(int i, int j) const {
    return longest(size() - std::max(i, j), [&](int n) { return hash(i, i + n) == hash(j, j + n); });
  }
  /// How far those that end before `i` and before `j` agree.
  int backward(int i, int j) const {
    return longest(std::min(i, j), [&](int n) { return hash(i - n, i) == hash(j - n, j); });
  }
  int size() const { return static_cast<int>(prefix.size()) - 1; }

private:
  static constexpr uint64_t kPrime = (uint64_t(1) << 61) - 1, kBase = 911'382'323'947'193;
  static uint64_t times(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
  }
  uint64_t hash(int from, int to) const {
    auto at = [](int i) { return static_cast<size_t>(i); };
    return (prefix[at(to)] + kPrime - times(prefix[at(from)], power[at(to - from)])) % kPrime;
  }
  template <typename Same> static int longest(int max, Same same) {
    int min = 0;
    while (min < max) {
      int middle = min + (max - min + 1) / 2;
      if (same(middle))
        min = middle;
      else
        max = middle - 1;
    }
    return min;
  }
  std::vector<uint64_t> prefix, power;
};

struct Run {
  int start, end, period;
  auto operator<=>(const Run &) const = default;
};

/// Every maximal stretch with a period of at most half its length: one begins with a longest Lyndon
/// word of one of two orders, so that there are fewer than n (Bannai et al., "The runs theorem",
/// SIAM Journal on Computing 46(5), 2017, section 4).
std::vector<Run> runsOf(const std::vector<Step> &steps) {
  Extensions extend(steps);
  int size = extend.size();
  std::vector<Run> runs;
  for (bool reversed : {false, true}) {
    std::vector<int> next(size); // the next smaller suffix
    auto smaller = [&](int i, int j) {
      int same = extend.forward(i, j);
      if (std::max(i, j) + same == size)
        return i > j;
      uint32_t a = steps[i + same].kind, b = steps[j + same].kind;
      return reversed ? a > b : a < b;
    };
    for (int i = size - 1; i >= 0; --i) {
      int j = i + 1;
      while (j < size && smaller(i, j))
        j = next[j];
      next[i] = j;
      if (j == size)
        continue;
      Run run{i - extend.backward(i, j), j + extend.forward(i, j), j - i};
      if (run.end - run.start >= 2 * run.period)
        runs.push_back(run);
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

class Finder {
public:
  explicit Finder(const std::vector<Step> &steps) : steps(steps), lastRead(steps.size(), -1) {
    std::vector<int> change(steps.size() + 2, 0);
    for (size_t i = 0; i < steps.size(); ++i)
      for (int operand : steps[i].operands)
        lastRead[operand] = i;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kept)
        lastRead[i] = INT_MAX;
      if (lastRead[i] < 0)
        continue;
      ++change[i + 1];
      --change[static_cast<size_t>(std::min(lastRead[i], static_cast<int>(steps.size()))) + 1];
    }
    crossing = std::move(change);
    for (size_t i = 1; i < crossing.size(); ++i)
      crossing[i] += crossing[i - 1];
    weight = {0};
    for (const Step &step : steps)
      weight.push_back(weight.back() + step.lines);
  }

  std::vector<Repeat> run() {
    for (const Run &run : runsOf(steps))
      // Every second layer may read something else: then two are the body.
      for (int times = 1; times <= 4 && 2 * times * run.period <= run.end - run.start; ++times)
        if (rotate(run, times * run.period))
          break;
    choose();
    return std::move(chosen);
  }

private:
  const Step &at(int i) const { return steps[i]; }

  /// Lines that the text becomes shorter by: less two for the repeat itself, and one for each
  /// variable that no statement declares anyway.
  int saving(const Repeat &repeat) const {
    auto lines = [&](int i) { return weight[i]; };
    int body = lines(repeat.start + repeat.period) - lines(repeat.start);
    return (repeat.count - 1) * body - 1 - static_cast<int>(repeat.carried.size());
  }
  bool isWorth(const Repeat &repeat) const { return repeat.count >= 2 && saving(repeat) >= 0; }

  /// The copies `first` and the next of a body at `start`: what is carried, if they are copies.
  bool pair(int start, int period, Repeat &repeat) const {
    std::map<int, Repeat::Carried> carried;
    int second = start + period;
    for (int i = start; i < second; ++i) {
      const Step &a = at(i), &b = at(i + period);
      if (a.kind != b.kind || a.type != b.type || a.operands.size() != b.operands.size() ||
          lastRead[i] >= second + period)
        return false;
      for (size_t k = 0; k < a.operands.size(); ++k) {
        int from = a.operands[k], then = b.operands[k];
        if (then >= second) {
          if (from != then - period)
            return false;
        } else if (then < start) {
          if (from != then || at(then).shared)
            return false;
        } else {
          auto [found, isNew] = carried.try_emplace(then - start);
          Repeat::Carried &one = found->second;
          if (isNew)
            one = {then - start, from, 0};
          ++one.reads;
          if (from >= start || one.initial != from || at(from).type != at(then).type || at(then).type == 0)
            return false;
        }
      }
    }
    repeat = {start, period, 2, {}};
    for (const auto &[place, one] : carried)
      repeat.carried.push_back(one);
    return !carried.empty();
  }

  /// Whether the copy behind the last one is one more.
  bool extends(const Repeat &repeat, int end) const {
    int period = repeat.period, last = repeat.end() - period;
    if (repeat.end() + period > end)
      return false;
    for (int i = last; i < last + period; ++i) {
      const Step &a = at(i), &b = at(i + period);
      if (a.kind != b.kind || a.type != b.type || a.operands.size() != b.operands.size() ||
          lastRead[i] >= last + 2 * period)
        return false;
      for (size_t k = 0; k < a.operands.size(); ++k)
        if (b.operands[k] != (a.operands[k] < repeat.start ? a.operands[k] : a.operands[k] + period))
          return false;
    }
    return true;
  }

  /// Nothing but what is carried is read behind the last copy.
  bool endsWell(const Repeat &repeat) const {
    size_t next = 0;
    for (int place = 0; place < repeat.period; ++place) {
      if (next < repeat.carried.size() && repeat.carried[next].place == place)
        ++next;
      else if (lastRead[repeat.end() - repeat.period + place] >= repeat.end())
        return false;
    }
    return true;
  }

  /// All repeats with bodies that begin at `start` and every `period` from there.
  std::vector<Repeat> repeatsFrom(int start, int end, int period) const {
    std::vector<Repeat> found;
    while (start + 2 * period <= end) {
      Repeat repeat;
      if (!pair(start, period, repeat)) {
        start += period;
        continue;
      }
      while (extends(repeat, end))
        ++repeat.count;
      if (!endsWell(repeat))
        --repeat.count;
      if (isWorth(repeat))
        found.push_back(repeat);
      start = repeat.end();
    }
    return found;
  }

  /// The words of a name up to the first in which the next or last copy differs; 0: no such word,
  /// or the number of a statement.
  size_t scopeOf(int i, const Run &run, int period) const {
    int other = i + period < run.end ? i + period : i - period;
    const std::vector<uint32_t> &path = at(i).path, &then = at(other).path;
    auto differs = std::mismatch(path.begin(), path.end(), then.begin(), then.end()).first;
    if (path.end() - differs < 2)
      return 0;
    return llvm::hash_combine_range(path.begin(), differs + 1);
  }

  /// How many of the steps of a body are in its main scope.
  static int inScope(const std::vector<size_t> &scopes, size_t start, int period) {
    std::map<size_t, int> many;
    int max = 0;
    for (size_t i = start; i < start + static_cast<size_t>(period); ++i)
      if (scopes[i])
        max = std::max(max, ++many[scopes[i]]);
    return max;
  }

  /// A body may begin anywhere in the run. Tried are the places that fewest values cross, those
  /// where a scope ends first, then those that leave most copies; taken is what saves most, carries
  /// least, and fits the scopes best.
  bool rotate(const Run &run, int period) {
    constexpr size_t kTried = 16;
    std::vector<std::tuple<int, bool, int, int>> places;
    std::vector<size_t> scopes;
    for (int i = run.start; i < run.end; ++i)
      scopes.push_back(scopeOf(i, run, period));
    for (int r = 0; r < period && run.start + r + 2 * period <= run.end; ++r) {
      // Behind a copy: at the first one there may be more that crosses.
      auto cut = static_cast<size_t>(r) + period;
      places.emplace_back(crossing[static_cast<size_t>(run.start) + cut], scopes[cut] == scopes[cut - 1],
                          -((run.end - run.start - r) / period), -r);
    }
    std::sort(places.begin(), places.end());
    if (places.size() > kTried)
      places.resize(kTried);
    // Of those that save the most, but for one copy, the one that fits best: a reader wants layers.
    struct Choice {
      int saved = 0;
      std::tuple<int, int, int> fits;
      std::vector<Repeat> found;
    };
    std::vector<Choice> choices;
    int max = 0;
    for (const auto &[cross, inside, copies, minus] : places) {
      Choice one;
      one.found = repeatsFrom(run.start - minus, run.end, period);
      if (one.found.empty())
        continue;
      int many = 0;
      for (const Repeat &repeat : one.found) {
        one.saved += saving(repeat);
        many += static_cast<int>(repeat.carried.size());
      }
      one.fits = {inScope(scopes, one.found[0].start - run.start, period), -many, one.saved};
      max = std::max(max, one.saved);
      choices.push_back(std::move(one));
    }
    int body = weight[run.start + period] - weight[run.start];
    Choice *best = nullptr;
    for (Choice &one : choices)
      if (one.saved >= max - body && (!best || one.fits > best->fits))
        best = &one;
    if (!best)
      return false;
    candidates.insert(candidates.end(), best->found.begin(), best->found.end());
    return true;
  }

  /// Greedily. What is left of one that overlaps are the copies that lie in one free stretch.
  void choose() {
    auto after = [&](const Repeat &a, const Repeat &b) {
      auto key = [&](const Repeat &one) {
        return std::tuple(saving(one), -static_cast<int>(one.carried.size()), -one.start, -one.period);
      };
      return key(a) < key(b);
    };
    std::priority_queue<Repeat, std::vector<Repeat>, decltype(after)> queue(after, std::move(candidates));
    std::map<int, int> free{{0, static_cast<int>(steps.size())}};
    while (!queue.empty()) {
      Repeat repeat = queue.top();
      queue.pop();
      auto stretch = free.upper_bound(repeat.start);
      if (stretch != free.begin())
        --stretch;
      if (stretch->first <= repeat.start && stretch->second >= repeat.end()) {
        int behind = stretch->second;
        if (stretch->first == repeat.start)
          free.erase(stretch);
        else
          stretch->second = repeat.start;
        free[repeat.start + repeat.period] = repeat.start + 2 * repeat.period;
        if (repeat.end() < behind)
          free[repeat.end()] = behind;
        chosen.push_back(repeat);
        continue;
      }
      for (; stretch != free.end() && stretch->first < repeat.end(); ++stretch) {
        int period = repeat.period;
        int first = std::max(0, stretch->first - repeat.start + period - 1) / period;
        int last = (std::min(stretch->second, repeat.end()) - repeat.start) / period;
        Repeat part = repeat;
        part.start += first * period;
        part.count = last - first;
        if (first > 0)
          for (Repeat::Carried &one : part.carried)
            one.initial = part.start - period + one.place;
        if (isWorth(part))
          queue.push(part);
      }
    }
    std::sort(chosen.begin(), chosen.end(), [](const Repeat &a, const Repeat &b) {
      return std::pair(a.start, -a.end()) < std::pair(b.start, -b.end());
    });
  }

  const std::vector<Step> &steps;
  std::vector<int> lastRead; ///< -1: never
  std::vector<int> crossing; ///< values made before a step and read at it or behind
  std::vector<int> weight;   ///< lines before a step
  std::vector<Repeat> candidates, chosen;
};

} // namespace

std::vector<Repeat> findRepeats(const std::vector<Step> &steps) { return Finder(steps).run(); }

} // namespace accord::import
