#include "lib/microarchitecture/search/ScheduleSpace.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/LowerKernel.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <set>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxUneven = 16; // blocks that do not divide a loop
constexpr int kMaxStepped = 3;     // loops with a larger step
constexpr int64_t kMaxAhead = 1 << 12;

int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// Points of loop l in the terms of a tensor: its stride there, summed; 0 if it does not move it.
int64_t termStride(const ContractionTensor &tensor, Index loop) {
  int64_t sum = 0;
  for (const auto &dimension : tensor.dimensions)
    for (const auto &term : dimension.terms)
      sum += term.loop == loop ? term.stride : 0;
  return sum;
}

} // namespace

ScheduleSpace::ScheduleSpace(const Contraction &contraction, const Microarchitecture &machine,
                             const SpaceOptions &options)
    : contraction(contraction), machine(machine), options(options) {
  hasSteps = options.steps.value_or(llvm::any_of(
      machine.storages, [](const Storage &storage) { return storage.cache.has_value() || storage.rows.bytes > 0; }));
  addShapes(machine);
  const int64_t max = std::max<int64_t>(options.unrolled, 1);
  for (const ScheduleShape &shape : all) {
    auto &of = blocks.emplace_back();
    for (int64_t count : shape.count) {
      auto &sizes = of.emplace_back();
      for (int64_t size = 1; size <= std::min(count, max); ++size)
        if (count % size == 0 || (size <= kMaxUneven && size > 1 && divideUp(count, size) < divideUp(count, size - 1)))
          sizes.push_back(size);
    }
  }
}

// ---- shapes

void ScheduleSpace::addShapes(const Microarchitecture &machine) {
  std::set<int32_t> lanes;
  std::vector<OpcodeRole> tiles;
  for (const Opcode &opcode : machine.opcodes) {
    const OpcodeRole &role = opcode.role;
    if (role.does == Role::MultiplyAdd && role.isTile() && !llvm::is_contained(tiles, role))
      tiles.push_back(role);
    if ((role.does == Role::MultiplyAdd || role.does == Role::Multiply) && !role.isTile())
      lanes.insert(role.lanes);
  }
  for (const OpcodeRole &role : tiles)
    addTiles(machine, role);
  for (auto count = lanes.rbegin(); count != lanes.rend(); ++count) {
    Schedule tried;
    tried.lanes = *count;
    if (*count == 1) {
      add(tried, machine);
      continue;
    }
    for (Index l = 0; l < Index(contraction.loops.size()); ++l)
      if (termStride(contraction.result, l) == 1) {
        tried.vectorLoop = l;
        add(tried, machine);
      }
  }
}

void ScheduleSpace::addTiles(const Microarchitecture &machine, const OpcodeRole &role) {
  const Index loops = Index(contraction.loops.size());
  auto moves = [&](int t, Index loop) { return termStride(tensor(t), loop); };
  Schedule tried;
  tried.tile = {role.m, role.n, role.k};
  const bool preloads = opcodeOf(machine, {Role::Preload, 1, role.k, role.n, 0}) != kNone;
  for (Index m = 0; m < loops; ++m)
    for (Index n = 0; n < loops; ++n)
      for (Index k = 0; k < loops; ++k) {
        if (!moves(0, m) || moves(1, m) || !moves(2, m) || moves(0, n) || moves(1, n) != 1 || moves(2, n) != 1 ||
            moves(0, k) != 1 || !moves(1, k) || moves(2, k))
          continue;
        tried.tileLoops = {m, n, k};
        for (bool preload : {true, false})
          if (!preload || preloads)
            tried.preloads = preload, add(tried, machine);
      }
}

