#include "lib/microarchitecture/mapping/OrderMemory.h"
#include <tuple>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kTries = 1 << 11, kAllTries = 1 << 22; ///< of a pair of accesses, of a kernel
constexpr size_t kMaxPairs = 1 << 16;                    ///< that are compared at once
constexpr __int128 kMany = __int128(1) << 90;            ///< instructions

/// An integer of a range, which moves an address and a distance in instructions by these factors.
struct Term {
  __int128 address = 0, distance = 0, low = 0, high = 0;
};
struct Range {
  __int128 low = 0, high = 0;
};

/// Whether the addresses and the distances of all terms may sum up to something in two ranges at once. Each try gives
/// one term a value.
class SumSearch {
public:
  SumSearch(std::vector<Term> of, int64_t tries) : terms(std::move(of)), left(tries) {
    std::sort(terms.begin(), terms.end(), [](const Term &a, const Term &b) {
      return std::tuple(-size(a.distance), -size(a.address), a.distance, a.address, a.low, a.high) <
             std::tuple(-size(b.distance), -size(b.address), b.distance, b.address, b.low, b.high);
    });
    rest.resize(terms.size() + 1);
    for (size_t i = terms.size(); i-- > 0;) {
      const Term &is = terms[i];
      rest[i] = {with(rest[i + 1].address, is.address, is), with(rest[i + 1].distance, is.distance, is)};
    }
  }

  bool isPossible(const Range &address, const Range &distance) { return go(0, {address, distance}); }
  int64_t unused() const { return std::max<int64_t>(left, 0); }

private:
  /// All that terms may sum up to.
  struct Sums {
    Range address, distance;
  };

  static __int128 size(__int128 of) { return of < 0 ? -of : of; }
  static __int128 downBy(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
  static Range with(const Range &sum, __int128 factor, const Term &term) {
    return {sum.low + std::min(factor * term.low, factor * term.high),
            sum.high + std::max(factor * term.low, factor * term.high)};
  }
  /// Values of a term with which the sum may still come into a range.
  static Range values(const Range &wanted, const Range &behind, __int128 factor, Range of) {
    if (factor == 0)
      return of;
    __int128 from = wanted.low - behind.high, to = wanted.high - behind.low;
    if (factor < 0)
      std::swap(from, to), from = -from, to = -to, factor = -factor;
    return {std::max(of.low, -downBy(-from, factor)), std::min(of.high, downBy(to, factor))};
  }

  bool go(size_t i, const Sums &wanted) {
    const Sums &may = rest[i];
    if (wanted.address.low > may.address.high || wanted.address.high < may.address.low ||
        wanted.distance.low > may.distance.high || wanted.distance.high < may.distance.low)
      return false;
    if (i == terms.size() || --left < 0) // found; or nobody knows
      return true;
    const Term &term = terms[i];
    Range x = values(wanted.address, rest[i + 1].address, term.address, {term.low, term.high});
    x = values(wanted.distance, rest[i + 1].distance, term.distance, x);
    for (__int128 at = x.low; at <= x.high; ++at) {
      const __int128 a = term.address * at, d = term.distance * at;
      if (go(i + 1,
             {{wanted.address.low - a, wanted.address.high - a}, {wanted.distance.low - d, wanted.distance.high - d}}))
        return true;
    }
    return false;
  }

  std::vector<Term> terms; ///< the largest distance first
  int64_t left;
  std::vector<Sums> rest; ///< of the terms from each on
};

/// What a step reaches in a tensor that lies in no other one.
struct Reach {
  Index tensor = kNone;
  int64_t offset = 0;
  std::map<Index, int64_t> strides; ///< by loop; of loops that are closed all, in any of their iterations
  int64_t columns = 1, rows = 1, rowStride = 0;
  bool hasTokens = false;
  __int128 at = 0; ///< instructions of the stretch before it, in the first iterations of closed loops
};
using Reaches = std::vector<Reach>;

class MemoryOrder {
public:
  MemoryOrder(LoopKernel &kernel, int64_t window, const std::function<bool(const KernelStep &)> &hasTokens)
      : kernel(kernel), hasTokens(hasTokens), common(kernel.loops.size(), 0), each(kernel.loops.size(), 0),
        near{1, __int128(window) - 1} {}

  void run() {
    findShared();
    if (instructions(kernel.body) > kMany)
      each.assign(each.size(), 0), near = {-kMany, kMany}; // no distance is known
    if (std::find(shared.begin(), shared.end(), 1) != shared.end())
      order(kernel.body, kNone);
  }

private:
  /// Of a stretch of the program: loads before its first fence, stores behind its last one.
  struct Summary {
    Reaches loads, stores;
    bool fences = false;
    __int128 instructions = 0;
  };

