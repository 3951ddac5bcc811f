#include "lib/microarchitecture/output/DiagramParts.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord::microarchitecture {
namespace {

using Kind = DiagramPart::Kind;
using Look = DiagramText::Look;

constexpr int32_t kMaxCells = 64; ///< a side, drawn

/// Where a part stands in an array, by its name.
struct Copy {
  std::string array, part;
  int32_t row = 0, column = 0;
};

std::optional<int32_t> numberIn(std::string_view text) {
  if (text.empty() || text.size() > 6 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  int32_t value = 0;
  for (char c : text)
    value = 10 * value + (c - '0');
  return value;
}

std::optional<Copy> copyNamed(std::string_view name) {
  std::vector<std::string_view> words;
  std::vector<size_t> begins;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('_', at), name.size());
    words.push_back(name.substr(at, end - at)), begins.push_back(at);
    at = end + 1;
  }
  for (size_t w = 1; w < words.size(); ++w) {
    const auto first = numberIn(words[w]);
    if (!first || begins[w] < 2)
      continue;
    const auto second = w + 1 < words.size() ? numberIn(words[w + 1]) : std::nullopt;
    const size_t rest = w + (second ? 2 : 1);
    Copy is{std::string(name.substr(0, begins[w] - 1)), "", second ? *first : 0, second ? *second : *first};
    if (rest < words.size())
      is.part = name.substr(begins[rest]);
    return is;
  }
  return std::nullopt;
}

std::string cyclesText(const CycleExpression &is) {
  if (is.terms.empty())
    return "0";
  if (is.terms.size() == 1 && is.terms[0].kind == CycleExpression::Kind::Constant)
    return fmt::format("{}", is.terms[0].value);
  return is.text.empty() ? "an expression" : is.text;
}

