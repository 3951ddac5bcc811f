#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/Pieces.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

enum : int { First, Second, Sum, Initial };
constexpr int64_t kMaxUnrolled = 1 << 16, kMaxBodies = 1 << 13;

class Generator {
public:
  Generator(const Contraction &contraction, const Schedule &schedule, ContractionLayout layout)
      : contraction(contraction), schedule(schedule), layout(std::move(layout)), builder(contraction.name) {}

  Result<LoopKernel> run() {
    setUp();
    if (!failed)
      findLevels();
    for (int t : {First, Second, Sum, Initial})
      if (!failed && schedule.staged[t].storage != kNone && (t != Initial || contraction.initial))
        findStaging(t);
    if (failed)
      return std::move(*failed);
    for (int t = 0; t < 3; ++t)
      builder.tensor(tensorOf(t).name, layout.elements[t], tensorOf(t).bytes);
    if (contraction.initial)
      builder.tensor(contraction.initial->name, layout.elements[Initial], contraction.initial->bytes);
    for (int t : {First, Second, Sum, Initial})
      for (int b = 0; pieces[t] && b < (isDouble[t] ? 2 : 1); ++b)
        buffers[t][b] = builder.tensor(fmt::format("{}_{}", tensorOf(t).name, b), pieces[t]->elements,
                                       tensorOf(t).bytes, schedule.staged[t].storage);
    if (std::any_of(layout.extents.begin(), layout.extents.end(), [](int64_t e) { return e == 0; }))
      return builder.finish();
    if (pieces[Sum] ? clearsMemory : !contraction.accumulates && !startsInRegister)
      begin();
    withPieces(0, layout.extents, {0, 0, 0, 0}, 0, false);
    if (failed)
      return std::move(*failed);
    return builder.finish();
  }

private:
  using Offsets = std::array<int64_t, 4>;

  void fail(std::string message) {
    if (!failed)
      failed = Error{Code::NotMapped, fmt::format("'{}': {}", contraction.name, message), {}};
  }
  const ContractionTensor &tensorOf(int t) const {
    return t == First     ? contraction.first
           : t == Second  ? contraction.second
           : t == Initial ? *contraction.initial
                          : contraction.result;
  }
  /// Where the tensor is now: in memory, or in a buffer.
  int64_t stride(int t, Index loop) const { return (inBuffer[t] < 0 ? layout.strides[t] : pieces[t]->strides)[loop]; }

  /// Shapes of instructions and points of blocks.
  void setUp() {
    const size_t loops = contraction.loops.size();
    chunk.assign(loops, 1);
    if (schedule.isTiled()) {
      for (int i = 0; i < 3; ++i)
        chunk[schedule.tileLoops[i]] = schedule.tile[i];
      const auto [m, n, k] = schedule.tile;
      roles[First] = {Role::Load, 1, m, k, 0}, roles[Second] = {Role::Load, 1, k, n, 0};
      roles[Sum] = {Role::Load, 1, m, n, 0}, multiply = {Role::MultiplyAdd, 1, m, n, k};
      // Rows and columns of the tiles of each tensor.
      const auto [lm, ln, lk] = schedule.tileLoops;
      rows[First] = lm, columns[First] = lk, rows[Second] = lk, columns[Second] = ln, rows[Sum] = lm, columns[Sum] = ln;
      for (int t = 0; t < 3; ++t)
        if (stride(t, columns[t]) != 1)
          fail(fmt::format("the elements of a row of a tile do not lie side by side along '{}'",
                           contraction.loops[columns[t]].name));
      for (auto [t, other] : {std::pair(int(First), ln), {Second, lm}, {Sum, lk}})
        if (stride(t, other) != 0)
          fail(fmt::format("tiles along '{}' are no product of matrices", contraction.loops[other].name));
    } else {
      if (schedule.vectorLoop != kNone && schedule.lanes > 1) {
        chunk[schedule.vectorLoop] = schedule.lanes;
        for (int t = 0; t < 3; ++t)
          if (int64_t s = stride(t, schedule.vectorLoop); s != 1 && (s != 0 || t == Sum))
            fail(fmt::format("the elements of lanes do not lie side by side along '{}'",
                             contraction.loops[schedule.vectorLoop].name));
      }
      const int32_t lanes = schedule.vectorLoop == kNone ? 1 : schedule.lanes;
      for (int t = 0; t < 3; ++t)
        roles[t] = {lanes > 1 && stride(t, schedule.vectorLoop) == 0 ? Role::Broadcast : Role::Load, lanes};
      multiply = {Role::MultiplyAdd, lanes};
    }
    setUpInitial();
    for (int t = 0; t < 3; ++t)
      bits[t] = int64_t(8) * tensorOf(t).bytes * (roles[t].isTile() ? roles[t].m * roles[t].n : roles[t].lanes);
    if (!roles[0].isTile()) // operands and sums of lanes are in registers of one width
      bits.fill(std::max({bits[0], bits[1], bits[2]}));
    block = schedule.block;
    block.resize(loops, 0);
    int64_t points = 1;
    for (size_t l = 0; l < loops; ++l) {
      block[l] = std::max(block[l] / chunk[l], int64_t(1)) * chunk[l];
      points = std::min(points, kMaxUnrolled + 1) * std::min(block[l] / chunk[l], kMaxUnrolled + 1);
    }
    if (points > kMaxUnrolled)
      fail(fmt::format("more than {} products are unrolled", kMaxUnrolled));
  }

