// `microarchitecture` declarations: from text to the dialect and to plain data, arrays of templates, and what is wrong
// at its place.
#include "dialects/accel/Schema.h"
#include "lib/language/machines/ElaborateMicroarchitecture.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/support/SplitMix.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/support/SourcePath.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gmock/gmock.h>

using namespace accord;
using namespace accord::microarchitecture;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A scalar machine with a cache.
const char *kOma = R"(window = 4
  opcode mac   { reads = 3, writes = 1 }
  opcode load  { reads = 1, writes = 1, loads = 1 }
  opcode store { reads = 2, stores = 1 }
  opcode bne   { reads = 2, immediates = 1, redirects = true }
  fetch ifs       { width = 2, buffer = 4, latency = 1 cycle, to = decode }
  stage decode    { capacity = 2, latency = 1 cycle, to = {execute} }
  execute execute { capacity = 1, units = {fu, load} }
  unit fu[2] {
    entries = 1, reads = {r}, writes = {r}
    operation mac { latency = 3 cycles, interval = 2 cycles }
    operation bne { latency = 1 + max(imm0, 2) / 4 }
  }
  unit load {
    entries = 2, reads = r, writes = r, loads = l1, stores = {dmem}
    operation load  { latency = 1 cycle + bytes / 4 }
    operation store { latency = 1 cycle }
  }
  registers r[16] { width = 32 bit, read_ports = 4, write_ports = 1 }
  memory dmem { begin = 4 KiB, size = 12 KiB, port_width = 4 B, banks = 2, requests = 3, read_latency = 7 cycles,
                row = 2 KiB, row_miss = 20 cycles }
  cache l1 { behind = dmem, sets = 64, ways = 4, line = 64 B, replacement = tree_plru, write = through,
             allocate = false, critical_word_first = true, port_width = 8 B, requests = 4 }
)";

struct Made {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  accel::MicroarchitectureOp op;

  explicit Made(const std::string &body, const std::string &head = "microarchitecture m") {
    context.loadDialect<accel::AccelDialect>();
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    file = parse(diags, sources.add("m.accel", head + " {\n" + body + "\n}\n"));
    if (file->complete)
      op = elaborateMicroarchitecture(file->declarations.at(0), *module, diags,
                                      [](llvm::StringRef, SourceRange) { return std::nullopt; });
  }
  Microarchitecture plain() {
    EXPECT_TRUE(op) << diags.text();
    return op ? *microarchitectureFrom(op) : Microarchitecture();
  }
  std::string printed() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << *module;
    return text;
  }
  /// "A1301@2:3 …"
  std::string errors() const {
    std::string all;
    for (const Diagnostic &d : diags.sorted()) {
      Position at = sources.position(d.range);
      all += fmt::format("{}{}@{}:{}", all.empty() ? "" : " ", entryOf(d.code).number.str(), at.line, at.column);
    }
    return all;
  }
};

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
/// What is wrong in the machine above where one text in it is another.
std::string wrong(const std::string &from, const std::string &to) {
  Made made(replaced(kOma, from, to));
  EXPECT_FALSE(made.op) << to;
  return made.errors();
}

const char *kMesh = R"(window = 64
  opcode mac { reads = 3, writes = 1 }
  fetch f   { width = 4, buffer = 8, to = x }
  execute x { capacity = 4, units = {mesh, feeder.unit} }
  template pe(depth, width = 16 bit) {
    registers a[depth] { width = width }
    registers acc[1]   { width = 32 bit }
    unit mac {
      entries = 2, reads = {a, west.a, north.acc, shared}, writes = {a, acc, south.acc}
      operation mac { latency = 1 + row + 2 * column }
    }
  }
  template feed { registers a[4] { width = 16 bit } unit unit { entries = 1, reads = {east.a}, writes = {a}, operation mac { latency = 1 } } }
  registers shared[4] { width = 8 bit }
  array mesh[2 x 3] : pe(2 + 1) { west = feeder }
  array feeder[2 x 1] : feed { east = mesh }
)";

} // namespace

