// Tables with sparse gradients: the same gradients as dense ones, on one device and on several, and what they take,
// counted by hand.
#include "lib/machine/translate/FromDnn.h"
#include "passes/shard/Passes.h"
#include "test/lib/training/CollectiveTraffic.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/format.h>

using namespace accord;

namespace {

/// One table is looked up twice, with ids that meet; another has fewer rows than lookups.
std::string model(bool sparse, const char *optimizer = "") {
  std::string how = sparse ? fmt::format(", sparse = true{}", optimizer) : "";
  return fmt::format(R"(
model net {{
  input words  : int32[3]
  input bag    : int32[4]
  input few    : int32[2]
  input target : float[8]
  let table = parameter([16, 8])
  let a = reduce_sum(embedding(words, rows = 16, dim = 8, table = table{0}), axis = 0)
  let b = embedding_bag(bag, rows = 16, dim = 8, table = table, mode = mean{0})
  let c = embedding_bag(few, rows = 4, dim = 8{0})
  loss mse(tanh(linear(a + b * c, out = 8)), target)
}}
train t = net() on a100_80g {{
  batch = 8
  precision = fp32
  optimizer = sgd
}})",
                     how);
}

struct Step {
  explicit Step(const std::string &text, BuildTrainingGraphOptions how = {"sgd", "fp32"}) : one(text.c_str(), how) {}
  interpret::StepResult run() {
    auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 7));
    return llvm::cantFail(interpret::interpret(one.graph, inputs));
  }
  TrainingGraph one;
};

void expectSame(const interpret::StepResult &a, const interpret::StepResult &b, double error) {
  EXPECT_NEAR(a.loss, b.loss, error);
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (const auto &[name, copies] : a.gradients) {
    const auto &other = b.gradients.at(name);
    ASSERT_EQ(copies.size(), other.size()) << name;
    for (size_t copy = 0; copy < copies.size(); ++copy)
      for (size_t i = 0; i < copies[copy].data.size(); ++i)
        ASSERT_NEAR(copies[copy].data[i], other[copy].data[i], error) << name << " " << i;
  }
}

int64_t resident(const WorkGraph &work, const std::string &name, Category category) {
  int64_t bytes = 0;
  for (const StaticTensor &r : work.staticTensors)
    if (r.name == name && r.category == category)
      bytes += r.bytes;
  return bytes;
}

} // namespace

// An update by w - rate * gradient is the same where the gradients are: bit by bit.
TEST(SparseTables, GradientsEqualDenseOnes) {
  Step dense(model(false)), sparse(model(true));
  ASSERT_TRUE(dense.one.graph && sparse.one.graph);
  int64_t rows = 0;
  for (auto update : sparse.one.graph.getOptimizerStep().getUpdates())
    if (update.getRowsAttr())
      rows += update.getRowsAttr().getLookups();
  EXPECT_EQ(rows, 3 + 4 + 2);
  expectSame(dense.run(), sparse.run(), 0);
}

TEST(SparseTables, ReplicasEqualOneDevice) {
  for (const char *tables : {"whole", "rows", "columns"})
    for (int64_t devices : {2, 4}) {
      SCOPED_TRACE(fmt::format("{} {}", tables, devices));
      Step step(model(true));
      ASSERT_TRUE(step.one.graph);
      auto expected = step.run();
      ReplicateOptions options;
      options.devices = devices;
      options.tables = tables;
      ASSERT_TRUE(step.one.run(createReplicate(options)));
      expectSame(expected, step.run(), 1e-12);
    }
}

TEST(SparseTables, DevicesThatShareTablesEqualOne) {
  for (bool also : {false, true}) { // replicas of them
    Step step(model(true));
    ASSERT_TRUE(step.one.graph);
    auto expected = step.run();
    ShardOptions parts;
    ASSERT_TRUE(step.one.run(createShard(parts)));
    if (also)
      ASSERT_TRUE(step.one.run(createReplicate(ReplicateOptions())));
    expectSame(expected, step.run(), 1e-12);
  }
}