  /// What sums begin with is loaded as they are; lanes that do not move it all hold the same element.
  void setUpInitial() {
    if (!contraction.initial)
      return;
    roles[Initial] = roles[Sum];
    for (Index l = 0; l < Index(contraction.loops.size()); ++l)
      if (stride(Initial, l) != 0 && (contraction.loops[l].reduces || stride(Sum, l) == 0))
        fail(fmt::format("sums along '{}' begin with several elements", contraction.loops[l].name));
    const Index columns = schedule.isTiled() ? schedule.tileLoops[1] : schedule.vectorLoop;
    if (columns == kNone || (!schedule.isTiled() && schedule.lanes == 1))
      return;
    const int64_t s = stride(Initial, columns);
    if (schedule.isTiled() ? s != 1 : s != 0 && s != 1)
      fail(fmt::format("what sums begin with does not lie side by side along '{}'", contraction.loops[columns].name));
    if (!schedule.isTiled() && s == 0)
      roles[Initial].does = Role::Broadcast;
  }

  /// Whether a loop moves a dimension of a tensor that no other one moves.
  bool isAlone(int t, Index loop) const {
    for (const auto &dimension : tensorOf(t).dimensions)
      for (const auto &term : dimension.terms)
        if (term.loop == loop)
          return std::all_of(dimension.terms.begin(), dimension.terms.end(),
                             [&](const auto &other) { return other.loop == loop || layout.extents[other.loop] == 1; });
    return false;
  }
  /// Where whole tiles reach behind the extents, what is multiplied there is zero or goes to room of its own.
  void checkRounding() {
    if (!schedule.isTiled())
      return;
    const auto [m, n, k] = schedule.tileLoops;
    auto isRounded = [&](Index loop) { return layout.extents[loop] != contraction.loops[loop].extent; };
    auto check = [&](Index loop, bool isHarmless) {
      if (isRounded(loop) && !isHarmless)
        fail(fmt::format("the {} iterations of '{}' are no whole tiles, and what is behind them belongs to others",
                         contraction.loops[loop].extent, contraction.loops[loop].name));
    };
    check(m, isAlone(Sum, m) || (!startsInRegister && isAlone(First, m)));
    check(n, isAlone(Sum, n) || (!startsInRegister && isAlone(Second, n)));
    check(k, isAlone(First, k) || isAlone(Second, k));
  }