void ScheduleSpace::add(Schedule schedule, const Microarchitecture &machine) {
  ScheduleShape shape;
  const size_t loops = contraction.loops.size();
  shape.chunk.assign(loops, 1);
  if (schedule.isTiled())
    for (int i = 0; i < 3; ++i)
      shape.chunk[schedule.tileLoops[i]] = schedule.tile[i];
  else if (schedule.vectorLoop != kNone)
    shape.chunk[schedule.vectorLoop] = schedule.lanes;
  const auto layout = layoutOf(contraction, schedule);
  if (!layout)
    return;
  for (size_t l = 0; l < loops; ++l)
    shape.count.push_back(divideUp(layout->extents[l], shape.chunk[l])),
        shape.whole.push_back(layout->extents[l] / shape.chunk[l]);
  std::copy_n(layout->strides.begin(), shape.stride.size(), shape.stride.begin()); // without what sums begin with
  const auto [m, n, k] = schedule.tile;
  for (int t = 0; t < 3; ++t) {
    const int64_t along = schedule.vectorLoop == kNone ? 1 : shape.stride[t][schedule.vectorLoop];
    if (!schedule.isTiled() && schedule.lanes > 1 && along != 1 && (along != 0 || t == 2))
      return; // not side by side
    shape.roles[t] = {along == 0 ? Role::Broadcast : Role::Load, schedule.lanes};
  }
  shape.roles[3] = {Role::MultiplyAdd, schedule.lanes};
  if (schedule.isTiled())
    shape.roles = {OpcodeRole{Role::Load, 1, m, k, 0}, OpcodeRole{Role::Load, 1, k, n, 0},
                   OpcodeRole{Role::Load, 1, m, n, 0}, OpcodeRole{Role::MultiplyAdd, 1, m, n, k}};
  auto has = [&](OpcodeRole role, Role does) {
    role.does = does;
    return opcodeOf(machine, role) != kNone;
  };
  const bool multiplies =
      has(shape.roles[3], Role::MultiplyAdd) ||
      (!schedule.isTiled() && has(shape.roles[3], Role::Multiply) && has(shape.roles[3], Role::Add));
  if (!multiplies || opcodeOf(machine, shape.roles[0]) == kNone || opcodeOf(machine, shape.roles[1]) == kNone ||
      !has(shape.roles[2], Role::Store))
    return;
  const int32_t bytes[] = {contraction.first.bytes, contraction.second.bytes, contraction.result.bytes};
  shape.sumBits =
      int64_t(8) * (schedule.isTiled() ? bytes[2] * m * n : *std::max_element(bytes, bytes + 3) * schedule.lanes);
  countRegisters(shape, machine, has(shape.roles[3], Role::MultiplyAdd));
  Schedule staged = schedule;
  (void)stagePieces(staged, contraction, machine);
  shape.isStaged = staged.staged[0].storage != kNone;
  shape.schedule = std::move(schedule);
  all.push_back(std::move(shape));
}

void ScheduleSpace::countRegisters(ScheduleShape &shape, const Microarchitecture &machine, bool isFused) const {
  std::vector<char> results(machine.registers.size(), 0), values(results);
  auto reached = [&](Role does, bool isSum) {
    OpcodeRole role = shape.roles[3];
    role.does = does;
    const Index opcode = opcodeOf(machine, role);
    for (const Unit &unit : machine.units)
      if (llvm::any_of(unit.operations, [&](const UnitOperation &of) { return of.opcode == opcode; })) {
        for (Index file : unit.writes)
          if (isSum && (machine.registers[file].bits == 0 || machine.registers[file].bits >= shape.sumBits))
            results[file] = values[file] = 1;
        for (Index file : unit.reads)
          values[file] = 1;
      }
  };
  reached(isFused ? Role::MultiplyAdd : Role::Add, true);
  if (!isFused)
    reached(Role::Multiply, false);
  for (size_t f = 0; f < results.size(); ++f) {
    shape.sums += results[f] ? machine.registers[f].count : 0;
    shape.values += values[f] ? machine.registers[f].count : 0;
  }
  // Where there is one file, addresses and counters are there, too.
  if (machine.registers.size() != 1)
    return;
  const OpcodeRole constant{Role::Constant}, add{Role::AddImmediate}, branch{Role::Branch};
  if (opcodeOf(machine, constant) != kNone && opcodeOf(machine, add) != kNone && opcodeOf(machine, branch) != kNone)
    shape.counters = true;
  for (int t = 0; t < 3; ++t) {
    OpcodeRole role = shape.roles[t];
    if (t == 2)
      role.does = Role::Store;
    shape.pointer[t] = takesAddress(machine.opcodes[opcodeOf(machine, role)]);
  }
}

// ---- parts of tensors

std::pair<int64_t, int64_t> ScheduleSpace::overlap(const ScheduleShape &shape,
                                                   const ContractionTensor::Dimension &dimension) const {
  if (dimension.terms.size() != 2)
    return {0, 0};
  const auto &[x, y] = std::tie(dimension.terms[0], dimension.terms[1]);
  const int64_t a = std::abs(x.stride) * shape.chunk[x.loop], b = std::abs(y.stride) * shape.chunk[y.loop];
  if (a == 0 || b == 0 || x.loop == y.loop)
    return {0, 0};
  const int64_t common = std::gcd(a, b);
  return {b / common, a / common};
}

