// The table of keys, quantities as attributes, and where keys were written.
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "dialects/accel/Schema.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include <gmock/gmock.h>
#include <set>

using namespace accord;
using namespace accord::accel;
using testing::HasSubstr;

namespace {
struct AccelSchema : testing::Test {
  mlir::MLIRContext context;
  AccelSchema() { context.loadDialect<AccelDialect>(); }
  QuantityAttr quantity(llvm::StringRef text) {
    auto value = parseQuantity(text);
    EXPECT_TRUE(value) << text.str();
    return QuantityAttr::get(&context, *value, text);
  }
  std::string error(llvm::StringRef kind, llvm::StringRef subtype, llvm::StringRef key, mlir::Attribute value) {
    return valueError(*findSchema(kind, subtype)->findKey(key), value);
  }
  std::string printed(mlir::Attribute attribute) {
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    return text;
  }
};
} // namespace

TEST_F(AccelSchema, EveryKeyHasWhatItsKindNeeds) {
  for (const BlockSchema &block : allSchemas()) {
    EXPECT_FALSE(block.documentation.empty()) << block.kind.str();
    EXPECT_EQ(findSchema(block.kind, block.subtype), &block)
        << "twice: " << block.kind.str() << " " << block.subtype.str();
    std::set<llvm::StringRef> names;
    for (const KeySchema &key : block.keys) {
      std::string where = block.kind.str() + " " + block.subtype.str() + " " + key.name.str();
      EXPECT_TRUE(names.insert(key.name).second) << "twice: " << where;
      EXPECT_FALSE(key.documentation.empty()) << where;
      EXPECT_FALSE(expected(key).empty()) << where;
      bool quantity = key.kind == ValueKind::Quantity || key.kind == ValueKind::QuantityMap;
      EXPECT_EQ(quantity, !key.dimensions.empty()) << where;
      EXPECT_EQ(holdsNumbers(key.kind), key.better.has_value()) << where;
      if (key.kind == ValueKind::Word || key.kind == ValueKind::WordSet) {
        EXPECT_FALSE(key.words.empty()) << where;
      }
    }
  }
}

TEST_F(AccelSchema, SubtypesAreThoseOfTheLanguage) {
  EXPECT_THAT(subtypesOf("memory"), testing::ElementsAre("dram", "scratchpad", "cache", "register_file"));
  EXPECT_THAT(subtypesOf("core"), testing::ElementsAre("tensor", "vector"));
  EXPECT_EQ(subtypesOf("network").size(), 7u);
  EXPECT_TRUE(subtypesOf("power").empty());
  EXPECT_EQ(findSchema("memory", "tape"), nullptr);
}

TEST_F(AccelSchema, UnknownKeysAreAnsweredWithTheNearestOne) {
  EXPECT_EQ(unknownKey(*findSchema("memory", "dram"), "capactiy"),
            "'capactiy' is not a key of a dram memory, did you mean 'capacity'?");
  EXPECT_THAT(unknownKey(*findSchema("power"), "zzzzzz"), HasSubstr("which has 'idle', 'tdp', 'mac'"));
  EXPECT_EQ(canonicalWord("ws"), "weight_stationary");
  EXPECT_EQ(canonicalWord("weight_stationary"), "weight_stationary");
}

TEST_F(AccelSchema, DimensionsAndRangesAreChecked) {
  EXPECT_EQ(error("memory", "dram", "capacity", quantity("80 GiB")), "");
  EXPECT_EQ(error("memory", "dram", "bandwidth", quantity("64 B/cycle")), "");
  EXPECT_THAT(error("memory", "dram", "capacity", quantity("80 GB/s")), HasSubstr("found 80 GB/s, bandwidth"));
  EXPECT_EQ(error("memory", "dram", "capacity", quantity("0 B")), "must be positive, found 0 B");
  EXPECT_EQ(error("memory", "dram", "latency", quantity("0 ns")), "");
  EXPECT_EQ(error("core", "tensor", "efficiency", quantity("0.85")), "");
  EXPECT_EQ(error("core", "tensor", "efficiency", quantity("1.1")), "must be above 0 and at most 1, found 1.1");
  EXPECT_EQ(error("core", "tensor", "efficiency", quantity("0")), "must be above 0 and at most 1, found 0");
}

