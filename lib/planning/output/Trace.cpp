#include "lib/planning/output/Trace.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/Tracks.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace llvm;
namespace accord {
namespace {

constexpr int kCores = 1, kStructure = 2, kMemory = 3; // process ids
using Time = __int128;                                 // picoseconds; many micro-batches pass 63 bits

double micros(Time ps) { return ps * 1e-6; }

class Tracer {
public:
  Tracer(const Plan &plan, const TraceLimits &limits) : plan(plan), limit(limits.slices), tids(numberTracks(plan, 1)) {}

  json::Value run() {
    names();
    microbatches();
    if (plan.schedule.regions.size() > kUpdateRegion && length(kUpdateRegion) > 0) {
      Time start = length(kMicrobatchRegion) * plan.graph.microbatches;
      structure("update", start, length(kUpdateRegion), 0, 1);
      expand(kUpdateRegion, start, 1);
    }
    for (const MemoryPoint &p : plan.memory.timeline) {
      json::Object bytes;
      for (unsigned c = 0; c < kCategories; ++c)
        bytes[name(static_cast<Category>(c))] = p.bytes[c];
      events.push_back(json::Object{{"name", "device memory (bytes)"},
                                    {"ph", "C"},
                                    {"pid", kMemory},
                                    {"ts", micros(p.time.value)},
                                    {"args", std::move(bytes)}});
    }
    return json::Object{{"displayTimeUnit", "ms"},
                        {"otherData", json::Object{{"model", jsonString(plan.graph.model)},
                                                   {"machine", jsonString(plan.machine.name)},
                                                   {"version", jsonString(plan.version)}}},
                        {"traceEvents", std::move(events)}};
  }

private:
  Time length(RegionId r) const {
    return r < plan.schedule.regions.size() ? Time(plan.schedule.regions[r].length.value) : Time(0);
  }

  void named(StringRef what, int pid, int tid, StringRef text, int order) {
    for (bool sort : {false, true})
      events.push_back(json::Object{
          {"name", sort ? what.str() + "_sort_index" : what.str() + "_name"},
          {"ph", "M"},
          {"pid", pid},
          {"tid", tid},
          {"args", sort ? json::Object{{"sort_index", order}} : json::Object{{"name", jsonString(text)}}}});
  }

  void names() {
    named("process", kStructure, 0, "step", 1);
    named("process", kCores, 0, "cores of " + plan.machine.name, 2);
    named("process", kMemory, 0, "memory", 3);
    for (auto [track, tid] : tids)
      named("thread", kCores, tid, nameOf(plan, track), tid);
    named("thread", kStructure, 1, "micro-batches and update", 1);
    named("thread", kStructure, 2, "repeats", 2);
  }

  void slice(int pid, int tid, const std::string &text, Time start, Time duration, json::Object args) {
    events.push_back(json::Object{{"name", jsonString(text)},
                                  {"ph", "X"},
                                  {"pid", pid},
                                  {"tid", tid},
                                  {"ts", micros(start)},
                                  {"dur", micros(duration)},
                                  {"args", std::move(args)}});
  }
  void structure(const std::string &text, Time start, Time duration, int depth, int64_t iterations) {
    slice(kStructure, depth + 1, text, start, duration, json::Object{{"iterations", iterations}});
  }

  /// Busy time of each core instance in one iteration of a region, repeats included.
  const std::map<Track, Time> &busy(RegionId r) {
    auto [it, fresh] = busyOf.try_emplace(r);
    if (!fresh)
      return it->second;
    std::map<Track, Time> sum;
    for (const Slot &slot : plan.schedule.regions[r].slots) {
      RegionId body = plan.graph.operations[slot.operation].body;
      if (body != kNone)
        for (const auto &[track, time] : busy(body))
          sum[track] += time * plan.graph.regions[body].count;
      else
        for (Track track : tracksOf(plan, slot))
          sum[track] += slot.duration.value;
    }
    return busyOf[r] = sum;
  }

  /// `count` iterations as one slice on each core that they use.
  void summarize(RegionId r, const std::string &text, Time start, int64_t count) {
    if (count <= 0 || length(r) <= 0)
      return;
    for (const auto &[track, time] : busy(r))
      if (time > 0)
        slice(kCores, tids[track], text, start, length(r) * count,
              json::Object{{"iterations", count}, {"busy", static_cast<double>(time) / length(r)}, {"summary", true}});
  }

  /// First and last iteration in full, what is between as a summary; all as a summary when there is
  /// no room.
  void iterate(RegionId r, const std::string &what, Time start, int64_t count, function_ref<void(Time)> one) {
    auto room = [&] { return events.size() + plan.schedule.regions[r].slots.size() <= limit; };
    std::string text = what + " x " + std::to_string(count);
    if (count > 0 && !room())
      return summarize(r, text, start, count);
    if (count > 0)
      one(start);
    if (count > 2)
      summarize(r, what + " x " + std::to_string(count - 2), start + length(r), count - 2);
    Time last = start + length(r) * (count - 1);
    if (count > 1 && room())
      one(last);
    else if (count > 1)
      summarize(r, what + " x 1", last, 1);
  }

  void microbatches() {
    if (plan.schedule.regions.empty())
      return;
    int64_t count = plan.graph.microbatches;
    if (count > 2)
      structure("micro-batches 2.." + std::to_string(count - 1), length(0), length(0) * (count - 2), 0, count - 2);
    for (int64_t m : {int64_t(0), count - 1})
      if (m == 0 || count > 1)
        structure("micro-batch " + std::to_string(m + 1), length(0) * m, length(0), 0, 1);
    iterate(kMicrobatchRegion, "micro-batch", 0, count, [&](Time start) { expand(kMicrobatchRegion, start, 1); });
  }

  void expand(RegionId r, Time origin, int depth) {
    for (const Slot &slot : plan.schedule.regions[r].slots) {
      const Operation &op = plan.graph.operations[slot.operation];
      Time start = origin + slot.start.value;
      if (op.body != kNone && op.body < plan.schedule.regions.size() && depth < 64) {
        const Region &body = plan.graph.regions[op.body];
        if (events.size() > limit + 64)
          continue;
        structure(body.name + " x " + std::to_string(body.count), start, length(op.body) * body.count, depth,
                  body.count);
        iterate(op.body, body.name, start, body.count, [&](Time at) { expand(op.body, at, depth + 1); });
        continue;
      }
      if (slot.core < 0 || slot.duration.value == 0)
        continue;
      const OperationCost &cost = plan.costs.operations[slot.operation];
      double bytes = std::accumulate(cost.bytes.begin(), cost.bytes.end(), Bytes()).value;
      for (Track track : tracksOf(plan, slot))
        slice(kCores, tids[track], op.name, start, slot.duration.value,
              json::Object{{"flops", op.flops},
                           {"bytes", bytes},
                           {"bound", jsonString(cost.bound)},
                           {"phase", name(op.phase)},
                           {"critical", isCritical(plan, slot.operation)},
                           {"iterations", 1}});
    }
  }

  const Plan &plan;
  size_t limit;
  std::map<Track, int> tids;
  json::Array events;
  std::map<RegionId, std::map<Track, Time>> busyOf;
};

} // namespace

json::Value toTrace(const Plan &plan, const TraceLimits &limits) { return Tracer(plan, limits).run(); }

} // namespace accord