  void findLevels() {
    levels = schedule.levels;
    std::vector<int64_t> last = layout.extents;
    for (const Schedule::Level &level : levels) {
      if (level.loop < 0 || size_t(level.loop) >= last.size())
        return fail("a level names a loop that does not exist");
      if (level.step < 1 || level.step % chunk[level.loop] != 0)
        return fail(fmt::format("a step of {} of loop '{}' is no multiple of the {} points of an instruction",
                                level.step, contraction.loops[level.loop].name, chunk[level.loop]));
      last[level.loop] = std::min(last[level.loop], level.step);
    }
    for (Index l = 0; l < Index(last.size()); ++l)
      if (last[l] > block[l])
        levels.push_back({l, block[l]});
    for (int t = 0; t < 3; ++t) {
      hoisted[t] = levels.size();
      while (hoisted[t] > 0 && stride(t, levels[hoisted[t] - 1].loop) == 0)
        --hoisted[t];
    }
    // All of a sum is added in its register if each loop that reduces is inside of where that is loaded.
    startsInRegister = !contraction.accumulates;
    for (Index l = 0; l < Index(contraction.loops.size()); ++l)
      if (contraction.loops[l].reduces && stride(Sum, l) != 0)
        startsInRegister = false;
    for (size_t i = 0; i < hoisted[Sum]; ++i)
      if (contraction.loops[levels[i].loop].reduces || stride(Sum, levels[i].loop) == 0)
        startsInRegister = false;
    checkRounding();
  }

  // ---- pieces in buffers

  /// Levels in front of the copies of a tensor, its piece, and what becomes of results.
  void findStaging(int t) {
    const Schedule::StagedPiece &wanted = schedule.staged[t];
    const int32_t level = schedule.staged[t == Initial ? int(Sum) : t].level;
    if (level < 0 || size_t(level) > levels.size())
      return fail(fmt::format("'{}' is copied before a level that does not exist", tensorOf(t).name));
    std::vector<int64_t> sizes = layout.extents;
    std::vector<char> isLoop;
    for (const Schedule::Level &level : levels)
      isLoop.push_back(level.step < sizes[level.loop]), sizes[level.loop] = std::min(sizes[level.loop], level.step);
    size_t &at = stagedAt[t] = size_t(level);
    while (at > 0 && (!isLoop[at - 1] || stride(t, levels[at - 1].loop) == 0))
      --at;
    sizes = layout.extents;
    for (size_t l = 0; l < at; ++l)
      sizes[levels[l].loop] = std::min(sizes[levels[l].loop], levels[l].step);
    pieces[t] = pieceOf(tensorOf(t), layout.strides[t], sizes);
    if (!pieces[t])
      return fail(fmt::format("what some iterations reach of '{}' is no box", tensorOf(t).name));
    isDouble[t] = wanted.isDouble && at > 0;
    if (t != Sum)
      return;
    // Whether each element is in one piece, all of whose sums are complete there.
    bool isOnce = true;
    for (size_t l = 0; l < at; ++l)
      if (isLoop[l])
        isOnce &= !contraction.loops[levels[l].loop].reduces && isAlone(Sum, levels[l].loop);
    readsBack = !isOnce, isDouble[Sum] = isDouble[Sum] && isOnce;
    // Positions between those that are reached, in pieces and between them.
    bool isDense = true;
    for (const Piece::Dimension &dimension : pieces[Sum]->dimensions)
      for (const auto &term : dimension.terms)
        isDense &= term.stride == 1 || layout.extents[term.loop] == 1;
    startsInRegister = startsInRegister && isDense;
    clearsPieces = isOnce && !contraction.accumulates && !startsInRegister;
    // Elements that no iteration reaches are zero too.
    const auto whole = pieceOf(contraction.result, layout.strides[Sum], layout.extents);
    clearsMemory = !contraction.accumulates && !startsInRegister &&
                   (!isOnce || !isDense || whole->elements < layout.elements[Sum]);
    isDouble[Sum] = isDouble[Sum] && !clearsMemory;
    if (clearsMemory && contraction.initial)
      fail("sums that begin with other than zero are not complete in one piece of the result");
  }
  bool copiesIn(int t) const { return t != Sum || contraction.accumulates || (readsBack && !startsInRegister); }