// 2 micro-batches of 4 samples. Rows of 8 fp32 and an id of 4 bytes for each lookup; the update reads them, and reads
// and writes the rows of the table, no more than it has.
TEST(SparseTables, TouchTheRowsOfTheirLookups) {
  Step step(model(true));
  ASSERT_TRUE(step.one.graph);
  std::string error;
  auto work = workGraphFrom(step.one.graph, 4, 2, error);
  ASSERT_TRUE(work) << error;
  constexpr int64_t kRow = 8 * 4, kIndex = 4;
  const Operation *bag = nullptr;
  for (const Operation &op : work->operations)
    if (op.kind == "embedding_bag_rows_grad" && op.domain[op.domain.size() - 2].extent == 2)
      bag = &op;
  ASSERT_TRUE(bag);
  EXPECT_EQ(bag->bytesRead, 4 * kRow + 4 * 2 * kIndex);
  EXPECT_EQ(bag->bytesWritten, 4 * 2 * (kRow + kIndex));
  std::map<int64_t, const Operation *> updates; // by rows for each sample
  for (const Operation &op : work->operations)
    if (op.kind == "update_rows")
      updates[op.domain[1].extent] = &op;
  ASSERT_EQ(updates.size(), 2u);
  // 2 * 8 lookups in 4 rows; 7 * 8 lookups in 16 rows.
  for (auto [lookups, table] : {std::pair(2, 4), {7, 16}}) {
    EXPECT_EQ(updates[lookups]->bytesRead, lookups * 8 * (kRow + kIndex) + table * kRow);
    EXPECT_EQ(updates[lookups]->bytesWritten, table * kRow);
    EXPECT_EQ(updates[lookups]->flops, 2 * 8 * lookups * 8);
    std::string name = updates[lookups]->name.substr(0, updates[lookups]->name.rfind(".update"));
    EXPECT_EQ(resident(*work, name, Category::Weights), table * kRow);
    EXPECT_EQ(resident(*work, name, Category::Gradients), lookups * 8 * (kRow + kIndex));
    EXPECT_EQ(resident(*work, name, Category::OptimizerStates), 0);
  }
  auto one = workGraphFrom(step.one.graph, 1, 1, error);
  ASSERT_TRUE(one) << error;
  for (const Operation &op : one->operations)
    if (op.kind == "update_rows" && op.domain[1].extent == 7)
      EXPECT_EQ(op.bytesWritten, 7 * kRow); // fewer than there are
}

// Two states of the table's size (SparseAdam), one number for each row (row-wise Adagrad).
TEST(SparseTables, StatesOfOptimizers) {
  for (auto [optimizer, states] :
       {std::pair(", optimizer = sgd", 0), {"", 2 * 4 * 8 * 4}, {", optimizer = rowwise_adagrad", 4 * 4}}) {
    SCOPED_TRACE(optimizer);
    Step step(model(true, optimizer), {"adam", "fp32"});
    ASSERT_TRUE(step.one.graph);
    std::string error;
    auto work = workGraphFrom(step.one.graph, 1, 1, error);
    ASSERT_TRUE(work) << error;
    int64_t found = -1, written = -1;
    for (const Operation &op : work->operations)
      if (op.kind == "update_rows" && op.domain[1].extent == 2) {
        std::string name = op.name.substr(0, op.name.rfind(".update"));
        found = resident(*work, name, Category::OptimizerStates);
        written = op.bytesWritten;
      }
    EXPECT_EQ(found, states);
    EXPECT_EQ(written, 2 * 8 * 4 + states / 2); // 2 of 4 rows
  }
}

// Replicas that have the tables whole gather rows: (n - 1) / n of what all have. Those that divide them exchange
// nothing at the end.
TEST(SparseTables, ReplicasGatherRows) {
  for (const char *tables : {"whole", "columns"}) {
    Step step(model(true));
    ReplicateOptions options;
    options.devices = 4;
    options.tables = tables;
    ASSERT_TRUE(step.one.graph && step.one.run(createReplicate(options)));
    std::string error;
    auto work = workGraphFrom(step.one.graph, 2, 1, error);
    ASSERT_TRUE(work) << error;
    bool whole = std::string(tables) == "whole";
    int64_t gathered = 0, updated = 0;
    for (const Operation &op : work->operations) {
      if (op.region == kUpdateRegion && op.communication && op.communication->kind == "all_gather")
        gathered += op.communication->payload;
      if (op.kind == "update_rows")
        updated += op.bytesWritten;
    }
    EXPECT_EQ(gathered, whole ? 4 * 2 * 9 * (8 * 4 + 4) : 0);
    EXPECT_EQ(updated, (16 + 4) * 8 * 4 / (whole ? 1 : 4)); // 56 and 16 lookups
    shard::Traffic traffic = shard::trafficOf(step.one.graph, 2).value_or(shard::Traffic());
    int64_t sent = 0;
    for (const auto &[key, communication] : traffic)
      sent += key.update && key.kind == "gradient_all_reduce" ? communication.sent : 0;
    int64_t dense = (8 * 8 + 8) * 4 * 2 * 3 / 4; // of the linear layer
    EXPECT_NEAR(static_cast<double>(sent - dense), static_cast<double>(gathered) * 3 / 4, 4);
  }
}
