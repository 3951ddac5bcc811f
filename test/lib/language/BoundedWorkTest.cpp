// Programs that ask for more work than anyone can wait for, in few words: each ends with an error,
// soon.
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "mlir/IR/DialectRegistry.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// The first error of elaborating a program, "" without one, and its job.
struct Elaborated {
  std::string code;
  std::optional<TrainingJob> job;

  explicit Elaborated(const std::string &text) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    SourceManager sources;
    Diagnostics diags(sources);
    sources.add("large.dnn", text);
    Program program(diags, context, "large.dnn", {});
    if (!diags.hasErrors())
      program.checkAll();
    if (!diags.hasErrors() && (job = program.job()))
      program.model(*job);
    for (const Diagnostic &d : diags.sorted()) {
      code = entryOf(d.code).number.str();
      break;
    }
  }
};

std::string model(const std::string &body, const std::string &before = "") {
  return before + "model m {\n  input x : float[8]\n  var v = x + parameter([8])\n" + body + "  loss mse(v, x)\n}\n";
}

std::string chain(int count, const std::string &first,
                  const std::function<std::string(std::string, std::string)> &next) {
  std::string text = first;
  for (int i = 1; i <= count; ++i)
    text += next(std::to_string(i), std::to_string(i - 1));
  return text;
}

} // namespace

TEST(BoundedWork, ModulesThatDoubleTheirCalls) {
  std::string modules = chain(40, "module f0(x) -> y {\n  let y = x\n}\n", [](std::string n, std::string m) {
    return "module f" + n + "(x) -> y {\n  let p = f" + m + "(x)\n  let y = f" + m + "(p)\n}\n";
  });
  EXPECT_EQ(Elaborated(model("  v = f40(v)\n", modules)).code, numberOf(Code::TooManyOperations));
}

TEST(BoundedWork, LoopsWithinLoops) {
  std::string body = "  var a = 0\n  for i in 1..100000 {\n    for j in 1..100000 {\n"
                     "      a = i + j\n    }\n  }\n  v = v * a\n";
  EXPECT_EQ(Elaborated(model(body)).code, numberOf(Code::TooManyOperations));
}

TEST(BoundedWork, ListsThatDouble) {
  std::string body = "  var l = [1]\n  for i in 1..60 {\n    l = l + l\n    v = v * i\n  }\n"
                     "  v = v * len(l)\n";
  EXPECT_EQ(Elaborated(model(body)).code, numberOf(Code::TooManyValues));
}

TEST(BoundedWork, ConstantsThatDoubleAreComputedOnce) {
  std::string constants = chain(60, "let c0 = 1\n", [](std::string n, std::string m) {
    return "let c" + n + " = c" + m + " - c" + m + " + 1\n";
  });
  EXPECT_EQ(Elaborated(model("  v = v * c60\n", constants)).code, "");
  EXPECT_EQ(Elaborated(constants + model("") + "train t = m on d {\n  batch = c60\n}\n").code, "");
}

TEST(BoundedWork, ChainsOfConstants) {
  std::string constants =
      chain(20000, "let c0 = 1\n", [](std::string n, std::string m) { return "let c" + n + " = c" + m + " + 1\n"; });
  EXPECT_EQ(Elaborated(model("  v = v * c20000\n", constants)).code, numberOf(Code::NestedTooDeep));
  // A training's constants are computed in the order of the file.
  EXPECT_EQ(Elaborated(constants + model("") + "train t = m on d {\n  batch = c20000\n}\n").code, "");
}

TEST(BoundedWork, NestingThroughModules) {
  std::string open, close;
  for (int i = 0; i < 200; ++i)
    open += "min(", close += ")";
  std::string modules = chain(60, "module f0(x) -> y {\n  let y = x\n}\n", [&](std::string n, std::string m) {
    return "module f" + n + "(x) -> y {\n  let y = " + open + "f" + m + "(x)" + close + "\n}\n";
  });
  EXPECT_EQ(Elaborated(model("  v = v * f60(1)\n", modules)).code, numberOf(Code::NestedTooDeep));
}

TEST(BoundedWork, LongRequirements) {
  std::string sum = "throughput";
  for (int i = 0; i < 2000; ++i)
    sum += " + throughput";
  EXPECT_EQ(Elaborated(model("") + "train t = m on d {\n  batch = 4\n  require " + sum + " > 1\n}\n").code,
            numberOf(Code::NestedTooDeep));
}

TEST(BoundedWork, RangesAtTheEndsOfTheIntegers) {
  auto loop = [](const std::string &range) {
    return Elaborated(model("  for i in " + range + " {\n    v = v * i\n  }\n")).code;
  };
  EXPECT_EQ(loop("9223372036854775806..9223372036854775807"), "");
  EXPECT_EQ(loop("1..9223372036854775807 step 9223372036854775807"), "");
  EXPECT_EQ(loop("pow2 1..9223372036854775807"), "");
  EXPECT_EQ(loop("-9223372036854775807..9223372036854775807"), "A0311");
}

TEST(BoundedWork, BatchesAtTheEndOfTheIntegers) {
  for (auto [batch, sizes] :
       {std::pair{"9223372036854775807", 2u}, {"4611686018427387904", 63u}, {"6", 3u}, {"1", 1u}}) {
    Elaborated e(model("") + "train t = m on d {\n  batch = " + batch + "\n}\n");
    ASSERT_TRUE(e.job) << e.code;
    EXPECT_EQ(e.job->microbatches.size(), sizes) << batch;
  }
}

TEST(BoundedWork, TensorsOfMoreThanMemoryCanName) {
  auto input = [](const std::string &shape) {
    return Elaborated("model m {\n  input x : float[" + shape + "]\n  loss mse(x * parameter([1]), x)\n}\n").code;
  };
  EXPECT_EQ(input("288230376151711744"), "");
  EXPECT_EQ(input("288230376151711745"), "A0205");
  EXPECT_EQ(input("9223372036854775807, 9223372036854775807"), "A0205");
}

TEST(BoundedWork, GatesOfARecurrentLayerDoNotWrapAround) {
  for (const char *call : {"lstm", "gru"})
    EXPECT_EQ(
        Elaborated(model("  v = " + std::string(call) + "(reshape(v, [2, 4]), hidden = 4611686018427387904)\n")).code,
        "A0205");
}