TEST_F(AccelSchema, WordsShapesAndMapsAreChecked) {
  mlir::Builder b(&context);
  EXPECT_EQ(error("core", "tensor", "dataflow", b.getStringAttr("row_stationary")), "");
  EXPECT_THAT(error("core", "tensor", "dataflow", b.getStringAttr("row_stationry")),
              HasSubstr("did you mean 'row_stationary'?"));
  EXPECT_EQ(error("core", "tensor", "array", b.getI64ArrayAttr({128, 128})), "");
  EXPECT_EQ(error("core", "tensor", "array", b.getI64ArrayAttr({128})), "must be 2 extents, found 1");
  EXPECT_EQ(error("core", "tensor", "array", b.getI64ArrayAttr({128, 0})), "must be positive, found 0");
  EXPECT_EQ(error("network", "torus", "shape", b.getI64ArrayAttr({4, 4, 4})), "");
  EXPECT_EQ(error("network", "torus", "shape", b.getI64ArrayAttr({2, 2, 2, 2})), "must be 1 to 3 extents, found 4");
  auto map = [&](llvm::StringRef type, llvm::StringRef peak) {
    return b.getDictionaryAttr(b.getNamedAttr(type, quantity(peak)));
  };
  EXPECT_EQ(error("core", "tensor", "peak", map("bf16", "312 TFLOP/s")), "");
  EXPECT_THAT(error("core", "tensor", "peak", map("bf17", "312 TFLOP/s")), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(error("core", "tensor", "peak", map("bf16", "312 W")), HasSubstr("of 'bf16' must be"));
}

TEST_F(AccelSchema, ChoicesAreLookedInto) {
  mlir::Builder b(&context);
  auto choice = [&](llvm::StringRef kind, mlir::ArrayAttr values) { return ChoiceAttr::get(&context, kind, values); };
  EXPECT_EQ(error("core", "vector", "lanes", choice("pow2", b.getI64ArrayAttr({1, 64}))), "");
  EXPECT_EQ(error("core", "vector", "lanes", choice("range", b.getI64ArrayAttr({-3, 64}))),
            "must be positive, found -3");
  auto capacities = b.getArrayAttr({quantity("2 MiB"), quantity("128 MiB")});
  EXPECT_EQ(error("memory", "scratchpad", "capacity", choice("pow2", capacities)), "");
  EXPECT_THAT(error("memory", "scratchpad", "bandwidth", choice("pow2", capacities)), HasSubstr("found 2 MiB"));
  EXPECT_EQ(error("core", "vector", "lanes", ReferenceAttr::get(&context, "tc.array.cols")), "");
}

TEST_F(AccelSchema, QuantitiesReadBackWhatTheyPrint) {
  // Written words, words that need a value beside them, negative, huge, dimensionless, inverse,
  // with quotes in the source.
  const char *texts[] = {"#accel.quantity<940 MHz source \"data sheet\">",
                         "#accel.quantity<312 TFLOP/s>",
                         "#accel.quantity<\"2 * 470 MHz\" = 940000000 cycle/s>",
                         "#accel.quantity<= -7>",
                         "#accel.quantity<\"0.85\">",
                         "#accel.quantity<= 1/3 /s>",
                         "#accel.quantity<= 1/3 B/s2*cycle>",
                         "#accel.quantity<= 123456789012345678901234567890123456789/7 B source \"a \\22b\\22\">"};
  for (const char *text : texts) {
    mlir::Attribute attribute = mlir::parseAttribute(text, &context);
    ASSERT_TRUE(attribute) << text;
    EXPECT_EQ(printed(attribute), text);
    EXPECT_EQ(mlir::parseAttribute(printed(attribute), &context), attribute) << text;
  }
}

TEST_F(AccelSchema, EveryTextIsPrintedSoThatItReadsBack) {
  const char *texts[] = {"4.10 USD/h", "1.4 mm2", "5.",       ".5 s",   "1e3 s", "2 x",
                         "1_000 B",    "x\"y\\z", "8 cycles", "source", "a//b",  "-"};
  for (const char *text : texts) {
    auto attribute =
        QuantityAttr::get(&context, llvm::DynamicAPInt(7), llvm::DynamicAPInt(2), Dimension::of(Base::Byte), text);
    EXPECT_EQ(mlir::parseAttribute(printed(attribute), &context), attribute) << printed(attribute);
  }
}

TEST_F(AccelSchema, EqualValuesAreOneAttributeWhateverTheirWidth) {
  auto big = [&](const char *digits, unsigned bits) { return llvm::DynamicAPInt(llvm::APInt(bits, digits, 10)); };
  const char *digits = "340282366920938463463374607431768211455";
  auto narrow = QuantityAttr::get(&context, big(digits, 130), llvm::DynamicAPInt(1), Dimension());
  auto wide = QuantityAttr::get(&context, big(digits, 500), llvm::DynamicAPInt(1), Dimension());
  EXPECT_EQ(narrow, wide);
  EXPECT_EQ(QuantityAttr::get(&context, llvm::DynamicAPInt(6), llvm::DynamicAPInt(-4), Dimension()),
            QuantityAttr::get(&context, llvm::DynamicAPInt(-3), llvm::DynamicAPInt(2), Dimension()));
}

TEST_F(AccelSchema, KeysRememberWhereTheyWereWritten) {
  mlir::OpBuilder b(&context);
  auto at = [&](unsigned line, unsigned column) -> mlir::Location {
    return mlir::FileLineColLoc::get(&context, "a.accel", line, column);
  };
  auto power = PowerOp::create(b, withKeyLocations(at(1, 1), {{"tdp", at(2, 3)}}), b.getDictionaryAttr({}));
  EXPECT_EQ(locationOf(power, "tdp"), at(2, 3));
  EXPECT_EQ(locationOf(power, "idle"), at(1, 1));
  EXPECT_EQ(blockLocation(power), at(1, 1));
  power->erase();
}
