#include "lib/microarchitecture/output/MicroarchitecturePage.h"
#include "lib/microarchitecture/output/BlockDiagram.h"
#include "lib/microarchitecture/output/DiagramParts.h"
#include "lib/microarchitecture/output/WaitText.h"
#include "lib/report/ReportPage.h"
#include "lib/support/StableSort.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr size_t kMaxRows = 200; // of a table

/// Utilization of the members of a block: of all, and from where to where that of each goes.
void addUse(json::Object &row, const DiagramPart &part) {
  row["use"] = std::max(part.use, 0.0);
  double low = 1, high = 0;
  for (double use : part.grid.use)
    if (use >= 0)
      low = std::min(low, use), high = std::max(high, use);
  if (low < high)
    row["low"] = low, row["high"] = high;
}

json::Array units(const Diagram &diagram, const Microarchitecture &machine, const InstructionTiming &timing) {
  json::Array rows;
  for (const DiagramPart &part : diagram.parts) {
    if (part.kind != DiagramPart::Kind::Unit)
      continue;
    int64_t count = 0;
    InstructionTiming::UnitUse sum;
    for (Index u : part.members) {
      count += machine.units[u].count;
      if (u < Index(timing.units.size()))
        sum.instructions += timing.units[u].instructions, sum.busy += timing.units[u].busy;
    }
    json::Object row{
        {"name", jsonString(part.name)}, {"count", grouped(count)},         {"instructions", grouped(sum.instructions)},
        {"busy", grouped(sum.busy)},     {"bottleneck", part.isBottleneck}, {"waited", part.waited}};
    addUse(row, part);
    rows.push_back(std::move(row));
  }
  return rows;
}

