#include "lib/microarchitecture/search/ScheduleBound.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/LowerKernel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord::microarchitecture {
namespace {

constexpr __int128 kMaxCount = __int128(1) << 64;

int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }
__int128 capped(__int128 count) { return std::min(count, kMaxCount); }

} // namespace

ScheduleBound::ScheduleBound(const ScheduleSpace &space, const Microarchitecture &machine)
    : space(space), machine(machine), bound(machine) {
  if (machine.storages.size() == 1)
    storage = 0;
  const OpcodeRole constant{Role::Constant}, add{Role::AddImmediate}, branch{Role::Branch};
  hasControl =
      opcodeOf(machine, constant) != kNone && opcodeOf(machine, add) != kNone && opcodeOf(machine, branch) != kNone;
  // Where cycles depend on numbers that are not known, nothing is said of them.
  auto isPlain = [&](const OpcodeRole &role) {
    const Index opcode = opcodeOf(machine, role);
    auto has = [](const CycleExpression &of) {
      return llvm::any_of(of.terms, [](const auto &term) { return term.kind == CycleExpression::Kind::Immediate; });
    };
    bool depends = llvm::any_of(machine.stages, [&](const Stage &stage) { return has(stage.latency); });
    for (const Unit &unit : machine.units)
      for (const UnitOperation &operation : unit.operations)
        depends |= operation.opcode == opcode && (has(operation.latency) || has(operation.interval));
    return opcode != kNone && !depends;
  };
  if (hasControl && isPlain(constant) && machine.opcodes[opcodeOf(machine, constant)].immediates > 0)
    setCounter = bound.of(prototype(constant, 0, 0));
  if (hasControl && isPlain(add) && isPlain(branch)) {
    const Instruction count = prototype(add, 0, 0), back = prototype(branch, 0, 0);
    const bool redirects = machine.opcodes[back.opcode].redirects && !machine.opcodes[count.opcode].redirects;
    control = bound.of(count);
    const Work behind = redirects ? bound.ofRedirect(back, count) : bound.of(back);
    control.insert(control.end(), behind.begin(), behind.end());
  }
  if (isPlain(add))
    move = bound.of(prototype(add, 0, 0));
  else
    move = bound.ofAny();
  for (const ScheduleShape &shape : space.shapes())
    shapes.push_back(shapeOf(shape));
}

/// As emitKernel makes it, without registers.
Instruction ScheduleBound::prototype(OpcodeRole role, int64_t columns, int32_t bytes) const {
  Instruction made;
  made.opcode = opcodeOf(machine, role);
  const Opcode &opcode = machine.opcodes[made.opcode];
  const bool isMemory = role.does == Role::Load || role.does == Role::Broadcast || role.does == Role::Store;
  if (role.isTile())
    columns = role.n;
  const int32_t operands = opcode.loads + opcode.stores;
  if (isMemory && operands > 0) {
    MemoryOperand one;
    one.storage = storage, one.bytes = columns * bytes * (operands == 1 ? std::max(role.m, 1) : 1);
    made.memory.assign(size_t(operands), one);
  }
  if (isMemory && role.isTile())
    made.immediates = {role.m, columns};
  else if (isMemory && role.does != Role::Broadcast)
    made.immediates = {columns};
  else if (role.isTile())
    made.immediates = {role.m, role.n, role.k};
  made.immediates.resize(size_t(opcode.immediates), 0);
  return made;
}

Work ScheduleBound::workOf(OpcodeRole role, int64_t columns, int32_t bytes) const {
  return opcodeOf(machine, role) == kNone ? bound.ofAny() : bound.of(prototype(role, columns, bytes));
}