int64_t ScheduleSpace::partsIn(const ScheduleShape &shape, int t, const std::vector<int64_t> &block) const {
  auto size = [&](Index loop) { return std::max<int64_t>(block[loop], 1); };
  int64_t parts = 1;
  std::vector<char> used(block.size(), 0);
  for (const auto &dimension : tensor(t).dimensions) {
    int64_t here = 1;
    for (const auto &term : dimension.terms) {
      if (used[term.loop] || term.stride == 0)
        continue;
      used[term.loop] = 1;
      // With more than two terms the largest is what there is at least.
      here = dimension.terms.size() > 2 ? std::max(here, size(term.loop)) : here * size(term.loop);
    }
    if (const auto [a, b] = overlap(shape, dimension); a > 0)
      here -= std::max<int64_t>(size(dimension.terms[0].loop) - a, 0) *
              std::max<int64_t>(size(dimension.terms[1].loop) - b, 0);
    parts *= std::max<int64_t>(here, 1);
  }
  return parts;
}

bool ScheduleSpace::overlapsInResult(const ScheduleShape &shape, const std::vector<int64_t> &block) const {
  for (const auto &dimension : contraction.result.dimensions) {
    if (dimension.terms.size() < 2)
      continue;
    std::vector<int64_t> parts = {0}, inside = {0}; // begins of parts; positions of the first one
    auto spread = [](std::vector<int64_t> &positions, int64_t count, int64_t stride) {
      const size_t size = positions.size();
      for (int64_t i = 1; i < count; ++i)
        for (size_t p = 0; p < size; ++p)
          positions.push_back(positions[p] + i * stride);
    };
    for (const auto &term : dimension.terms) {
      const int64_t chunk = shape.chunk[term.loop];
      spread(inside, chunk, term.stride);
      spread(parts, std::min(block[term.loop], shape.whole[term.loop]), chunk * term.stride);
    }
    if (inside.size() == 1 || parts.size() == 1)
      continue;
    std::map<int64_t, int64_t> owner; // by position: begin of its part
    for (int64_t begin : parts)
      for (int64_t position : inside)
        if (owner.try_emplace(begin + position, begin).first->second != begin)
          return true;
  }
  return false;
}

bool ScheduleSpace::fits(const SchedulePoint &point) const {
  const ScheduleShape &shape = all[point.shape];
  int64_t products = 1;
  for (int64_t size : point.block)
    products = std::min<int64_t>(products * std::max<int64_t>(size, 1), int64_t(1) << 40);
  if (products > std::max<int64_t>(options.unrolled, 1))
    return false;
  const int64_t sums = partsIn(shape, 2, point.block);
  if (sums > shape.sums || overlapsInResult(shape, point.block))
    return false;
  // Of the operands one of each is there at once, of one that stays all of its parts.
  int64_t values = sums;
  for (int t = 0; t < 2; ++t) {
    const bool stays = point.inner >= 0 && shape.stride[t][point.inner] == 0;
    values += stays ? partsIn(shape, t, point.block) : 1;
  }
  if (values > shape.values)
    return false;
  if (llvm::is_contained(point.block, 0))
    return true;
  // Besides what is in registers around the block in its loops: the number zero, a counter of each, addresses that some
  // of them moves.
  auto iterates = [&](size_t l) { return point.block[l] < shape.count[l] && point.block[l] * 2 <= shape.whole[l]; };
  int64_t around = 0;
  for (size_t l = 0; l < point.block.size() && shape.counters; ++l)
    around += iterates(l);
  around += around > 0;
  for (int t = 0; t < 3; ++t) {
    bool isMoved = false;
    for (size_t l = 0; l < point.block.size(); ++l)
      isMoved |= shape.stride[t][l] != 0 && iterates(l);
    around += shape.pointer[t] && isMoved;
  }
  return sums + around + operandsAtOnce(point) <= shape.values;
}

