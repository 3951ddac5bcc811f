// Times of single operations: parameters come back, times obey the laws, and measured ones of others are met.
#include "lib/machine/operations/File.h"
#include "lib/machine/operations/Score.h"
#include "test/support/SharedData.h"
#include "test/support/SourcePath.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <tuple>

namespace accord::operations {
namespace {

Device device(const std::string &name, double scale) {
  return {name, 10e12 * scale, 900e9, 80, 6e6, 128e3, 2048, 1000};
}

const Devices kDevices{{"a", device("a", 1)}, {"b", device("b", 1.7)}};

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Products and rows of many sizes, measured by the model itself with 2 % of fixed noise.
std::vector<Row> madeRows(const Parameters &truth) {
  std::vector<Row> rows;
  unsigned seed = 1;
  auto add = [&](const Operation &operation) {
    for (auto &[name, one] : kDevices) {
      seed = seed * 1664525 + 1013904223;
      double noise = 1 + 0.02 * (2.0 * (seed >> 8) / (1 << 24) - 1);
      rows.push_back({operation, name, timeOf(operation, one, truth) * noise, 0, {}});
    }
  };
  for (double m : {64, 200, 512, 1024, 4096})
    for (double n : {64, 300, 1024, 4096})
      for (double k : {32, 256, 2048})
        for (Kind kind : {Kind::Gemm, Kind::BatchedGemm})
          add({"product", kind, kind == Kind::Gemm ? 1.0 : 8.0, m, n, k, 0, 2});
  for (double batch : {64, 2048, 65536})
    for (double width : {512, 1024, 2048, 6400, 16384})
      for (Kind kind : {Kind::Softmax, Kind::LayerNorm, Kind::ElementWise})
        add({"rows", kind, batch, 0, 0, 0, width, 1});
  return rows;
}

TEST(Operations, ParametersComeBack) {
  Parameters truth = priorMedians();
  truth[indexOf(Parameter::ProductEfficiency)] = 0.8;
  truth[indexOf(Parameter::Bandwidth)] = 0.7;
  truth[indexOf(Parameter::ProductFloor)] = 8e-6;
  truth[indexOf(Parameter::Floor)] = 9e-6;
  std::vector<Row> rows = madeRows(truth);
  auto made = fit(rows, kDevices);
  ASSERT_TRUE(bool(made));
  for (Parameter parameter :
       {Parameter::ProductEfficiency, Parameter::Bandwidth, Parameter::ProductFloor, Parameter::Floor})
    EXPECT_NEAR(made->device.at("a")[indexOf(parameter)] / truth[indexOf(parameter)], 1, 0.06)
        << info(indexOf(parameter)).name;
  EXPECT_LT(summarize("", predictions(*made, rows, kDevices)).groups.back().meanError, 0.02);
}

TEST(Operations, TheFileGivesTheSameValues) {
  Fit made;
  made.device["Tesla \u00e4"] = priorMedians();
  made.device["Tesla \u00e4"][3] = 1.0 / 3;
  made.tiles[{"Tesla \u00e4", Kind::BatchedGemm}] = 5;
  made.sheets["Tesla \u00e4"] = kDevices.at("a");
  made.sheets["Tesla \u00e4"].name = "Tesla \u00e4";
  EXPECT_TRUE(isFile(write(made)));
  EXPECT_FALSE(isFile("// A comment.\ncalibration 1\n"));
  auto back = readFile(write(made), "f");
  ASSERT_TRUE(bool(back));
  EXPECT_EQ(back->shared, made.shared);
  EXPECT_EQ(back->device, made.device);
  EXPECT_EQ(back->tiles, made.tiles);
  ASSERT_EQ(back->sheets.size(), 1u);
  for (const SheetNumber &one : kSheet)
    EXPECT_EQ(back->sheets.at("Tesla \u00e4").*one.member, kDevices.at("a").*one.member) << one.name;
  std::string wrong = write(made);
  wrong.replace(wrong.find("overlap"), 7, "0verlap");
  auto refused = readFile(wrong, "f");
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().front().code, Code::BadCalibration);
  EXPECT_EQ(refused.error().front().location.column, 8u);
}

TEST(Operations, NeverFasterThanTheRoofline) {
  Parameters full = priorMedians();
  for (Parameter parameter : {Parameter::ProductEfficiency, Parameter::ProductBandwidth, Parameter::Bandwidth})
    full[indexOf(parameter)] = 1;
  const Device &one = kDevices.at("a");
  for (const Row &row : madeRows(priorMedians()))
    EXPECT_GE(timeOf(row.operation, one, full),
              std::max(flopsOf(row.operation) / one.peak, bytesOf(row.operation) / one.bandwidth));
}

TEST(Operations, GrowsFromOneWholeTileToTheNext) {
  const Device &one = kDevices.at("a");
  Parameters values = priorMedians();
  for (double Operation::*size : {&Operation::m, &Operation::n, &Operation::k}) {
    Operation operation{"linear", Kind::Gemm, 1, 512, 512, 512, 0, 2};
    double before = 0;
    for (double value = 128; value <= 4096; value += 128) {
      operation.*size = value;
      double now = timeOf(operation, one, values);
      EXPECT_GE(now, before * (1 - 1e-12)) << value;
      before = now;
    }
  }
}

/// One batched product by hand: 64 tiles of 128 x 128 on 80 units are one wave of 2 * 128^2 * (200 + 16) FLOP for each
/// unit; the clock, the memory and the L2 are taken out of the way.
TEST(Operations, OneWaveByHand) {
  Device one = kDevices.at("a");
  one.power = 1e6;
  one.bandwidth = 1e15;
  Parameters values = priorMedians();
  values[indexOf(Parameter::TileDepth)] = 16;
  values[indexOf(Parameter::ProductEfficiency)] = 0.5;
  values[indexOf(Parameter::TileIntensity)] = 64; // of the tile: half of the efficiency is left
  Operation operation{"bmm", Kind::BatchedGemm, 64, 100, 120, 200, 0, 2};
  double expected = 2 * 128.0 * 128 * 216 / (one.peak / 80 * 0.25) + values[indexOf(Parameter::BatchedFloor)];
  EXPECT_NEAR(timeOf(operation, one, values, 1) / expected, 1, 1e-9);
}

/// A board of 100 W, of which 20 W idle, computes at most 80 W / (1 + 10 / 64) / 10 pJ: its peak is far above.
TEST(Operations, TheClockFallsUntilThePowerIsKept) {
  Device one = kDevices.at("a");
  one.peak = 1e15;
  one.power = 100;
  one.bandwidth = 1e15;
  Parameters values = priorMedians();
  values[indexOf(Parameter::EnergyPerFlop)] = 10;
  values[indexOf(Parameter::TrafficEnergy)] = 10;
  values[indexOf(Parameter::IdlePower)] = 20;
  values[indexOf(Parameter::TileDepth)] = 1e-9;
  Operation operation{"bmm", Kind::BatchedGemm, 80, 1024, 1024, 4096, 0, 2};
  double expected = flopsOf(operation) * 10e-12 * (1 + 10.0 / 64) / 80;
  EXPECT_NEAR(timeOf(operation, one, values, 1) / expected, 1, 1e-3);
}

/// PyTorch's `linear` with 768 inputs and 30522 outputs is m x n times n x k there, and m x k times k x n here; cuBLAS
/// stores columns first, so that 128x64 is 64 rows of 128 columns.
TEST(Operations, SizesAndTilesAreReadAsTheyWereMeasured) {
  auto rows = readRows("operation,batch,m,n,k,type,device,latency_ms,kernel\n"
                       "linear,1,512,768,30522,fp32,a,10,volta_sgemm_128x64_tn\n",
                       "t.csv", kDevices);
  ASSERT_TRUE(bool(rows));
  const Row &row = rows->front();
  EXPECT_EQ(row.operation.m, 512);
  EXPECT_EQ(row.operation.n, 30522);
  EXPECT_EQ(row.operation.k, 768);
  ASSERT_NE(row.tile, 0u);
  const Tile &tile = kTiles[static_cast<size_t>(std::countr_zero(row.tile))];
  EXPECT_EQ(tile.m, 64);
  EXPECT_EQ(tile.n, 128);
}

TEST(Operations, WrongCellsAreRefusedAtTheirPlace) {
  const std::string head = "operation,batch,m,n,k,width,type,device,latency_ms,kernel\n";
  struct Wrong {
    const char *row;
    unsigned column;
    const char *suggestion;
    Code code;
  };
  for (const Wrong &wrong :
       {Wrong{"linaer,1,8,8,8,,fp32,a,1,", 1, "linear", Code::BadCell},
        Wrong{"linear,1,8,8,8,,fp23,a,1,", 17, "fp32", Code::BadCell},
        Wrong{"linear,1,8,8,,,fp32,a,1,", 14, "", Code::BadCell}, Wrong{"relu,8,8,,,8,fp32,a,1,", 8, "", Code::BadCell},
        Wrong{"linear,1,8192,8192,8192,,fp32,a,0.1,", 33, "", Code::AbovePeak}}) {
    auto read = readRows(head + wrong.row + "\n", "t.csv", kDevices);
    ASSERT_FALSE(bool(read)) << wrong.row;
    const Error &error = read.error().front();
    EXPECT_EQ(error.code, wrong.code) << wrong.row;
    EXPECT_EQ(error.location.line, 2u);
    EXPECT_EQ(error.location.column, wrong.column) << wrong.row;
    EXPECT_EQ(error.suggestion, wrong.suggestion);
  }
  auto column = readRows("operation,batch,type,device,latency\nrelu,8,fp32,a,1\n", "t.csv", kDevices);
  ASSERT_FALSE(bool(column));
  EXPECT_EQ(column.error().front().code, Code::BadColumn);
  EXPECT_EQ(column.error().front().suggestion, "latency_ms");
}

double errorOf(const ErrorTable &table, const std::string &group) {
  for (const ErrorSummary &one : table.groups)
    if (one.group == group)
      return one.meanError;
  return 1;
}

/// Gates are what was measured, rounded up; docs/operations.md has the figures.
TEST(Operations, PublishedRowsOfUnseenDevices) {
  auto folder = accord::testing::sharedData("neusight");
  if (folder.empty())
    GTEST_SKIP() << "no neusight in shared/data";
  auto devices = readDevices(contents(accord::sourcePath("lib/catalog/devices.csv")), "d");
  ASSERT_TRUE(bool(devices));
  auto rows = readRows(contents(folder / "operations.csv"), "operations.csv", *devices);
  ASSERT_TRUE(bool(rows)) << rows.error().front().message;
  auto others = leaveDevicesOut(*rows, *devices);
  ASSERT_TRUE(bool(others));
  ErrorTable out = summarize("", *others);
  auto half = predictOtherHalf(*rows, *devices);
  ASSERT_TRUE(bool(half));
  ErrorTable in = summarize("", *half);
  for (auto [group, left, seen] : {std::tuple("linear", 0.145, 0.06), std::tuple("bmm", 0.135, 0.07),
                                   std::tuple("softmax", 0.105, 0.055), std::tuple("layer_norm", 0.135, 0.025),
                                   std::tuple("element-wise", 0.125, 0.02), std::tuple("below 50 us", 0.15, 0.05)}) {
    EXPECT_LT(errorOf(out, group), left) << group;
    EXPECT_LT(errorOf(in, group), seen) << group;
  }
}

} // namespace
} // namespace accord::operations
