#include "lib/microarchitecture/mapping/Contraction.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

enum : int { First, Second, Sum, Initial };
constexpr int64_t kMaxUnrolled = 1 << 16;

class Generator {
public:
  Generator(const Contraction &contraction, const Schedule &schedule, ContractionLayout layout)
      : contraction(contraction), schedule(schedule), layout(std::move(layout)), builder(contraction.name) {}

  Result<LoopKernel> run() {
    setUp();
    if (!failed)
      findLevels();
    if (failed)
      return std::move(*failed);
    const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result};
    for (int t = 0; t < 3; ++t)
      builder.tensor(tensors[t]->name, layout.elements[t], tensors[t]->bytes);
    if (contraction.initial)
      builder.tensor(contraction.initial->name, layout.elements[Initial], contraction.initial->bytes);
    if (std::any_of(layout.extents.begin(), layout.extents.end(), [](int64_t e) { return e == 0; }))
      return builder.finish();
    if (!contraction.accumulates && !startsInRegister) {
      if (contraction.initial)
        fill(0, {0, 0, 0, 0}, layout.extents);
      else
        clear();
    }
    nest(0, layout.extents, {0, 0, 0, 0});
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
  int64_t stride(int t, Index loop) const { return layout.strides[t][loop]; }

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
    const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result};
    for (int t = 0; t < 3; ++t)
      bits[t] = int64_t(8) * tensors[t]->bytes * (roles[t].isTile() ? roles[t].m * roles[t].n : roles[t].lanes);
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
    const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result};
    for (const auto &dimension : tensors[t]->dimensions)
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

  KernelAccess access(int t, int64_t offset, int64_t count) const {
    KernelAccess made;
    made.tensor = t, made.offset = offset, made.columns = count;
    for (auto [kernelLoop, loop, step] : around)
      if (const int64_t s = stride(t, loop) * step)
        made.strides.push_back({kernelLoop, s});
    if (roles[t].isTile())
      made.rows = roles[t].m, made.columns = roles[t].n, made.rowStride = stride(t, rows[t == Initial ? int(Sum) : t]);
    else if (roles[t].does == Role::Broadcast)
      made.columns = 1;
    return made;
  }

  /// Zero in all of the result.
  void clear() {
    const OpcodeRole role = roles[Sum];
    OpcodeRole store = role;
    store.does = Role::Store;
    const int64_t size = role.isTile() ? int64_t(role.m) * role.n : role.lanes;
    const Index zero = builder.value(bits[Sum]);
    builder.setConstant(zero, role, 0);
    // Whole tiles may reach behind the result: then the tensor has that room.
    const int64_t all = layout.elements[Sum], whole = role.isTile() ? (all + size - 1) / size : all / size;
    KernelAccess at;
    at.tensor = Sum, at.columns = role.isTile() ? role.n : size;
    if (role.isTile())
      at.rows = role.m, at.rowStride = role.n, builder.reserve(Sum, whole * size);
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
    Index value = builder.value(bits[t]);
    builder.load(value, roles[t], access(t, offset, count));
    if (t == Second && schedule.preloads) {
      const Index placed = builder.value(bits[t]);
      OpcodeRole preload = roles[t];
      preload.does = Role::Preload;
      builder.compute(placed, preload, {value});
      value = placed;
    }
    return value;
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
        part.value = loadOperand(t, offset, part.count);
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
    const auto [loop, step] = levels[l];
    const int64_t whole = sizes[loop] / step, rest = sizes[loop] % step;
    std::vector<int64_t> inner = sizes;
    if (whole > 0) {
      inner[loop] = step;
      if (whole > 1) {
        around.push_back({builder.begin(contraction.loops[loop].name, whole), loop, step});
        nest(l + 1, inner, base);
        around.pop_back();
        builder.end();
      } else {
        nest(l + 1, inner, base);
      }
    }
    if (rest > 0) {
      inner[loop] = rest;
      Offsets behind = base;
      for (int t = 0; t < 4; ++t)
        behind[t] += whole * step * stride(t, loop);
      nest(l + 1, inner, behind);
    }
  }

  /// All products of a block: sums outside, so that neighbours add to different results.
  void multiplyBlock(const std::vector<int64_t> &sizes, const Offsets &base) {
    std::vector<Index> order;
    for (bool moves : {false, true})
      for (Index l = 0; l < Index(sizes.size()); ++l)
        if ((stride(Sum, l) != 0) == moves)
          order.push_back(l);
    Held loaded[2];
    auto operand = [&](int t, int64_t offset, int64_t count) {
      if (hoisted[t] < levels.size())
        return held[t].at(offset).value;
      auto [at, isNew] = loaded[t].try_emplace(offset, Part{kNone, count, 0});
      if (isNew)
        at->second.value = loadOperand(t, offset, count);
      return at->second.value;
    };
    auto go = [&](auto &self, size_t i, Offsets at, int64_t count) -> void {
      if (i == order.size()) {
        const Index a = operand(First, at[First], count), b = operand(Second, at[Second], count);
        const Index sum = held[Sum].at(at[Sum]).value;
        builder.compute(sum, multiply, {a, b, sum});
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
