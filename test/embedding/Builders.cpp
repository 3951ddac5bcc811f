// Descriptions that a C++ program builds: they answer what texts answer, and errors in them name the line of this file.
#include "Builders.h"
#include "lib/driver/Accord.h"
#include <cstdio>
#include <fstream>
#include <iterator>

using namespace accord;

namespace {

int failures = 0;

void expect(bool holds, const std::string &what) {
  if (!holds)
    ++failures, std::printf("WRONG: %s\n", what.c_str());
}

constexpr const char *kTraining = R"(model tiny() {
  input x : float[3, 8, 8]
  input label : int32[1]
  let features = global_avg_pool(relu(conv2d(x, out = 8, kernel = 3, padding = 1)))
  loss cross_entropy(reshape(linear(features, out = 10), [1, 10]), label)
}
train t = tiny() on chip {
  batch = 1
  precision = fp32
  optimizer = sgd
}
)";

void addOpcodes(MicroarchitectureBlock &core) {
  core.opcode("mac", {{"reads", 3}, {"writes", 1}, {"does", "multiply_add"}});
  core.opcode("load", {{"reads", 1}, {"writes", 1}, {"loads", 1}, {"does", "load"}});
  core.opcode("store", {{"reads", 2}, {"stores", 1}, {"does", "store"}});
  core.opcode("li", {{"writes", 1}, {"immediates", 1}, {"does", "constant"}});
  core.opcode("addi", {{"reads", 1}, {"writes", 1}, {"immediates", 1}, {"does", "add_immediate"}});
  core.opcode("bne", {{"reads", 2}, {"redirects", true}, {"does", "branch"}});
  for (const auto &[name, does] : {std::pair("mov", "move"),
                                   {"exp", "exp"},
                                   {"log", "log"},
                                   {"sqrt", "square_root"},
                                   {"tanh", "tanh"},
                                   {"erf", "erf"}})
    core.opcode(name, {{"reads", 1}, {"writes", 1}, {"does", does}});
  for (const auto &[name, does] : {std::pair("add", "add"),
                                   {"mul", "multiply"},
                                   {"sub", "subtract"},
                                   {"div", "divide"},
                                   {"max", "max"},
                                   {"min", "min"},
                                   {"gt", "greater"},
                                   {"eq", "equal"}})
    core.opcode(name, {{"reads", 2}, {"writes", 1}, {"does", does}});
  for (const char *name : {"beq", "blt", "bge"})
    core.opcode(name, {{"reads", 2}, {"redirects", true}});
  core.opcode("jump", {{"redirects", true}});
}

/// The machine `oma` of the catalogue, part by part.
MicroarchitectureBlock addOma(Description &file) {
  MicroarchitectureBlock core = file.microarchitecture("oma(registers = 16, memory = 12 KiB, math = 8)");
  core.block().set("window", 1);
  addOpcodes(core);
  core.fetch("ifs", {{"width", 1}, {"buffer", 1}, {"latency", "1 cycle"}, {"to", "decode"}});
  core.stage("decode", {{"capacity", 1}, {"latency", "1 cycle"}, {"to", choice({"execute"})}});
  const Value units = choice({"fu", "mau", "imau", "other"}), files = choice({"r", "sp"});
  core.execute("execute", {{"capacity", 1}, {"latency", "1 cycle"}, {"units", units}});
  UnitBlock fu = core.unit("fu", {{"entries", 1}, {"reads", files}, {"writes", files}});
  for (const char *name : {"mov", "add", "mul", "mac", "li", "addi"})
    fu.operation(name, "1 cycle");
  core.unit("mau", {{"entries", 1}, {"reads", files}, {"writes", files}, {"loads", "dmem"}, {"stores", "dmem"}})
      .operation("load", "1 cycle")
      .operation("store", "1 cycle");
  UnitBlock branches = core.unit("imau", {{"entries", 1}, {"reads", files}});
  for (const char *name : {"bne", "beq", "blt", "bge", "jump"})
    branches.operation(name, "1 cycle");
  UnitBlock other = core.unit("other", {{"entries", 1}, {"reads", files}, {"writes", files}});
  for (const char *name : {"sub", "max", "min", "gt", "eq"})
    other.operation(name, "1 cycle");
  for (const char *name : {"div", "exp", "log", "sqrt", "tanh", "erf"})
    other.operation(name, "math", "math");
  core.registers("r[registers]", {{"width", "32 bit"}});
  core.registers("sp[1]", {{"width", "32 bit"}});
  core.memory("dmem", {{"begin", "4 KiB"}, {"size", "memory"}, {"port_width", "4 B"}, {"requests", 1}});
  return core;
}

