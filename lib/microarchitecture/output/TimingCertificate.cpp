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

/// The infix text, which the page shows, from the terms alone; "" where they are no expression or too many to read.
std::string infix(const CycleExpression &of) {
  constexpr size_t kMaxTerms = 200;
  using Kind = CycleExpression::Kind;
  struct Part {
    std::string text;
    bool isSum = false; ///< stands between brackets within another one
    std::string inside() const { return isSum ? "(" + text + ")" : text; }
  };
  std::vector<Part> parts;
  if (of.terms.size() > kMaxTerms)
    return "";
  for (const CycleExpression::Term &term : of.terms) {
    const std::string sign = kOperators[size_t(term.kind)];
    if (term.kind <= Kind::Bytes) {
      parts.push_back({sign + (term.kind == Kind::Bytes ? "" : std::to_string(term.value))});
      continue;
    }
    if (parts.size() < 2)
      return "";
    const Part right = std::move(parts.back());
    parts.pop_back();
    if (term.kind >= Kind::Min)
      parts.back() = {fmt::format("{}({}, {})", sign, parts.back().text, right.text)};
    else
      parts.back() = {fmt::format("{} {} {}", parts.back().inside(), sign, right.inside()), true};
  }
  return parts.size() == 1 ? parts[0].text : "";
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

// ---- The machine. Each structure is taken apart first, so that a member that is new is not forgotten here.

void describeOpcode(JsonFields &f, Opcode &opcode) {
  auto &[name, reads, writes, immediates, loads, stores, redirects, location, role] = opcode;
  auto &[does, lanes, m, n, k] = role;
  f.field("name", name)
      .maybe("reads", reads, kNumber)
      .maybe("writes", writes, kNumber)
      .maybe("immediates", immediates, kNumber)
      .maybe("loads", loads, kNumber)
      .maybe("stores", stores, kNumber)
      .maybe("redirects", redirects)
      .maybe("does", does, describeRole)
      .maybeIf(lanes != 1, "lanes", lanes, kNumber)
      .maybe("m", m, kNumber)
      .maybe("n", n, kNumber)
      .maybe("k", k, kNumber);
}

void describeFetch(JsonFields &f, Fetch &fetch) {
  auto &[name, width, buffer, latency, to, location] = fetch;
  f.field("name", name)
      .field("width", width, kNumber)
      .field("buffer", buffer, kNumber)
      .field("latency", latency, kNumber)
      .field("to", to, kIndex);
}

void describeStage(JsonFields &f, Stage &stage) {
  auto &[name, capacity, width, latency, to, units, location] = stage;
  f.field("name", name)
      .field("capacity", capacity, kNumber)
      .field("width", width, kNumber)
      .field("latency", latency, describeCycles)
      .maybe("to", to, kIndex)
      .maybe("units", units, kIndex);
}

void describeOperation(JsonFields &f, UnitOperation &operation) {
  auto &[opcode, latency, interval, location] = operation;
  f.field("opcode", opcode, kIndex)
      .field("latency", latency, describeCycles)
      .field("interval", interval, describeCycles);
}

void describeUnit(JsonFields &f, Unit &unit) {
  auto &[name, count, entries, operations, reads, writes, loadsFrom, storesTo, location] = unit;
  f.field("name", name)
      .field("count", count, kNumber)
      .field("entries", entries, kNumber)
      .field("operations", operations, describeOperation)
      .maybe("reads", reads, kIndex)
      .maybe("writes", writes, kIndex)
      .maybe("loads_from", loadsFrom, kIndex)
      .maybe("stores_to", storesTo, kIndex);
}

void describeFile(JsonFields &f, RegisterFile &file) {
  auto &[name, count, bits, readPorts, writePorts, renamed, location, counts] = file;
  f.field("name", name)
      .field("count", count, kNumber)
      .field("bits", bits, kNumber)
      .maybe("read_ports", readPorts, kNumber)
      .maybe("write_ports", writePorts, kNumber)
      .maybe("renamed", renamed)
      .maybe("counts", counts);
}

void describeCache(JsonFields &f, Storage::Cache &cache) {
  auto &[sets, ways, lineBytes, replacement, writeBack, allocatesOnWrite, criticalWordFirst, behind] = cache;
  f.field("behind", behind, kIndex)
      .field("sets", sets, kNumber)
      .field("associativity", ways, kNumber)
      .field("line_bytes", lineBytes, kNumber)
      .field("replacement", replacement,
             [](JsonVisitor &v, Replacement &is) { v.oneOf(is, {"lru", "fifo", "tree_plru"}, "no such replacement"); })
      .field("write_back", writeBack)
      .field("allocates_on_write", allocatesOnWrite)
      .field("critical_word_first", criticalWordFirst);
}

void describeStorage(JsonFields &f, Storage &storage) {
  auto &[name, begin, end, portBytes, ports, banks, requests, readLatency, writeLatency, rows, cache, location] =
      storage;
  auto &[rowBytes, rowMiss] = rows;
  f.field("name", name)
      .field("begin", begin, kLong)
      .field("end", end, kLong)
      .field("port_bytes", portBytes, kNumber)
      .field("ports", ports, kNumber)
      .field("banks", banks, kNumber)
      .field("requests", requests, kNumber)
      .field("read_latency", readLatency, kNumber)
      .field("write_latency", writeLatency, kNumber)
      .maybe("row_bytes", rowBytes, kNumber)
      .maybe("row_miss", rowMiss, kNumber)
      .maybe("cache", cache, describeCache);
}

void describeMachine(JsonFields &f, Microarchitecture &machine) {
  auto &[name, window, fetch, opcodes, stages, units, registers, storages, location] = machine;
  f.field("name", name)
      .field("window", window, kNumber)
      .field("fetch", fetch, describeFetch)
      .field("opcodes", opcodes, describeOpcode)
      .field("stages", stages, describeStage)
      .check("stages", stages.size() <= kMaxStages, "so many stages are not checked")
      .field("units", units, describeUnit)
      .field("registers", registers, describeFile)
      .field("memories", storages, describeStorage);
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

/// The machine with the texts of its expressions as its certificate gives them.
static Microarchitecture respelled(Microarchitecture machine) {
  for (Stage &stage : machine.stages)
    stage.latency.text = infix(stage.latency);
  for (Unit &unit : machine.units)
    for (UnitOperation &operation : unit.operations)
      operation.latency.text = infix(operation.latency), operation.interval.text = infix(operation.interval);
  return machine;
}

AnswerFiles filesOf(const TimedProgram &answer) {
  const std::string document = jsonText(timingDocument(answer)) + "\n";
  return {{kTimeDocument, document},
          {"microarchitecture.html",
           microarchitecturePage(respelled(answer.machine), answer.program, answer.timing, document)},
          {"program.txt", printProgram(answer.program, answer.machine)},
          {"trace.json", jsonLine(pipelineTrace(answer.machine, answer.program)) + "\n"},
          {kTimeCertificate, timingCertificate(answer)}};
}

} // namespace accord::microarchitecture
