// Areas against the published table of PHAZE (Wang et al., ICML 2024) and hand counts.
#include "lib/machine/energy/AreaModel.h"
#include "lib/machine/energy/NodeScaling.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
namespace {

Machine chip(int64_t tensors, int64_t rows, int64_t cols, int64_t vectors, int64_t lanes, double bytes) {
  Machine machine;
  Memory hbm, glb;
  hbm.name = "hbm", hbm.kind = "dram", hbm.capacity = Bytes(80e9);
  glb.name = "glb", glb.kind = "scratchpad", glb.capacity = Bytes(bytes);
  machine.memories = {hbm, glb};
  Core tensor, vector;
  tensor.name = "tc", tensor.count = tensors, tensor.rows = rows, tensor.cols = cols;
  vector.name = "vc", vector.count = vectors, vector.lanes = lanes;
  machine.cores = {tensor, vector};
  return machine;
}
constexpr double kMiB = 1 << 20;

const AreaModel &model() { return *AreaModel::shipped("catalog/area_45nm"); }
double um2(const Result<SquareMetres> &area) {
  auto *found = area.get();
  if (!found) {
    ADD_FAILURE() << area.error().message;
    return 0;
  }
  return found->value * 1e12;
}
std::string code(const Result<SquareMetres> &area) {
  auto *error = area.getError();
  return error ? numberOf(error->code) : "";
}

TEST(Area, LimitOfThePublishedSearch) {
  // The area limit of the published search, that of a machine like TPU v4.
  EXPECT_NEAR(um2(model().area(chip(8, 128, 128, 2, 128, 128 * kMiB))), 278826676.31216, 1e-4);
}

TEST(Area, EveryBufferAndCoreOfThePublishedRange) {
  // Sizes of the published search, each there and each larger than the one before.
  double before = 0;
  for (double size = 2; size <= 128; size *= 2) {
    double area = um2(model().buffer(Bytes(size * kMiB)));
    EXPECT_GT(area, before);
    before = area;
  }
  for (int64_t width = 2; width <= 256; width *= 2) {
    EXPECT_GT(um2(model().vectorCore(width)), 0);
    before = 0;
    for (int64_t depth = 2; depth <= 256; depth *= 2) {
      double area = um2(model().tensorCore(width, depth));
      EXPECT_GT(area, before);
      EXPECT_EQ(area, um2(model().tensorCore(depth, width)));
      before = area;
    }
  }
}

TEST(Area, LinearInCounts) {
  auto of = [](int64_t tensors, int64_t vectors) {
    return um2(model().area(chip(tensors, 64, 32, vectors, 64, 8 * kMiB)));
  };
  double tensor = um2(model().tensorCore(64, 32)), vector = um2(model().vectorCore(64));
  for (int64_t n : {1, 2, 16, 4096}) {
    EXPECT_NEAR(of(n, 1) - of(1, 1), tensor * double(n - 1), 1e-6 * of(n, 1));
    EXPECT_NEAR(of(1, n) - of(1, 1), vector * double(n - 1), 1e-6 * of(1, n));
  }
}

TEST(Area, NoAreaBetweenTheRows) {
  EXPECT_EQ(code(model().area(chip(1, 100, 128, 1, 128, 2 * kMiB))), "A0483");
  EXPECT_EQ(code(model().area(chip(1, 128, 128, 1, 96, 2 * kMiB))), "A0483");
  EXPECT_EQ(code(model().area(chip(1, 128, 128, 1, 128, 3 * kMiB))), "A0483");
  EXPECT_EQ(code(model().area(chip(1, 128, 128, 1, 128, 256 * kMiB))), "A0483");
  EXPECT_EQ(code(model().area(chip(1, 1024, 1024, 1, 128, 2 * kMiB))), "A0483");
  EXPECT_EQ(code(model().area(chip(1, 0, 0, 1, 128, 2 * kMiB))), "A0483");
  EXPECT_EQ(code(model().tensorCore(-4, 0)), "A0483");
  EXPECT_EQ(AreaModel::shipped("catalog/area_44nm"), nullptr);
}

TEST(Area, OfParts) {
  // 2 * 8 * 16 units of 100 um2, 3 * 32 lanes of 10 um2, 4 MiB of 1.4 mm2 per MiB, 5 mm2.
  Machine machine = chip(2, 8, 16, 3, 32, 4 * kMiB);
  AreaRates rates{100e-12, 10e-12, 1.4e-6 / kMiB, 5e-6};
  EXPECT_NEAR(areaOfParts(machine, rates).squareMillimetres(), 0.0256 + 0.00096 + 5.6 + 5, 1e-12);
  rates = {200e-12, 20e-12, 2.8e-6 / kMiB, 10e-6};
  EXPECT_NEAR(areaOfParts(machine, rates).squareMillimetres(), 2 * 10.62656, 1e-12);
}

TEST(Area, NodesOfThePublishedScaling) {
  const NodeScaling &scaling = NodeScaling::shipped();
  ASSERT_EQ(scaling.nodes.size(), 10u);
  EXPECT_NEAR(scaling.energy(45e-9, 7e-9), 0.094, 0.0005); // at 0.8 V
  // Smaller nodes need less, and there is nothing below the last one.
  double energy = 100;
  for (double node = 130; node >= 7; node -= 0.5) {
    EXPECT_LE(scaling.energy(45e-9, node * 1e-9), energy);
    energy = scaling.energy(45e-9, node * 1e-9);
  }
  EXPECT_EQ(scaling.energy(45e-9, 3e-9), scaling.energy(45e-9, 7e-9));
}

TEST(Area, TablesSayWhereTheyAreWrong) {
  auto errorOf = [](const char *text) {
    auto result = AreaModel::read(text, "my.csv");
    auto *error = result.getError();
    return error ? numberOf(error->code) + " " + std::to_string(error->location.line) + ":" +
                       std::to_string(error->location.column)
                 : "none";
  };
  EXPECT_EQ(errorOf("part, size, aera\n"), "A0101 1:13");
  EXPECT_EQ(errorOf("# a comment\npart, size, area\nbuffer, 2 MiB, 3\n"), "A0202 3:16");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB, 3 W\n"), "A0203 2:16");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB, 3 um3x\n"), "A0201 2:16");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB, -3 um2\n"), "A0302 2:16");
  EXPECT_EQ(errorOf("part, size, area\nbuffers, 2 MiB, 3 um2\n"), "A0305 2:1");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB\n"), "A0103 2:14");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB, 3 um2, 4\n"), "A0101 2:23");
  EXPECT_EQ(errorOf("part, size, area\nbuffer, 2 MiB, \"3 um2\n"), "A0004 2:1");
  EXPECT_EQ(errorOf("\n\n"), "A0103 1:1");
  EXPECT_EQ(errorOf("part, size, area\n"), "A0103 1:1");
}

} // namespace
