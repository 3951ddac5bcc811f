#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace accord::microarchitecture {
namespace {

constexpr Cycles kNever = -(Cycles(1) << 62); // no path; all others are from 0 to kBeyond
constexpr size_t kMaxSlots = 128;

using Row = std::vector<Cycles>;

void latest(Row &of, const Row &other) {
  for (size_t i = 0; i < of.size(); ++i)
    of[i] = std::max(of[i], other[i]);
}

Row later(Row row, Cycles by) {
  for (Cycles &at : row)
    at = at < 0 ? kNever : std::min(at + by, TimingEnvelope::kBeyond);
  return row;
}

/// Beats of a request that each take so many cycles.
Cycles beats(int64_t pieces, Cycles each) {
  return Cycles(std::min<__int128>(__int128(pieces) * each, TimingEnvelope::kBeyond));
}
int64_t piecesAtLeast(int64_t bytes, int64_t size) { return (bytes + size - 1) / size; }
int64_t piecesAtMost(int64_t bytes, int64_t size) { return (bytes + 2 * size - 2) / size; }

} // namespace

TimingEnvelope::TimingEnvelope(const Microarchitecture &machine, const InstructionProgram &program, Side side)
    : machine(machine), program(program), decoded(machine, program), isUpper(side == Side::Upper) {
  prepare();
  for (int64_t limit : {16, 8, 4, 2, 1}) {
    layOut(limit);
    if (count <= kMaxSlots)
      return;
  }
  (isUpper ? isOne : isBare) = true;
  layOut(1);
}

void TimingEnvelope::prepare() {
  storages.resize(machine.storages.size());
  for (const Storage &storage : machine.storages)
    if (storage.cache)
      storages[storage.cache->behind].isAsked = true;
  for (const DecodedInstruction &is : decoded.instructions)
    for (OperandId o = is.firstOperand + is.loads; o < is.firstOperand + is.operands; ++o)
      for (Index s = decoded.operands[o].storage; s != kNone;
           s = machine.storages[s].cache ? machine.storages[s].cache->behind : kNone)
        storages[s].isWritten = true;
  std::vector<char> seen(machine.stages.size(), 0);
  auto visit = [&](auto &self, Index stage) -> void {
    seen[stage] = 1;
    for (Index next : machine.stages[stage].to)
      if (!seen[next])
        self(self, next);
    order.push_back(stage);
  };
  visit(visit, machine.fetch.to);
  for (const Route &route : decoded.routes) {
    std::vector<Cycles> &to = shortest.emplace_back(machine.stages.size(), INT64_MAX);
    for (Index s : order) { // those behind first
      Cycles behind = route.ways[s].empty() ? INT64_MAX : 0;
      for (Index next : route.next[s])
        behind = std::min(behind, to[next]);
      if (behind < INT64_MAX)
        to[s] = behind + route.stageLatency[s];
    }
  }
  std::reverse(order.begin(), order.end());
}

TimingEnvelope::Slots TimingEnvelope::place(int64_t size, int64_t limit) {
  if (isOne)
    return {0, 1, true};
  if (isBare || (!isUpper && size > limit))
    return {};
  const Slots made{count, size_t(std::min(size, limit)), true};
  count += made.size;
  return made;
}

void TimingEnvelope::layOut(int64_t limit) {
  count = 0, stages.clear(), units.clear(), files.clear(), ready.clear(), read.clear();
  auto always = [&] { return isOne ? Slots{0, 1, true} : Slots{count++, 1, true}; };
  fetched = always(), ended = always();
  fetchWidth = place(machine.fetch.width, limit), fetchBuffer = place(machine.fetch.buffer, limit);
  window = place(machine.window, limit), decided = place(1, limit);
  for (const Stage &stage : machine.stages)
    stages.push_back({place(1, limit), place(1, limit), place(stage.width, limit), place(stage.capacity, limit)});
  for (const Unit &unit : machine.units) {
    const int64_t entries = int64_t(unit.count) * unit.entries;
    units.push_back({place(1, limit), place(1, limit), isUpper || unit.count == 1 ? place(entries, limit) : Slots{}});
  }
  for (size_t f = 0; isUpper && f < machine.registers.size(); ++f)
    files.push_back({place(1, limit), place(1, limit)});
  for (size_t s = 0; s < storages.size(); ++s) {
    StorageSlots &is = storages[s];
    is.beats = isUpper ? place(1, limit) : Slots{}, is.filled = isUpper ? place(1, limit) : Slots{};
    const bool knows = isUpper || (!machine.storages[s].cache && !is.isAsked);
    is.requests = knows ? place(machine.storages[s].requests, limit) : Slots{};
  }
  for (Index file : decoded.fileOf) {
    ready.push_back(place(1, limit));
    read.push_back(machine.registers[file].renamed ? Slots{} : place(1, limit));
  }
  if (isOne)
    count = 1;
}

