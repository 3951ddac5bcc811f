#include "lib/microarchitecture/output/TimingDocument.h"
#include "lib/microarchitecture/output/WaitText.h"
#include "lib/support/documents/SummaryLines.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr size_t kMaxRows = 20; // of a table on the terminal
constexpr StringLiteral kWaits[] = {"fetch_width", "fetch_buffer", "redirect",      "fence",        "fetch_latency",
                                    "stage_width", "stage_full",   "stage_latency", "stage_order",  "unit_full",
                                    "window",      "unit_busy",    "operand",       "output_order", "anti_order",
                                    "read_ports",  "execution",    "memory",        "write_ports"};

using UnitUse = InstructionTiming::UnitUse;
using StorageUse = InstructionTiming::StorageUse;

double ratio(__int128 part, double whole) { return whole > 0 ? double(part) / whole : 0; }

/// At most 1: the last instructions may keep a unit busy beyond the end of the program.
double utilization(const UnitUse &use, int64_t count, Cycles cycles) {
  return std::min(ratio(use.busy, double(cycles) * double(count)), 1.0);
}
double utilization(const StorageUse &use, const Storage &storage, Cycles cycles) {
  return std::min(ratio(use.beats, double(cycles) * std::min(storage.ports, storage.banks)), 1.0);
}
double cyclesPerInstruction(const InstructionTiming &timing) {
  return ratio(timing.cycles, double(timing.instructions));
}

std::string percent(double of) { return fmt::format("{:.1f} %", 100 * of); }

/// Digits in groups of three.
std::string grouped(__int128 count) {
  std::string text = fmt::format("{}", count);
  for (size_t at = text.size(); at > 3 + (count < 0); at -= 3)
    text.insert(at - 3, ",");
  return text;
}

/// The rest of the rows of a table is only counted.
std::string andMore(size_t rows) { return rows > kMaxRows ? fmt::format("and {} more\n", rows - kMaxRows) : ""; }

// ---- Text

/// Recurrences of one loop: what all have in common, or from where to where it goes.
struct LoopRecurrences {
  std::vector<const Recurrence *> all;

  std::string range(int64_t Recurrence::*of) const {
    auto [low, high] = std::minmax_element(all.begin(), all.end(), [&](auto *a, auto *b) { return a->*of < b->*of; });
    std::string text = grouped((*low)->*of);
    return (*low)->*of == (*high)->*of ? text : text + ".." + grouped((*high)->*of);
  }
};

std::string recurrencesText(const TimedProgram &answer, const TextStyle &style) {
  std::map<Index, LoopRecurrences> loops;
  for (const Recurrence &is : answer.timing.recurrences)
    loops[is.loop].all.push_back(&is);
  if (loops.empty())
    return "";
  TextTable table("lrrrrrr", {"loop", "iterations", "recurrences", "first", "period", "cycles of a period", "repeats"});
  size_t rows = 0;
  for (const auto &[number, of] : loops)
    if (const InstructionLoop &loop = answer.program.loops[number]; rows++ < kMaxRows)
      table.row({loop.name, grouped(loop.count), grouped(of.all.size()), of.range(&Recurrence::first),
                 of.range(&Recurrence::period), of.range(&Recurrence::growth), of.range(&Recurrence::repeats)});
  return "\n" + table.text(style) + andMore(rows);
}

/// Of units of an array, `mesh_0_1_mac`, those of all positions: `mesh_*_*_mac`.
std::string ofAllPositions(StringRef name) {
  std::string made;
  while (!name.empty()) {
    StringRef part = name.take_until([](char c) { return c == '_'; });
    name = name.drop_front(part.size());
    made += !made.empty() && !part.empty() && all_of(part, isDigit) ? "*" : part.str();
    if (name.consume_front("_"))
      made += "_";
  }
  return made;
}