  __int128 instructions(const KernelBody &body) {
    __int128 all = 0;
    for (const KernelStep &step : body) {
      __int128 here = step.role.does != Role::None;
      if (step.loop != kNone)
        each[step.loop] = instructions(kernel.loops[step.loop].body),
        here = each[step.loop] * std::max<int64_t>(kernel.loops[step.loop].count, 0);
      all = std::min(all + here, kMany + 1);
    }
    return all;
  }

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
    std::vector<Term> terms = {{load.rowStride, 0, 0, load.rows - 1}, {-store.rowStride, 0, 0, store.rows - 1}};
    for (Index loop = 0; loop < Index(kernel.loops.size()); ++loop) {
      const auto later = load.strides.find(loop), before = store.strides.find(loop);
      const bool inLoad = later != load.strides.end(), inStore = before != store.strides.end();
      const __int128 by = inLoad ? later->second : 0, from = inStore ? before->second : 0;
      const int64_t last = std::max<int64_t>(kernel.loops[loop].count - 1, 0);
      if (common[loop] || loop == of)
        terms.push_back({by - from, 0, 0, last});
      else if (inLoad && inStore && by == from)
        terms.push_back({by, each[loop], -last, last});
      else if (inLoad || inStore)
        terms.push_back({by, inLoad ? each[loop] : 0, 0, last}),
            terms.push_back({-from, inStore ? -each[loop] : 0, 0, last});
      if (loop == of)
        terms.push_back({by, each[loop], 1, last});
    }
    std::erase_if(terms, [](const Term &term) {
      return (term.address == 0 && term.distance == 0) || (term.low == 0 && term.high == 0);
    });
    const int64_t tries = std::min(kTries, left);
    SumSearch search(std::move(terms), tries);
    const __int128 offset = __int128(store.offset) - load.offset;
    const __int128 apart = near.low < 0 ? 0 : load.at - store.at;
    const bool possible = search.isPossible({offset + 1 - load.columns, offset + store.columns - 1},
                                            {near.low - apart, near.high - apart});
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

  static void add(Reaches &to, const Reaches &more, __int128 behind) {
    for (const Reach &reach : more)
      to.push_back(reach), to.back().at += behind;
  }
  /// A stretch behind another one.
  static void append(Summary &to, const Summary &next) {
    if (!to.fences)
      add(to.loads, next.loads, to.instructions);
    if (next.fences)
      to.stores.clear();
    add(to.stores, next.stores, to.instructions);
    to.fences |= next.fences, to.instructions += next.instructions;
  }

  Summary summaryOf(const KernelStep &step) {
    if (step.loop != kNone)
      return order(kernel.loops[step.loop].body, step.loop);
    Summary made;
    made.instructions = step.role.does != Role::None;
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
    const Summary fence{{}, {}, true, 0};
    KernelBody made;
    std::vector<Summary> parts;
    Summary all;
    for (KernelStep &step : body) {
      const Summary part = summaryOf(step);
      Reaches loads;
      add(loads, part.loads, all.instructions);
      if (meet(all.stores, loads))
        made.emplace_back(), parts.push_back(fence), append(all, fence);
      made.push_back(std::move(step)), parts.push_back(part), append(all, part);
    }
    body = std::move(made);
    if (loop == kNone)
      return all;
    common[loop] = 0;
    if (count > 1)
      all = repeat(body, parts, all, loop);
    for (Reaches *reaches : {&all.loads, &all.stores})
      for (Reach &reach : *reaches) {
        const int64_t stride = reach.strides.try_emplace(loop, 0).first->second;
        if (!all.fences)
          continue;
        // What is outside is before the first iteration, or behind the last one.
        reach.strides.erase(loop);
        if (reaches == &all.stores)
          reach.offset += stride * (count - 1), reach.at += each[loop] * (count - 1);
      }
    all.instructions = each[loop] * count;
    return all;
  }
  /// A fence in a loop whose iterations hand over to later ones.
  Summary repeat(KernelBody &body, const std::vector<Summary> &parts, const Summary &all, Index loop) {
    __int128 before = 0;
    bool fences = false; // of the parts before
    for (size_t p = 0; p < parts.size() && !fences; before += parts[p++].instructions) {
      fences = parts[p].fences;
      Reaches loads;
      add(loads, parts[p].loads, before);
      if (!meet(all.stores, loads, loop))
        continue;
      body.emplace(body.begin() + int64_t(p));
      Summary made;
      for (size_t q = 0; q < parts.size(); ++q) {
        if (q == p)
          append(made, {{}, {}, true, 0});
        append(made, parts[q]);
      }
      return made;
    }
    return all;
  }

  LoopKernel &kernel;
  const std::function<bool(const KernelStep &)> &hasTokens;
  std::vector<char> shared;   ///< by tensor
  std::vector<char> common;   ///< by loop: it is around all that is compared
  std::vector<__int128> each; ///< by loop: instructions of an iteration
  Range near;                 ///< distances at which a store may not be complete yet
  int64_t left = kAllTries;
};

} // namespace

void orderMemory(LoopKernel &kernel, int64_t window, const std::function<bool(const KernelStep &)> &hasTokens) {
  MemoryOrder(kernel, window, hasTokens).run();
}

} // namespace accord::microarchitecture