Description chipOf(const std::string &import) {
  Description file;
  file.import(import);
  Block &chip = file.accelerator("chip").set("clock", "100 MHz");
  chip.part("memory", "dmem : dram", {{"capacity", "64 GiB"}, {"bandwidth", "4 B/cycle"}});
  chip.part("core", "c : vector",
            {{"types", choice({"fp32"})}, {"microarchitecture", "oma(registers = 32, memory = 64 GiB)"}});
  return file;
}

void tryMicroarchitecture() {
  Description core;
  addOma(core);
  std::string answers[2];
  for (bool isBuilt : {false, true}) {
    RunOptions options;
    options.files["tiny.dnn"] = std::string("import \"chip.accel\"\n") + kTraining;
    options.descriptions["chip.accel"] = chipOf(isBuilt ? "core.accel" : "catalog/oma.accel");
    if (isBuilt)
      options.descriptions["core.accel"] = core;
    const Answer answer = run({"estimate", "tiny.dnn", "--json"}, options);
    expect(answer.status == 0, "an estimate: " + answer.messages);
    answers[isBuilt] = answer ? answer.document().at("operations").json() : "";
  }
  expect(answers[0] == answers[1], "a core that is built, and that of the catalogue");
  // A square of templates, whose program is timed.
  Description mesh;
  MicroarchitectureBlock array = mesh.microarchitecture("mesh(side = 2)");
  array.block().set("window", 8);
  array.opcode("mac", {{"reads", 2}, {"writes", 1}});
  array.fetch("front", {{"width", 2}, {"buffer", 4}, {"to", "issue"}});
  array.execute("issue", {{"capacity", 4}, {"width", 2}, {"units", "pes.mac"}});
  MicroarchitectureBlock pe = array.declareTemplate("pe(cycles)");
  pe.registers("a[2]", {{"width", "16 bit"}});
  pe.unit("mac", {{"entries", 1}, {"reads", choice({"a", "west.a"})}, {"writes", "a"}}).operation("mac", "cycles");
  array.array("pes[side x side]", "pe(3)");
  const std::string program =
      "program p on mesh {\n  loop i 4 {\n    mac pes_0_0_a[0], pes_0_0_a[1], pes_0_0_a[0]\n  }\n}\n";
  const Answer timed =
      run({"time", "p.txt", "--on", "mesh.accel", "--json"}, {{{"p.txt", program}}, {{"mesh.accel", mesh}}});
  expect(timed.status == 0 && timed.document().integer("cycles") > 12, "a program on an array: " + timed.messages);
}

// ----------------------------------------------------- sparsity, ensembles

std::string textOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void trySparsity(const std::string &examples) {
  Description file;
  file.import("catalog/gpt2.dnn");
  Block &training = file.train("gpt2_training", call("gpt2", {}), "a100_80g");
  training.set("batch", 32).set("precision", "mixed(bf16)").set("optimizer", "adamw");
  training.block("search").set("microbatch", 8);
  training.minimize("step_time");
  SparsityBlock sparse = file.sparsity("gpt2_training");
  sparse.weights("block.*", choice({"nm(2, 4)", "nm(2, 4, along = output)"}))
      .weights("block.mlp.*", choice({"nm(2, 4)"}).text() + " transposable");
  sparse.block().minimize("step_time");
  const Answer built = run({"prune", "gpt2.dnn", "--json"}, {.descriptions = {{"gpt2.dnn", file}}});
  const Answer text = run({"prune", "gpt2.dnn", "--json"}, {{{"gpt2.dnn", textOf(examples + "/11-prune/gpt2.dnn")}}});
  expect(built.status == 0 && text.status == 0 &&
             built.document().at("step").json() == text.document().at("step").json(),
         "sparsity: " + built.messages);
  // A rule that means nothing is refused at its line here.
  const int line = __LINE__ + 1;
  sparse.weights("nothing.*", choice({"nm(2, 4)"}));
  const Answer wrong = run({"prune", "gpt2.dnn"}, {.descriptions = {{"gpt2.dnn", file}}});
  expect(wrong.status == 1 && wrong.diagnostics.size() == 1, "a rule that means nothing: " + wrong.messages);
  const std::vector<ReportedNote> notes =
      wrong.diagnostics.empty() ? std::vector<ReportedNote>() : wrong.diagnostics[0].notes;
  expect(!notes.empty() && notes.back().message == "made here" && notes.back().place.line == line &&
             notes.back().place.file.ends_with("Builders.cpp"),
         "the line of a rule that means nothing");
}