std::string unitsText(const TimedProgram &answer, const TextStyle &style) {
  struct Row {
    std::string name;
    int64_t count = 0;
    UnitUse use;
  };
  const std::vector<Unit> &units = answer.machine.units;
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  for (size_t u = 0; u < units.size(); ++u) {
    std::string name = units.size() > kMaxRows ? ofAllPositions(units[u].name) : units[u].name;
    auto [at, isNew] = known.try_emplace(name, rows.size());
    if (isNew)
      rows.push_back({name, 0, {}});
    Row &row = rows[at->second];
    row.count += units[u].count;
    row.use.instructions += answer.timing.units[u].instructions, row.use.busy += answer.timing.units[u].busy;
  }
  TextTable table("lrrrr", {"unit", "count", "instructions", "busy cycles", "utilization"});
  for (size_t r = 0; r < std::min(rows.size(), kMaxRows); ++r)
    table.row({rows[r].name, grouped(rows[r].count), grouped(rows[r].use.instructions), grouped(rows[r].use.busy),
               percent(utilization(rows[r].use, rows[r].count, answer.timing.counted()))});
  return "\n" + table.text(style) + andMore(rows.size());
}

std::string memoriesText(const TimedProgram &answer, const TextStyle &style) {
  const std::vector<Storage> &storages = answer.machine.storages;
  if (storages.empty())
    return "";
  TextTable table("lrrrrr", {"memory", "beats", "hits", "misses", "write-backs", "utilization"});
  for (size_t s = 0; s < std::min(storages.size(), kMaxRows); ++s) {
    const StorageUse &use = answer.timing.storages[s];
    auto ofCache = [&](__int128 count) -> std::string { return storages[s].cache ? grouped(count) : "-"; };
    table.row({storages[s].name, grouped(use.beats), ofCache(use.hits), ofCache(use.misses), ofCache(use.writeBacks),
               percent(utilization(use, storages[s], answer.timing.counted()))});
  }
  return "\n" + table.text(style) + andMore(storages.size());
}

/// The table of waits, without the rows of the rarest.
std::string waitsText(const TimedProgram &answer, const TextStyle &style) {
  const std::string all = waitTable(answer.timing, answer.machine, style);
  const size_t rows = answer.timing.waits.size(), heading = size_t(llvm::count(all, '\n')) - rows;
  size_t end = 0;
  for (size_t line = 0; line < heading + std::min(rows, kMaxRows); ++line)
    end = all.find('\n', end) + 1;
  return rows == 0 ? "" : "\n" + all.substr(0, end) + andMore(rows);
}

// ---- Document

struct TimeDocument {
  struct LoopRecurrence {
    std::string loop;
    Recurrence is;
  };
  struct Waited {
    Wait wait{};
    std::string text;
    Count oldest = 0, all = 0;
  };
  struct UsedUnit {
    std::string name;
    int64_t count = 1;
    UnitUse use;
    double utilization = 0;
  };
  struct UsedMemory {
    std::string name;
    bool isCache = false;
    StorageUse use;
    double utilization = 0;
  };
  std::string program, machine;
  Cycles cycles = 0;
  std::optional<double> seconds, clock;
  Count instructions = 0;
  int64_t evaluated = 0;
  double perInstruction = 0;
  std::vector<LoopRecurrence> recurrences;
  std::vector<Waited> waits;
  std::vector<UsedUnit> units;
  std::vector<UsedMemory> memories;
  std::string certificate; ///< SHA-256
};

void describeRecurrence(JsonFields &f, TimeDocument::LoopRecurrence &of) {
  Recurrence &is = of.is;
  f.field("loop", of.loop)
      .about("iterations of the loops around it, outermost first")
      .field("around", is.around)
      .about("iteration before which the state of the machine recurs")
      .field("first", is.first)
      .about("iterations until it recurs")
      .field("period", is.period, kFromOne)
      .about("cycles of a period")
      .field("growth", is.growth, IntegerRange{0, int64_t(1) << 62})
      .about("periods that were not evaluated")
      .field("repeats", is.repeats, kFromOne);
}

void describeWaited(JsonFields &f, TimeDocument::Waited &is) {
  f.field("wait", is.wait, describeWait)
      .about("in words")
      .field("text", is.text)
      .about("cycles in which the oldest instruction under way waits for it; those of all waits are all cycles")
      .field("oldest_cycles", is.oldest, describeCount)
      .about("the same, summed over all instructions from fetch to completion")
      .field("all_cycles", is.all, describeCount);
}

void describeUnit(JsonFields &f, TimeDocument::UsedUnit &is) {
  f.field("name", is.name)
      .about("instances")
      .field("count", is.count, kFromOne)
      .field("instructions", is.use.instructions, describeCount)
      .about("of all instances")
      .field("busy_cycles", is.use.busy, describeCount)
      .about("busy cycles over cycles times instances")
      .field("utilization", is.utilization, kShare);
}