TEST(Microarchitecture, TheExampleIsWellFormed) {
  std::ifstream file(accord::sourcePath("examples/15-microarchitecture/spark.accel"));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Made made(text.substr(text.find('\n', text.find("microarchitecture")),
                        text.rfind('}') - text.find('\n', text.find("microarchitecture"))),
            "microarchitecture spark(side = 4)");
  Microarchitecture m = made.plain();
  EXPECT_EQ(m.units.size(), 1 + 4 + 4 + 2 * 16u);
  EXPECT_EQ(m.registers.size(), 4 + 4 + 3 * 16u);
  EXPECT_EQ(m.storages.size(), 2u);
}

TEST(Microarchitecture, EveryKeyArrivesInThePlainData) {
  Made made(kOma);
  Microarchitecture m = made.plain();
  EXPECT_EQ(m.name, "m");
  EXPECT_EQ(m.window, 4);
  ASSERT_EQ(m.opcodes.size(), 4u);
  EXPECT_EQ(m.opcodes[2].name, "store");
  EXPECT_EQ(m.opcodes[2].reads, 2);
  EXPECT_EQ(m.opcodes[2].stores, 1);
  EXPECT_TRUE(m.opcodes[3].redirects);
  EXPECT_EQ(m.fetch.width, 2);
  EXPECT_EQ(m.fetch.buffer, 4);
  ASSERT_EQ(m.stages.size(), 2u);
  EXPECT_EQ(m.stages[0].to, std::vector<Index>{1});
  EXPECT_EQ(m.stages[1].units, (std::vector<Index>{0, 1}));
  ASSERT_EQ(m.units.size(), 2u);
  EXPECT_EQ(m.units[0].count, 2);
  EXPECT_EQ(m.units[1].entries, 2);
  EXPECT_EQ(m.units[1].loadsFrom, std::vector<Index>{1});
  EXPECT_EQ(m.units[1].storesTo, std::vector<Index>{0});
  ASSERT_EQ(m.registers.size(), 1u);
  EXPECT_EQ(m.registers[0].count, 16);
  EXPECT_EQ(m.registers[0].bits, 32);
  EXPECT_EQ(m.registers[0].readPorts, 4);
  ASSERT_EQ(m.storages.size(), 2u);
  const Storage &dmem = m.storages[0], &l1 = m.storages[1];
  EXPECT_EQ(dmem.begin, 4096);
  EXPECT_EQ(dmem.end, 16384);
  EXPECT_EQ(dmem.banks, 2);
  EXPECT_EQ(dmem.readLatency, 7);
  EXPECT_EQ(dmem.rows.bytes, 2048);
  EXPECT_EQ(dmem.rows.miss, 20);
  ASSERT_TRUE(l1.cache);
  EXPECT_EQ(l1.cache->sets, 64);
  EXPECT_EQ(l1.cache->replacement, Replacement::TreePlru);
  EXPECT_FALSE(l1.cache->writeBack);
  EXPECT_FALSE(l1.cache->allocatesOnWrite);
  EXPECT_TRUE(l1.cache->criticalWordFirst);
  EXPECT_EQ(l1.cache->behind, 0);
}

TEST(Microarchitecture, LatenciesAreNumbersOrExpressionsOfTheInstruction) {
  Made made(kOma);
  Microarchitecture m = made.plain();
  ASSERT_EQ(m.units.size(), 2u);
  Instruction i;
  i.immediates = {21};
  EXPECT_EQ(evaluate(m.units[0].operations[0].latency, i), 3);
  EXPECT_EQ(evaluate(m.units[0].operations[0].interval, i), 2);
  EXPECT_EQ(evaluate(m.units[0].operations[1].latency, i), 1 + 6);
  EXPECT_EQ(evaluate(m.units[0].operations[1].interval, i), 1);
  EXPECT_EQ(m.units[0].operations[1].latency.text, "1 + (max(imm0, 2) / 4)");
  i.memory = {{1, {}, 10}};
  EXPECT_EQ(evaluate(m.units[1].operations[0].latency, i), 1 + 3);
}