  /// The first element of a piece, where it lies in memory.
  void copy(int t, int buffer, const std::vector<int64_t> &sizes, int64_t offset, bool isIn) {
    KernelAccess inside;
    inside.tensor = buffers[t][buffer];
    copyPiece(builder, schedule.copy, *pieces[t], sizes, access(t, offset, 1), inside, isIn);
  }

  /// Level l and those behind it, with the pieces of this iteration in buffers; `isFetched`: the next pieces of two
  /// buffers are there already.
  void withPieces(size_t l, const std::vector<int64_t> &sizes, const Offsets &base, int buffer, bool isFetched) {
    if (++bodies > kMaxBodies)
      return fail(fmt::format("more than {} bodies of loops, by remainders and buffers", kMaxBodies));
    Offsets inside = base;
    std::vector<int> entered;
    for (int t : {Initial, Sum, First, Second}) {
      if (!pieces[t] || stagedAt[t] != l)
        continue;
      const int b = isDouble[t] ? buffer : 0;
      if (copiesIn(t) && !(isFetched && isDouble[t]))
        copy(t, b, sizes, base[t], true);
      entered.push_back(t);
      inBuffer[t] = b, depth[t] = around.size(), inside[t] = 0;
      if (t == Sum && clearsPieces && !contraction.initial)
        clear(buffers[t][b], pieces[t]->elements);
      else if (t == Sum && clearsPieces)
        fill(0, inside, sizes);
    }
    nest(l, sizes, inside);
    for (int t : entered) {
      const int b = inBuffer[t];
      inBuffer[t] = -1, depth[t] = 0;
      if (t == Sum)
        copy(t, b, sizes, base[t], false);
    }
  }
  bool isPipelined(size_t l) const {
    for (int t : {First, Second, Sum, Initial})
      if (pieces[t] && stagedAt[t] == l + 1 && isDouble[t])
        return true;
    return false;
  }

  /// A loop whose pieces alternate between two buffers: the copy of the next one stands before the present one.
  void pipeline(size_t l, const std::vector<int64_t> &sizes, const Offsets &base) {
    const auto [loop, step] = levels[l];
    const int64_t whole = sizes[loop] / step, rest = sizes[loop] % step, all = whole + (rest > 0);
    auto sizesOf = [&](int64_t piece) {
      std::vector<int64_t> inner = sizes;
      inner[loop] = piece < whole ? step : rest;
      return inner;
    };
    auto offsets = [&](int64_t piece) {
      Offsets at = base;
      for (int t : {First, Second, Sum, Initial})
        at[t] += piece * step * stride(t, loop);
      return at;
    };
    auto open = [&](int64_t pairs) {
      around.push_back({builder.begin(contraction.loops[loop].name, pairs), loop, 2 * step});
    };
    auto close = [&] { around.pop_back(), builder.end(); };
    auto fetch = [&](int64_t piece) {
      for (int t : {Initial, First, Second, Sum})
        if (pieces[t] && stagedAt[t] == l + 1 && isDouble[t] && copiesIn(t))
          copy(t, piece % 2, sizesOf(piece), offsets(piece)[t], true);
    };
    auto use = [&](int64_t piece) { withPieces(l + 1, sizesOf(piece), offsets(piece), piece % 2, true); };
    alternatePieces(whole, all, open, close, fetch, use);
  }

  KernelAccess access(int t, int64_t offset, int64_t count) const {
    KernelAccess made;
    made.tensor = inBuffer[t] < 0 ? t : buffers[t][inBuffer[t]], made.offset = offset, made.columns = count;
    for (size_t a = depth[t]; a < around.size(); ++a)
      if (const int64_t s = stride(t, around[a].loop) * around[a].step)
        made.strides.push_back({around[a].kernelLoop, s});
    if (roles[t].isTile())
      made.rows = roles[t].m, made.columns = roles[t].n, made.rowStride = stride(t, rows[t == Initial ? int(Sum) : t]);
    else if (roles[t].does == Role::Broadcast)
      made.columns = 1;
    return made;
  }