ScheduleBound::Shape ScheduleBound::shapeOf(const ScheduleShape &shape) const {
  Shape made;
  const Schedule &of = shape.schedule;
  auto as = [](OpcodeRole role, Role does) {
    role.does = does;
    return role;
  };
  // A product, or a product and a sum.
  const OpcodeRole product = shape.roles[3];
  const bool isFused = of.isTiled() || opcodeOf(machine, product) != kNone;
  made.multiply = workOf(isFused ? product : as(product, Role::Multiply), 0, 0);
  const OpcodeRole sum = isFused ? product : as(product, Role::Add);
  if (!isFused) {
    const Work add = workOf(sum, 0, 0);
    made.multiply.insert(made.multiply.end(), add.begin(), add.end());
  }
  bool isRenamed = false;
  for (const RegisterFile &file : machine.registers)
    isRenamed |= file.renamed && (file.bits == 0 || file.bits >= shape.sumBits);
  if (!isRenamed)
    made.chain = bound.tailOf(prototype(sum, 0, 0));

  const int64_t extent = of.vectorLoop == kNone ? 0 : space.of().loops[of.vectorLoop].extent;
  const int64_t rest = of.isTiled() || of.lanes <= 1 ? 0 : std::max<int64_t>(extent, 0) % of.lanes;
  made.hasRest = rest > 0;
  const int64_t lanes = std::max<int64_t>(of.lanes, 1);
  for (int t = 0; t < 3; ++t) {
    const int32_t bytes = space.tensor(t).bytes;
    const OpcodeRole role = shape.roles[t];
    const bool isSpread = role.does != Role::Broadcast;
    made.load[t] = workOf(role, isSpread ? lanes : 1, bytes);
    made.rest[t] = workOf(role, isSpread && rest > 0 ? rest : isSpread ? lanes : 1, bytes);
    if (t == 1 && of.preloads)
      for (Work *work : {&made.load[t], &made.rest[t]}) {
        const Work placed = workOf(as(role, Role::Preload), 0, 0);
        work->insert(work->end(), placed.begin(), placed.end());
      }
    if (const Index opcode = opcodeOf(machine, role); opcode != kNone && t < 2)
      made.pointer[t] = takesAddress(machine.opcodes[opcode]);
  }
  const OpcodeRole store = as(shape.roles[2], Role::Store);
  const int32_t bytes = space.of().result.bytes;
  made.store = workOf(store, lanes, bytes), made.restStore = workOf(store, rest > 0 ? rest : lanes, bytes);
  if (const Index opcode = opcodeOf(machine, store); opcode != kNone) {
    made.pointer[2] = takesAddress(machine.opcodes[opcode]);
  }
  const auto layout = layoutOf(space.of(), of);
  const int64_t elements = layout ? layout->elements[2] : 0;
  const int64_t size = of.isTiled() ? int64_t(of.tile[0]) * of.tile[1] : lanes;
  made.clears = of.isTiled() ? divideUp(elements, size) : elements / size;
  for (size_t l = 0; l < shape.count.size(); ++l)
    made.addsInMemory |= space.of().loops[l].reduces && shape.stride[2][l] != 0;
  return made;
}

// ---- what is certain of each loop

std::vector<ScheduleBound::Sizes> ScheduleBound::sizesOf(const SchedulePoint &point) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  std::vector<Sizes> all;
  for (Index l = 0; l < Index(shape.count.size()); ++l) {
    const int64_t count = std::max<int64_t>(shape.count[l], 1);
    Sizes is{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    auto add = [&](int64_t block, int64_t step) {
      is.pieces = std::min(is.pieces, divideUp(count, block));
      is.coarse = std::min(is.coarse, divideUp(count, step));
      const int64_t full = block >= count ? 1
                           : step < count ? shape.whole[l] / step * (step / block)
                                          : shape.whole[l] / block;
      is.full = std::min(is.full, full), is.covered = std::min(is.covered, full * block);
    };
    auto steps = [&](int64_t block) {
      if (point.step[l] > 0)
        return add(block, point.step[l]);
      for (int64_t step : space.stepsOf(shape, l, block))
        add(block, step);
    };
    if (point.block[l] > 0)
      steps(point.block[l]);
    else
      for (int64_t block : space.blocksOf(point.shape, l))
        if ((point.inner != kNone || block == count) && (point.inner != l || block < count))
          steps(block);
    all.push_back(is.pieces == INT64_MAX ? Sizes{} : is);
  }
  return all;
}

bool ScheduleBound::isClosed(int t, const SchedulePoint &point) const {
  const std::vector<int64_t> &stride = space.shapes()[point.shape].stride[t];
  return llvm::any_of(point.order, [&](Index level) { return stride[level / 2] != 0; });
}

bool ScheduleBound::isRun(int t, const SchedulePoint &point, Index level) const {
  const std::vector<int64_t> &stride = space.shapes()[point.shape].stride[t];
  for (Index inside : point.order) {
    if (stride[inside / 2] != 0)
      return false;
    if (inside == level)
      return true;
  }
  return false;
}

