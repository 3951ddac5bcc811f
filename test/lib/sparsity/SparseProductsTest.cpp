// 2:4 products: tables are read and refused, estimates obey their definition, and shapes that others measured and that
// were left out are met.
#include "lib/machine/operations/SparseProducts.h"
#include "lib/machine/operations/File.h"
#include "test/support/SharedData.h"
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace accord::operations {
namespace {

constexpr const char *kHeader = "operation,batch,m,n,k,width,type,device,latency_ms,kernel,bytes,watts,dense_ms\n";

std::string product(double m, double n, double k, double sparse, double dense, const std::string &device = "gpu",
                    const std::string &type = "bf16") {
  return fmt::format("sparse_linear,1,{},{},{},,{},{},{},,,,{}\n", m, n, k, type, device, sparse, dense);
}
/// Twelve products whose speed-up rises from 1.1 to 1.65 with the rows.
std::string twelve(const std::string &device = "gpu", const std::string &type = "bf16") {
  std::string text;
  for (int i = 0; i < 12; ++i)
    text += product(64 << i, 1024, 4096, 1, 1.1 + 0.05 * i, device, type);
  return text;
}
std::vector<SparseKernelTable> good(const std::string &text) {
  auto read = readSparseRows(kHeader + text, "t.csv");
  if (read)
    return *read;
  for (const Error &error : read.error())
    ADD_FAILURE() << error.message;
  return {};
}
Error bad(const std::string &text) {
  auto read = readSparseRows(text, "t.csv");
  if (!read)
    return read.error().front();
  ADD_FAILURE() << "accepted: " << text;
  return {Code::BadTable, "", {}, {}};
}

TEST(SparseProducts, RowsBecomeTables) {
  auto tables = good(twelve() + product(64, 1024, 4096, 2, 2.2 * 1.21) + twelve("gpu", "fp16") +
                     "sparsify_transposable,1,4096,1024,,,bf16,gpu,0.5,,,,\nsparsify,1,4096,1024,,,bf16,gpu,0.25,,,,\n"
                     "linear,1,2048,2560,10240,,fp32,gpu,26.8,,,,\n");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].device, "gpu");
  EXPECT_EQ(tables[0].type, "bf16");
  ASSERT_EQ(tables[0].points.size(), 12u);
  // The two rows of one shape are one point: their geometric mean.
  EXPECT_NEAR(tables[0].points[0].speedup, std::sqrt(1.1 * 1.1 * 1.21), 1e-12);
  EXPECT_EQ(tables[0].points[0].depth, 1024);
  EXPECT_EQ(tables[0].points[0].columns, 4096);
  ASSERT_EQ(tables[0].masks.size(), 2u);
  EXPECT_FALSE(tables[0].masks[0].transposable);
  EXPECT_EQ(tables[0].masks[1].elements, 4096 * 1024);
  EXPECT_DOUBLE_EQ(tables[0].masks[1].seconds, 0.5e-3);
}

TEST(SparseProducts, WhatIsNoTableIsRefusedAtItsPlace) {
  auto at = [](const Error &error) { return fmt::format("{}:{}", error.location.line, error.location.column); };
  Error few = bad(kHeader + product(64, 1024, 4096, 1, 1.2));
  EXPECT_EQ(few.code, Code::NothingFitted);
  EXPECT_NE(few.message.find("needs 9"), std::string::npos) << few.message;
  EXPECT_EQ(at(few), "2:1");
  EXPECT_EQ(bad("operation,type\n").code, Code::BadTable);
  EXPECT_EQ(bad("operation,type,devise,latency_ms\nlinear,fp32,gpu,1\n").suggestion, "device");
  Error type = bad(kHeader + product(64, 1024, 4096, 1, 1.2, "gpu", "bf61"));
  EXPECT_EQ(type.suggestion, "bf16");
  EXPECT_EQ(at(type), "2:31");
  Error dense = bad(std::string(kHeader) + "sparse_linear,1,64,64,64,,bf16,gpu,1,,,,\n");
  EXPECT_NE(dense.message.find("'dense_ms' is needed"), std::string::npos) << dense.message;
  for (const char *time : {"0", "-1", "nan", "inf", "x"})
    EXPECT_EQ(bad(fmt::format("{}sparse_linear,1,64,64,64,,bf16,gpu,{},,,,1\n", kHeader, time)).code, Code::BadCell);
}