  /// The result as it begins, in all of memory: zero by copies of a buffer where it has one.
  void begin() {
    if (!pieces[Sum] && contraction.initial)
      return fill(0, {0, 0, 0, 0}, layout.extents);
    if (!pieces[Sum])
      return clear(Sum, layout.elements[Sum]);
    const Index buffer = buffers[Sum][0];
    clear(buffer, pieces[Sum]->elements);
    KernelAccess outside, inside;
    outside.tensor = Sum, inside.tensor = buffer;
    const int64_t size = pieces[Sum]->elements, whole = layout.elements[Sum] / size;
    if (whole > 0) {
      outside.strides = {{builder.begin("clear", whole), size}};
      copyStretch(builder, schedule.copy, size, outside, inside);
      builder.end();
    }
    outside.strides.clear(), outside.offset = whole * size;
    if (const int64_t rest = layout.elements[Sum] % size)
      copyStretch(builder, schedule.copy, rest, outside, inside);
  }
  void clear(Index tensor, int64_t all) {
    const OpcodeRole role = roles[Sum];
    OpcodeRole store = role;
    store.does = Role::Store;
    const int64_t size = role.isTile() ? int64_t(role.m) * role.n : role.lanes;
    const Index zero = builder.value(bits[Sum]);
    builder.setConstant(zero, role, 0);
    // Whole tiles may reach behind the result: then the tensor has that room.
    const int64_t whole = role.isTile() ? (all + size - 1) / size : all / size;
    KernelAccess at;
    at.tensor = tensor, at.columns = role.isTile() ? role.n : size;
    if (role.isTile())
      at.rows = role.m, at.rowStride = role.n, builder.reserve(tensor, whole * size);
    if (whole > 0) {
      at.strides = {{builder.begin("clear", whole), size}};
      builder.store(zero, store, at);
      builder.end();
    }
    if (whole * size < all)
      at.strides.clear(), at.offset = whole * size, at.columns = all - whole * size, builder.store(zero, store, at);
  }

  /// The result as it begins, in all of memory.
  void fill(Index l, Offsets at, const std::vector<int64_t> &sizes) {
    if (l == Index(sizes.size())) {
      OpcodeRole store = roles[Sum];
      store.does = Role::Store;
      const bool isVector = schedule.vectorLoop != kNone && !schedule.isTiled();
      const int64_t count = isVector ? std::min(chunk[schedule.vectorLoop], sizes[schedule.vectorLoop]) : 1;
      const Index value = builder.value(bits[Sum]);
      builder.load(value, roles[Initial], access(Initial, at[Initial], count));
      builder.store(value, store, access(Sum, at[Sum], count));
      return;
    }
    if (stride(Sum, l) == 0)
      return fill(l + 1, at, sizes);
    const int64_t whole = sizes[l] / chunk[l], rest = sizes[l] % chunk[l];
    std::vector<int64_t> inner = sizes;
    if (whole > 0) {
      inner[l] = chunk[l];
      around.push_back({builder.begin(contraction.loops[l].name, whole), l, chunk[l]});
      fill(l + 1, at, inner);
      around.pop_back();
      builder.end();
    }
    if (rest > 0) {
      inner[l] = rest;
      for (int t : {Sum, Initial})
        at[t] += whole * chunk[l] * stride(t, l);
      fill(l + 1, at, inner);
    }
  }

  struct Part {
    Index value = kNone;
    int64_t count = 1;   ///< elements
    int64_t initial = 0; ///< offset of what it begins with
  };
  using Held = std::map<int64_t, Part>; ///< by offset

  Held partsOf(int t, const std::vector<int64_t> &sizes, const Offsets &base) const {
    Held made;
    auto go = [&](auto &self, Index l, int64_t offset, Part part) -> void {
      if (l == Index(sizes.size())) {
        made.try_emplace(offset, part);
        return;
      }
      if (stride(t, l) == 0)
        return self(self, l + 1, offset, part);
      for (int64_t at = 0; at < sizes[l]; at += chunk[l]) {
        Part next = part;
        next.initial += at * stride(Initial, l);
        if (l == schedule.vectorLoop && !schedule.isTiled())
          next.count = std::min(chunk[l], sizes[l] - at);
        self(self, l + 1, offset + at * stride(t, l), next);
      }
    };
    go(go, 0, base[t], {kNone, 1, base[Initial]});
    return made;
  }

