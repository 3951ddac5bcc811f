// Lookups: whole sectors are moved, against hand counts.
#include "lib/machine/cost/CostModel.h"
#include <gtest/gtest.h>

using namespace accord;
namespace {

Operation lookup(const char *kind, int64_t lookups, int64_t dim, int64_t read, int64_t written) {
  Operation op;
  op.name = op.kind = kind;
  op.core = CoreKind::Vector;
  op.domain = {{lookups, IteratorKind::Parallel}, {dim, IteratorKind::Parallel}};
  op.bytesRead = read;
  op.bytesWritten = written;
  return op;
}

TEST(Lookups, OperationsMoveWholeSectors) {
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