int64_t ScheduleSpace::operandsAtOnce(const SchedulePoint &point) const {
  const ScheduleShape &shape = all[point.shape];
  // The products in the order of the kernel: loops that do not move the result outside.
  std::vector<Index> loops;
  for (bool moves : {false, true})
    for (Index l = 0; l < Index(point.block.size()); ++l)
      if (point.block[l] > 1 && (shape.stride[2][l] != 0) == moves)
        loops.push_back(l);
  std::vector<int64_t> at(loops.size(), 0);
  std::array<std::map<int64_t, std::pair<int64_t, int64_t>>, 2> uses; // by element: first and last product
  int64_t products = 0;
  for (bool more = true; more; ++products) {
    for (int t = 0; t < 2; ++t) {
      int64_t element = 0;
      for (size_t i = 0; i < loops.size(); ++i)
        element += at[i] * shape.chunk[loops[i]] * shape.stride[t][loops[i]];
      auto [use, isNew] = uses[t].try_emplace(element, products, products);
      use->second.second = products;
    }
    more = false;
    for (size_t i = loops.size(); i-- > 0 && !more;) {
      more = ++at[i] < point.block[loops[i]];
      if (!more)
        at[i] = 0;
    }
  }
  std::vector<int64_t> change(size_t(products) + 1, 0);
  int64_t held = 0, max = 0;
  for (int t = 0; t < 2; ++t) {
    if (point.inner >= 0 && shape.stride[t][point.inner] == 0) {
      held += int64_t(uses[t].size());
      continue;
    }
    for (const auto &[element, use] : uses[t])
      ++change[size_t(std::max<int64_t>(use.first - std::max<int64_t>(point.ahead, 0), 0))],
          --change[size_t(use.second) + 1];
  }
  for (int64_t by : change)
    held += by, max = std::max(max, held);
  return max;
}

// ---- rows

