// Lookups: bytes against hand counts and enumeration.
#include "lib/machine/cost/EmbeddingCost.h"
#include "lib/machine/cost/CostModel.h"
#include "lib/machine/model/Lookups.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace accord;
namespace {

const RowMemory kPlain{BytesPerSecond(1e9), Bytes(64), Seconds(0), 1};

EmbeddingCost forward(const EmbeddingShape &shape, const RowMemory &memory = kPlain) {
  auto result = embeddingForward(shape, memory);
  EXPECT_TRUE(result);
  return *result;
}
EmbeddingCost backward(const EmbeddingShape &shape, double states = 0) {
  return *embeddingBackward(shape, kPlain, states);
}

TEST(Embedding, WholeSectorsAreMoved) {
  EmbeddingShape shape{2, 1, 3, 1000, Bytes(72), Bytes(4), {}};
  EmbeddingCost cost = forward(shape);
  EXPECT_EQ(cost.read.value, 6 * (4 + 128));
  EXPECT_EQ(cost.written.value, 2 * 72);
  EXPECT_EQ(cost.efficiency, 72.0 / 128);
  EXPECT_EQ(cost.time.value, (6 * 132 + 144) / 1e9);
  for (auto [row, moved] : {std::pair(1, 64), {64, 64}, {65, 128}, {128, 128}, {512, 512}}) {
    shape.row = Bytes(row);
    EXPECT_EQ(forward(shape).efficiency, double(row) / moved);
    EXPECT_EQ(bytesMovedPerRow(Bytes(row), Bytes(0)).value, row);
  }
}

TEST(Embedding, PublishedRowBytes) {
  // DLRM of MLPerf: 26 tables of 128 fp32, one lookup each: 13 kB of rows per sample.
  EmbeddingShape shape{1, 26, 1, 1000000, Bytes(512), Bytes(4), {}};
  EXPECT_EQ(forward(shape).written.value, 13312);
  EXPECT_EQ(forward(shape).read.value, 13312 + 26 * 4);
}

TEST(Embedding, BackwardTouchesDifferentRowsOnly) {
  // One row in the table: whatever the lookups, one row is read and written.
  EmbeddingShape shape{8, 2, 4, 1, Bytes(64), Bytes(8), {}};
  EmbeddingCost cost = backward(shape);
  EXPECT_DOUBLE_EQ(cost.distinct, 2);
  EXPECT_DOUBLE_EQ(cost.written.value, 2 * 64);
  EXPECT_DOUBLE_EQ(cost.read.value, 8 * 2 * 64 + 64 * 8 + 2 * 64);
  EXPECT_DOUBLE_EQ(backward(shape, 2).written.value, 3 * 2 * 64); // and two optimizer states
}

TEST(Embedding, SkewMakesRowsMeet) {
  // Three ids of probability 1/(1 + 2^-s + 3^-s) …, four lookups: by all 3^4 outcomes.
  for (double skew : {0.0, 0.7, 1.05, 2.0}) {
    double p[3], sum = 0, expected = 0;
    for (int r = 0; r < 3; ++r)
      sum += p[r] = std::pow(r + 1, -skew);
    for (int outcome = 0; outcome < 81; ++outcome) {
      double chance = 1;
      bool seen[3] = {};
      for (int i = 0, o = outcome; i < 4; ++i, o /= 3) {
        chance *= p[o % 3] / sum;
        seen[o % 3] = true;
      }
      expected += chance * (seen[0] + seen[1] + seen[2]);
    }
    EmbeddingShape shape{2, 1, 2, 3, Bytes(64), Bytes(4), skew};
    EXPECT_NEAR(forward(shape).distinct, expected, 1e-9) << skew;
    EXPECT_NEAR(forward(shape).read.value, 4 * 4 + 64 * expected, 1e-6);
  }
  EmbeddingShape shape{4096, 1, 20, 1000000, Bytes(64), Bytes(4), 0.0};
  double before = std::numeric_limits<double>::infinity();
  for (double skew = 0; skew < 2; skew += 0.1) {
    shape.skew = skew;
    EXPECT_LT(forward(shape).distinct, before);
    EXPECT_LT(backward(shape).distinct, before);
    before = forward(shape).distinct;
  }
}

TEST(Embedding, RowsThatBatchesShare) {
  // Two rows, one lookup a batch: the same one half of the time.
  EXPECT_NEAR(sharedRows({1, 1, 1, 2, Bytes(4), Bytes(4), {}}), 0.5, 1e-12);
  EXPECT_NEAR(sharedRows({1, 3, 1, 2, Bytes(4), Bytes(4), {}}), 1.5, 1e-12); // three tables
  EXPECT_NEAR(sharedRows({64, 1, 64, 1, Bytes(4), Bytes(4), {}}), 1, 1e-12);
}

TEST(Embedding, LatencyOfRows) {
  EmbeddingShape shape{1000, 1, 1, 1 << 20, Bytes(64), Bytes(4), {}};
  RowMemory memory = kPlain;
  memory.latency = Seconds(1e-6);
  EXPECT_DOUBLE_EQ(forward(shape, memory).time.value, 1e-3); // one at a time
  EXPECT_TRUE(forward(shape, memory).latencyBound);
  memory.inFlight = 4;
  EXPECT_DOUBLE_EQ(forward(shape, memory).time.value, 0.25e-3);
  memory.inFlight = 1000;
  EXPECT_FALSE(forward(shape, memory).latencyBound);
  EXPECT_EQ(forward(shape, memory).time.value, forward(shape).time.value);
}

TEST(Embedding, RefusesNonsense) {
  EmbeddingShape good{1, 1, 1, 1, Bytes(4), Bytes(4), {}};
  auto code = [](const EmbeddingShape &shape, const RowMemory &memory = kPlain) {
    auto result = embeddingForward(shape, memory);
    auto *error = result.getError();
    return error ? numberOf(error->code) : "none";
  };
  EXPECT_EQ(code(good), "none");
  for (auto change : {+[](EmbeddingShape &s) { s.samples = 0; }, +[](EmbeddingShape &s) { s.tableRows = -1; },
                      +[](EmbeddingShape &s) { s.samples = s.pooling = int64_t(1) << 40; },
                      +[](EmbeddingShape &s) { s.row = Bytes(0); }, +[](EmbeddingShape &s) { s.skew = std::nan(""); },
                      +[](EmbeddingShape &s) { s.skew = -1; }}) {
    EmbeddingShape wrong = good;
    change(wrong);
    EXPECT_EQ(code(wrong), "A0302");
  }
  EXPECT_EQ(code(good, {BytesPerSecond(0), Bytes(64), Seconds(0), 1}), "A0302");
  EXPECT_EQ(code(good, {BytesPerSecond(1), Bytes(-64), Seconds(0), 1}), "A0302");
  EXPECT_EQ(code(good, {BytesPerSecond(1), Bytes(64), Seconds(0), 0.5}), "A0302");
}

Operation lookup(const char *kind, int64_t lookups, int64_t dim, int64_t read, int64_t written) {
  Operation op;
  op.name = op.kind = kind;
  op.core = CoreKind::Vector;
  op.domain = {{lookups, IteratorKind::Parallel}, {dim, IteratorKind::Parallel}};
  op.bytesRead = read;
  op.bytesWritten = written;
  return op;
}

TEST(Embedding, OperationsMoveWholeSectors) {
  Machine machine;
  Memory hbm;
  hbm.name = "hbm", hbm.bandwidth = BytesPerSecond(1e9);
  machine.memories = {hbm};
  Core core;
  core.kind = CoreKind::Vector, core.reads = 0;
  machine.cores = {core};
  auto bytes = [&](const Operation &op, double sector) {
    machine.memories[0].sector = Bytes(sector);
    Assumptions assumptions;
    auto cost = roofline({op, machine, 0, "fp32"}, {}, assumptions);
    return cost->bytes[0].value;
  };
  // 100 lookups of 12 fp32, 48 B in 64 B sectors, int32 indices.
  Operation op = lookup("embedding", 100, 12, 100 * (4 + 48), 100 * 48);
  EXPECT_EQ(bytes(op, 0), 100 * (4 + 48 + 48));
  EXPECT_EQ(bytes(op, 16), 100 * (4 + 48 + 48));
  EXPECT_EQ(bytes(op, 64), 100 * (4 + 64 + 48));
  // int64 indices; and with only 10 different rows.
  EXPECT_EQ(bytes(lookup("embedding", 100, 12, 100 * 56, 4800), 64), 100 * (8 + 64 + 48));
  EXPECT_EQ(bytes(lookup("embedding", 100, 12, 400 + 480, 4800), 64), 400 + 640 + 4800);
  // The gradient reads and writes the rows; what reads no rows is left alone.
  op = lookup("embedding_grad", 100, 12, 4800 + 400 + 480, 480);
  EXPECT_EQ(bytes(op, 64), 4800 + 400 + 640 + 640);
  EXPECT_EQ(bytes(lookup("add", 100, 12, 9600, 4800), 64), 14400);
}

} // namespace