void describeMemory(JsonFields &f, TimeDocument::UsedMemory &is) {
  f.field("name", is.name)
      .about("accesses of at most the width of a port")
      .field("beats", is.use.beats, describeCount)
      .about("of a cache, as all that follow")
      .maybeIf(is.isCache, "hits", is.use.hits, describeCount)
      .maybeIf(is.isCache, "misses", is.use.misses, describeCount)
      .maybeIf(is.isCache, "write_backs", is.use.writeBacks, describeCount)
      .about("beats over cycles times those that one cycle may have")
      .field("utilization", is.utilization, kShare);
}

void describeDocument(JsonFields &f, TimeDocument &is) {
  f.head("time")
      .field("program", is.program)
      .field("machine", is.machine)
      .about("at the end of the last instruction")
      .field("cycles", is.cycles, IntegerRange{0, int64_t(1) << 62})
      .about("absent where the clock is not known")
      .maybe("time_s", is.seconds)
      .maybe("clock_Hz", is.clock)
      .about("that the program executes")
      .field("instructions", is.instructions, describeCount)
      .about("of these, those whose times were computed; the others follow from recurrences")
      .field("evaluated", is.evaluated)
      .field("cycles_per_instruction", is.perInstruction)
      .about("in the order in which they were found")
      .field("recurrences", is.recurrences, describeRecurrence)
      .field("cycle_stack", is.waits, describeWaited)
      .field("units", is.units, describeUnit)
      .field("memories", is.memories, describeMemory)
      .about("of certificate/time.json, from which this follows")
      .field("certificate_sha256", is.certificate);
}

} // namespace

void describeWait(JsonVisitor &v, Wait &wait) {
  size_t index = size_t(wait);
  SmallVector<StringRef, 18> words(std::begin(kWaits), std::end(kWaits));
  v.word(index, words, "no such wait");
  if (v.reads())
    wait = Wait(index);
}

std::string timingText(const TimedProgram &answer, const TextStyle &style) {
  const InstructionTiming &timing = answer.timing;
  SummaryLines lines(style);
  if (answer.clock > 0)
    lines.add("time", fmt::format("{} at {}", formatSi(double(timing.cycles) / answer.clock, "s"),
                                  formatSi(answer.clock, "Hz")));
  lines.add("instructions",
            fmt::format("{}, of which {} were evaluated", grouped(timing.instructions), grouped(timing.evaluated)));
  lines.add("each takes", fmt::format("{:.4g} cycles on average", cyclesPerInstruction(timing)));
  return fmt::format("{} on {}: {} cycles\n", answer.program.name, answer.machine.name, grouped(timing.cycles)) +
         lines.text + recurrencesText(answer, style) + waitsText(answer, style) + unitsText(answer, style) +
         memoriesText(answer, style);
}

json::Value timingDocument(const TimedProgram &answer) {
  const InstructionTiming &timing = answer.timing;
  TimeDocument made;
  made.program = answer.program.name, made.machine = answer.machine.name;
  made.cycles = timing.cycles;
  if (answer.clock > 0)
    made.clock = answer.clock, made.seconds = double(timing.cycles) / answer.clock;
  made.instructions = timing.instructions, made.evaluated = timing.evaluated;
  made.perInstruction = cyclesPerInstruction(timing);
  for (const Recurrence &is : timing.recurrences)
    made.recurrences.push_back({answer.program.loops[is.loop].name, is});
  for (const WaitedFor &is : timing.waits)
    made.waits.push_back({is.wait, waitText(is.wait, is.of, answer.machine), is.oldest, is.all});
  for (size_t u = 0; u < timing.units.size(); ++u) {
    const Unit &unit = answer.machine.units[u];
    made.units.push_back(
        {unit.name, unit.count, timing.units[u], utilization(timing.units[u], unit.count, timing.counted())});
  }
  for (size_t s = 0; s < timing.storages.size(); ++s) {
    const Storage &storage = answer.machine.storages[s];
    made.memories.push_back({storage.name, storage.cache.has_value(), timing.storages[s],
                             utilization(timing.storages[s], storage, timing.counted())});
  }
  made.certificate = sha256Of(timingCertificate(answer));
  return toDocument(made, describeDocument);
}

json::Value timingSchema() { return schemaOf<TimeDocument>(describeDocument); }

} // namespace accord::microarchitecture