std::optional<std::vector<SchedulePoint>> ScheduleSpace::children(const SchedulePoint &point) const {
  static constexpr Row rows[] = {&ScheduleSpace::shapeRow, &ScheduleSpace::innerRow, &ScheduleSpace::blockRow,
                                 &ScheduleSpace::stepRow,  &ScheduleSpace::orderRow, &ScheduleSpace::aheadRow};
  for (Row row : rows)
    if (auto choices = (this->*row)(point))
      return choices;
  return std::nullopt;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::shapeRow(const SchedulePoint &point) const {
  if (point.shape != SchedulePoint::kOpen)
    return std::nullopt;
  std::vector<SchedulePoint> made;
  for (Index s = 0; s < Index(all.size()); ++s) {
    SchedulePoint next = point;
    next.shape = s;
    next.block.assign(all[s].count.size(), 0), next.step.assign(all[s].count.size(), 0);
    for (size_t l = 0; l < all[s].count.size(); ++l)
      if (all[s].count[l] <= 1)
        next.block[l] = next.step[l] = 1;
    made.push_back(std::move(next));
  }
  return made;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::innerRow(const SchedulePoint &point) const {
  if (point.inner != SchedulePoint::kOpen)
    return std::nullopt;
  std::vector<SchedulePoint> made;
  const ScheduleShape &shape = all[point.shape];
  __int128 products = 1;
  for (Index l = 0; l < Index(shape.count.size()); ++l) {
    products = std::min<__int128>(products * std::max<int64_t>(shape.count[l], 1), __int128(1) << 60);
    if (shape.count[l] <= 1)
      continue;
    made.push_back(point);
    made.back().inner = l, made.back().order = {2 * l};
  }
  if (products <= std::max<int64_t>(options.unrolled, 1)) {
    made.push_back(point);
    made.back().inner = kNone;
  }
  return made;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::blockRow(const SchedulePoint &point) const {
  const auto open = llvm::find(point.block, 0);
  if (open == point.block.end())
    return std::nullopt;
  const Index loop = Index(open - point.block.begin());
  const int64_t count = all[point.shape].count[loop];
  std::vector<SchedulePoint> made;
  for (int64_t size : blocks[point.shape][loop]) {
    if ((point.inner == kNone && size < count) || (point.inner == loop && size >= count))
      continue;
    SchedulePoint next = point;
    next.block[loop] = size;
    if (size >= count)
      next.step[loop] = count;
    if (fits(next))
      made.push_back(std::move(next));
  }
  return made;
}

std::vector<int64_t> ScheduleSpace::stepsOf(const ScheduleShape &shape, Index loop, int64_t block) const {
  std::vector<int64_t> made;
  const int64_t count = shape.count[loop];
  if (hasSteps && block > 0)
    for (int64_t step = block; step <= count / 4; step *= 2)
      made.push_back(2 * step);
  made.push_back(count);
  return made;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::stepRow(const SchedulePoint &point) const {
  const auto open = llvm::find(point.step, 0);
  if (open == point.step.end())
    return std::nullopt;
  const Index loop = Index(open - point.step.begin());
  const ScheduleShape &shape = all[point.shape];
  int stepped = 0;
  for (size_t l = 0; l < point.step.size(); ++l)
    stepped += point.step[l] > 0 && point.step[l] < shape.count[l];
  std::vector<SchedulePoint> made;
  for (int64_t step : stepsOf(shape, loop, point.block[loop])) {
    if (step < shape.count[loop] && stepped >= kMaxStepped)
      continue;
    made.push_back(point);
    made.back().step[loop] = step;
  }
  return made;
}

std::vector<Index> ScheduleSpace::levelsOf(const SchedulePoint &point) const {
  std::vector<Index> levels;
  const std::vector<int64_t> &count = all[point.shape].count;
  for (Index l = 0; l < Index(count.size()); ++l) {
    if (point.block[l] < count[l])
      levels.push_back(2 * l);
    if (point.step[l] < count[l])
      levels.push_back(2 * l + 1);
  }
  return levels;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::orderRow(const SchedulePoint &point) const {
  std::vector<Index> open;
  for (Index level : levelsOf(point))
    if (!llvm::is_contained(point.order, level))
      open.push_back(level);
  if (open.empty())
    return std::nullopt;
  std::vector<SchedulePoint> made;
  for (Index level : open) {
    const Index inside = level - 1; // of a larger step
    if (level % 2 == 1 && (!llvm::is_contained(point.order, inside) || point.order.back() == inside))
      continue;
    made.push_back(point);
    made.back().order.push_back(level);
  }
  return made;
}

std::vector<int64_t> ScheduleSpace::aheadOf(const SchedulePoint &point) const {
  const ScheduleShape &shape = all[point.shape];
  std::vector<int64_t> made = {0};
  auto isHeld = [&](int t) { return point.inner >= 0 && shape.stride[t][point.inner] == 0; };
  if (isHeld(0) && isHeld(1))
    return made;
  int64_t products = 1;
  for (int64_t size : point.block)
    products *= std::max<int64_t>(size, 1);
  for (int64_t ahead = 1; ahead < std::min(products, kMaxAhead); ahead *= 4)
    made.push_back(ahead);
  return made;
}

std::optional<std::vector<SchedulePoint>> ScheduleSpace::aheadRow(const SchedulePoint &point) const {
  if (point.ahead != SchedulePoint::kOpen)
    return std::nullopt;
  std::vector<SchedulePoint> made;
  for (int64_t ahead : aheadOf(point)) {
    SchedulePoint next = point;
    next.ahead = ahead;
    if (ahead == 0 || fits(next))
      made.push_back(std::move(next));
  }
  return made;
}

// ---- schedules

Schedule ScheduleSpace::scheduleOf(const SchedulePoint &point) const {
  const ScheduleShape &shape = all[point.shape];
  Schedule made = shape.schedule;
  for (auto level = point.order.rbegin(); level != point.order.rend(); ++level) {
    const Index loop = *level / 2;
    made.levels.push_back({loop, (*level % 2 ? point.step : point.block)[loop] * shape.chunk[loop]});
  }
  if (llvm::any_of(point.block, [](int64_t size) { return size > 1; }))
    for (size_t l = 0; l < point.block.size(); ++l)
      made.block.push_back(point.block[l] > 1 ? point.block[l] * shape.chunk[l] : 0);
  made.ahead = int16_t(std::max<int64_t>(point.ahead, 0));
  if (shape.isStaged)
    (void)stagePieces(made, contraction, machine); // what does not fit is refused as a kernel
  return made;
}

bool ScheduleSpace::repair(SchedulePoint &point) const {
  const std::vector<int64_t> &count = all[point.shape].count;
  int stepped = 0;
  for (size_t l = 0; l < count.size(); ++l) {
    if (!llvm::is_contained(stepsOf(all[point.shape], Index(l), point.block[l]), point.step[l]))
      point.step[l] = std::max<int64_t>(count[l], 1);
    stepped += point.step[l] < count[l];
  }
  const std::vector<Index> levels = levelsOf(point);
  llvm::erase_if(point.order, [&](Index level) { return !llvm::is_contained(levels, level); });
  for (Index level : levels)
    if (!llvm::is_contained(point.order, level))
      point.order.push_back(level);
  point.inner = point.order.empty() ? kNone : point.order.front() / 2;
  for (size_t i = 0; i < point.order.size(); ++i)
    if (const Index level = point.order[i]; level % 2 == 1) {
      const auto inside = std::find(point.order.begin(), point.order.begin() + int64_t(i), level - 1);
      if (inside == point.order.begin() + int64_t(i) || inside + 1 == point.order.begin() + int64_t(i))
        return false;
    }
  if (!llvm::is_contained(aheadOf(point), point.ahead))
    point.ahead = 0;
  return stepped <= kMaxStepped && fits(point);
}

int64_t ScheduleSpace::atMost(Index shape, Index loop, int64_t size) const {
  int64_t largest = 1;
  for (int64_t block : blocks[shape][loop])
    if (block <= size)
      largest = block;
  return largest;
}

std::vector<SchedulePoint> ScheduleSpace::neighbours(const SchedulePoint &point) const {
  std::vector<SchedulePoint> made;
  const Index loops = Index(point.block.size());
  auto push = [&](SchedulePoint next) {
    if (repair(next) && next != point && !llvm::is_contained(made, next))
      made.push_back(std::move(next));
  };
  for (Index l = 0; l < loops; ++l) {
    for (int64_t size : blocks[point.shape][l]) {
      SchedulePoint next = point;
      next.block[l] = size;
      // Another loop gives what this one takes, or takes what it gives.
      for (Index other = 0; other < loops; ++other)
        if (other != l && !blocks[point.shape][other].empty()) {
          SchedulePoint both = next;
          both.block[other] =
              atMost(point.shape, other, std::max<int64_t>(point.block[other] * point.block[l] / size, 1));
          push(std::move(both));
        }
      push(std::move(next));
    }
    for (int64_t step : stepsOf(all[point.shape], l, point.block[l])) {
      SchedulePoint next = point;
      next.step[l] = step;
      push(std::move(next));
    }
  }
  for (size_t i = 0; i < point.order.size(); ++i)
    for (size_t k = 0; k < point.order.size(); ++k) {
      SchedulePoint next = point;
      next.order.erase(next.order.begin() + int64_t(i));
      next.order.insert(next.order.begin() + int64_t(k), point.order[i]);
      push(std::move(next));
    }
  for (int64_t ahead : aheadOf(point)) {
    SchedulePoint next = point;
    next.ahead = ahead;
    push(std::move(next));
  }
  for (Index s = 0; s < Index(all.size()); ++s) {
    SchedulePoint next = point;
    next.shape = s;
    for (Index l = 0; l < loops; ++l)
      next.block[l] = atMost(s, l, point.block[l]);
    push(std::move(next));
  }
  return made;
}

std::optional<SchedulePoint> ScheduleSpace::pointOf(const Schedule &schedule) const {
  for (Index s = 0; s < Index(all.size()); ++s) {
    const ScheduleShape &shape = all[s];
    const Schedule &of = shape.schedule;
    if (of.vectorLoop != schedule.vectorLoop || of.lanes != schedule.lanes || of.tile != schedule.tile ||
        of.tileLoops != schedule.tileLoops || of.preloads != schedule.preloads)
      continue;
    SchedulePoint made;
    made.shape = s;
    for (size_t l = 0; l < shape.count.size(); ++l) {
      const int64_t said = l < schedule.block.size() ? schedule.block[l] : 0;
      made.block.push_back(std::max<int64_t>(said / shape.chunk[l], 1));
      made.step.push_back(std::max<int64_t>(shape.count[l], 1));
      if (made.block[l] > shape.count[l])
        made.block[l] = std::max<int64_t>(shape.count[l], 1);
      if (shape.count[l] > 1 && !llvm::is_contained(blocks[s][l], made.block[l]))
        return std::nullopt;
    }
    // Without the levels that go from piece to piece.
    const auto end = schedule.levels.rend() - (shape.isStaged ? schedule.staged[0].level : 0);
    for (auto level = schedule.levels.rbegin(); level != end; ++level) {
      const int64_t step = level->step / shape.chunk[level->loop];
      if (step >= shape.count[level->loop])
        continue;
      const bool isOuter = step != made.block[level->loop];
      made.order.push_back(2 * level->loop + isOuter);
      if (isOuter)
        made.step[level->loop] = step;
    }
    made.ahead = schedule.ahead;
    if (repair(made) && made.ahead == schedule.ahead)
      return made;
  }
  return std::nullopt;
}

} // namespace accord::microarchitecture
