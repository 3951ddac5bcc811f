// Expressions at compile time: values, errors, choices.
#include "lib/syntax/Evaluate.h"
#include "lib/syntax/Parser.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {
/// Evaluates `let v = EXPR` with lanes = 128, hbm.capacity = 80 GiB, tc.array = {8, 16} x 4.
struct Evaluated {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  Value value;

  explicit Evaluated(const std::string &text, bool symbols = false, bool calls = false) {
    file = parse(diags, sources.add("t.accel", "let v = " + text + "\n"));
    if (file->declarations.empty())
      return;
    Environment environment;
    environment.symbols = symbols;
    environment.calls = calls;
    environment.names = [] { return std::vector<std::string>{"lanes", "hbm", "tc"}; };
    environment.resolve = [](llvm::ArrayRef<ast::Name> path) -> std::optional<Value> {
      std::string name;
      for (const ast::Name &part : path)
        name += (name.empty() ? "" : ".") + part.text;
      if (name == "lanes")
        return Value{{}, Quantity::number(128)};
      if (name == "hbm.capacity")
        return Value{{}, *parseQuantity("80 GiB")};
      if (name == "tc.array") {
        SetValue rows{{{{}, Quantity::number(8)}, {{}, Quantity::number(16)}}};
        return Value{{}, ShapeValue{{{{}, rows}, {{}, Quantity::number(4)}}}};
      }
      return std::nullopt;
    };
    value = evaluate(diags, *file->declarations[0].value, environment);
  }
  std::string error() const {
    auto list = diags.sorted();
    return list.empty() ? "" : entryOf(list[0].code).number.str() + ": " + list[0].message + (list[0].help.empty() ? "" : " / " + list[0].help);
  }
};
std::string valueOf(const std::string &text) {
  Evaluated e(text);
  EXPECT_EQ(e.error(), "") << text;
  return print(e.value);
}
std::string errorOf(const std::string &text) {
  Evaluated e(text);
  EXPECT_TRUE(e.value.invalid()) << text;
  EXPECT_EQ(e.diags.errors(), 1u) << e.diags.text();
  return e.error();
}
} // namespace

TEST(Evaluate, Arithmetic) {
  EXPECT_EQ(valueOf("1 + 2 * 3 - 4 / 8"), "6.5");
  EXPECT_EQ(valueOf("-2 ^ 2"), "-4");
  EXPECT_EQ(valueOf("(1 + 2) * lanes % 100"), "84");
  EXPECT_EQ(valueOf("7 - 2 - 1"), "4");
  EXPECT_EQ(valueOf("64 B/cycle * 940 MHz"), "60.16 GB/s");
  EXPECT_EQ(valueOf("0.95 * hbm.capacity"), "76 GiB");
  EXPECT_EQ(valueOf("0.1 + 0.2 == 0.3"), "true");
  EXPECT_EQ(valueOf("1 < 2 and not 2 < 1 or false"), "true");
  EXPECT_EQ(valueOf("1 GiB > 1 GB"), "true");
  EXPECT_EQ(valueOf("false and 1 / 0 == 1"), "false");
  EXPECT_EQ(valueOf("if lanes == 1 then 1 / 0 else if lanes == 128 then 5 else 6"), "5");
  EXPECT_EQ(valueOf("\"a\" == \"a\""), "true");
}

TEST(Evaluate, FunctionsAndMembers) {
  EXPECT_EQ(valueOf("ceil_div(7, 2) + floor_div(7, 2) + pow2(3) + log2(8)"), "18");
  EXPECT_EQ(valueOf("min(3 GB, 1 GiB, 2 GB)"), "1 GiB");
  EXPECT_EQ(valueOf("max([1, 5, 3]) + sum([1, 2, 3]) + len([1, 2]) + sum([])"), "13");
  EXPECT_EQ(valueOf("[1, [2, 3]][1][0]"), "2");
  EXPECT_EQ(valueOf("{bf16: 312 TFLOP/s}.bf16"), "312 TFLOP/s");
  EXPECT_EQ(valueOf("tc.array.cols"), "4");
  EXPECT_EQ(valueOf("(128 x 64).rows"), "128");
}

TEST(Evaluate, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(errorOf("300 W + 2 s"), "A0204: cannot add power (W) and time (s)");
  EXPECT_EQ(errorOf("1 GB < 1 GB/s"), "A0204: cannot compare size (B) with bandwidth (B/s)");
  EXPECT_EQ(errorOf("lane * 2"), "A0104: unknown name 'lane' / did you mean 'lanes'?");
  EXPECT_EQ(errorOf("1 / (2 - 2)"), "A0206: division by zero");
  EXPECT_EQ(errorOf("10 ^ 8000"), "A0205: the result is too large or too precise to be computed exactly");
  EXPECT_EQ(errorOf("maximum(1, 2)"), "A0116: unknown function 'maximum'");
  EXPECT_EQ(errorOf("ceil_div(1)"), "A0112: 'ceil_div' takes 2 arguments, and 1 are given");
  EXPECT_EQ(errorOf("1 + \"a\""), "A0301: '+' needs numbers, and this is a text");
  EXPECT_EQ(errorOf("1 and true"), "A0301: 'and' needs truth values, and this is a plain number");
  EXPECT_EQ(errorOf("[1, 2][2]"), "A0310: index 2 of a list of 2 elements");
  EXPECT_EQ(errorOf("{a: 1, a: 2}"), "A0102: 'a' given twice");
  EXPECT_EQ(errorOf("{8, 16, 8}"), "A0306: '8' is in the set twice");
  EXPECT_EQ(errorOf("(1 x 2).row"), "A0119: a shape has no member 'row' / did you mean 'rows'?");
  EXPECT_EQ(errorOf("5 Mhz + 2"), "A0201: unknown unit 'Mhz' / did you mean 'MHz'?");
}