TEST(Microarchitecture, OpcodesSayWhatTheyCompute) {
  auto words = accel::findSchema("part", "opcode")->findKey("does")->words;
  ASSERT_EQ(words.size() + 1, kRoles);
  for (size_t r = 1; r < kRoles; ++r)
    EXPECT_EQ(words[r - 1].str(), name(Role(r)));
  std::string text = replaced(kOma, "mac   { reads = 3, writes = 1 }",
                              "mac { reads = 3, writes = 1, does = multiply_add, tile = 4 x 8 x 16 }");
  Microarchitecture m = Made(replaced(text, "loads = 1 }", "loads = 1, does = load, lanes = 8 }")).plain();
  ASSERT_EQ(m.opcodes.size(), 4u);
  EXPECT_EQ(m.opcodes[0].role, (OpcodeRole{Role::MultiplyAdd, 1, 4, 8, 16}));
  EXPECT_EQ(m.opcodes[1].role, (OpcodeRole{Role::Load, 8}));
  EXPECT_EQ(m.opcodes[2].role, OpcodeRole());
  EXPECT_EQ(wrong("stores = 1 }", "stores = 1, does = multiply_add }"), "A1303@5:41");
  EXPECT_EQ(wrong("loads = 1 }", "loads = 1, does = load, tile = 2 x 2 x 2 }"), "A1303@4:65");
  EXPECT_EQ(wrong("loads = 1 }", "loads = 1, does = laod }"), "A0305@4:59");
}

TEST(Microarchitecture, KernelsFindTheirOpcodesByWhatTheyDo) {
  Made made(R"(window = 4
  opcode li    { writes = 1, immediates = 1, does = constant }
  opcode addi  { reads = 1, writes = 1, immediates = 1, does = add_immediate }
  opcode bne   { reads = 2, immediates = 1, does = branch, redirects = true }
  opcode mac   { reads = 3, writes = 1, does = multiply_add }
  opcode load  { reads = 1, writes = 1, loads = 1, does = load }
  opcode store { reads = 2, stores = 1, does = store }
  fetch f   { width = 1, buffer = 2, to = x }
  execute x { capacity = 2, units = {alu, port} }
  unit alu {
    entries = 1, reads = r, writes = r
    operation li { latency = 1 }, operation addi { latency = 1 }, operation bne { latency = 1 }
    operation mac { latency = 3 }
  }
  unit port {
    entries = 2, reads = r, writes = r, loads = m, stores = m
    operation load { latency = 1 }, operation store { latency = 1 }
  }
  registers r[32] { width = 32 bit }
  memory m { size = 64 KiB, port_width = 4 B, requests = 2, read_latency = 2 cycles })");
  Microarchitecture m = made.plain();
  const Contraction what = product({4, 5, 6});
  auto kernel = contractionKernel(what, plainSchedule(what, m, false));
  ASSERT_TRUE(kernel) << kernel.error().message;
  auto mapped = emitKernel(*kernel, m);
  ASSERT_TRUE(mapped) << mapped.error().message;
  ASSERT_TRUE(check(mapped->program, m).empty());
  auto timing = timeProgram(m, mapped->program);
  ASSERT_TRUE(timing) << timing.error().message;
  // A multiply-accumulate cannot begin before two loads through one port.
  EXPECT_GE(timing->units[1].instructions, 2 * 4 * 5 * 6);
  EXPECT_GE(timing->cycles, 2 * 4 * 5 * 6);
}

TEST(Microarchitecture, PrintsAndReadsBack) {
  for (const char *text : {kOma, kMesh}) {
    Made made(text);
    ASSERT_TRUE(made.op) << made.diags.text();
    std::string printed = made.printed();
    auto again = mlir::parseSourceString<mlir::ModuleOp>(printed, &made.context);
    ASSERT_TRUE(again);
    std::string second;
    llvm::raw_string_ostream(second) << *again;
    EXPECT_EQ(second, printed);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*again)));
  }
  EXPECT_THAT(Made(kOma).printed(),
              HasSubstr("accel.part @fu.mac : operation {interval = #accel.quantity<2 cycles>, "
                        "latency = #accel.quantity<3 cycles>, opcode = @opcode.mac, unit = @fu}"));
}