TimingEnvelope::Row TimingEnvelope::oldest(const Slots &slots) const {
  return slots.isKnown ? rows[slots.first] : Row(rows.front().size(), kNever);
}

void TimingEnvelope::raise(const Slots &slots, const Row &row) {
  if (slots.isKnown)
    latest(rows[slots.first + slots.size - 1], row);
}

void TimingEnvelope::push(const Slots &slots, Row row) {
  if (!slots.isKnown)
    return;
  if (isUpper) // in order on the upper side, so that a place more is never earlier
    latest(row, rows[slots.first + slots.size - 1]);
  const auto first = rows.begin() + int64_t(slots.first);
  std::rotate(first, first + 1, first + int64_t(slots.size));
  rows[slots.first + slots.size - 1] = std::move(row);
}

TimingEnvelope::Row TimingEnvelope::fetch() {
  Row at = oldest(fetched);
  latest(at, oldest(fetchWidth)), latest(at, oldest(fetchBuffer));
  raise(fetched, at), push(fetchWidth, later(at, 1));
  return at;
}

TimingEnvelope::Row TimingEnvelope::pathLower(const Route &route, Row at) {
  Index stage = machine.fetch.to;
  at = later(at, machine.fetch.latency);
  Index before = kNone;
  for (;;) {
    const StageSlots &slots = stages[stage];
    latest(at, oldest(slots.enter)), latest(at, oldest(slots.width)), latest(at, oldest(slots.capacity));
    raise(slots.enter, at), push(slots.width, later(at, 1));
    if (before == kNone)
      push(fetchBuffer, at);
    else
      raise(stages[before].leave, at), push(stages[before].capacity, at);
    at = later(at, route.stageLatency[stage]);
    latest(at, oldest(slots.leave));
    before = stage;
    if (route.next[stage].size() != 1)
      break;
    stage = route.next[stage].front();
  }
  const std::vector<UnitWay> &ways = route.ways[stage];
  if (!ways.empty()) {
    latest(at, oldest(window));
    if (ways.size() == 1)
      latest(at, oldest(units[ways.front().unit].entries));
  }
  raise(stages[stage].leave, at), push(stages[stage].capacity, at);
  if (!ways.empty())
    return at;
  Cycles behind = INT64_MAX;
  const std::vector<Cycles> &to = shortest[size_t(&route - decoded.routes.data())];
  for (Index next : route.next[stage])
    behind = std::min(behind, to[next]);
  at = later(at, behind);
  latest(at, oldest(window));
  return at;
}

TimingEnvelope::Row TimingEnvelope::acceptUpper(Index stage) const {
  const StageSlots &slots = stages[stage];
  Row at = oldest(slots.enter);
  latest(at, oldest(slots.width)), latest(at, oldest(slots.capacity));
  if (decoded.joins)
    latest(at, oldest(decided));
  return at;
}

TimingEnvelope::Row TimingEnvelope::unitUpper(const UnitWay &way) const {
  Row at = oldest(units[way.unit].entries);
  latest(at, oldest(units[way.unit].enter)), latest(at, oldest(window));
  return at;
}

TimingEnvelope::Row TimingEnvelope::pathUpper(const Route &route, Row at) {
  const Row never(at.size(), kNever);
  Matrix enters(machine.stages.size(), never);
  at = later(at, machine.fetch.latency);
  latest(at, acceptUpper(machine.fetch.to));
  push(fetchBuffer, at);
  enters[machine.fetch.to] = std::move(at);
  std::vector<char> reached(machine.stages.size(), 0);
  reached[machine.fetch.to] = 1;
  Row issue = never, left = never;
  for (Index s : order) {
    if (!reached[s])
      continue;
    const StageSlots &slots = stages[s];
    Row leave = later(enters[s], route.stageLatency[s]);
    latest(leave, oldest(slots.leave));
    latest(leave, route.next[s].empty() ? unitUpper(route.ways[s].front()) : acceptUpper(route.next[s].front()));
    raise(slots.enter, enters[s]), push(slots.width, later(enters[s], 1));
    raise(slots.leave, leave), push(slots.capacity, leave);
    latest(left, leave);
    for (Index next : route.next[s])
      reached[next] = 1, latest(enters[next], leave);
    if (route.next[s].empty())
      latest(issue, leave);
  }
  raise(decided, left);
  return issue;
}