TEST(SparseProducts, AnEstimateIsBetweenWhatWasMeasured) {
  SparseKernelTable table = good(twelve()).front();
  for (double rows = 1; rows < 1e9; rows *= 3)
    for (double depth : {16.0, 1024.0, 70000.0}) {
      const SparseSpeedup found = sparseSpeedup(table, rows, depth, 4096);
      EXPECT_GE(found.mean, 1.1 * (1 - 1e-12));
      EXPECT_LE(found.mean, 1.65 * (1 + 1e-12));
      EXPECT_LE(found.low, found.mean);
      EXPECT_GE(found.high, found.mean);
      EXPECT_EQ(found.inside, depth == 1024 && rows >= 32 && rows <= 64 << 12) << rows << ' ' << depth;
      if (!found.inside) { // all that was measured
        EXPECT_LE(found.low, 1.1);
        EXPECT_GE(found.high, 1.65);
      }
    }
  // One speed-up everywhere is that, without an interval.
  for (SparseKernelPoint &point : table.points)
    point.speedup = 1.5;
  ASSERT_TRUE(fitSparseKernels(table));
  EXPECT_NEAR(sparseSpeedup(table, 777, 1024, 4096).low, 1.5, 1e-12);
  EXPECT_NEAR(sparseSpeedup(table, 777, 1024, 4096).high, 1.5, 1e-12);
}

TEST(SparseProducts, NinetyPercentOfThePointsAreInsideTheIntervalThatTheOthersGive) {
  // Speed-ups with noise of a fixed generator: of each point, the interval of all others with their own deviation.
  unsigned seed = 7;
  auto noise = [&] { return seed = seed * 1664525 + 1013904223, 2.0 * (seed >> 8) / (1 << 24) - 1; };
  SparseKernelTable table;
  for (int m = 0; m < 12; ++m)
    for (int n = 0; n < 10; ++n)
      table.points.push_back({64.0 * (1 << m), 512.0 * (n + 1), 4096, (1.2 + 0.03 * m) * std::exp(0.2 * noise())});
  size_t inside = 0;
  for (size_t i = 0; i < table.points.size(); ++i) {
    SparseKernelTable others = table;
    others.points.erase(others.points.begin() + static_cast<ptrdiff_t>(i));
    ASSERT_TRUE(fitSparseKernels(others));
    const SparseKernelPoint &at = table.points[i];
    const SparseSpeedup found = sparseSpeedup(others, at.rows, at.depth, at.columns);
    inside += found.low <= at.speedup && at.speedup <= found.high;
  }
  EXPECT_GE(inside, 105u);
  EXPECT_LE(inside, 113u);
}

TEST(SparseProducts, MasksFollowAPowerLaw) {
  SparseKernelTable table;
  table.masks = {{false, 1000, 1e-6}, {true, 1000, 2e-6}, {true, 16000, 8e-6}};
  EXPECT_DOUBLE_EQ(*maskSeconds(table, true, 4000), 4e-6);
  EXPECT_DOUBLE_EQ(*maskSeconds(table, true, 10), 2e-6);
  EXPECT_DOUBLE_EQ(*maskSeconds(table, true, 32000), 16e-6);
  EXPECT_DOUBLE_EQ(*maskSeconds(table, false, 5000), 5e-6);
  table.masks.pop_back(), table.masks.pop_back();
  EXPECT_FALSE(maskSeconds(table, true, 1000));
}