TEST(Microarchitecture, IsFormattedLikeAllElse) {
  Made made(kOma);
  ASSERT_TRUE(made.file->complete) << made.diags.text();
  std::string once = format(made.sources, *made.file);
  SourceManager sources;
  Diagnostics diags(sources);
  auto again = parse(diags, sources.add("n.accel", once));
  ASSERT_TRUE(again->complete) << diags.text();
  EXPECT_EQ(format(sources, *again), once);
}

TEST(Microarchitecture, TheMachineTimesAProgram) {
  Made made(kOma);
  Microarchitecture m = made.plain();
  InstructionProgram program;
  Instruction mac;
  mac.opcode = 0;
  mac.reads = {{0, 1}, {0, 2}, {0, 3}};
  mac.writes = {{0, 3}};
  program.instructions = {mac};
  program.loops.push_back({"i", 1000, {{0, kNone}}, {}});
  program.body = {{kNone, 0}};
  ASSERT_TRUE(check(program, m).empty());
  auto timing = timeProgram(m, program);
  ASSERT_TRUE(timing);
  // A chain of 1000 that take 3 cycles each, behind fetch, decode and the execute stage.
  EXPECT_EQ(timing->cycles, 3 + 3000);
}

TEST(Microarchitecture, ArraysAreTemplatesJoinedByPosition) {
  Made made(kMesh);
  Microarchitecture m = made.plain();
  auto file = [&](const std::string &name) {
    for (size_t i = 0; i < m.registers.size(); ++i)
      if (m.registers[i].name == name)
        return Index(i);
    return kNone;
  };
  ASSERT_NE(file("mesh_1_2_a"), kNone);
  auto unit = [&](const std::string &name) -> const microarchitecture::Unit & {
    static const microarchitecture::Unit none;
    for (const microarchitecture::Unit &one : m.units)
      if (one.name == name)
        return one;
    ADD_FAILURE() << name;
    return none;
  };
  EXPECT_EQ(m.units.size(), 6u + 2);
  EXPECT_EQ(m.stages[0].units.size(), 8u);
  EXPECT_EQ(m.registers[file("mesh_1_2_a")].count, 3);
  EXPECT_EQ(m.registers[file("mesh_1_2_a")].bits, 16);
  // North of the first row nothing is joined, west of the first column is the feeder.
  EXPECT_THAT(unit("mesh_0_0_mac").reads, ElementsAre(file("mesh_0_0_a"), file("feeder_0_0_a"), file("shared")));
  EXPECT_THAT(unit("mesh_1_2_mac").reads,
              ElementsAre(file("mesh_1_2_a"), file("mesh_1_1_a"), file("mesh_0_2_acc"), file("shared")));
  EXPECT_THAT(unit("mesh_0_1_mac").writes, ElementsAre(file("mesh_0_1_a"), file("mesh_0_1_acc"), file("mesh_1_1_acc")));
  EXPECT_THAT(unit("feeder_1_0_unit").reads, ElementsAre(file("mesh_1_0_a")));
  EXPECT_EQ(evaluate(unit("mesh_1_2_mac").operations[0].latency, {}), 1 + 1 + 2 * 2);
}

TEST(Microarchitecture, LinesHaveOneNumber) {
  Made made(R"(window = 1
  opcode add { reads = 1, writes = 1 }
  fetch f   { width = 1, buffer = 1, to = x }
  execute x { capacity = 1, units = ring.alu }
  template lane { registers v[2] { width = 64 B } unit alu { entries = 1, reads = {v, west.v}, writes = v, operation add { latency = column } } }
  registers last[2] { width = 64 B }
  array ring[3] : lane { west = last })");

  Microarchitecture m = made.plain();
  ASSERT_EQ(m.units.size(), 3u);
  EXPECT_EQ(m.units[2].name, "ring_2_alu");
  // What is declared outside comes first.
  EXPECT_THAT(m.units[0].reads, ElementsAre(1, 0));
  EXPECT_THAT(m.units[2].reads, ElementsAre(3, 2));
}

