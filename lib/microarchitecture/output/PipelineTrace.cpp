#include "lib/microarchitecture/output/PipelineTrace.h"
#include "lib/microarchitecture/output/WaitText.h"
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr int kFrontEnd = 1, kUnits = 2; // process ids

class PipelineTracer {
public:
  PipelineTracer(const Microarchitecture &machine, const InstructionProgram &program, const PipelineTraceLimits &limits)
      : machine(machine), program(program), limits(limits), engine(machine, program),
        executes(program.loops.size(), 0) {}

  json::Value run() {
    marked(program.body);
    walk(program.body);
    int64_t thread = 0;
    for (auto &[place, lanes] : tracks)
      for (size_t lane = 0; lane < lanes.events.size(); ++lane) {
        name("thread", place.first, ++thread, lane == 0 ? lanes.name : fmt::format("{} ({})", lanes.name, lane + 1));
        for (json::Object &event : lanes.events[lane]) {
          event["pid"] = place.first, event["tid"] = thread;
          events.push_back(std::move(event));
        }
      }
    name("process", kFrontEnd, 0, "stages");
    name("process", kUnits, 0, "units");
    return json::Object{{"displayTimeUnit", "ms"},
                        {"otherData", json::Object{{"program", jsonString(program.name)},
                                                   {"machine", jsonString(machine.name)},
                                                   {"instructions", engine.visits()},
                                                   {"cycles", engine.end()},
                                                   {"unit", "1 us is one cycle"},
                                                   {"version", kVersion}}},
                        {"traceEvents", std::move(events)}};
  }

private:
  /// The tracks of a place, as many as it had instructions at once.
  struct Lanes {
    std::string name;
    std::vector<Cycles> freeAt;                    ///< by track
    std::vector<std::vector<json::Object>> events; ///< by track, without its number
  };

  /// Marks the loops that execute an instruction.
  bool marked(const Body &body) {
    bool any = false;
    for (const Item &item : body) {
      if (item.loop != kNone)
        executes[item.loop] = program.loops[item.loop].count > 0 && marked(program.loops[item.loop].body);
      any |= item.loop == kNone ? !item.isFence() : executes[item.loop] != 0;
    }
    return any;
  }

  bool isDone() const { return engine.visits() >= limits.visits; }

  void walk(const Body &body) {
    for (const Item &item : body) {
      if (isDone())
        return;
      if (item.loop != kNone && executes[item.loop]) {
        const InstructionLoop &loop = program.loops[item.loop];
        loops.push_back(loop.name), iterations.push_back(0);
        for (int64_t k = 0; k < loop.count && !isDone(); ++k) {
          iterations.back() = k;
          walk(loop.body);
          engine.advance(item.loop, 1);
        }
        if (!isDone())
          engine.advance(item.loop, -loop.count);
        loops.pop_back(), iterations.pop_back();
      } else if (hasFence(program, {item})) {
        engine.fence();
      } else if (item.loop == kNone) {
        visit(item.instruction);
      }
    }
  }

  void visit(Index number) {
    const Instruction &instruction = program.instructions[number];
    std::vector<Stretch> way;
    const Visit is = engine.step(number, way);
    const std::string &opcode = machine.opcodes[instruction.opcode].name;
    json::Object args{{"instruction", jsonString(printInstruction(instruction, loops, machine))},
                      {"number", engine.visits() - 1}};
    for (size_t depth = 0; depth < loops.size(); ++depth)
      args[json::fixUTF8("loop " + loops[depth])] = iterations[depth];
    // The last stretch is the next fetch. Those of one place follow each other.
    Cycles from = is.fetch;
    for (size_t begin = 0, end = 0; begin + 1 < way.size() && from < is.issue; begin = end) {
      const Index stage = way[begin].stage;
      for (end = begin; end + 1 < way.size() && way[end].stage == stage && way[end].until <= is.issue; ++end)
        ;
      if (end == begin)
        break;
      Lanes &lanes = stage == kNone ? place(kFrontEnd, 0, "buffer of " + machine.fetch.name)
                                    : place(kFrontEnd, 1 + stage, "stage " + machine.stages[stage].name);
      slices(lanes, opcode, args, from, way[end - 1].until, {way.data() + begin, end - begin});
      from = way[end - 1].until;
    }
    size_t first = 0;
    while (first + 1 < way.size() && way[first].until <= is.issue)
      ++first;
    const Unit &unit = machine.units[is.unit];
    Lanes &lanes = place(kUnits, (int64_t(is.unit) << 32) + is.instance,
                         unit.count == 1 ? unit.name : fmt::format("{}[{}]", unit.name, is.instance));
    slices(lanes, opcode, args, is.issue, is.complete, {way.data() + first, way.size() - 1 - first});
  }

  Lanes &place(int process, int64_t number, const std::string &named) {
    auto [at, isNew] = tracks.try_emplace({process, number});
    if (isNew)
      at->second.name = named;
    return at->second;
  }

  /// One instruction in one place, and what it waited for there.
  void slices(Lanes &lanes, const std::string &opcode, const json::Object &args, Cycles from, Cycles until,
              ArrayRef<Stretch> way) {
    if (until <= from)
      return;
    size_t lane = 0;
    while (lane < lanes.freeAt.size() && lanes.freeAt[lane] > from)
      ++lane;
    if (lane == lanes.freeAt.size())
      lanes.freeAt.push_back(0), lanes.events.emplace_back();
    lanes.freeAt[lane] = until;
    std::vector<json::Object> &into = lanes.events[lane];
    into.push_back(slice(opcode, "instruction", from, until, json::Object(args)));
    for (const Stretch &stretch : way) {
      const bool isMove =
          stretch.wait == Wait::FetchLatency || stretch.wait == Wait::StageLatency || stretch.wait == Wait::Execution;
      if (!isMove && stretch.until > from)
        into.push_back(slice(waitText(stretch.wait, stretch.of, machine), "wait", from, stretch.until, {}));
      from = std::max(from, stretch.until);
    }
  }

  void name(StringRef what, int process, int64_t thread, StringRef text) {
    for (bool sort : {false, true})
      events.push_back(
          json::Object{{"name", sort ? what.str() + "_sort_index" : what.str() + "_name"},
                       {"ph", "M"},
                       {"pid", process},
                       {"tid", thread},
                       {"args", sort ? json::Object{{"sort_index", what == "process" ? int64_t(process) : thread}}
                                     : json::Object{{"name", jsonString(text)}}}});
  }

  static json::Object slice(StringRef text, StringRef category, Cycles from, Cycles until, json::Object args) {
    return json::Object{{"name", jsonString(text)}, {"cat", category},        {"ph", "X"}, {"ts", from},
                        {"dur", until - from},      {"args", std::move(args)}};
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const PipelineTraceLimits &limits;
  InstructionEngine engine;
  std::vector<char> executes;
  std::vector<std::string> loops;
  std::vector<int64_t> iterations;
  std::map<std::pair<int, int64_t>, Lanes> tracks;
  json::Array events;
};

} // namespace

json::Value pipelineTrace(const Microarchitecture &machine, const InstructionProgram &program,
                          const PipelineTraceLimits &limits) {
  return PipelineTracer(machine, program, limits).run();
}

} // namespace accord::microarchitecture