TimingEnvelope::Row TimingEnvelope::operands(const DecodedInstruction &is, Row start) const {
  for (uint32_t r : decoded.reads(is))
    latest(start, oldest(ready[r]));
  for (uint32_t r : decoded.guarded(is))
    latest(start, oldest(ready[r])), latest(start, oldest(read[r]));
  return start;
}

void TimingEnvelope::startedAt(const DecodedInstruction &is, const Row &start) {
  for (uint32_t r : decoded.reads(is))
    raise(read[r], start);
}

TimingEnvelope::Row TimingEnvelope::executeLower(const DecodedInstruction &is, const Route &route, const Row &issue) {
  std::vector<UnitWay> ways;
  for (const std::vector<UnitWay> &of : route.ways)
    ways.insert(ways.end(), of.begin(), of.end());
  Row start = operands(is, issue);
  const UnitSlots &slots = units[ways.front().unit];
  const bool isSure = ways.size() == 1 && machine.units[ways.front().unit].count == 1;
  if (isSure) {
    latest(start, oldest(slots.start));
    const Row free = later(start, ways.front().interval);
    raise(slots.start, free), push(slots.entries, free);
  }
  startedAt(is, start);
  Cycles latency = INT64_MAX;
  for (const UnitWay &way : ways)
    latency = std::min(latency, way.latency);
  return later(start, latency);
}

TimingEnvelope::Row TimingEnvelope::executeUpper(const DecodedInstruction &is, const Route &route, const Row &issue) {
  Row start = operands(is, issue);
  for (const PortUse &use : decoded.readPorts(is))
    latest(start, oldest(files[use.file].read));
  Row last = start, end(start.size(), kNever);
  for (const std::vector<UnitWay> &ways : route.ways)
    for (const UnitWay &way : ways) {
      const UnitSlots &slots = units[way.unit];
      Row own = start;
      if (machine.units[way.unit].entries > 1)
        latest(own, oldest(slots.start));
      const Row free = later(own, way.interval);
      raise(slots.enter, later(issue, 1)), raise(slots.start, free), push(slots.entries, free);
      latest(last, own), latest(end, later(own, way.latency));
    }
  for (const PortUse &use : decoded.readPorts(is))
    raise(files[use.file].read, later(last, 1));
  startedAt(is, last);
  return end;
}

TimingEnvelope::Data TimingEnvelope::request(Index storage, bool isStore, int64_t bytes, const Row &at) {
  const Storage &is = machine.storages[storage];
  const StorageSlots &slots = storages[storage];
  const Cycles latency = isStore ? is.writeLatency : is.readLatency;
  if (isUpper && is.cache)
    return cachedUpper(storage, isStore, bytes, at);
  Row begin = at;
  latest(begin, oldest(slots.requests));
  const Cycles opens = isUpper && is.rows.bytes > 0 ? is.rows.miss : 0;
  Cycles taken = piecesAtLeast(bytes, is.portBytes);
  if (isUpper) {
    latest(begin, oldest(slots.beats));
    taken = beats(piecesAtMost(bytes, is.portBytes), 1 + opens);
    raise(slots.beats, later(begin, taken));
  }
  Data data{later(begin, opens + latency), later(begin, taken - 1 + latency)};
  push(slots.requests, data.done);
  return data;
}