__int128 ScheduleBound::partsOf(int t, const SchedulePoint &point) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  std::vector<char> used(shape.count.size(), 0);
  __int128 parts = 1;
  // Instructions that blocks of a loop touch beyond `a` each, at most: these may fall together with others.
  auto beyond = [&](Index loop, int64_t a) -> __int128 {
    const int64_t count = shape.count[loop], block = point.block[loop];
    if (block <= 0)
      return std::max<int64_t>(count - a, 0);
    const int64_t step = point.step[loop] > 0 ? point.step[loop] : count;
    auto blocks = [&](int64_t all) {
      return __int128(all / block) * std::max<int64_t>(block - a, 0) + std::max<int64_t>(all % block - a, 0);
    };
    return step < count ? count / step * blocks(step) + blocks(count % step) : blocks(count);
  };
  for (const auto &dimension : space.tensor(t).dimensions) {
    __int128 here = 1;
    for (const auto &term : dimension.terms) {
      if (used[term.loop] || term.stride == 0)
        continue;
      used[term.loop] = 1;
      const __int128 count = std::max<int64_t>(shape.count[term.loop], 1);
      here = dimension.terms.size() > 2 ? std::max(here, count) : capped(here * count);
    }
    if (const auto [a, b] = space.overlap(shape, dimension); a > 0)
      here -= std::min(here - 1, capped(beyond(dimension.terms[0].loop, a) * beyond(dimension.terms[1].loop, b)));
    parts = capped(parts * here);
  }
  return parts;
}

__int128 ScheduleBound::timesOf(int t, const SchedulePoint &point, const std::vector<Sizes> &sizes) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  const bool isClosed = this->isClosed(t, point);
  __int128 times = 1;
  for (Index l = 0; l < Index(shape.count.size()); ++l) {
    if (shape.stride[t][l] != 0 || shape.count[l] <= 1)
      continue;
    const bool inner = isRun(t, point, 2 * l), isStepped = point.step[l] > 0 && point.step[l] < shape.count[l];
    if (!isClosed)
      continue; // all others may follow
    if (!inner)
      times = capped(times * sizes[l].pieces);
    else if (isStepped && !isRun(t, point, 2 * l + 1))
      times = capped(times * sizes[l].coarse);
  }
  return times;
}

std::optional<bool> ScheduleBound::staysInRegister(const SchedulePoint &point, const std::vector<Sizes> &sizes) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  if (space.of().accumulates || shapes[point.shape].addsInMemory)
    return false;
  const bool isClosed = this->isClosed(2, point);
  bool isKnown = true;
  for (Index l = 0; l < Index(shape.count.size()); ++l) {
    if (!space.of().loops[l].reduces || sizes[l].pieces <= 1)
      continue;
    const bool isStepped = point.step[l] > 0 && point.step[l] < shape.count[l];
    if (isRun(2, point, 2 * l) && (!isStepped || isRun(2, point, 2 * l + 1)) && point.step[l] > 0)
      continue;
    if (isClosed && !isRun(2, point, 2 * l))
      return false;
    if (isClosed && isStepped)
      return false;
    isKnown = false;
  }
  return isKnown && isClosed ? std::optional(true) : std::nullopt;
}

// ---- counts

void ScheduleBound::addTensor(int t, const SchedulePoint &point, const std::vector<Sizes> &sizes,
                              WorkTotals &totals) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  const Shape &is = shapes[point.shape];
  const __int128 count = capped(partsOf(t, point) * timesOf(t, point, sizes));
  const Index v = shape.schedule.vectorLoop;
  if (!is.hasRest || v == kNone || shape.stride[t][v] == 0)
    return bound.add(is.load[t], count, totals);
  // Of the instructions along the loop of lanes, the last one has fewer; where parts fall together it is not known
  // which.
  const __int128 last = count / shape.count[v] + 1;
  bool isMixed = false;
  for (const auto &dimension : space.tensor(t).dimensions)
    if (llvm::any_of(dimension.terms, [&](const auto &term) { return term.loop == v; }))
      isMixed |= dimension.terms.size() > 1;
  if (isMixed)
    return bound.add(is.rest[t], count, totals);
  bound.add(is.load[t], count - last, totals), bound.add(is.rest[t], std::min(last, count), totals);
}