  Index loadOperand(int t, int64_t offset, int64_t count) {
    const Index value = builder.value(bits[t]);
    builder.load(value, roles[t], access(t, offset, count));
    return value;
  }
  /// What products read: the loaded value, or where it was moved to the array.
  Index placeOperand(int t, Index loaded) {
    if (t != Second || !schedule.preloads)
      return loaded;
    const Index placed = builder.value(bits[t]);
    OpcodeRole preload = roles[t];
    preload.does = Role::Preload;
    builder.compute(placed, preload, {loaded});
    return placed;
  }

  /// Two parts of the result in registers at once must not have an element in common.
  void checkApart() {
    std::map<int64_t, int64_t> stretches; // by begin: length
    bool apart = true;
    for (const auto &[offset, part] : held[Sum]) {
      const KernelAccess at = access(Sum, offset, part.count);
      for (int64_t row = 0; row < at.rows; ++row)
        apart &= stretches.try_emplace(offset + row * at.rowStride, at.columns).second;
    }
    int64_t end = INT64_MIN;
    for (auto [begin, length] : stretches)
      apart &= begin >= end, end = begin + length;
    if (!apart)
      fail("lanes or tiles of the result overlap in a block: unroll less");
  }

  void enter(int t, const std::vector<int64_t> &sizes, const Offsets &base) {
    held[t] = partsOf(t, sizes, base);
    if (t == Sum)
      checkApart();
    for (auto &[offset, part] : held[t]) {
      if (t != Sum) {
        part.value = placeOperand(t, loadOperand(t, offset, part.count));
      } else {
        part.value = builder.value(bits[t]);
        if (startsInRegister && contraction.initial)
          builder.load(part.value, roles[Initial], access(Initial, part.initial, part.count));
        else if (startsInRegister)
          builder.setConstant(part.value, roles[t], 0);
        else
          builder.load(part.value, roles[t], access(t, offset, part.count));
      }
    }
  }
  void leaveResult() {
    OpcodeRole store = roles[Sum];
    store.does = Role::Store;
    for (auto &[offset, part] : held[Sum])
      builder.store(part.value, store, access(Sum, offset, part.count));
  }

  void nest(size_t l, const std::vector<int64_t> &sizes, const Offsets &base) {
    for (int t : {Sum, First, Second})
      if (hoisted[t] == l && (t == Sum || l < levels.size()))
        enter(t, sizes, base);
    if (l == levels.size())
      multiplyBlock(sizes, base);
    else
      level(l, sizes, base);
    if (hoisted[Sum] == l)
      leaveResult();
  }

  void level(size_t l, const std::vector<int64_t> &sizes, const Offsets &base) {
    if (isPipelined(l))
      return pipeline(l, sizes, base);
    const auto [loop, step] = levels[l];
    const int64_t whole = sizes[loop] / step, rest = sizes[loop] % step;
    std::vector<int64_t> inner = sizes;
    if (whole > 0) {
      inner[loop] = step;
      if (whole > 1) {
        around.push_back({builder.begin(contraction.loops[loop].name, whole), loop, step});
        withPieces(l + 1, inner, base, 0, false);
        around.pop_back();
        builder.end();
      } else {
        withPieces(l + 1, inner, base, 0, false);
      }
    }
    if (rest > 0) {
      inner[loop] = rest;
      Offsets behind = base;
      for (int t = 0; t < 4; ++t)
        behind[t] += whole * step * stride(t, loop);
      withPieces(l + 1, inner, behind, 0, false);
    }
  }