TEST(Evaluate, Choices) {
  auto all = [](const std::string &text) {
    Evaluated e(text);
    EXPECT_EQ(e.error(), "") << text;
    EXPECT_TRUE(e.value.hasChoice());
    std::string result;
    auto values = expand(e.value, 1000);
    EXPECT_TRUE(values && countOf(e.value) == static_cast<int64_t>(values->size()));
    for (const Value &value : *values)
      result += print(value) + ";";
    return result;
  };
  EXPECT_EQ(all("1..4"), "1;2;3;4;");
  EXPECT_EQ(all("1..9 step 3"), "1;4;7;");
  EXPECT_EQ(all("pow2 1..16"), "1;2;4;8;16;");
  EXPECT_EQ(all("pow2 3..16"), "4;8;16;");
  EXPECT_EQ(all("pow2 2..8 MiB"), "2 MiB;4 MiB;8 MiB;");
  EXPECT_EQ(all("1..2 GB step 0.5"), "1 GB;1.5 GB;2 GB;");
  EXPECT_EQ(all("500 MB..1 GB step 250 MB"), "500 MB;750 MB;1 GB;");
  EXPECT_EQ(all("pow2 0.25..2"), "0.25;0.5;1;2;");
  EXPECT_EQ(all("{8, 16}"), "8;16;");
  EXPECT_EQ(countOf(Evaluated("1..1e12").value), 1000000000000);
  EXPECT_FALSE(expand(Evaluated("1..1e12").value));
  EXPECT_TRUE(Evaluated("(pow2 2..8) x 4").value.hasChoice());
  EXPECT_TRUE(Evaluated("2 * {1, 2}").value.as<Deferred>());
  EXPECT_TRUE(Evaluated("tc.array.rows + 1").value.as<Deferred>());
  EXPECT_EQ(errorOf("4..2"), "A0303: the range is empty: 4 is above 2");
  EXPECT_EQ(errorOf("pow2 5..7"), "A0303: no power of two lies in this range");
  EXPECT_EQ(errorOf("1..4 step 0"), "A0304: the step must be positive");
  EXPECT_EQ(errorOf("1 s..4 GB"), "A0204: the ends of a range: cannot compare time (s) with size (B)");
}

TEST(Evaluate, WhatAKeyWants) {
  auto quantity = [](const std::string &text) {
    Evaluated e(text);
    auto q = asQuantity(e.diags, e.value, Dimension::of(Base::Byte), "capacity");
    return q ? q->print() : e.error();
  };
  EXPECT_EQ(quantity("16 GiB"), "16 GiB");
  EXPECT_EQ(quantity("16"), "A0202: 'capacity' needs a unit, as it is size (B) / for example '16 B'");
  EXPECT_EQ(quantity("16 GB/s"), "A0203: 'capacity' is size (B), and this is bandwidth (B/s)");
  EXPECT_EQ(quantity("1..2 GB"), "A0307: 'capacity' needs one number, and this is a choice");
  EXPECT_EQ(quantity("\"a\""), "A0301: 'capacity' needs one number, and this is a text");
  auto integer = [](const std::string &text) {
    Evaluated e(text);
    auto n = asInteger(e.diags, e.value, 1, 8, "batch");
    return n ? std::to_string(*n) : e.error();
  };
  EXPECT_EQ(integer("2 * 4"), "8");
  EXPECT_EQ(integer("9"), "A0302: 'batch' is between 1 and 8, and this is 9");
  EXPECT_EQ(integer("1e30"), "A0302: 'batch' is between 1 and 8, and this is 1e30");
  EXPECT_EQ(integer("1.5"), "A0308: 'batch' is a whole number, and this is 1.5");
  EXPECT_EQ(integer("2 s"), "A0207: 'batch' is a plain number, and this is time (s)");
  EXPECT_EQ(print(Evaluated("mixed(bf16)", false, true).value), "mixed(bf16)");
  EXPECT_EQ(print(Evaluated("{none, full, interleaved(2..8)}", true, true).value), "{none, full, interleaved(2..8)}");
}

TEST(Evaluate, NamesOfAFixedList) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = parse(diags, sources.add("t.accel", "let a = os\nlet b = weight_stationry\nlet c = 3\n"));
  std::vector<std::string> allowed = {"os", "weight_stationary"};
  Environment none;
  auto name = [&](size_t i) { return evaluateName(diags, *file->declarations[i].value, none, allowed, "dataflow"); };
  EXPECT_EQ(name(0), "os");
  EXPECT_FALSE(name(1) || name(2));
  EXPECT_NE(diags.text().find("did you mean 'weight_stationary'?"), std::string::npos);
}