void ScheduleBound::addResult(const SchedulePoint &point, const std::vector<Sizes> &sizes, WorkTotals &totals) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  const Shape &is = shapes[point.shape];
  const std::optional<bool> stays = staysInRegister(point, sizes);
  const __int128 count = capped(partsOf(2, point) * timesOf(2, point, sizes));
  const __int128 last = is.hasRest ? std::min(count / shape.count[shape.schedule.vectorLoop] + 1, count) : 0;
  bound.add(is.store, count - last, totals), bound.add(is.restStore, last, totals);
  if (stays == false) {
    bound.add(is.load[2], count - last, totals), bound.add(is.rest[2], last, totals);
    if (!space.of().accumulates && !space.of().initial) {
      bound.add(is.store, is.clears, totals);
      if (hasControl)
        bound.add(control, is.clears, totals);
      if (is.pointer[2])
        bound.add(move, is.clears, totals);
    }
  } else {
    bound.add(bound.ofAny(), count, totals); // a zero, or a load
  }
}

void ScheduleBound::addLoops(const SchedulePoint &point, const std::vector<Sizes> &sizes, WorkTotals &totals) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  const Shape &is = shapes[point.shape];
  __int128 iterations = 1;
  for (const Sizes &size : sizes)
    iterations = capped(iterations * size.full);
  // Of the innermost loop, if it is one for certain, in all blocks of the others.
  __int128 inside = iterations;
  if (point.inner >= 0 && sizes[point.inner].full >= 2) {
    inside = sizes[point.inner].full;
    for (Index l = 0; l < Index(sizes.size()); ++l)
      inside = capped(l == point.inner ? inside : inside * sizes[l].pieces);
  }
  if (inside <= 1)
    return;
  // Addresses that the innermost loop moves. If the innermost level has one full iteration, it is another one.
  auto moved = [&](Index loop) {
    int64_t count = 0;
    for (int t = 0; t < 3; ++t)
      count += is.pointer[t] && shape.stride[t][loop] != 0;
    return count;
  };
  int64_t moves = INT64_MAX;
  for (Index l = 0; l < Index(shape.count.size()); ++l)
    if (shape.count[l] > 1 && (l == point.inner || point.inner < 0 || sizes[point.inner].full < 2))
      moves = std::min(moves, moved(l));
  if (moves != INT64_MAX)
    bound.add(move, capped(inside * moves), totals);
  if (!hasControl)
    return;
  bound.add(control, inside, totals);
  const bool isDecided = !llvm::is_contained(point.block, 0) && !llvm::is_contained(point.step, 0);
  if (!isDecided)
    return;
  bool isInnermost = true;
  for (Index level : point.order) {
    const Index l = level / 2;
    const int64_t step = point.step[l], block = point.block[l];
    const int64_t here = level % 2               ? shape.whole[l] / step
                         : step < shape.count[l] ? step / block
                                                 : shape.whole[l] / block;
    if (here < 2)
      continue; // no loop
    if (!isInnermost)
      bound.add(control, iterations, totals);
    isInnermost = false, iterations /= here;
    bound.add(setCounter, iterations, totals);
  }
}

Cycles ScheduleBound::chainOf(const SchedulePoint &point, const std::vector<Sizes> &sizes) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  const Cycles chain = shapes[point.shape].chain;
  if (chain == 0)
    return 0;
  constexpr __int128 kMax = int64_t(1) << 62;
  __int128 all = 1, alone = 1;
  bool isDecided = true;
  for (Index l = 0; l < Index(shape.count.size()); ++l) {
    const bool moves = shape.stride[2][l] != 0;
    all = capped(all * sizes[l].covered);
    alone = capped(alone * (moves ? sizes[l].full : sizes[l].covered));
    isDecided &= !moves || point.block[l] > 0;
  }
  __int128 length = std::max(alone, all / std::max<int64_t>(shape.sums, 1));
  if (isDecided)
    length = std::max(length, all / space.partsIn(shape, 2, point.block));
  return Cycles(std::min(length * chain, kMax));
}

PointBound ScheduleBound::of(const SchedulePoint &point) const {
  const ScheduleShape &shape = space.shapes()[point.shape];
  if (llvm::is_contained(shape.count, 0))
    return {};
  const std::vector<Sizes> sizes = sizesOf(point);
  WorkTotals totals;
  __int128 products = 1;
  for (int64_t count : shape.count)
    products = capped(products * count);
  bound.add(shapes[point.shape].multiply, products, totals);
  addTensor(0, point, sizes, totals), addTensor(1, point, sizes, totals);
  if (shape.isStaged) {
    bound.add(shapes[point.shape].restStore, partsOf(2, point), totals);
    return {bound.cycles(totals), bound.pressure(totals)};
  }
  addResult(point, sizes, totals);
  addLoops(point, sizes, totals);
  return {std::max(bound.cycles(totals), chainOf(point, sizes)), bound.pressure(totals)};
}

} // namespace accord::microarchitecture
