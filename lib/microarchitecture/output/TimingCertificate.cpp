#include "lib/microarchitecture/output/TimingCertificate.h"
#include "lib/microarchitecture/output/MicroarchitecturePage.h"
#include "lib/microarchitecture/output/PipelineTrace.h"
#include "lib/microarchitecture/output/TimingDocument.h"
#include "lib/microarchitecture/solve/CycleStack.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr IntegerRange kNumber{0, 1 << 30}, kIndex{0, INT32_MAX}, kLong{0, int64_t(1) << 62};
constexpr size_t kMaxStages = 1 << 14; // their order is checked by recursion

// ---- Values that the documents have no form for

/// Postfix: `bytes 4 / 1 +`.
constexpr const char *kOperators[] = {"", "imm", "bytes", "+", "-", "*", "/", "min", "max"};

std::string postfix(const CycleExpression &of) {
  std::string text;
  for (const CycleExpression::Term &term : of.terms) {
    text += text.empty() ? "" : " ";
    text += kOperators[size_t(term.kind)];
    if (term.kind <= CycleExpression::Kind::Immediate)
      text += std::to_string(term.value);
  }
  return text;
}

std::optional<CycleExpression> fromPostfix(StringRef text) {
  CycleExpression made;
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, false);
  for (StringRef word : words) {
    CycleExpression::Term term;
    size_t kind = find(kOperators, word) - kOperators;
    if (kind == std::size(kOperators) || kind < size_t(CycleExpression::Kind::Bytes)) {
      kind = word.consume_front("imm");
      if (word.getAsInteger(10, term.value))
        return std::nullopt;
    }
    term.kind = CycleExpression::Kind(kind);
    made.terms.push_back(term);
  }
  return made;
}

void describeCycles(JsonVisitor &v, CycleExpression &of) {
  std::string text = postfix(of);
  v.text(text);
  if (auto read = v.reads() ? fromPostfix(text) : std::optional<CycleExpression>())
    of = std::move(*read);
  else
    v.check([](json::Path at) { return at.report("expected cycles in postfix order"), false; });
}

/// Decimal digits, as a count may be beyond 64 bits.
void describeExact(JsonVisitor &v, __int128 &count) {
  std::string text = fmt::format("{}", count);
  v.text(text);
  if (!v.reads())
    return;
  count = 0;
  const bool fits = !text.empty() && text.size() <= 37 && all_of(text, isDigit);
  for (char digit : fits ? text : "")
    count = count * 10 + (digit - '0');
  if (!fits)
    v.check([](json::Path at) { return at.report("expected decimal digits"), false; });
}

void describeRole(JsonVisitor &v, Role &role) {
  std::string text = name(role);
  v.text(text);
  if (auto read = v.reads() ? roleNamed(text) : std::optional(role))
    role = *read;
  else
    v.check([](json::Path at) { return at.report("unknown role"), false; });
}

// ---- The machine

void describeOpcode(JsonFields &f, Opcode &opcode) {
  OpcodeRole &role = opcode.role;
  f.field("name", opcode.name)
      .maybe("reads", opcode.reads, kNumber)
      .maybe("writes", opcode.writes, kNumber)
      .maybe("immediates", opcode.immediates, kNumber)
      .maybe("loads", opcode.loads, kNumber)
      .maybe("stores", opcode.stores, kNumber)
      .maybe("redirects", opcode.redirects)
      .maybe("does", role.does, describeRole)
      .maybeIf(role.lanes != 1, "lanes", role.lanes, kNumber)
      .maybe("m", role.m, kNumber)
      .maybe("n", role.n, kNumber)
      .maybe("k", role.k, kNumber);
}

void describeFetch(JsonFields &f, Fetch &fetch) {
  f.field("name", fetch.name)
      .field("width", fetch.width, kNumber)
      .field("buffer", fetch.buffer, kNumber)
      .field("latency", fetch.latency, kNumber)
      .field("to", fetch.to, kIndex);
}

void describeStage(JsonFields &f, Stage &stage) {
  f.field("name", stage.name)
      .field("capacity", stage.capacity, kNumber)
      .field("width", stage.width, kNumber)
      .field("latency", stage.latency, describeCycles)
      .maybe("to", stage.to, kIndex)
      .maybe("units", stage.units, kIndex);
}

void describeOperation(JsonFields &f, UnitOperation &operation) {
  f.field("opcode", operation.opcode, kIndex)
      .field("latency", operation.latency, describeCycles)
      .field("interval", operation.interval, describeCycles);
}

void describeUnit(JsonFields &f, Unit &unit) {
  f.field("name", unit.name)
      .field("count", unit.count, kNumber)
      .field("entries", unit.entries, kNumber)
      .field("operations", unit.operations, describeOperation)
      .maybe("reads", unit.reads, kIndex)
      .maybe("writes", unit.writes, kIndex)
      .maybe("loads_from", unit.loadsFrom, kIndex)
      .maybe("stores_to", unit.storesTo, kIndex);
}

void describeFile(JsonFields &f, RegisterFile &file) {
  f.field("name", file.name)
      .field("count", file.count, kNumber)
      .field("bits", file.bits, kNumber)
      .maybe("read_ports", file.readPorts, kNumber)
      .maybe("write_ports", file.writePorts, kNumber)
      .maybe("renamed", file.renamed);
}

void describeCache(JsonFields &f, Storage::Cache &cache) {
  f.field("behind", cache.behind, kIndex)
      .field("sets", cache.sets, kNumber)
      .field("associativity", cache.ways, kNumber)
      .field("line_bytes", cache.lineBytes, kNumber)
      .field("replacement", cache.replacement,
             [](JsonVisitor &v, Replacement &is) { v.oneOf(is, {"lru", "fifo", "tree_plru"}, "no such replacement"); })
      .field("write_back", cache.writeBack)
      .field("allocates_on_write", cache.allocatesOnWrite)
      .field("critical_word_first", cache.criticalWordFirst);
}

