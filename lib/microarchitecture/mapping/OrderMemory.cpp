#include "lib/microarchitecture/mapping/OrderMemory.h"
#include <numeric>
#include <tuple>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kTries = 1 << 11, kAllTries = 1 << 22; ///< of a pair of accesses, of a kernel
constexpr size_t kMaxPairs = 1 << 16;                    ///< that are compared at once

/// An integer of a range, times a factor.
struct Term {
  __int128 factor = 0, low = 0, high = 0;
};

/// Whether a sum of terms may be in a range. Each try gives one term a value.
class SumSearch {
public:
  SumSearch(std::vector<Term> of, int64_t tries) : terms(std::move(of)), left(tries) {
    std::sort(terms.begin(), terms.end(), [](const Term &a, const Term &b) {
      return std::tuple(-size(a.factor), a.factor, a.low, a.high) <
             std::tuple(-size(b.factor), b.factor, b.low, b.high);
    });
    lowest.resize(terms.size() + 1), highest = divisor = lowest;
    for (size_t i = terms.size(); i-- > 0;) {
      const auto [factor, low, high] = terms[i];
      lowest[i] = lowest[i + 1] + std::min(factor * low, factor * high);
      highest[i] = highest[i + 1] + std::max(factor * low, factor * high);
      divisor[i] = gcd(divisor[i + 1], size(factor));
    }
  }

  bool isPossible(__int128 low, __int128 high) { return go(0, low, high); }
  int64_t unused() const { return std::max<int64_t>(left, 0); }

private:
  static __int128 size(__int128 of) { return of < 0 ? -of : of; }
  static __int128 gcd(__int128 a, __int128 b) { return b == 0 ? a : gcd(b, a % b); }
  static __int128 downBy(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

  bool go(size_t i, __int128 low, __int128 high) {
    low = std::max(low, lowest[i]), high = std::min(high, highest[i]);
    if (low > high)
      return false;
    if (divisor[i] == 0 || --left < 0) // nothing moves it; or nobody knows
      return true;
    if (downBy(high, divisor[i]) * divisor[i] < low)
      return false;
    const Term &term = terms[i];
    // low - highest[i + 1] <= factor * x <= high - lowest[i + 1]
    __int128 from = low - highest[i + 1], to = high - lowest[i + 1];
    if (term.factor < 0)
      from = -(high - lowest[i + 1]), to = -(low - highest[i + 1]);
    const __int128 first = std::max(-downBy(-from, size(term.factor)), term.low);
    const __int128 last = std::min(downBy(to, size(term.factor)), term.high);
    for (__int128 x = first; x <= last; ++x)
      if (go(i + 1, low - term.factor * x, high - term.factor * x))
        return true;
    return false;
  }

  std::vector<Term> terms; ///< the largest factor first
  int64_t left;
  std::vector<__int128> lowest, highest, divisor; ///< of the terms from each on
};

/// What a step reaches in a tensor that lies in no other one.
struct Reach {
  Index tensor = kNone;
  int64_t offset = 0;
  std::map<Index, int64_t> strides; ///< by loop; of loops that are closed, in any of their iterations
  int64_t columns = 1, rows = 1, rowStride = 0;
  bool hasTokens = false;
  auto operator<=>(const Reach &) const = default;
};
using Reaches = std::vector<Reach>;

class MemoryOrder {
public:
  MemoryOrder(LoopKernel &kernel, const std::function<bool(const KernelStep &)> &hasTokens)
      : kernel(kernel), hasTokens(hasTokens), common(kernel.loops.size(), 0) {}

  void run() {
    findShared();
    if (std::find(shared.begin(), shared.end(), 1) != shared.end())
      order(kernel.body, kNone);
  }

private:
  /// Of a stretch of the program: loads before its first fence, stores behind its last one.
  struct Summary {
    Reaches loads, stores;
    bool fences = false;
  };

  Index whole(Index tensor) const {
    while (kernel.tensors[tensor].within != kNone)
      tensor = kernel.tensors[tensor].within;
    return tensor;
  }
  template <class F> void eachAccess(const KernelStep &step, F of) const {
    if (step.loop == kNone && step.access.tensor != kNone)
      of(step.access, step.role.does == Role::Store);
    if (step.loop == kNone && step.target.tensor != kNone)
      of(step.target, true);
  }
  /// By tensor: whether it is both loaded and stored.
  void findShared() {
    std::vector<char> used(kernel.tensors.size(), 0);
    auto visit = [&](const KernelBody &body) {
      for (const KernelStep &step : body)
        eachAccess(step,
                   [&](const KernelAccess &access, bool isStore) { used[whole(access.tensor)] |= isStore ? 2 : 1; });
    };
    visit(kernel.body);
    for (const KernelLoop &loop : kernel.loops)
      visit(loop.body);
    for (char is : used)
      shared.push_back(is == 3);
  }

  Reach reachOf(const KernelStep &step, const KernelAccess &access) const {
    Reach made;
    made.tensor = whole(access.tensor), made.offset = access.offset;
    for (Index t = access.tensor; t != made.tensor; t = kernel.tensors[t].within)
      made.offset += kernel.tensors[t].offset;
    for (auto [loop, stride] : access.strides)
      made.strides[loop] += stride;
    made.columns = std::max<int64_t>(access.columns, 1);
    made.rows = std::max<int64_t>(access.rows, 1), made.rowStride = access.rowStride;
    made.hasTokens = hasTokens(step);
    return made;
  }

