#include "lib/scheduling/output/SmtCapacity.h"
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace accord::smtquery {
namespace {

/// Sums of amounts that are kept apart in a diagram; beyond, numbers are added in binary.
constexpr size_t kMaxSums = 3000;

/// The term holds at no time.
void requireNever(SmtQueryBuilder &text, Term term) {
  unsigned width = llvm::cast<mlir::smt::BitVectorType>(term.getType()).getWidth();
  text.require(text.equal(term, text.bitsOf(llvm::APInt(width, 0))));
}

class DecisionDiagram {
public:
  DecisionDiagram(SmtQueryBuilder &text, const std::string &name, const std::vector<DemandGroup> &groups,
                  int64_t capacity)
      : text(text), name(name), groups(groups), capacity(capacity) {}

  /// False where there are too many sums.
  bool collect() {
    sums.assign(groups.size() + 1, {});
    sums.back() = {0};
    size_t count = 0;
    for (size_t g = groups.size(); g-- > 0;) {
      sums[g] = sums[g + 1];
      for (const Demand &demand : groups[g])
        for (int64_t sum : sums[g + 1])
          sums[g].insert(demand.amount > capacity - sum ? capacity + 1 : sum + demand.amount);
      if ((count += sums[g].size()) > kMaxSums)
        return false;
    }
    return true;
  }

  void require() {
    Node top = node(0, capacity + 1);
    if (top.constant != 0)
      requireNever(text, top.term);
  }

private:
  struct Node {
    int constant = -1; ///< 0 never, 1 always
    Term term;
  };
  SmtQueryBuilder &text;
  const std::string &name;
  const std::vector<DemandGroup> &groups;
  int64_t capacity;
  std::vector<std::set<int64_t>> sums; ///< by group: of those from here on, up to capacity + 1
  std::map<std::pair<size_t, int64_t>, Node> known;

  /// When the groups from `group` on take at least `k`.
  Node node(size_t group, int64_t k) {
    if (k <= 0)
      return {1, {}};
    auto reached = sums[group].lower_bound(k);
    if (reached == sums[group].end())
      return {0, {}};
    k = *reached; // the sums between make no difference
    if (auto found = known.find({group, k}); found != known.end())
      return found->second;
    Node without = node(group + 1, k);
    Terms cases;
    if (without.constant < 0)
      cases.push_back(without.term);
    std::map<int64_t, Terms> byAmount;
    for (const Demand &demand : groups[group])
      byAmount[demand.amount].push_back(demand.when);
    for (const auto &[amount, when] : byAmount) {
      Node with = node(group + 1, k - amount);
      if (with.constant == 0 || (with.constant < 0 && with.term == without.term))
        continue;
      Term any = text.either(when);
      cases.push_back(with.constant == 1 ? any : text.both(any, with.term));
    }
    Node result = cases.empty() ? Node{0, {}} : Node{-1, text.either(cases)};
    if (cases.size() == 1 && without.constant < 0)
      result.term = without.term;
    else if (!cases.empty() && k <= capacity) // the last is used once
      result.term = text.define(name + "_" + std::to_string(group) + "_" + std::to_string(k), result.term);
    return known[{group, k}] = result;
  }
};

/// A number for each time: bits of the same weight side by side, least first; null: zero.
using Number = std::vector<Term>;

class Adder {
public:
  Adder(SmtQueryBuilder &text, const std::string &name) : text(text), name(name) {}

  Number number(const DemandGroup &group) {
    Number digits;
    for (unsigned bit = 0; bit < 62; ++bit) {
      Terms set;
      for (const Demand &demand : group)
        if (demand.amount >> bit & 1)
          set.push_back(demand.when);
      digits.push_back(set.empty() ? Term() : text.either(set));
    }
    return digits;
  }

  Number add(const Number &a, const Number &b) {
    Number sum;
    Term carry;
    for (size_t bit = 0; bit < a.size(); ++bit) {
      Terms set;
      for (Term digit : {a[bit], b[bit], carry})
        if (digit)
          set.push_back(digit);
      carry = Term();
      if (set.size() < 2) {
        sum.push_back(set.empty() ? Term() : set[0]);
        continue;
      }
      Term x = text.differ(set[0], set[1]), over = text.both(set[0], set[1]);
      if (set.size() == 3) {
        over = text.either({over, text.both(x, set[2])});
        x = text.differ(x, set[2]);
      }
      sum.push_back(symbol(x));
      carry = symbol(over);
    }
    return sum; // all amounts together stay below 2^62: no carry is lost
  }

  /// sum > capacity at no time.
  void require(const Number &sum, int64_t capacity) {
    Terms above; // ways to be above: equal in the higher digits, then 1 against 0
    Terms same;
    for (size_t bit = sum.size(); bit-- > 0;) {
      bool one = capacity >> bit & 1;
      if (one && !sum[bit])
        break; // below from here on
      if (!sum[bit])
        continue;
      if (one) {
        same.push_back(sum[bit]);
        continue;
      }
      Term way = sum[bit];
      for (Term digit : same)
        way = text.both(digit, way);
      above.push_back(way);
      // A digit that is 0 here in all that is left to find is no condition: if it were 1, the sum
      // would already be above.
    }
    for (Term way : above)
      requireNever(text, way);
  }

private:
  SmtQueryBuilder &text;
  const std::string &name;
  size_t count = 0;
  Term symbol(Term term) { return text.define(name + "_digit_" + std::to_string(count++), term); }
};

} // namespace

void requireAtMost(SmtQueryBuilder &text, const std::string &name, std::vector<DemandGroup> groups, int64_t capacity) {
  auto max = [](const DemandGroup &group) {
    return group.empty() ? 0 : std::ranges::max(group, {}, &Demand::amount).amount;
  };
  int64_t common = 0;
  __int128 all = 0;
  for (DemandGroup &group : groups) {
    std::erase_if(group, [](const Demand &demand) { return demand.amount == 0; });
    for (const Demand &demand : group)
      common = std::gcd(common, demand.amount);
    all += max(group);
  }
  if (all <= capacity)
    return;
  std::erase_if(groups, [](const DemandGroup &group) { return group.empty(); });
  for (DemandGroup &group : groups)
    for (Demand &demand : group)
      demand.amount /= common;
  capacity /= common;
  std::map<int64_t, std::vector<DemandGroup>, std::greater<>> bySize; // large ones decide first
  for (DemandGroup &group : groups)
    bySize[max(group)].push_back(std::move(group));
  groups.clear();
  for (auto &[size, alike] : bySize)
    groups.insert(groups.end(), alike.begin(), alike.end());
  if (DecisionDiagram diagram(text, name, groups, capacity); diagram.collect())
    return diagram.require();
  Adder adder(text, name);
  std::vector<Number> numbers;
  for (const DemandGroup &group : groups)
    numbers.push_back(adder.number(group));
  while (numbers.size() > 1) { // pairs of pairs: short carries first
    std::vector<Number> next;
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      next.push_back(adder.add(numbers[i], numbers[i + 1]));
    if (numbers.size() % 2)
      next.push_back(numbers.back());
    numbers = std::move(next);
  }
  adder.require(numbers[0], capacity);
}

} // namespace accord::smtquery
