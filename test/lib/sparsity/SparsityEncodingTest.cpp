// The words for formats are MLIR's own: its parser reads them.
#include "lib/sparsity/cost/Format.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

using Kind = SparseFormat::Kind;

mlir::sparse_tensor::SparseTensorEncodingAttr parsed(const SparseFormat &format) {
  static mlir::MLIRContext context;
  context.loadDialect<mlir::sparse_tensor::SparseTensorDialect>();
  auto text = encoding(format);
  if (!text)
    return {};
  return mlir::dyn_cast_or_null<mlir::sparse_tensor::SparseTensorEncodingAttr>(mlir::parseAttribute(*text, &context));
}

SparseFormat format(Kind kind, int64_t kept = 1, int64_t of = 1) {
  SparseFormat f;
  f.kind = kind;
  f.kept = kept;
  f.of = of;
  return f;
}

TEST(SparsityEncoding, MlirReadsEveryFormat) {
  EXPECT_FALSE(encoding(format(Kind::Dense)));
  for (Kind kind : {Kind::Bitmask, Kind::Coordinates, Kind::Rows, Kind::RunLength})
    EXPECT_TRUE(parsed(format(kind))) << describe(format(kind));
}

TEST(SparsityEncoding, StructuredLevels) {
  for (auto [kept, of] : {std::pair<int64_t, int64_t>{2, 4}, {2, 8}, {1, 2}}) {
    auto attribute = parsed(format(Kind::Structured, kept, of));
    ASSERT_TRUE(attribute);
    ASSERT_EQ(attribute.getLvlRank(), 3);
    auto type = attribute.getLvlType(2);
    EXPECT_TRUE(type.isa<mlir::sparse_tensor::LevelFormat::NOutOfM>());
    EXPECT_EQ(mlir::sparse_tensor::getN(type), static_cast<uint64_t>(kept));
    EXPECT_EQ(mlir::sparse_tensor::getM(type), static_cast<uint64_t>(of));
  }
}

TEST(SparsityEncoding, RowsOfBlocksWithWidths) {
  SparseFormat f = format(Kind::Rows);
  f.blockRows = 32;
  f.blockColumns = 16;
  f.coordinateBits = 12; // MLIR has 8, 16, 32 and 64
  f.pointerBits = 32;
  auto attribute = parsed(f);
  ASSERT_TRUE(attribute);
  EXPECT_EQ(attribute.getLvlRank(), 4);
  EXPECT_EQ(attribute.getCrdWidth(), 16u);
  EXPECT_EQ(attribute.getPosWidth(), 32u);
  EXPECT_EQ(attribute.getDimRank(), 2);
  EXPECT_EQ(parsed(format(Kind::Coordinates)).getLvlRank(), 2);
}

} // namespace
