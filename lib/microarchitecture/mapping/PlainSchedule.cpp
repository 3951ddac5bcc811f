#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/Pieces.h"
#include "lib/support/StableSort.h"
#include <algorithm>

namespace accord::microarchitecture {
namespace {

/// Instructions of a block along a loop, and blocks that are tried, at most.
constexpr int64_t kMaxBlock = 8;
constexpr size_t kTriedBlocks = 32;

class Planner {
public:
  Planner(const Contraction &contraction, const Microarchitecture &machine, bool blocks)
      : contraction(contraction), machine(machine), blocks(blocks), loops(Index(contraction.loops.size())) {}

  Schedule run() {
    for (const Opcode &opcode : machine.opcodes)
      if (opcode.role.does == Role::MultiplyAdd && opcode.role.isTile())
        if (auto found = tiles(opcode.role))
          return *found;
    if (const int32_t lanes = widest(); lanes > 1)
      if (auto found = vectors(lanes))
        return *found;
    Schedule one;
    order(one);
    stage(one);
    return blocked(one);
  }

  /// Where loads and stores do not reach the memory in which tensors begin: pieces by outer levels.
  bool stage(Schedule &schedule) const {
    const auto places = stagingPlaces(machine, rolesOf(schedule, false), rolesOf(schedule, true));
    auto layout = places ? layoutOf(contraction, schedule) : Result<ContractionLayout>(ContractionLayout{});
    if (!places || !layout)
      return !places;
    schedule.copy = places->copy;
    for (bool isDouble : {true, false}) {
      for (int t = 0; t < 3; ++t)
        schedule.staged[t] = {places->buffers[t == 2], 0, isDouble};
      if (contraction.initial)
        schedule.staged[3] = {places->buffers[schedule.isTiled()], 0, isDouble};
      if ((!isDouble || hasTokensFor(machine, contraction.initial ? 8 : 6)) && growPieces(schedule, *layout))
        return true;
    }
    return false;
  }

private:
  /// 0: the loop does not move the tensor; 1: by one position; 2: by more.
  int moves(int t, Index loop) const {
    const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result};
    for (const ContractionTensor::Dimension &dimension : tensors[t]->dimensions)
      for (const auto &term : dimension.terms)
        if (term.loop == loop)
          return term.stride == 1 ? 1 : 2;
    return 0;
  }
  /// The share of instructions' points that are points of the loop, and its extent.
  std::pair<double, int64_t> use(Index loop, int64_t size) const {
    const int64_t extent = std::max<int64_t>(contraction.loops[loop].extent, 1);
    return {double(extent) / double((extent + size - 1) / size * size), extent};
  }

  std::optional<Schedule> tiles(const OpcodeRole &role) const {
    std::vector<Index> m, n, k;
    for (Index l = 0; l < loops; ++l) {
      if (moves(0, l) && !moves(1, l) && moves(2, l))
        m.push_back(l);
      if (!moves(0, l) && moves(1, l) == 1 && moves(2, l) == 1)
        n.push_back(l);
      if (moves(0, l) == 1 && moves(1, l) && !moves(2, l))
        k.push_back(l);
    }
    struct Choice {
      std::array<Index, 3> loops;
      double share;
      double points;
    };
    std::vector<Choice> choices;
    for (Index lm : m)
      for (Index ln : n)
        for (Index lk : k) {
          const auto [a, x] = use(lm, role.m);
          const auto [b, y] = use(ln, role.n);
          const auto [c, z] = use(lk, role.k);
          choices.push_back({{lm, ln, lk}, a * b * c, double(x) * double(y) * double(z)});
        }
    stableSort(choices, [](const Choice &a, const Choice &b) {
      return std::pair(-a.share, -a.points) < std::pair(-b.share, -b.points);
    });
    for (const Choice &choice : choices) {
      Schedule tried;
      tried.tileLoops = choice.loops, tried.tile = {role.m, role.n, role.k};
      tried.preloads = opcodeOf(machine, {Role::Preload, 1, role.k, role.n, 0}) != kNone;
      order(tried);
      stage(tried);
      if (contractionKernel(contraction, tried))
        return tried;
    }
    return std::nullopt;
  }

