// Values that follow from parameters, against exact arithmetic of each design and a law: what a
// design gives is within what any box around it gives.
#include "lib/exploration/space/DesignTerms.h"
#include "dialects/accel/AccelDialect.h"
#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

/// Random expressions over three parameters, as attributes and as functions of the parameters.
struct Expressions {
  mlir::MLIRContext context;
  std::mt19937 random{5};
  std::vector<std::vector<Rational>> values{{1, 2, 4, 8}, {-3, -1, 0, Rational(1) / Rational(2), 5}, {2, 3, 7}};
  using Value = std::function<std::optional<Rational>(const Design &)>;
  struct Made {
    mlir::Attribute attribute;
    Value value;
  };

  Expressions() { context.loadDialect<accel::AccelDialect>(); }

  Made make(int depth) {
    mlir::Builder builder(&context);
    if (depth == 0 || random() % 5 == 0) {
      if (random() % 3 == 0) {
        int64_t n = static_cast<int64_t>(random() % 9) - 4;
        return {builder.getI64IntegerAttr(n), [n](const Design &) { return Rational(n); }};
      }
      size_t which = random() % 3;
      return {accel::ReferenceAttr::get(&context, "p." + std::to_string(which)),
              [this, which](const Design &design) { return values[which][design[which]]; }};
    }
    static const std::vector<std::string> names{"+",   "-",   "*",         "/",        "%", "min",
                                                "max", "sum", "floor_div", "ceil_div", "^", "neg"};
    std::string name = names[random() % names.size()];
    if (name == "^") {
      Made base = make(depth - 1);
      int64_t n = static_cast<int64_t>(random() % 4);
      return {apply("^", {base.attribute, builder.getI64IntegerAttr(n)}),
              [base, n](const Design &design) -> std::optional<Rational> {
                auto of = base.value(design);
                Rational all(1);
                for (int64_t i = 0; of && i < n; ++i)
                  all = all * *of;
                return of ? std::optional(all) : std::nullopt;
              }};
    }
    Made a = make(depth - 1);
    if (name == "neg")
      return {apply("-", {a.attribute}), [a](const Design &design) -> std::optional<Rational> {
                auto of = a.value(design);
                return of ? std::optional(Rational(0) - *of) : std::nullopt;
              }};
    Made b = make(depth - 1);
    return {apply(name, {a.attribute, b.attribute}), [=](const Design &design) -> std::optional<Rational> {
              auto x = a.value(design), y = b.value(design);
              if (!x || !y)
                return std::nullopt;
              if (name == "+" || name == "sum")
                return *x + *y;
              if (name == "-")
                return *x - *y;
              if (name == "*")
                return *x * *y;
              if (name == "min" || name == "max")
                return (*x < *y) == (name == "min") ? *x : *y;
              if (y->isZero())
                return std::nullopt;
              Rational ratio = *x / *y;
              if (name == "/")
                return ratio;
              if (name == "%")
                return *x - *y * ratio.floor();
              return name == "floor_div" ? ratio.floor() : ratio.ceil();
            }};
  }

private:
  mlir::Attribute apply(const std::string &name, llvm::ArrayRef<mlir::Attribute> operands) {
    return accel::ApplyAttr::get(&context, name, mlir::Builder(&context).getArrayAttr(operands));
  }
};

} // namespace

TEST(DesignTerms, SpansHoldWhatEveryDesignGives) {
  Expressions expressions;
  size_t defined = 0, undefined = 0, wide = 0;
  for (int round = 0; round < 3000; ++round) {
    DesignTerms terms;
    std::vector<int> leaves;
    for (size_t i = 0; i < 3; ++i)
      leaves.push_back(terms.parameter(i, {}, expressions.values[i]));
    auto made = expressions.make(1 + round % 4);
    auto term = terms.add(made.attribute, [&](const std::string &path) -> Result<int> {
      return leaves[static_cast<size_t>(path.back() - '0')];
    });
    ASSERT_TRUE(term) << term.error().message;
    DesignBox box{{0, 0, 0}, {3, 4, 2}};
    for (size_t i = 0; i < 3; ++i) {
      box.low[i] = static_cast<uint32_t>(expressions.random() % (box.high[i] + 1));
      box.high[i] = box.low[i] + static_cast<uint32_t>(expressions.random() % (box.high[i] - box.low[i] + 1));
    }
    auto span = terms.exact(*term, box);
    DesignInterval<double> near = terms.nearly(*term, box, {});
    (span ? defined : undefined) += 1;
    wide += span && span->low < span->high;
    for (uint32_t a = box.low[0]; a <= box.high[0]; ++a)
      for (uint32_t b = box.low[1]; b <= box.high[1]; ++b)
        for (uint32_t c = box.low[2]; c <= box.high[2]; ++c) {
          Design design{a, b, c};
          auto expected = made.value(design);
          auto point = terms.exact(*term, {design, design});
          ASSERT_EQ(point.has_value(), expected.has_value());
          if (!expected) {
            ASSERT_FALSE(span) << "a part of the box has no value";
            continue;
          }
          ASSERT_EQ(point->low, *expected);
          ASSERT_EQ(point->high, *expected);
          double value = expected->toDouble(), slack = 1e-9 * (1 + std::abs(value));
          if (span) {
            ASSERT_LE(span->low, *expected);
            ASSERT_GE(span->high, *expected);
          }
          ASSERT_LE(near.low, value + slack);
          ASSERT_GE(near.high, value - slack);
        }
  }
  EXPECT_GT(defined, 1000u);
  EXPECT_GT(undefined, 100u);
  EXPECT_GT(wide, 500u);
}

// Dimensions are known before values are.
TEST(DesignTerms, DimensionsAreChecked) {
  mlir::MLIRContext context;
  context.loadDialect<accel::AccelDialect>();
  mlir::Builder builder(&context);
  DesignTerms terms;
  auto quantity = [&](const std::string &text) -> mlir::Attribute {
    return accel::QuantityAttr::get(&context, *parseQuantity(text), text);
  };
  auto dimensionOf = [&](const std::string &name, llvm::ArrayRef<mlir::Attribute> operands) {
    auto term = terms.add(accel::ApplyAttr::get(&context, name, builder.getArrayAttr(operands)),
                          [](const std::string &) -> Result<int> { return 0; });
    return term ? std::optional(terms[*term].dimension) : std::nullopt;
  };
  auto bytes = quantity("2 MiB"), rate = quantity("4 GB/s"), two = quantity("2");
  EXPECT_EQ(dimensionOf("/", {bytes, rate}), Dimension::of(Base::Second));
  EXPECT_EQ(dimensionOf("^", {bytes, two}), Dimension::of(Base::Byte, 2));
  EXPECT_EQ(dimensionOf("<=", {bytes, bytes}), Dimension());
  EXPECT_FALSE(dimensionOf("+", {bytes, rate}));
  EXPECT_FALSE(dimensionOf("<", {bytes, two}));
  EXPECT_FALSE(dimensionOf("^", {two, bytes}));
  EXPECT_FALSE(dimensionOf("log2", {bytes}));
  EXPECT_FALSE(dimensionOf("and", {two, two}));
  EXPECT_FALSE(dimensionOf("+", {two}));
  EXPECT_FALSE(dimensionOf("sqrt", {two}));
}
