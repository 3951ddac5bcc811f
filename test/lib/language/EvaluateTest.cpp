// Expressions at compile time: values, errors, choices.
#include "lib/language/syntax/Evaluate.h"
#include "lib/language/syntax/Parser.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {
/// Evaluates `let v = EXPR` with lanes = 128.
struct Evaluated {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  Constant value;

  explicit Evaluated(const std::string &text) {
    file = parse(diags, sources.add("t.accel", "let v = " + text + "\n"));
    Lookup lookup = [](llvm::StringRef name, SourceRange) -> std::optional<Constant> {
      if (name == "lanes")
        return Constant{{}, Quantity::number(128)};
      return std::nullopt;
    };
    if (!file->declarations.empty())
      value = evaluate(*file->declarations[0].value, diags, lookup);
  }
  std::string codes() const {
    std::string result;
    for (const Diagnostic &d : diags.sorted())
      result += (result.empty() ? "" : " ") + entryOf(d.code).number.str();
    return result;
  }
};

std::string valueOf(const std::string &text) {
  Evaluated e(text);
  EXPECT_EQ(e.codes(), "") << text << e.diags.text();
  if (const auto *q = e.value.as<Quantity>())
    return q->print();
  if (const auto *b = e.value.as<bool>())
    return *b ? "true" : "false";
  return e.value.describe();
}

std::string errorOf(const std::string &text) {
  Evaluated e(text);
  EXPECT_TRUE(e.value.failed()) << text;
  return e.codes();
}

std::string integers(const std::string &text, int64_t min = 1, size_t max = 1000) {
  Evaluated e(text);
  auto list = integersOf(e.value, e.diags, "key", min, max);
  std::string result = e.codes();
  if (list)
    for (int64_t i : *list)
      result += std::to_string(i) + ";";
  return result;
}
} // namespace

TEST(Evaluate, Arithmetic) {
  EXPECT_EQ(valueOf("1 + 2 * 3 - 4 / 8"), "6.5");
  EXPECT_EQ(valueOf("-2 ^ 2"), "-4");
  EXPECT_EQ(valueOf("(1 + 2) * lanes % 100"), "84");
  EXPECT_EQ(valueOf("7 - 2 - 1"), "4");
  EXPECT_EQ(valueOf("64 B/cycle * 940 MHz"), "60.16 GB/s");
  EXPECT_EQ(valueOf("0.95 * 80 GiB"), "76 GiB");
  EXPECT_EQ(valueOf("0.1 + 0.2 == 0.3"), "true");
  EXPECT_EQ(valueOf("1 < 2 and not 2 < 1 or false"), "true");
  EXPECT_EQ(valueOf("1 GiB > 1 GB"), "true");
  EXPECT_EQ(valueOf("if lanes == 1 then 1 / 0 else if lanes == 128 then 5 else 6"), "5");
}

TEST(Evaluate, Functions) {
  EXPECT_EQ(valueOf("ceil_div(7, 2) + floor_div(7, 2) + pow2(3) + log2(8)"), "18");
  EXPECT_EQ(valueOf("min(3 GB, 1 GiB, 2 GB)"), "1 GiB");
  EXPECT_EQ(valueOf("max([1, 5, 3]) + sum([1, 2, 3]) + len([1, 2])"), "13");
  EXPECT_EQ(valueOf("[1, [2, 3]][1][0]"), "2");
}

TEST(Evaluate, OneErrorWhereItIs) {
  EXPECT_EQ(errorOf("300 W + 2 s"), "A0204");
  EXPECT_EQ(errorOf("1 GB < 1 GB/s"), "A0204");
  EXPECT_EQ(errorOf("1 / (2 - 2)"), "A0206");
  EXPECT_EQ(errorOf("10 ^ 8000"), "A0205");
  EXPECT_EQ(errorOf("2 ^ 0.5"), "A0208");
  EXPECT_EQ(errorOf("1 + \"a\""), "A0301");
  EXPECT_EQ(errorOf("[1, 2][2]"), "A0310");
  EXPECT_EQ(errorOf("{a: 1, a: 2}"), "A0102");
  EXPECT_EQ(errorOf("5 Mhz + 2"), "A0201"); // and not that the dimensions do not fit as well
  EXPECT_EQ(errorOf("4..2"), "A0303");
  EXPECT_EQ(errorOf("pow2 0..4"), "A0303");
  EXPECT_EQ(errorOf("1..4 step 0"), "A0304");
  EXPECT_EQ(errorOf("1 s..4 GB"), "A0204");
  EXPECT_EQ(Evaluated("{8, 16, 8}").codes(), "A0306");
}

TEST(Evaluate, ChoicesOfIntegers) {
  EXPECT_EQ(integers("5"), "5;");
  EXPECT_EQ(integers("1..4"), "1;2;3;4;");
  EXPECT_EQ(integers("1..9 step 3"), "1;4;7;");
  EXPECT_EQ(integers("pow2 1..16"), "1;2;4;8;16;");
  EXPECT_EQ(integers("{8, 2, pow2 1..4}"), "1;2;4;8;");
  EXPECT_EQ(integers("0..3", 1), "A0302");
  EXPECT_EQ(integers("1..1e12"), "A0311");
  EXPECT_EQ(integers("1.5"), "A0308");
  EXPECT_EQ(integers("2 s"), "A0207");
  EXPECT_EQ(integers("1000000000000000000..9000000000000000000 step 9000000000000000000"), "1000000000000000000;");
  EXPECT_EQ(integers("-9000000000000000000..9000000000000000000", -9223372036854775807), "A0311");
  EXPECT_EQ(integers("pow2 4611686018427387904..9000000000000000000"), "4611686018427387904;");
}

TEST(Evaluate, UnitOfTheUpperEndHoldsForBoth) {
  Evaluated e("pow2 2..128 MiB");
  const auto *choice = e.value.as<Choice>();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->low.print(), "2 MiB");
  EXPECT_EQ(choice->high.print(), "128 MiB");
}