  int32_t widest() const {
    int32_t lanes = 1;
    for (const Opcode &opcode : machine.opcodes) {
      const int32_t l = opcode.role.lanes;
      auto has = [&](Role role) { return opcodeOf(machine, {role, l}) != kNone; };
      if ((opcode.role == OpcodeRole{Role::MultiplyAdd, l} ||
           (opcode.role == OpcodeRole{Role::Multiply, l} && has(Role::Add))) &&
          has(Role::Load) && has(Role::Store) && has(Role::Broadcast))
        lanes = std::max(lanes, l);
    }
    return lanes;
  }
  std::optional<Schedule> vectors(int32_t lanes) const {
    std::vector<Index> all;
    for (Index l = 0; l < loops; ++l)
      if (moves(2, l) == 1)
        all.push_back(l);
    stableSort(all, [&](Index a, Index b) { return use(a, lanes) > use(b, lanes); });
    for (Index loop : all) {
      Schedule tried;
      tried.vectorLoop = loop, tried.lanes = lanes;
      order(tried);
      stage(tried);
      if (contractionKernel(contraction, tried))
        return blocked(tried);
    }
    return std::nullopt;
  }

  /// With a block of results in registers, each operand of which is loaded once for several of them: points of a loop
  /// that moves one operand times points of a loop that moves the other one. The block with the highest ratio of
  /// products to loads for which the registers suffice (K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix
  /// Multiplication, TOMS 34(3), 2008).
  Schedule blocked(const Schedule &plain) const {
    if (!blocks || plain.copy.does != Role::None)
      return plain;
    const Index inner = plain.vectorLoop != kNone ? plain.vectorLoop : longest([&](Index l) { return !moves(0, l); });
    const Index outer = longest([&](Index l) {
      return l != inner &&
             (inner == kNone || !moves(0, inner) ? moves(0, l) != 0 && !moves(1, l) : moves(1, l) != 0 && !moves(0, l));
    });
    struct Block {
      int64_t outer, inner; ///< in instructions
      double ratio() const { return double(outer * inner) / double(outer + inner); }
      int64_t registers() const { return outer * inner + std::min(outer, inner) + 1; }
    };
    std::vector<Block> all;
    const int64_t registers = registersOfSums(plain);
    for (int64_t a = 1; a <= std::min<int64_t>(kMaxBlock, instructions(plain, outer)); ++a)
      for (int64_t b = 1; b <= std::min<int64_t>(kMaxBlock, instructions(plain, inner)); ++b)
        if (a * b > 1 && Block{a, b}.registers() <= registers)
          all.push_back({a, b});
    stableSort(all, [](const Block &a, const Block &b) { return a.ratio() > b.ratio(); });
    // Counters and addresses may be in the same registers: then a block that needs fewer is tried next.
    int64_t room = registers;
    size_t tried = 0;
    for (const Block &block : all) {
      if (block.registers() > room || tried == kTriedBlocks)
        continue;
      ++tried;
      Schedule made = plain;
      made.block.assign(loops, 0);
      for (Schedule::Level &level : made.levels)
        for (auto [loop, count] : {std::pair(outer, block.outer), {inner, block.inner}})
          if (level.loop == loop)
            made.block[loop] = level.step *= count;
      if (!contractionKernel(contraction, made))
        continue;
      if (isEmitted(made))
        return loadsAhead(made);
      room = block.registers() - 1;
    }
    return plain;
  }
  bool isEmitted(const Schedule &schedule) const {
    auto kernel = contractionKernel(contraction, schedule);
    return kernel && emitKernel(*kernel, machine);
  }
  /// Loads stand as far ahead of products as there are registers.
  Schedule loadsAhead(const Schedule &schedule) const {
    for (int16_t ahead : {16, 8, 4, 2, 1}) {
      Schedule made = schedule;
      made.ahead = ahead;
      if (isEmitted(made))
        return made;
    }
    return schedule;
  }
  /// The longest loop that moves the result, does not reduce, and is as asked for; kNone: there is none.
  template <class F> Index longest(F isSuch) const {
    Index found = kNone;
    for (Index l = 0; l < loops; ++l)
      if (moves(2, l) && !contraction.loops[l].reduces && contraction.loops[l].extent > 1 && isSuch(l) &&
          (found == kNone || contraction.loops[l].extent > contraction.loops[found].extent))
        found = l;
    return found;
  }
  int64_t instructions(const Schedule &schedule, Index loop) const {
    if (loop == kNone)
      return 1;
    const int64_t points = loop == schedule.vectorLoop ? schedule.lanes : 1;
    return std::max<int64_t>(contraction.loops[loop].extent / points, 1);
  }
  /// Of the largest file that products are written to.
  int64_t registersOfSums(const Schedule &schedule) const {
    const int32_t lanes = schedule.vectorLoop == kNone ? 1 : schedule.lanes;
    Index opcode = opcodeOf(machine, {Role::MultiplyAdd, lanes});
    if (opcode == kNone)
      opcode = opcodeOf(machine, {Role::Add, lanes});
    int64_t registers = 0;
    for (const Unit &unit : machine.units)
      for (const UnitOperation &operation : unit.operations)
        for (Index file : unit.writes)
          if (operation.opcode == opcode)
            registers = std::max<int64_t>(registers, machine.registers[file].count);
    return registers;
  }