json::Array memories(const Diagram &diagram, const Microarchitecture &machine, const InstructionTiming &timing) {
  json::Array rows;
  for (const DiagramPart &part : diagram.parts) {
    if (part.kind != DiagramPart::Kind::Storage)
      continue;
    InstructionTiming::StorageUse sum;
    __int128 bytes = 0;
    for (Index s : part.members)
      if (s < Index(timing.storages.size())) {
        const InstructionTiming::StorageUse &use = timing.storages[s];
        sum.beats += use.beats, sum.hits += use.hits, sum.misses += use.misses, sum.writeBacks += use.writeBacks;
        bytes += use.beats * machine.storages[s].portBytes;
      }
    json::Object row{{"name", jsonString(part.name)},
                     {"beats", grouped(sum.beats)},
                     {"bytes", double(bytes)},
                     {"bottleneck", part.isBottleneck},
                     {"waited", part.waited}};
    if (machine.storages[part.members[0]].cache) {
      row["hits"] = grouped(sum.hits), row["misses"] = grouped(sum.misses);
      row["writeBacks"] = grouped(sum.writeBacks);
      if (const double all = double(sum.hits) + double(sum.misses); all > 0)
        row["hitRate"] = double(sum.hits) / all;
    }
    addUse(row, part);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// By cycles of the oldest; what copies in an array are waited for is one row if it reads the same but for its numbers.
json::Array waits(const Diagram &diagram, const Microarchitecture &machine, const InstructionTiming &timing) {
  std::map<std::pair<DiagramPart::Kind, Index>, const DiagramPart *> blocks;
  for (const DiagramPart &part : diagram.parts)
    for (Index member : part.members)
      blocks[{part.kind, member}] = &part;
  struct Row {
    std::string text;
    __int128 oldest = 0, all = 0;
  };
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  for (const WaitedFor &is : timing.waits) {
    std::string text = waitText(is.wait, is.of, machine);
    // The name of the block in place of that of the part.
    const std::optional<DiagramPart::Kind> kind = blockKind(is.wait);
    const auto at = kind ? blocks.find({*kind, is.of}) : blocks.end();
    if (at != blocks.end() && at->second->members.size() > 1)
      if (const size_t quote = text.find('\''); quote != std::string::npos)
        text = text.substr(0, quote) + "'" + at->second->name + "'";
    auto [row, isNew] = known.try_emplace(text, rows.size());
    if (isNew)
      rows.push_back({text});
    rows[row->second].oldest += is.oldest, rows[row->second].all += is.all;
  }
  stableSort(rows, [](const Row &a, const Row &b) { return std::pair(a.oldest, a.all) > std::pair(b.oldest, b.all); });
  rows.resize(std::min(rows.size(), kMaxRows));
  const __int128 timed = timing.bounds ? timing.bounds->timed : timing.instructions;
  json::Array all;
  for (const Row &row : rows)
    all.push_back(json::Object{{"text", jsonString(row.text)},
                               {"oldest", grouped(row.oldest)},
                               {"share", double(row.oldest) / double(std::max<Cycles>(timing.counted(), 1))},
                               {"each", double(row.all) / double(std::max<__int128>(timed, 1))}});
  return all;
}

/// By loop: from where to where the numbers of its recurrences go.
json::Array recurrences(const InstructionProgram &program, const InstructionTiming &timing) {
  std::map<Index, std::vector<const Recurrence *>> loops;
  for (const Recurrence &is : timing.recurrences)
    if (is.loop >= 0 && is.loop < Index(program.loops.size()))
      loops[is.loop].push_back(&is);
  json::Array rows;
  for (const auto &[number, of] : loops) {
    auto range = [&of = of](int64_t Recurrence::*field) {
      const auto [low, high] = std::ranges::minmax_element(of, {}, [&](const Recurrence *is) { return is->*field; });
      const std::string text = grouped((*low)->*field);
      return (*low)->*field == (*high)->*field ? text : text + " to " + grouped((*high)->*field);
    };
    const InstructionLoop &loop = program.loops[number];
    rows.push_back(json::Object{{"loop", jsonString(loop.name)},
                                {"iterations", grouped(loop.count)},
                                {"count", grouped(int64_t(of.size()))},
                                {"first", range(&Recurrence::first)},
                                {"period", range(&Recurrence::period)},
                                {"growth", range(&Recurrence::growth)},
                                {"repeats", range(&Recurrence::repeats)}});
    if (rows.size() == kMaxRows)
      break;
  }
  return rows;
}

} // namespace

json::Object coreData(const Microarchitecture &machine, const InstructionTiming &timing) {
  const Diagram diagram = diagramOf(machine, &timing);
  json::Object data{{"machine", jsonString(machine.name)},
                    {"cycles", grouped(timing.cycles)},
                    {"instructions", grouped(timing.instructions)},
                    {"evaluated", grouped(timing.evaluated)},
                    {"perCycle", timing.cycles > 0 ? double(timing.instructions) / double(timing.cycles) : 0.0},
                    {"diagram", jsonString(blockDiagram(machine, &timing))},
                    {"units", units(diagram, machine, timing)},
                    {"memories", memories(diagram, machine, timing)},
                    {"waited", waits(diagram, machine, timing)}};
  if (timing.bounds)
    data["low"] = grouped(timing.bounds->low), data["high"] = grouped(timing.bounds->high);
  for (const DiagramPart &part : diagram.parts)
    if (part.isBottleneck)
      data["bottleneck"] = jsonString(part.name), data["bottleneckShare"] = part.waited;
  return data;
}

void addExecutions(InstructionTiming &sum, const InstructionTiming &of, __int128 times) {
  auto added = [&](Cycles before, Cycles one) {
    constexpr __int128 kMax = __int128(1) << 62;
    return Cycles(std::min(before + one * std::min(times, kMax), kMax));
  };
  const bool isBounded = sum.bounds || of.bounds;
  const Cycles low = added(sum.bounds ? sum.bounds->low : sum.cycles, of.bounds ? of.bounds->low : of.cycles);
  const Cycles high = added(sum.bounds ? sum.bounds->high : sum.cycles, of.bounds ? of.bounds->high : of.cycles);
  sum.cycles = added(sum.cycles, of.cycles);
  sum.instructions += of.instructions * times;
  if (isBounded) // what units and memories did is of all of it
    sum.bounds = {.low = low, .high = high, .reached = sum.cycles, .timed = sum.instructions};
  // What was timed, of all that is executed.
  const double timed = of.bounds ? double(of.bounds->timed) / double(std::max<__int128>(of.instructions, 1)) : 1;
  auto add = [&](__int128 &into, __int128 count) {
    into += timed == 1 || timed <= 0 ? count * times : __int128(double(count) / timed * double(times));
  };
  sum.units.resize(std::max(sum.units.size(), of.units.size()));
  for (size_t u = 0; u < of.units.size(); ++u)
    add(sum.units[u].instructions, of.units[u].instructions), add(sum.units[u].busy, of.units[u].busy);
  sum.storages.resize(std::max(sum.storages.size(), of.storages.size()));
  for (size_t s = 0; s < of.storages.size(); ++s) {
    InstructionTiming::StorageUse &into = sum.storages[s];
    add(into.beats, of.storages[s].beats), add(into.hits, of.storages[s].hits);
    add(into.misses, of.storages[s].misses), add(into.writeBacks, of.storages[s].writeBacks);
  }
}

std::string microarchitecturePage(const Microarchitecture &machine, const InstructionProgram &program,
                                  const InstructionTiming &timing, StringRef document) {
  return pageOf(Page::Microarchitecture, program.name + " on " + machine.name, document,
                json::Object{{"program", jsonString(program.name)},
                             {"machine", jsonString(machine.name)},
                             {"version", kVersion},
                             {"ofStep", false},
                             {"cores", json::Array{coreData(machine, timing)}},
                             {"recurrences", recurrences(program, timing)}});
}

} // namespace accord::microarchitecture