void tryEnsemble(const std::string &examples) {
  Description file;
  file.import("catalog/a100.accel").import("catalog/v100.accel").import("catalog/resnet.dnn");
  Block &whole = file.train("whole", call("resnet50", {}), "a100_40g");
  whole.set("batch", 512).set("precision", "mixed(fp16)").set("optimizer", "momentum");
  whole.block("search").set("microbatch", choice({512}));
  EnsembleBlock voters = file.ensemble("voters", "whole");
  voters.member("full", "resnet50()").member("wide", "resnet34()").member("thin", "resnet18()");
  voters.votes(examples + "/12-vote/votes.csv");
  voters.block().set("size", range(1, 5)).set("voting", "majority");
  voters.block().set("devices", mapOf({{"a100_40g", 1}, {"v100_16g", 2}}));
  voters.block().require("error <= 0.23 confidence 0.95").minimize("step_time");
  const Answer built = run({"vote", "resnet.dnn", "--json"}, {.descriptions = {{"resnet.dnn", file}}});
  const Answer text = run({"vote", "resnet.dnn", "--json"}, {{{"resnet.dnn", file.text()}}});
  expect(built.status == 0 && built.output == text.output, "an ensemble: " + built.messages);
}

/// What is wrong is told where it is in the text, and where it was made here.
void tryWrong() {
  struct Case {
    const char *what;
    std::function<void(Description &, MicroarchitectureBlock &)> add;
  };
  const std::vector<Case> cases = {
      {"a key", [](Description &, MicroarchitectureBlock &core) { core.registers("s[4]", {{"wide", "32 bit"}}); }},
      {"a value",
       [](Description &, MicroarchitectureBlock &core) { core.registers("s[4]", {{"width", "32 furlong"}}); }},
      {"a part",
       [](Description &, MicroarchitectureBlock &core) { core.unit("lsu", {{"entries", 1}, {"loads", "dmen"}}); }},
      {"an opcode",
       [](Description &, MicroarchitectureBlock &core) { core.unit("lsu", {{"entries", 1}}).operation("lod", 1); }},
      {"a stage", [](Description &, MicroarchitectureBlock &core) { core.stage("late", {{"to", "execute"}}); }},
      {"a name", [](Description &, MicroarchitectureBlock &core) { core.opcode("a b", {}); }},
      {"a brace", [](Description &, MicroarchitectureBlock &core) { core.block().add("}"); }},
      {"an import", [](Description &file, MicroarchitectureBlock &) { file.import("nothing.accel"); }},
      {"a template", [](Description &, MicroarchitectureBlock &core) { core.array("m[2 x 2]", "pe"); }},
      {"no number", [](Description &, MicroarchitectureBlock &core) { core.block().set("window", 0.0 / 0.0); }},
  };
  const std::string program = "program p on oma {\n  jump\n}\n";
  size_t told = 0;
  for (const Case &one : cases) {
    Description file;
    MicroarchitectureBlock core = addOma(file);
    one.add(file, core);
    const Answer answer = run({"time", "p.txt", "--on", "oma.accel"}, {{{"p.txt", program}}, {{"oma.accel", file}}});
    expect(answer.status == 1 && !answer.diagnostics.empty(),
           std::string(one.what) + ": status " + std::to_string(answer.status));
    for (const ReportedDiagnostic &diagnostic : answer.diagnostics)
      if (!diagnostic.notes.empty() && diagnostic.notes.back().place.file.ends_with("Builders.cpp")) {
        ++told;
        break;
      }
  }
  expect(told == cases.size(), std::to_string(told) + " of " + std::to_string(cases.size()) + " errors name this file");
}

} // namespace

int tryBuilders(const std::string &examples) {
  tryMicroarchitecture();
  trySparsity(examples);
  tryEnsemble(examples);
  tryWrong();
  std::printf("what is built answers as texts do\n");
  return failures > 0;
}