  /// Sums inside, and of those the ones that do not move the result innermost, so that it stays in its register. Of
  /// those that move it, as windows of data gradients do, the longest is inside, so that most instructions are between
  /// a store and the load of what overlaps it.
  void order(Schedule &schedule) const {
    std::vector<Index> all;
    for (Index l = 0; l < loops; ++l)
      all.push_back(l);
    auto place = [&](Index l) {
      if (!contraction.loops[l].reduces)
        return std::pair(0, int64_t(0));
      return moves(2, l) ? std::pair(1, contraction.loops[l].extent) : std::pair(2, int64_t(0));
    };
    stableSort(all, [&](Index a, Index b) { return place(a) < place(b); });
    for (Index l : all) {
      int64_t step = l == schedule.vectorLoop ? schedule.lanes : 1;
      for (int i = 0; i < 3; ++i)
        if (schedule.isTiled() && schedule.tileLoops[i] == l)
          step = schedule.tile[i];
      schedule.levels.push_back({l, step});
    }
  }

  // ---- pieces in buffers

  /// Of loads and stores; of results also what loads them again.
  std::vector<OpcodeRole> rolesOf(const Schedule &schedule, bool result) const {
    if (schedule.isTiled()) {
      const auto [m, n, k] = schedule.tile;
      if (!result)
        return {{Role::Load, 1, m, k, 0}, {Role::Load, 1, k, n, 0}};
      return {{Role::Load, 1, m, n, 0}, {Role::Store, 1, m, n, 0}};
    }
    const int32_t lanes = schedule.vectorLoop == kNone ? 1 : schedule.lanes;
    if (result)
      return {{Role::Load, lanes}, {Role::Store, lanes}};
    std::vector<OpcodeRole> roles = {{Role::Load, lanes}};
    if (lanes > 1)
      roles.push_back({Role::Broadcast, lanes});
    return roles;
  }

  /// What the pieces of these extents need and move.
  struct Use {
    std::vector<__int128> bytes; ///< by storage
    __int128 traffic = 0;
  };
  static __int128 ceilOf(int64_t of, int64_t by) { return (of + by - 1) / by; }
  Use useOf(const Schedule &schedule, const ContractionLayout &layout, const std::vector<int64_t> &extents) const {
    const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result,
                                          contraction.initial ? &*contraction.initial : nullptr};
    const std::vector<Index> outer = outerLoops(layout, extents);
    Use use;
    // Each has room for two constants.
    use.bytes.assign(machine.storages.size(), 64 + 8 * std::max<__int128>(schedule.lanes, schedule.tile[1]));
    for (int t = 0; t < (contraction.initial ? 4 : 3); ++t) {
      std::vector<int64_t> sizes = layout.extents;
      __int128 pieces = 1, moved = 1;
      for (Index loop : outer) {
        if (t >= 2 && contraction.loops[loop].reduces && layout.strides[2][loop] == 0)
          continue; // the result stays
        pieces *= ceilOf(layout.extents[loop], extents[loop]);
        if (layout.strides[t][loop] != 0)
          moved = pieces;
        sizes[loop] = extents[loop];
      }
      const auto piece = pieceOf(*tensors[t], layout.strides[t], sizes);
      if (!piece)
        continue;
      const int64_t port = machine.storages[schedule.staged[t].storage].portBytes;
      const __int128 bytes = ceilOf(piece->elements * tensors[t]->bytes, port) * port;
      use.bytes[schedule.staged[t].storage] += bytes * (moved > 1 && schedule.staged[t].isDouble ? 2 : 1);
      use.traffic += moved * bytes;
    }
    return use;
  }
  /// Loops that go from piece to piece: sums inside.
  std::vector<Index> outerLoops(const ContractionLayout &layout, const std::vector<int64_t> &extents) const {
    std::vector<Index> outer;
    for (bool reduces : {false, true})
      for (Index l = 0; l < loops; ++l)
        if (contraction.loops[l].reduces == reduces && extents[l] < layout.extents[l])
          outer.push_back(l);
    return outer;
  }
  bool fits(const Use &use) const {
    for (size_t s = 0; s < use.bytes.size(); ++s) {
      const Storage *last = &machine.storages[s];
      while (last->cache)
        last = &machine.storages[last->cache->behind];
      if (use.bytes[s] > last->end - last->begin)
        return false;
    }
    return true;
  }