void describeStorage(JsonFields &f, Storage &storage) {
  f.field("name", storage.name)
      .field("begin", storage.begin, kLong)
      .field("end", storage.end, kLong)
      .field("port_bytes", storage.portBytes, kNumber)
      .field("ports", storage.ports, kNumber)
      .field("banks", storage.banks, kNumber)
      .field("requests", storage.requests, kNumber)
      .field("read_latency", storage.readLatency, kNumber)
      .field("write_latency", storage.writeLatency, kNumber)
      .maybe("row_bytes", storage.rows.bytes, kNumber)
      .maybe("row_miss", storage.rows.miss, kNumber)
      .maybe("cache", storage.cache, describeCache);
}

void describeMachine(JsonFields &f, Microarchitecture &machine) {
  f.field("name", machine.name)
      .field("window", machine.window, kNumber)
      .field("fetch", machine.fetch, describeFetch)
      .field("opcodes", machine.opcodes, describeOpcode)
      .field("stages", machine.stages, describeStage)
      .check("stages", machine.stages.size() <= kMaxStages, "so many stages are not checked")
      .field("units", machine.units, describeUnit)
      .field("registers", machine.registers, describeFile)
      .field("memories", machine.storages, describeStorage);
}

// ---- The timing

void describeRecurrence(JsonFields &f, Recurrence &is) {
  f.about("number of the loop in the order of the program's text, from 0")
      .field("loop", is.loop, kIndex)
      .field("around", is.around)
      .field("first", is.first)
      .field("period", is.period)
      .field("growth", is.growth, kLong)
      .field("repeats", is.repeats);
}

void describeTiming(JsonFields &f, InstructionTiming &timing) {
  f.field("cycles", timing.cycles, kLong)
      .field("instructions", timing.instructions, describeExact)
      .field("evaluated", timing.evaluated, kLong)
      .field("recurrences", timing.recurrences, describeRecurrence)
      .field("units", timing.units,
             [](JsonFields &g, InstructionTiming::UnitUse &use) {
               g.field("instructions", use.instructions, describeExact).field("busy", use.busy, describeExact);
             })
      .field("memories", timing.storages,
             [](JsonFields &g, InstructionTiming::StorageUse &use) {
               g.field("beats", use.beats, describeExact)
                   .field("hits", use.hits, describeExact)
                   .field("misses", use.misses, describeExact)
                   .field("write_backs", use.writeBacks, describeExact);
             })
      .field("cycle_stack", timing.waits, [](JsonFields &g, WaitedFor &is) {
        g.field("wait", is.wait, describeWait)
            .field("of", is.of, IntegerRange{kNone, INT32_MAX})
            .field("oldest", is.oldest, describeExact)
            .field("all", is.all, describeExact);
      });
}

struct Certificate {
  TimedProgram answer;
  std::vector<std::string> lines; ///< of the program
};

void describeCertificate(JsonFields &f, Certificate &is) {
  f.constant("kind", "time", "expected time")
      .field("machine", is.answer.machine, describeMachine)
      .maybe("clock_Hz", is.answer.clock)
      .field("program", is.lines)
      .field("timing", is.answer.timing, describeTiming);
}

/// Whether the kinds and parts of waits are those of the machine, each once and in order.
bool waitsExist(const std::vector<WaitedFor> &waits, const Microarchitecture &machine) {
  for (size_t i = 0; i < waits.size(); ++i)
    if (waits[i].of < kNone || waits[i].of >= Index(partsOf(waits[i].wait, machine)) ||
        (i > 0 && std::pair(waits[i - 1].wait, waits[i - 1].of) >= std::pair(waits[i].wait, waits[i].of)))
      return false;
  return true;
}

} // namespace

std::string timingCertificate(const TimedProgram &answer) {
  Certificate made{answer, {}};
  SmallVector<StringRef> lines;
  const std::string text = printProgram(answer.program, answer.machine);
  StringRef(text).trim('\n').split(lines, '\n');
  for (StringRef line : lines)
    made.lines.push_back(line.str());
  return jsonText(toDocument(made, describeCertificate)) + "\n";
}

Result<TimedProgram, Errors> timingFromCertificate(StringRef text, const std::string &path) {
  auto read =
      readJsonDocument<Certificate>(text, path, "time", [](const json::Value &value, Certificate &into, json::Path at) {
        return readDocument(value, into, at, describeCertificate);
      });
  if (!read)
    return Errors{{Code::BadPlan, toString(read.takeError())}};
  TimedProgram made = std::move(read->answer);
  if (Errors wrong = check(made.machine); !wrong.empty())
    return wrong;
  const std::string place = path + ", program";
  auto program = parseProgram(join(read->lines, "\n") + "\n", place, made.machine);
  if (!program)
    return program.takeError();
  made.program = std::move(*program);
  if (!waitsExist(made.timing.waits, made.machine))
    return Errors{
        {Code::WrongProgramTiming, "waits are of parts that the machine does not have, or not in order", {path}}};
  return made;
}

AnswerFiles filesOf(const TimedProgram &answer) {
  const std::string document = jsonText(timingDocument(answer)) + "\n";
  return {{kTimeDocument, document},
          {"microarchitecture.html", microarchitecturePage(answer.machine, answer.program, answer.timing, document)},
          {"program.txt", printProgram(answer.program, answer.machine)},
          {"trace.json", jsonLine(pipelineTrace(answer.machine, answer.program)) + "\n"},
          {kTimeCertificate, timingCertificate(answer)}};
}

} // namespace accord::microarchitecture