TimingEnvelope::Data TimingEnvelope::cachedUpper(Index storage, bool isStore, int64_t bytes, const Row &at) {
  const Storage &is = machine.storages[storage];
  const Storage::Cache &cache = *is.cache;
  const StorageSlots &slots = storages[storage];
  const Cycles opens = is.rows.bytes > 0 ? is.rows.miss : 0;
  const int64_t lines = piecesAtMost(bytes, cache.lineBytes);
  const Cycles taken = beats(piecesAtMost(bytes, is.portBytes), 1 + opens);
  Row begin = at;
  latest(begin, oldest(slots.beats));
  raise(slots.beats, later(begin, taken));
  const Row looked = later(begin, taken - 1);
  const Cycles latency = isStore ? is.writeLatency : is.readLatency;
  Row done = later(looked, latency);
  latest(done, oldest(slots.filled));
  for (int64_t line = 0; line < lines; ++line) {
    Row sent = later(looked, is.writeLatency);
    if (!isStore || cache.allocatesOnWrite) {
      Row asked = looked;
      latest(asked, oldest(slots.requests));
      const Row filled = request(cache.behind, false, cache.lineBytes, later(asked, is.readLatency)).done;
      push(slots.requests, filled), raise(slots.filled, filled);
      latest(done, filled), latest(sent, filled);
      if (cache.writeBack && slots.isWritten)
        request(cache.behind, true, cache.lineBytes, filled);
    }
    if (isStore && !(cache.writeBack && cache.allocatesOnWrite))
      latest(done, request(cache.behind, true, std::min<int64_t>(bytes, cache.lineBytes), sent).done);
  }
  return {done, done};
}

TimingEnvelope::Row TimingEnvelope::memory(const DecodedInstruction &is, const Row &at) {
  Row data = at, done = at;
  const OperandId firstStore = is.firstOperand + is.loads;
  for (OperandId o = is.firstOperand; o < firstStore; ++o) {
    const Data served = request(decoded.operands[o].storage, false, decoded.operands[o].bytes, at);
    latest(data, served.first), latest(done, served.done);
  }
  const Row loaded = done;
  for (OperandId o = firstStore; o < is.firstOperand + is.operands; ++o) {
    const Index storage = decoded.operands[o].storage;
    latest(done, request(storage, true, decoded.operands[o].bytes, data).done);
    if (is.loads > 0)
      latest(done, later(loaded, machine.storages[storage].writeLatency));
  }
  return done;
}

void TimingEnvelope::apply(Index instruction) {
  const DecodedInstruction &is = decoded.instructions[instruction];
  const Route &route = decoded.routes[is.route];
  const Row at = fetch();
  const Row issue = isUpper ? pathUpper(route, at) : pathLower(route, at);
  Row end = memory(is, isUpper ? executeUpper(is, route, issue) : executeLower(is, route, issue));
  if (isUpper) {
    for (const PortUse &use : decoded.writePorts(is))
      latest(end, oldest(files[use.file].write));
    for (const PortUse &use : decoded.writePorts(is))
      raise(files[use.file].write, later(end, 1));
  }
  for (uint32_t r : decoded.writes(is)) {
    if (isOne || machine.registers[decoded.fileOf[r]].counts)
      raise(ready[r], end);
    else if (ready[r].isKnown)
      rows[ready[r].first] = end;
    if (!isOne && read[r].isKnown)
      rows[read[r].first].assign(end.size(), kNever);
  }
  raise(ended, end);
  push(window, oldest(ended));
  if (is.redirects)
    raise(fetched, end);
}

/// The product of matrices of numbers that doubles hold exactly, as their sums: these have a maximum in one
/// instruction.
static std::vector<Row> productOfSmall(const std::vector<Row> &left, const std::vector<Row> &right) {
  constexpr size_t kAtOnce = 4; // rows that are added to one
  const size_t size = right.front().size();
  std::vector<double> numbers, row(size);
  numbers.reserve(right.size() * size);
  for (const Row &of : right)
    for (Cycles at : of)
      numbers.push_back(at < 0 ? -INFINITY : double(at));
  std::vector<Row> made;
  for (const Row &of : left) {
    std::fill(row.begin(), row.end(), -INFINITY);
    std::array<const double *, kAtOnce> from;
    std::array<double, kAtOnce> by;
    size_t waiting = 0;
    auto add = [&] {
      for (; waiting < kAtOnce; ++waiting)
        from[waiting] = numbers.data(), by[waiting] = -INFINITY;
      const auto [a, b, c, d] = from;
      const auto [moreA, moreB, moreC, moreD] = by;
      double *to = row.data();
#pragma clang loop vectorize(enable) interleave(enable)
      for (size_t j = 0; j < size; ++j) {
        const double first = std::max(a[j] + moreA, b[j] + moreB), second = std::max(c[j] + moreC, d[j] + moreD);
        to[j] = std::max(to[j], std::max(first, second));
      }
      waiting = 0;
    };
    for (size_t k = 0; k < right.size(); ++k)
      if (of[k] >= 0) {
        from[waiting] = numbers.data() + k * size, by[waiting] = double(of[k]);
        if (++waiting == kAtOnce)
          add();
      }
    if (waiting > 0)
      add();
    Row &to = made.emplace_back();
    to.reserve(size);
    for (double at : row)
      to.push_back(at < 0 ? kNever : Cycles(at));
  }
  return made;
}