std::string counted(int64_t count, const char *one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string percent(double share) {
  const double value = 100 * std::clamp(share, 0.0, 1.0);
  if (value > 99.4 && value < 100)
    return fmt::format("{:.1f} %", std::min(value, 99.9)); // not all
  return value > 0 && value < 0.1 ? "< 0.1 %" : fmt::format("{:.{}f} %", value, value > 0 && value < 9.95 ? 1 : 0);
}

/// The words of a list in lines of at most `width` pixels.
std::vector<std::string> wrap(const std::vector<std::string> &words, int32_t width) {
  std::vector<std::string> lines;
  for (size_t w = 0; w < words.size(); ++w) {
    const std::string word = words[w] + (w + 1 < words.size() ? "," : "");
    if (!lines.empty() && textWidth(lines.back() + " " + word, kTextSize, false) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

class DiagramBuilder {
public:
  DiagramBuilder(const Microarchitecture &machine, const InstructionTiming *timing)
      : machine(machine), timing(timing) {}

  Diagram run() {
    made.parts.push_back({Kind::Fetch, machine.fetch.name, {0}});
    stageOfUnit.assign(machine.units.size(), kNone);
    std::vector<size_t> turn(machine.units.size(), 0); // in which its stage tries it
    for (Index s = 0; s < Index(machine.stages.size()); ++s) {
      made.parts.push_back({Kind::Stage, machine.stages[s].name, {s}});
      made.parts.back().isExecute = !machine.stages[s].units.empty();
      const std::vector<Index> &units = machine.stages[s].units;
      for (size_t i = 0; i < units.size(); ++i)
        if (units[i] >= 0 && units[i] < Index(machine.units.size()) && stageOfUnit[units[i]] == kNone)
          stageOfUnit[units[i]] = s, turn[units[i]] = i;
    }
    const size_t first = made.parts.size();
    group(Kind::Unit, machine.units, [&](Index u) { return keyOf(machine.units[u], stageOfUnit[u]); });
    std::vector<DiagramPart> units(made.parts.begin() + first, made.parts.end());
    stableSort(units, [&](const DiagramPart &a, const DiagramPart &b) {
      auto placeOf = [&](const DiagramPart &part) {
        size_t low = SIZE_MAX;
        for (Index unit : part.members)
          low = std::min(low, turn[unit]);
        return std::pair(stageOfUnit[part.members[0]], low);
      };
      return placeOf(a) < placeOf(b);
    });
    std::ranges::move(units, made.parts.begin() + first);
    group(Kind::Registers, machine.registers, [&](Index f) { return keyOf(machine.registers[f]); });
    group(Kind::Storage, machine.storages, [&](Index s) { return keyOf(machine.storages[s]); });
    for (DiagramPart &part : made.parts)
      if (part.kind == Kind::Unit && stageOfUnit[part.members[0]] != kNone)
        part.stage = 1 + stageOfUnit[part.members[0]];
    for (Index p = 0; p < Index(made.parts.size()); ++p)
      for (Index member : made.parts[p].members)
        blocks[{made.parts[p].kind, member}] = p;
    edges();
    if (timing)
      uses(), bottleneck();
    for (DiagramPart &part : made.parts)
      text(part);
    return std::move(made);
  }

private:
  static std::string keyOf(const Unit &unit, Index stage) {
    std::string key = fmt::format("{} {} {}", stage, unit.count, unit.entries);
    for (const UnitOperation &operation : unit.operations)
      key += fmt::format(" {} {} {}", operation.opcode, cyclesText(operation.latency), cyclesText(operation.interval));
    return key;
  }
  static std::string keyOf(const RegisterFile &file) {
    return fmt::format("{} {} {} {} {}", file.count, file.bits, file.readPorts, file.writePorts, file.renamed);
  }
  static std::string keyOf(const Storage &of) {
    std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", of.portBytes, of.ports, of.banks, of.requests,
                                  of.readLatency, of.writeLatency, of.rows.bytes, of.rows.miss, of.end - of.begin);
    if (of.cache)
      key += fmt::format(" {} {} {} {} {} {} {}", of.cache->sets, of.cache->ways, of.cache->lineBytes,
                         int(of.cache->replacement), of.cache->writeBack, of.cache->allocatesOnWrite,
                         of.cache->criticalWordFirst);
    return key;
  }

  /// Adds blocks for all parts of a kind, in the order of their first members.
  template <class Parts, class KeyOf> void group(Kind kind, const Parts &parts, KeyOf keyOf) {
    std::map<std::pair<std::string, std::string>, Index> known; // array and part, numbers
    std::vector<DiagramPart> found;
    for (Index i = 0; i < Index(parts.size()); ++i) {
      const std::optional<Copy> copy = copyNamed(parts[i].name);
      if (copy) {
        auto [at, isNew] = known.try_emplace({copy->array + "\n" + copy->part, keyOf(i)}, Index(found.size()));
        if (!isNew) {
          found[at->second].members.push_back(i);
          continue;
        }
      }
      found.push_back({kind, parts[i].name, {i}});
    }
    for (DiagramPart &part : found) {
      if (part.members.size() > 1) {
        const Copy copy = *copyNamed(parts[part.members[0]].name);
        part.name = copy.part.empty() ? copy.array : copy.array + "." + copy.part;
        grid(part, [&](Index i) { return *copyNamed(parts[i].name); });
      }
      made.parts.push_back(std::move(part));
    }
  }

  /// The cells of copies, as few as can be drawn. Numbers of rows and columns begin at the lowest.
  template <class CopyOf> void grid(DiagramPart &part, CopyOf copyOf) {
    int32_t lowRow = INT32_MAX, lowColumn = INT32_MAX, rows = 0, columns = 0;
    for (Index member : part.members) {
      const Copy copy = copyOf(member);
      lowRow = std::min(lowRow, copy.row), lowColumn = std::min(lowColumn, copy.column);
      rows = std::max(rows, copy.row + 1), columns = std::max(columns, copy.column + 1);
    }
    rows -= lowRow, columns -= lowColumn;
    DiagramPart::Grid &grid = part.grid;
    grid.rows = rows, grid.columns = columns;
    grid.step = (std::max(rows, columns) + kMaxCells - 1) / kMaxCells;
    const size_t wide = (columns + grid.step - 1) / grid.step, high = (rows + grid.step - 1) / grid.step;
    std::vector<double> sum(wide * high, 0);
    std::vector<int64_t> known(wide * high, 0);
    grid.use.assign(wide * high, kNoCell);
    for (Index member : part.members) {
      const Copy copy = copyOf(member);
      const size_t cell = (copy.row - lowRow) / grid.step * wide + (copy.column - lowColumn) / grid.step;
      const double use = useOf(part.kind, member);
      grid.use[cell] = std::max(grid.use[cell], -1.0);
      if (use >= 0)
        grid.use[cell] = (sum[cell] += use) / double(++known[cell]);
    }
  }

  double useOf(Kind kind, Index member) const {
    if (!timing)
      return -1;
    const auto [busy, possible] = workOf(kind, member);
    return possible < 0 ? -1 : possible == 0 ? 0 : std::clamp(busy / possible, 0.0, 1.0);
  }
  /// Busy cycles or beats, and how many there could be; -1: not known.
  std::pair<double, double> workOf(Kind kind, Index i) const {
    if (kind == Kind::Unit && i < Index(timing->units.size()))
      return {double(timing->units[i].busy), double(timing->counted()) * std::max(machine.units[i].count, 1)};
    if (kind == Kind::Storage && i < Index(timing->storages.size())) {
      const int32_t beats = std::min(machine.storages[i].ports, machine.storages[i].banks);
      return {double(timing->storages[i].beats), double(timing->counted()) * std::max(beats, 1)};
    }
    return {0, -1};
  }
  void uses() {
    for (DiagramPart &part : made.parts) {
      double busy = 0, possible = 0;
      bool isKnown = false;
      for (Index member : part.members)
        if (const auto [one, max] = workOf(part.kind, member); max >= 0)
          busy += one, possible += max, isKnown = true;
      if (isKnown)
        part.use = possible > 0 ? std::clamp(busy / possible, 0.0, 1.0) : 0;
    }
  }

  /// The block of the hardware that an instruction waits for, or is in.
  Index blockOf(const WaitedFor &is) const {
    const std::optional<Kind> kind = blockKind(is.wait);
    return kind ? blockAt(*kind, *kind == Kind::Fetch ? 0 : is.of) : kNone;
  }
  Index blockAt(Kind kind, Index member) const {
    const auto at = blocks.find({kind, member});
    return at == blocks.end() ? kNone : at->second;
  }
  void bottleneck() {
    std::vector<double> cycles(made.parts.size(), 0);
    for (const WaitedFor &is : timing->waits)
      if (const Index block = blockOf(is); block != kNone)
        cycles[block] += double(is.oldest);
    Index best = Index(std::ranges::max_element(cycles) - cycles.begin());
    if (cycles[best] > 0) {
      made.parts[best].waited = cycles[best] / double(std::max<Cycles>(timing->counted(), 1));
    } else {
      best = Index(std::ranges::max_element(made.parts, {}, &DiagramPart::use) - made.parts.begin());
      if (made.parts[best].use <= 0)
        return;
    }
    made.parts[best].isBottleneck = true;
  }

  void edge(DiagramEdge::Kind kind, Index from, Index to) {
    if (from != kNone && to != kNone)
      ++counts[{kind, from, to, 0}];
  }
  void edges() {
    using Edge = DiagramEdge::Kind;
    edge(Edge::Forward, 0, blockAt(Kind::Stage, machine.fetch.to));
    for (Index s = 0; s < Index(machine.stages.size()); ++s)
      for (Index to : machine.stages[s].to)
        edge(Edge::Forward, blockAt(Kind::Stage, s), blockAt(Kind::Stage, to));
    for (Index u = 0; u < Index(machine.units.size()); ++u) {
      const Index from = blockAt(Kind::Unit, u);
      for (Index file : machine.units[u].reads)
        edge(Edge::Reads, from, blockAt(Kind::Registers, file));
      for (Index file : machine.units[u].writes)
        edge(Edge::Writes, from, blockAt(Kind::Registers, file));
      for (Index storage : machine.units[u].loadsFrom)
        edge(Edge::Loads, from, blockAt(Kind::Storage, storage));
      for (Index storage : machine.units[u].storesTo)
        edge(Edge::Stores, from, blockAt(Kind::Storage, storage));
    }
    for (Index s = 0; s < Index(machine.storages.size()); ++s)
      if (machine.storages[s].cache)
        edge(Edge::Behind, blockAt(Kind::Storage, s), blockAt(Kind::Storage, machine.storages[s].cache->behind));
    for (auto &[key, count] : counts)
      made.edges.push_back({key.kind, key.from, key.to, count});
  }

  // -- Text

  void add(DiagramPart &part, std::string line) {
    if (!line.empty())
      part.text.push_back({Look::Plain, std::move(line)});
  }
  void text(DiagramPart &part) {
    std::string shape;
    if (part.grid.rows > 0)
      shape = fmt::format("{} × {}", part.grid.rows, part.grid.columns);
    std::string right = part.use < 0 ? "" : percent(part.use);
    if (part.kind == Kind::Unit && machine.units[part.members[0]].count > 1)
      shape += fmt::format("{}× {}", shape.empty() ? "" : " ", machine.units[part.members[0]].count);
    part.text.push_back({Look::Title, part.name + (shape.empty() ? "" : "  " + shape), std::move(right)});
    switch (part.kind) {
    case Kind::Fetch:
      add(part, fmt::format("width {}, buffer {}", machine.fetch.width, machine.fetch.buffer));
      add(part, "latency " + counted(machine.fetch.latency, "cycle"));
      break;
    case Kind::Stage:
      stageText(part, machine.stages[part.members[0]]);
      break;
    case Kind::Unit:
      unitText(part, machine.units[part.members[0]]);
      break;
    case Kind::Registers:
      registersText(part, machine.registers[part.members[0]]);
      break;
    case Kind::Storage:
      storageText(part, machine.storages[part.members[0]]);
      break;
    }
    if (part.grid.step > 1)
      add(part, fmt::format("a square is {0} × {0} of them", part.grid.step));
    if (part.isBottleneck)
      part.text.push_back({Look::Bottleneck, part.waited > 0 ? "bottleneck: " + percent(part.waited) + " of cycles"
                                                             : "highest utilization"});
    for (DiagramText &line : part.text) {
      line.left = printable(line.left), line.right = printable(line.right);
      part.detail += fmt::format("{}{}{}{}", part.detail.empty() ? "" : "\n", line.left, line.right.empty() ? "" : ": ",
                                 line.right);
      fit(line);
    }
    part.name = printable(part.name);
  }

  /// Shortens the lines that are too wide.
  static void fit(DiagramText &line) {
    const bool isBold = line.look != Look::Plain;
    const double size = line.look == Look::Title ? kTitleSize : kTextSize;
    auto shorten = [&](std::string &text, int32_t width) {
      if (textWidth(text, size, isBold) <= width)
        return;
      text.resize(std::min(text.size(), size_t{4} * kMaxText)); // no character is narrower than a pixel
      while (!text.empty() && textWidth(text + "…", size, isBold) > width) {
        while (text.size() > 1 && (text.back() & 0xc0) == 0x80)
          text.pop_back();
        text.pop_back();
      }
      text += "…";
    };
    const int32_t left = line.left.empty() ? 0 : textWidth(line.left, size, isBold) + kTextGap;
    shorten(line.right, std::max(kMaxText - left, kMaxText / 2));
    const int32_t right = line.right.empty() ? 0 : textWidth(line.right, size, isBold) + kTextGap;
    if (!line.left.empty())
      shorten(line.left, kMaxText - right);
  }

  void stageText(DiagramPart &part, const Stage &stage) {
    const std::string capacity = fmt::format("capacity {}, width {}", stage.capacity, stage.width);
    const std::string latency = cyclesText(stage.latency);
    const std::string last = "latency " + latency + (latency == "1" ? " cycle" : " cycles");
    if (part.isExecute) {
      add(part, capacity + ", " + last);
    } else {
      add(part, capacity);
      add(part, last);
    }
  }

  void unitText(DiagramPart &part, const Unit &unit) {
    // Operations of the same times share their line.
    std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> times;
    for (const UnitOperation &operation : unit.operations) {
      const std::string latency = cyclesText(operation.latency), interval = cyclesText(operation.interval);
      const std::pair<std::string, std::string> time{latency + (latency == "1" ? " cycle" : " cycles"),
                                                     interval == "1" ? "" : "every " + interval};
      auto at = std::ranges::find(times, time, &decltype(times)::value_type::first);
      if (at == times.end())
        at = times.insert(times.end(), {time, {}});
      if (operation.opcode >= 0 && operation.opcode < Index(machine.opcodes.size()))
        at->second.push_back(machine.opcodes[operation.opcode].name);
    }
    for (const auto &[time, opcodes] : times) {
      const auto &[latency, interval] = time;
      const std::string both = latency + (interval.empty() ? "" : ", " + interval);
      const int32_t right = textWidth(both, kTextSize, false);
      std::vector<std::string> lines = wrap(opcodes, kMaxText);
      const bool fits = lines.size() == 1 && textWidth(lines[0], kTextSize, false) + kTextGap + right <= kMaxText;
      const bool isBeside = fits || right < kMaxText * 45 / 100;
      if (isBeside)
        lines = wrap(opcodes, kMaxText - right - kTextGap);
      for (size_t l = 0; l < lines.size(); ++l)
        part.text.push_back({Look::Plain, lines[l], isBeside && l == 0 ? both : ""});
      if (isBeside)
        continue;
      // Below the operations, in two lines where one is too short.
      part.text.push_back({Look::Plain, "", right <= kMaxText ? both : latency});
      if (right > kMaxText && !interval.empty())
        part.text.push_back({Look::Plain, "", interval});
    }
    if (unit.entries > 1)
      add(part, fmt::format("{} entries", unit.entries));
    const std::vector<std::string> around = neighbours(part);
    if (!around.empty())
      for (const std::string &line : wrap(around, kMaxText))
        add(part, line);
  }

  /// "a from west" of units in an array that read registers of the copies next to them.
  std::vector<std::string> neighbours(const DiagramPart &part) {
    std::vector<std::string> found;
    if (part.grid.rows == 0)
      return found;
    std::map<std::pair<Index, std::pair<int32_t, int32_t>>, bool> sides;
    const Copy first = *copyNamed(machine.units[part.members[0]].name);
    for (Index member : part.members) {
      const Copy at = *copyNamed(machine.units[member].name);
      for (Index file : machine.units[member].reads) {
        const Index block = blockAt(Kind::Registers, file);
        if (block == kNone || made.parts[block].grid.rows == 0)
          continue;
        const Copy of = *copyNamed(machine.registers[file].name);
        if (of.array == first.array)
          sides[{block, {of.row - at.row, of.column - at.column}}] = true;
      }
    }
    constexpr std::pair<std::pair<int32_t, int32_t>, const char *> kSides[] = {
        {{0, -1}, "west"}, {{-1, 0}, "north"}, {{0, 1}, "east"}, {{1, 0}, "south"}};
    for (const auto &[side, unused] : sides)
      for (const auto &[offset, name] : kSides)
        if (side.second == offset)
          found.push_back(fmt::format(
              "{} from {}", copyNamed(machine.registers[made.parts[side.first].members[0]].name)->part, name));
    return found;
  }

  void registersText(DiagramPart &part, const RegisterFile &file) {
    add(part, fmt::format("{} × {} bit{}", file.count, file.bits, file.renamed ? ", renamed" : ""));
    if (file.readPorts > 0 || file.writePorts > 0)
      add(part, fmt::format("ports: {} read, {} write", file.readPorts > 0 ? std::to_string(file.readPorts) : "all",
                            file.writePorts > 0 ? std::to_string(file.writePorts) : "all"));
  }

  void storageText(DiagramPart &part, const Storage &of) {
    if (of.cache) {
      const Storage::Cache &cache = *of.cache;
      const double bytes = double(cache.sets) * cache.ways * cache.lineBytes;
      constexpr const char *kReplacement[] = {"LRU", "FIFO", "tree PLRU"};
      add(part, fmt::format("cache of {}, {}", formatBytes(bytes), kReplacement[int(cache.replacement)]));
      add(part,
          fmt::format("{} × {} ways of {}", counted(cache.sets, "set"), cache.ways, formatBytes(cache.lineBytes)));
      add(part,
          fmt::format("write {}{}", cache.writeBack ? "back" : "through", cache.allocatesOnWrite ? ", allocates" : ""));
      if (cache.criticalWordFirst)
        add(part, "critical word first");
    } else {
      add(part, formatBytes(double(of.end) - double(of.begin)));
    }
    add(part,
        fmt::format("{} of {}, {}", counted(of.ports, "port"), formatBytes(of.portBytes), counted(of.banks, "bank")));
    add(part, fmt::format("read {}, write {} cycles", of.readLatency, of.writeLatency));
    add(part, of.cache ? fmt::format("{} miss{} at once", of.requests, of.requests == 1 ? "" : "es")
                       : counted(of.requests, "request") + " at once");
    if (of.rows.bytes > 0)
      add(part, fmt::format("rows of {}, miss {}", formatBytes(double(of.rows.bytes)), counted(of.rows.miss, "cycle")));
    if (!timing || !of.cache)
      return;
    double hits = 0, all = 0;
    for (Index member : part.members)
      if (member < Index(timing->storages.size())) {
        hits += double(timing->storages[member].hits);
        all += double(timing->storages[member].hits) + double(timing->storages[member].misses);
      }
    if (all > 0)
      part.text.push_back({Look::Plain, "hit rate", percent(hits / all)});
  }

  const Microarchitecture &machine;
  const InstructionTiming *timing;
  Diagram made;
  std::vector<Index> stageOfUnit;
  std::map<std::pair<Kind, Index>, Index> blocks;
  std::map<DiagramEdge, int64_t> counts;
};

} // namespace

std::optional<DiagramPart::Kind> blockKind(Wait wait) {
  switch (wait) {
  case Wait::FetchWidth:
  case Wait::FetchBuffer:
  case Wait::Redirect:
  case Wait::Fence:
  case Wait::FetchLatency:
    return Kind::Fetch;
  case Wait::StageWidth:
  case Wait::StageFull:
  case Wait::StageLatency:
  case Wait::StageOrder:
    return Kind::Stage;
  case Wait::UnitFull:
  case Wait::UnitBusy:
  case Wait::Operand:
  case Wait::Execution:
    return Kind::Unit;
  case Wait::OutputOrder:
  case Wait::AntiOrder:
  case Wait::ReadPorts:
  case Wait::WritePorts:
    return Kind::Registers;
  case Wait::Memory:
    return Kind::Storage;
  case Wait::Window:
    return std::nullopt;
  }
  return std::nullopt;
}

DiagramPart::Matrix DiagramPart::matrix() const {
  if (grid.rows == 0 || kind == Kind::Registers)
    return {};
  int32_t columns = (grid.columns + grid.step - 1) / grid.step, rows = (grid.rows + grid.step - 1) / grid.step;
  if (columns == 1)
    std::swap(columns, rows);
  return {rows, columns, std::clamp(std::min(192 / columns, 132 / rows), 2, 11)};
}

std::string printable(const std::string &text) {
  std::string out;
  const std::string valid = llvm::json::fixUTF8(text);
  for (size_t i = 0; i < valid.size();) {
    const unsigned char c = static_cast<unsigned char>(valid[i]);
    const size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    const std::string_view one(valid.data() + i, std::min(length, valid.size() - i));
    const bool controls = c < 0x20 || c == 0x7f ||
                          (c == 0xc2 && one.size() == 2 && static_cast<unsigned char>(one[1]) < 0xa0) ||
                          (one >= "\u200b" && one <= "\u200f") || (one >= "\u2028" && one <= "\u202e") ||
                          (one >= "\u2060" && one <= "\u206f") || one == "\xef\xbf\xbe" || one == "\xef\xbf\xbf";
    out += controls ? std::string_view("\ufffd") : one;
    i += length;
  }
  return out;
}

std::string grouped(__int128 count) {
  std::string text = fmt::format("{}", count);
  for (size_t at = text.size(); at > 3 + size_t(count < 0); at -= 3)
    text.insert(at - 3, "\u202f");
  return text;
}

int32_t textWidth(const std::string &text, double size, bool isBold) {
  // Widths of DejaVu Sans, rounded up, in thousandths of its size.
  int64_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    constexpr std::string_view kNarrow = "ijlI.,:;'|! /\\-ftr()[]";
    if ((c & 0xc0) == 0x80)
      continue; // of the character before
    if (c >= 0xe1)
      width += 1250;
    else if (c >= 0x80)
      width += 900;
    else if (kNarrow.find(char(c)) != std::string_view::npos)
      width += 415;
    else if (c == 'm' || c == 'w' || c == 'M' || c == 'W' || c == '@' || c == '%')
      width += 1000;
    else if ((c >= 'A' && c <= 'Z') || c == '+' || c == '=' || c == '<' || c == '>' || c == '&' || c == '#')
      width += 840;
    else
      width += 640;
  }
  return int32_t(std::min<double>(std::ceil(double(width) * size * (isBold ? 1.1 : 1) / 1000), 1e6));
}

Diagram diagramOf(const Microarchitecture &machine, const InstructionTiming *timing) {
  return DiagramBuilder(machine, timing).run();
}

} // namespace accord::microarchitecture