  /// All products of a block: sums outside, so that neighbours add to different results. Operands that the block loads
  /// stand `ahead` products before their first use.
  void multiplyBlock(const std::vector<int64_t> &sizes, const Offsets &base) {
    std::vector<Index> order;
    for (bool moves : {false, true})
      for (Index l = 0; l < Index(sizes.size()); ++l)
        if ((stride(Sum, l) != 0) == moves)
          order.push_back(l);
    struct Product {
      Offsets at;
      int64_t count; ///< lanes
    };
    std::vector<Product> products;
    auto go = [&](auto &self, size_t i, Offsets at, int64_t count) -> void {
      if (i == order.size()) {
        products.push_back({at, count});
        return;
      }
      const Index l = order[i];
      for (int64_t p = 0; p < sizes[l]; p += chunk[l]) {
        self(self, i + 1, at, l == schedule.vectorLoop ? std::min(chunk[l], sizes[l] - p) : count);
        for (int t = 0; t < 3; ++t)
          at[t] += chunk[l] * stride(t, l);
      }
    };
    go(go, 0, base, 1);
    std::map<int64_t, Index> loaded[2], placed[2]; // by offset
    auto load = [&](int t, const Product &of) {
      if (auto [at, isNew] = loaded[t].try_emplace(of.at[t], kNone); isNew)
        at->second = loadOperand(t, of.at[t], of.count);
      return loaded[t].at(of.at[t]);
    };
    auto operand = [&](int t, const Product &of) {
      if (hoisted[t] < levels.size())
        return held[t].at(of.at[t]).value;
      if (auto at = placed[t].find(of.at[t]); at != placed[t].end())
        return at->second;
      return placed[t][of.at[t]] = placeOperand(t, load(t, of));
    };
    const size_t all = products.size(), ahead = size_t(std::max<int>(schedule.ahead, 0));
    for (size_t i = 0, loads = 0, places = 0; i < all; ++i) {
      for (; loads < std::min(all, i + ahead + 1); ++loads)
        for (int t : {First, Second})
          if (hoisted[t] >= levels.size())
            load(t, products[loads]);
      for (; places < std::min(all, i + std::min<size_t>(ahead, 1) + 1); ++places)
        operand(First, products[places]), operand(Second, products[places]);
      const Index a = operand(First, products[i]), b = operand(Second, products[i]);
      const Index sum = held[Sum].at(products[i].at[Sum]).value;
      builder.compute(sum, multiply, {a, b, sum});
    }
  }

  struct Around {
    Index kernelLoop, loop;
    int64_t step;
  };

  const Contraction &contraction;
  const Schedule &schedule;
  const ContractionLayout layout;
  KernelBuilder builder;
  std::vector<int64_t> chunk, block;
  std::array<OpcodeRole, 4> roles; ///< of loads
  OpcodeRole multiply;
  std::array<int64_t, 3> bits = {0, 0, 0};
  std::array<Index, 3> rows = {kNone, kNone, kNone}, columns = rows; ///< loops of tiles
  std::vector<Schedule::Level> levels;
  std::array<size_t, 3> hoisted = {0, 0, 0}; ///< level before which a tensor is loaded
  bool startsInRegister = false;
  std::vector<Around> around;
  std::array<Held, 3> held;
  std::array<std::optional<Piece>, 4> pieces;    ///< of staged tensors
  std::array<size_t, 4> stagedAt = {0, 0, 0, 0}; ///< level before which they are copied
  std::array<bool, 4> isDouble = {false, false, false, false};
  std::array<std::array<Index, 2>, 4> buffers = {};                   ///< tensors of the kernel
  std::array<int, 4> inBuffer = {-1, -1, -1, -1};                     ///< which buffer the piece is in now
  std::array<size_t, 4> depth = {0, 0, 0, 0};                         ///< loops around that do not move it there
  bool readsBack = false, clearsPieces = false, clearsMemory = false; ///< of the result
  int64_t bodies = 0;
  std::optional<Error> failed;
};

} // namespace

Result<LoopKernel> contractionKernel(const Contraction &contraction, const Schedule &schedule) {
  auto layout = layoutOf(contraction, schedule);
  if (!layout)
    return layout.takeError();
  return Generator(contraction, schedule, std::move(*layout)).run();
}

} // namespace accord::microarchitecture