TimingEnvelope::Matrix TimingEnvelope::product(const Matrix &left, const Matrix &right) {
  constexpr Cycles kSmall = Cycles(1) << 51;
  const size_t size = right.empty() ? 0 : right.front().size();
  auto isSmall = [](const Matrix &of) {
    return std::all_of(of.begin(), of.end(), [](const Row &row) {
      return std::all_of(row.begin(), row.end(), [](Cycles at) { return at <= kSmall; });
    });
  };
  if (size > 8 && isSmall(left) && isSmall(right))
    return productOfSmall(left, right);
  Matrix made;
  for (const Row &of : left) {
    Row &row = made.emplace_back(size, kNever);
    for (size_t k = 0; k < right.size(); ++k)
      if (const Cycles by = of[k]; by >= 0) {
        const Cycles *from = right[k].data();
        for (Cycles &at : row)
          at = std::max(at, *from++ + by);
      }
    for (Cycles &at : row)
      at = at < 0 ? kNever : std::min(at, kBeyond);
  }
  return made;
}

TimingEnvelope::Iteration TimingEnvelope::iterationOf(const Body &body) {
  Matrix outer(count, Row(count, kNever));
  for (size_t i = 0; i < count; ++i)
    outer[i][i] = 0;
  outer.swap(rows);
  run(body);
  outer.swap(rows);
  auto stays = [&](size_t i) {
    return outer[i][i] == 0 && std::count(outer[i].begin(), outer[i].end(), kNever) == int64_t(count) - 1;
  };
  Iteration made;
  for (size_t i = 0; i < count; ++i)
    if (!stays(i))
      made.changed.push_back(i);
  for (size_t j = 0; j < count; ++j)
    if (std::any_of(made.changed.begin(), made.changed.end(), [&](size_t i) { return outer[i][j] >= 0; }))
      made.used.push_back(j);
  auto only = [&](const std::vector<size_t> &of) {
    Matrix some;
    for (size_t i : of) {
      Row &row = some.emplace_back();
      for (size_t j : made.used)
        row.push_back(outer[i][j]);
    }
    return some;
  };
  made.toChanged = only(made.changed), made.toUsed = only(made.used);
  return made;
}

void TimingEnvelope::loop(Index number) {
  const InstructionLoop &is = program.loops[number];
  int64_t left = is.count;
  const bool isPlain = std::all_of(is.body.begin(), is.body.end(), [](const Item &item) { return item.loop == kNone; });
  if (left <= (isPlain ? 4 : 1)) {
    for (; left > 0; --left)
      run(is.body);
    return;
  }
  auto at = known.find(number);
  if (at == known.end())
    at = known.try_emplace(number, iterationOf(is.body)).first;
  const Iteration &iteration = at->second;
  if (iteration.changed.empty())
    return;
  Matrix used;
  for (size_t j : iteration.used)
    used.push_back(rows[j]);
  // One iteration after the other where that is less work than powers are: of loops around all others, `used` is a
  // column.
  const int64_t squarings = std::bit_width(uint64_t(--left));
  if (left / squarings * int64_t(rows.front().size()) <= int64_t(iteration.used.size()))
    for (; left > 0; --left)
      used = product(iteration.toUsed, used);
  Matrix power = left > 0 ? iteration.toUsed : Matrix();
  for (; left > 0; left >>= 1) {
    if (left & 1)
      used = product(power, used);
    if (left > 1)
      power = product(power, power);
  }
  Matrix changed = used.empty() ? Matrix(iteration.changed.size(), Row(rows.front().size(), kNever))
                                : product(iteration.toChanged, used);
  for (size_t i = 0; i < changed.size(); ++i)
    rows[iteration.changed[i]] = std::move(changed[i]);
}

void TimingEnvelope::run(const Body &body) {
  for (const Item &item : body)
    if (item.loop != kNone)
      loop(item.loop);
    else if (item.isFence())
      raise(fetched, oldest(ended));
    else
      apply(item.instruction);
}

Cycles TimingEnvelope::end(Cycles from) {
  rows.assign(count, Row(1, isUpper ? from : 0));
  rows[fetched.first].front() = from;
  run(program.body);
  return rows[ended.first].front();
}

} // namespace accord::microarchitecture
