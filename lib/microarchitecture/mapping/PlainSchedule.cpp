#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/support/StableSort.h"
#include <algorithm>

namespace accord::microarchitecture {
namespace {

class Planner {
public:
  Planner(const Contraction &contraction, const Microarchitecture &machine)
      : contraction(contraction), machine(machine), loops(Index(contraction.loops.size())) {}

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
    return one;
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
      if (contractionKernel(contraction, tried))
        return tried;
    }
    return std::nullopt;
  }

  /// Sums inside, so that a result stays in its register.
  void order(Schedule &schedule) const {
    for (bool reduces : {false, true})
      for (Index l = 0; l < loops; ++l) {
        if (contraction.loops[l].reduces != reduces)
          continue;
        int64_t step = l == schedule.vectorLoop ? schedule.lanes : 1;
        for (int i = 0; i < 3; ++i)
          if (schedule.isTiled() && schedule.tileLoops[i] == l)
            step = schedule.tile[i];
        schedule.levels.push_back({l, step});
      }
  }

  const Contraction &contraction;
  const Microarchitecture &machine;
  const Index loops;
};

} // namespace

Schedule plainSchedule(const Contraction &contraction, const Microarchitecture &machine) {
  return Planner(contraction, machine).run();
}

} // namespace accord::microarchitecture