TEST(SparseProducts, FilesComeBackToTheLastDigit) {
  Fit fit;
  fit.sparse = good(twelve("NVIDIA \xC3\xA9 1") + twelve("b", "fp16") +
                    "sparsify_transposable,1,4096,1024,,,bf16,NVIDIA \xC3\xA9 1,0.123456789,,,,\n");
  const std::string text = write(fit);
  EXPECT_EQ(text.find("shared"), std::string::npos);
  auto read = readFile(text, "x.operations");
  ASSERT_TRUE(bool(read)) << read.error().front().message;
  ASSERT_EQ(read->sparse.size(), 2u);
  EXPECT_EQ(write(*read), text);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->sparse[i].width, fit.sparse[i].width);
    EXPECT_EQ(read->sparse[i].deviation, fit.sparse[i].deviation);
    EXPECT_EQ(read->sparse[i].reach, fit.sparse[i].reach);
  }
  auto refused = [&](const std::string &line) {
    auto wrong = readFile("operations 2\n" + line + "\n" + text.substr(text.find("sparse")), "x.operations");
    ASSERT_FALSE(bool(wrong)) << line;
    EXPECT_EQ(wrong.error().front().code, Code::BadCalibration);
  };
  for (const char *line :
       {"sparse b fp16 1 1 1 = 1", "sparse \"b\" fp16 1 1 = 1", "sparse \"b\" fp16 1 1 1 = 0",
        "sparse \"b\" fp16 0 1 1 = 1", "sparse \"b\" fp16 1 1 1 = 1 s", "masks \"b\" fp16 other 1 = 1 s",
        "masks \"b\" fp16 plain 1 = 1", "sparse \"c\" bf16 1 1 1 = 1", "sparse \"b\" fp16 64 1024 4096 = 1"})
    refused(line);
}

/// Milliseconds of 2:4 and dense products of m x 10240 x m, bf16, CUTLASS kernels of PyTorch 2.4: pytorch/ao issue 174.
struct PublishedProduct {
  double m, sparse, dense;
};
constexpr PublishedProduct kRtx4070TiSuper[] = {
    {3072, 1.10574, 2.131},   {4096, 1.9605, 3.73044},  {5120, 3.12083, 6.10269}, {6144, 4.74411, 8.79509},
    {7168, 7.29741, 11.9486}, {8192, 10.6073, 15.4296}, {9216, 13.6835, 19.1741}, {10240, 16.8367, 23.4461},
    {11264, 20.37, 28.2801},  {12288, 24.1402, 33.545}, {13312, 28.4292, 39.2493}};
constexpr PublishedProduct kRtx3060[] = {
    {3072, 3.749355, 7.256761},     {4096, 6.678134, 13.164187},    {5120, 10.565052, 20.252486},
    {6144, 15.589268, 28.900475},   {7168, 21.81486, 42.035703},    {8192, 35.252837, 65.011371},
    {9216, 36.577059, 63.58955},    {10240, 45.712477, 78.786396},  {11264, 54.966579, 95.234777},
    {12288, 66.754359, 113.816444}, {13312, 77.615483, 132.878653}, {14336, 88.93002, 153.554204}};

TEST(SparseProducts, PublishedShapesThatAreLeftOutAreMet) {
  std::string text;
  for (const PublishedProduct &one : kRtx4070TiSuper)
    text += product(one.m, 10240, one.m, one.sparse, one.dense, "RTX 4070 Ti SUPER");
  for (const PublishedProduct &one : kRtx3060)
    text += product(one.m, 10240, one.m, one.sparse, one.dense, "RTX 3060");
  const std::vector<ErrorTable> tables = sparseErrors(good(text));
  ASSERT_EQ(tables.size(), 2u);
  for (const ErrorTable &table : tables) {
    ASSERT_EQ(table.groups.size(), 3u) << table.title;
    for (const ErrorSummary &group : table.groups) {
      EXPECT_LE(group.meanError, 0.10) << table.title << ", " << group.group;
      RecordProperty(table.title + " " + group.group, fmt::format("{:.4f}", group.meanError));
    }
  }
}

/// A table in the columns of `accord measure --sparse`, of other people's products (docs/sparsity.md says which).
TEST(SparseProducts, MeasuredProductsOfManyDevicesAreMet) {
  std::ifstream file(testing::sharedData("sparse-products") / "products.csv");
  if (!file)
    GTEST_SKIP() << "no sparse-products/products.csv beside the checkout or in ACCORD_DATA";
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto read = readSparseRows(text, "products.csv");
  ASSERT_TRUE(bool(read)) << read.error().front().message;
  for (const ErrorTable &table : sparseErrors(*read)) {
    ASSERT_FALSE(table.groups.empty());
    for (const ErrorSummary &group : table.groups)
      if (group.group == "all" || group.group.starts_with("NVIDIA A100") || group.group.starts_with("NVIDIA B200"))
        EXPECT_LE(group.meanError, 0.10) << table.title << ", " << group.group << ", " << group.rows << " rows";
  }
}

} // namespace
} // namespace accord::operations