  /// Whether a load may reach what an older store reached; of an earlier iteration of loop `of`, if there is one.
  bool meet(const Reach &store, const Reach &load, Index of) {
    if (store.tensor != load.tensor || (store.hasTokens && load.hasTokens))
      return false;
    std::vector<Term> terms = {{load.rowStride, 0, load.rows - 1}, {-store.rowStride, 0, store.rows - 1}};
    auto stride = [](const Reach &reach, Index loop) {
      const auto at = reach.strides.find(loop);
      return at == reach.strides.end() ? int64_t(0) : at->second;
    };
    for (Index loop = 0; loop < Index(kernel.loops.size()); ++loop) {
      const __int128 by = stride(load, loop), before = stride(store, loop);
      const int64_t last = std::max<int64_t>(kernel.loops[loop].count - 1, 0);
      if (by == 0 && before == 0)
        continue;
      if (common[loop] || loop == of)
        terms.push_back({by - before, 0, last});
      else if (by == before)
        terms.push_back({by, -last, last});
      else
        terms.push_back({by, 0, last}), terms.push_back({-before, 0, last});
      if (loop == of)
        terms.push_back({by, 1, last});
    }
    std::erase_if(terms, [](const Term &term) { return term.factor == 0 || (term.low == 0 && term.high == 0); });
    const int64_t tries = std::min(kTries, left);
    SumSearch search(std::move(terms), tries);
    const __int128 offset = __int128(store.offset) - load.offset;
    const bool possible = search.isPossible(offset + 1 - load.columns, offset + store.columns - 1);
    left -= tries - search.unused();
    return possible;
  }
  bool meet(const Reaches &stores, const Reaches &loads, Index of = kNone) {
    if (!loads.empty() && stores.size() > kMaxPairs / loads.size())
      return true;
    for (const Reach &store : stores)
      for (const Reach &load : loads)
        if (meet(store, load, of))
          return true;
    return false;
  }

  static void add(Reaches &to, const Reaches &more) {
    to.insert(to.end(), more.begin(), more.end());
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  }
  /// A stretch behind another one.
  static void append(Summary &to, const Summary &next) {
    if (!to.fences)
      add(to.loads, next.loads);
    if (next.fences)
      to.stores.clear();
    add(to.stores, next.stores);
    to.fences |= next.fences;
  }

  Summary summaryOf(const KernelStep &step) {
    if (step.loop != kNone)
      return order(kernel.loops[step.loop].body, step.loop);
    Summary made;
    eachAccess(step, [&](const KernelAccess &access, bool isStore) {
      if (shared[whole(access.tensor)])
        (isStore ? made.stores : made.loads).push_back(reachOf(step, access));
    });
    return made;
  }

  /// Fences of a body, of all iterations of the loop around it.
  Summary order(KernelBody &body, Index loop) {
    const int64_t count = loop == kNone ? 1 : kernel.loops[loop].count;
    if (count < 1)
      return {};
    if (loop != kNone)
      common[loop] = 1;
    const Summary fence{{}, {}, true};
    KernelBody made;
    std::vector<Summary> parts;
    Summary all;
    for (KernelStep &step : body) {
      const Summary part = summaryOf(step);
      if (meet(all.stores, part.loads))
        made.emplace_back(), parts.push_back(fence), append(all, fence);
      made.push_back(std::move(step)), parts.push_back(part), append(all, part);
    }
    body = std::move(made);
    if (loop == kNone)
      return all;
    common[loop] = 0;
    if (count > 1)
      all = repeat(body, parts, all, loop);
    if (all.fences) { // what is outside is before the first iteration, and behind the last one
      for (Reach &load : all.loads)
        load.strides.erase(loop);
      for (Reach &store : all.stores)
        if (auto at = store.strides.find(loop); at != store.strides.end())
          store.offset += at->second * (count - 1), store.strides.erase(at);
    }
    return all;
  }
  /// A fence in a loop whose iterations hand over to later ones.
  Summary repeat(KernelBody &body, const std::vector<Summary> &parts, const Summary &all, Index loop) {
    for (size_t p = 0; p < parts.size() && !parts[p].fences; ++p)
      if (meet(all.stores, parts[p].loads, loop)) {
        body.emplace(body.begin() + int64_t(p));
        Summary made;
        for (size_t q = 0; q < parts.size(); ++q) {
          if (q == p)
            append(made, {{}, {}, true});
          append(made, parts[q]);
        }
        return made;
      }
    return all;
  }

  LoopKernel &kernel;
  const std::function<bool(const KernelStep &)> &hasTokens;
  std::vector<char> shared; ///< by tensor
  std::vector<char> common; ///< by loop: it is around all that is compared
  int64_t left = kAllTries;
};

} // namespace

void orderMemory(LoopKernel &kernel, const std::function<bool(const KernelStep &)> &hasTokens) {
  MemoryOrder(kernel, hasTokens).run();
}

} // namespace accord::microarchitecture