TEST(Microarchitecture, CapacitiesAreMandatoryAndPositive) {
  EXPECT_EQ(wrong("window = 4", ""), "A1301@1:19");
  EXPECT_EQ(wrong("capacity = 2, ", ""), "A1301@8:9");
  EXPECT_EQ(wrong("capacity = 2", "capacity = 0"), "A1301@8:32");
  EXPECT_EQ(wrong("buffer = 4, ", ""), "A1301@7:9");
  EXPECT_EQ(wrong("entries = 1, ", ""), "A1301@10:8");
  EXPECT_EQ(wrong("requests = 3, ", ""), "A1301@21:10");
  EXPECT_EQ(wrong("r[16]", "r"), "A1301@20:13");
  EXPECT_EQ(wrong("r[16]", "r[0]"), "A1301@20:15");
}

TEST(Microarchitecture, WhatNoInstructionReachesIsRefused) {
  EXPECT_EQ(wrong("{fu, load}", "{fu}"), "A1302@4:10 A1302@5:10 A1302@15:8");
  EXPECT_EQ(wrong("    operation bne { latency = 1 + max(imm0, 2) / 4 }\n", ""), "A1302@6:10");
  EXPECT_EQ(wrong("to = decode", "to = execute"), "A1302@8:9");
  EXPECT_EQ(wrong("to = {execute}", "to = {decode, execute}"), "A1302@8:9");
  EXPECT_EQ(wrong("window = 4", "window = 4, template t { registers q[1] { width = 1 B } }"), "A1302@2:22");
}

TEST(Microarchitecture, PartsFitEachOther) {
  EXPECT_EQ(wrong("sets = 64", "sets = 63"), "A1303@23:29");
  EXPECT_EQ(wrong("line = 64 B", "line = 4 B"), "A1303@23:50");
  EXPECT_EQ(wrong("row = 2 KiB", "row = 2 B"), "A1303@22:17");
  EXPECT_EQ(wrong("max(imm0, 2)", "max(imm1, 2)"), "A1303@13:21");
  EXPECT_EQ(wrong("fetch ifs       { width = 2, buffer = 4, latency = 1 cycle, to = decode }", ""), "A1303@1:19");
  EXPECT_EQ(wrong("  fetch ifs ", "  stage ifs "), "A1301@7:9 A0101@7:32");
}

TEST(Microarchitecture, NamesAndValuesAreReportedAtTheirPlace) {
  EXPECT_EQ(wrong("units = {fu, load}", "units = {fu, laod}"), "A0104@9:48");
  EXPECT_EQ(wrong("units = {fu, load}", "units = {fu, r}"), "A0108@9:48");
  EXPECT_EQ(wrong("operation mac ", "operation mca "), "A0104@12:15");
  EXPECT_EQ(wrong("bytes / 4", "byts / 4"), "A0104@17:43");
  EXPECT_EQ(wrong("capacity = 2", "capacty = 2"), "A0101@8:21");
}

TEST(Microarchitecture, AnyTextIsAMachineOrHasErrors) {
  SplitMix random(7);
  size_t good = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = round % 2 ? kOma : kMesh;
    const uint64_t changes = 1 + random.below(3);
    for (uint64_t change = 0; change < changes; ++change) {
      // A stretch of a few bytes is left out, or stands somewhere else, too.
      const size_t from = random.below(text.size()), size = 1 + random.below(12);
      const std::string stretch = text.substr(from, size);
      if (random.below(2))
        text.erase(from, stretch.size());
      else
        text.insert(random.below(text.size()), stretch);
    }
    Made made(text);
    EXPECT_EQ(!made.op, made.diags.hasErrors()) << text;
    good += bool(made.op);
    if (made.op) {
      EXPECT_TRUE(mlir::succeeded(mlir::verify(made.op))) << text;
    }
  }
  EXPECT_GT(good, 10u); // some changes are of blanks alone
}
