// How many different rows of a table skewed lookups touch.
#include "lib/machine/translate/FromDnn.h"
#include "test/support/TrainingGraphFixture.h"
#include <cmath>
#include <random>
#include <set>

using namespace accord;

namespace {

/// Zipf's law term by term.
double expected(int64_t lookups, int64_t rows, double skew) {
  double sum = 0, distinct = 0;
  for (int64_t r = 1; r <= rows; ++r)
    sum += std::pow(static_cast<double>(r), -skew);
  for (int64_t r = 1; r <= rows; ++r) {
    double p = std::pow(static_cast<double>(r), -skew) / sum;
    distinct += 1 - std::pow(1 - p, static_cast<double>(lookups));
  }
  return distinct;
}

} // namespace

TEST(Skew, DistinctRowsAreThoseOfZipf) {
  for (int64_t rows : {1, 2, 100, 5000, 300000})
    for (int64_t lookups : {1, 7, 1000, 100000})
      for (double skew : {0.0, 0.5, 1.05, 2.0}) {
        double found = dnn::distinctRows(lookups, rows, skew), wanted = expected(lookups, rows, skew);
        EXPECT_NEAR(found / wanted, 1, 1e-3) << lookups << " of " << rows << " with " << skew;
        EXPECT_LE(found, 1.000001 * static_cast<double>(std::min(lookups, rows)));
      }
}

TEST(Skew, DrawnIdsTouchAsManyRows) {
  constexpr int64_t kRows = 2000, kLookups = 3000;
  std::mt19937_64 random(1);
  std::vector<double> weights;
  for (int64_t r = 1; r <= kRows; ++r)
    weights.push_back(std::pow(static_cast<double>(r), -1.1));
  std::discrete_distribution<int64_t> draw(weights.begin(), weights.end());
  double sum = 0;
  constexpr int kTimes = 50;
  for (int t = 0; t < kTimes; ++t) {
    std::set<int64_t> seen;
    for (int64_t k = 0; k < kLookups; ++k)
      seen.insert(draw(random));
    sum += static_cast<double>(seen.size());
  }
  EXPECT_NEAR(sum / kTimes / dnn::distinctRows(kLookups, kRows, 1.1), 1, 0.01);
}

TEST(Skew, HotRowsMoveOnce) {
  auto bytes = [](const char *skew, const char *kind) {
    std::string text = std::string(R"(
model net {
  input ids : int32[20]
  input t   : float[8]
  loss mse(embedding_bag(ids, rows = 1000, dim = 8)") +
                       skew + R"(), t)
}
train t = net() on a100_80g {
  batch     = 64
  precision = fp32
  optimizer = sgd
})";
    TrainingGraph one(text.c_str());
    std::string error;
    auto work = workGraphFrom(one.graph, 64, 1, error);
    EXPECT_TRUE(work) << error;
    for (const Operation &op : work->operations)
      if (op.kind == kind)
        return std::pair(op.bytesRead, op.bytesWritten);
    ADD_FAILURE() << "no " << kind;
    return std::pair<int64_t, int64_t>();
  };
  constexpr int64_t kIds = 64 * 20, kRow = 8 * 4, kResult = 64 * 8 * 4;
  int64_t rows = std::llround(expected(kIds, 1000, 1.05));
  EXPECT_LT(rows, kIds);
  EXPECT_EQ(bytes("", "embedding_bag"), std::pair(kIds * 4 + kIds * kRow, kResult));
  EXPECT_EQ(bytes(", skew = 1.05", "embedding_bag"), std::pair(kIds * 4 + rows * kRow, kResult));
  EXPECT_EQ(bytes(", skew = 1.05", "embedding_bag_grad"), std::pair(kResult + kIds * 4 + rows * kRow, rows * kRow));
}