  /// From one instruction's points on, the loop whose pieces grow is that after which the fewest bytes are moved, until
  /// nothing more fits. Loops that move the result and reduce, and those that share its dimensions, stay whole if that
  /// fits, so that each piece of the result is copied once.
  bool growPieces(Schedule &schedule, const ContractionLayout &layout) const {
    // What is unrolled, or one instruction's points, is in one piece.
    std::vector<int64_t> smallest(loops, 1);
    if (schedule.vectorLoop != kNone && !schedule.isTiled())
      smallest[schedule.vectorLoop] = schedule.lanes;
    for (int i = 0; i < 3 && schedule.isTiled(); ++i)
      smallest[schedule.tileLoops[i]] = schedule.tile[i];
    for (size_t l = 0; l < schedule.block.size(); ++l)
      smallest[l] = std::max(smallest[l], schedule.block[l]);
    for (const Schedule::Level &level : schedule.levels)
      smallest[level.loop] = level.step;
    std::vector<int64_t> extents = smallest;
    for (Index l = 0; l < loops; ++l)
      extents[l] = std::min(extents[l], std::max<int64_t>(layout.extents[l], 1));
    std::vector<int64_t> split = extents;
    for (const ContractionTensor::Dimension &dimension : contraction.result.dimensions)
      for (const auto &term : dimension.terms)
        if (dimension.terms.size() > 1)
          extents[term.loop] = layout.extents[term.loop];
    if (!fits(useOf(schedule, layout, extents)))
      extents = std::move(split);
    if (!fits(useOf(schedule, layout, extents)))
      return false;
    for (;;) {
      Index best = kNone;
      __int128 min = 0;
      for (int reduces : {1, 0})
        for (Index l = 0; l < loops; ++l) {
          if (contraction.loops[l].reduces != bool(reduces) || extents[l] >= layout.extents[l])
            continue;
          std::vector<int64_t> tried = extents;
          tried[l] = std::min(2 * tried[l], layout.extents[l]);
          const Use use = useOf(schedule, layout, tried);
          if (fits(use) && (best == kNone || use.traffic < min))
            best = l, min = use.traffic;
        }
      if (best == kNone)
        break;
      extents[best] = std::min(2 * extents[best], layout.extents[best]);
    }
    const std::vector<Index> outer = outerLoops(layout, extents);
    std::vector<Schedule::Level> levels;
    for (Index l : outer)
      levels.push_back({l, extents[l]});
    for (int t = 0; t < 3; ++t)
      schedule.staged[t].level = int32_t(outer.size());
    for (int32_t l = int32_t(outer.size()); l > 0; --l)
      if (contraction.loops[outer[l - 1]].reduces && layout.strides[2][outer[l - 1]] == 0)
        schedule.staged[2].level = l - 1;
      else
        break;
    levels.insert(levels.end(), schedule.levels.begin(), schedule.levels.end());
    schedule.levels = std::move(levels);
    return true;
  }

  const Contraction &contraction;
  const Microarchitecture &machine;
  const bool blocks;
  const Index loops;
};

} // namespace

Schedule plainSchedule(const Contraction &contraction, const Microarchitecture &machine, bool blocks) {
  return Planner(contraction, machine, blocks).run();
}

bool stagePieces(Schedule &schedule, const Contraction &contraction, const Microarchitecture &machine) {
  return Planner(contraction, machine, false).stage(schedule);
}

} // namespace accord::microarchitecture
