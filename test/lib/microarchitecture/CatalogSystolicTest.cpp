// The systolic arrays of the catalogue: folds in a row take what SCALE-Sim counts, overlapped ones have no bubbles, and
// a grid of single multiply-accumulate units needs exactly as long as the instructions on tiles say.
#include "lib/machine/array/Systolic.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/support/SplitMix.h"
#include "test/support/CatalogMicroarchitectures.h"
#include "test/support/SharedData.h"
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace accord::microarchitecture {
namespace {

InstructionTiming timeOf(const Microarchitecture &machine, const std::string &body) {
  auto program = parseProgram("program p on " + machine.name + " {\n" + body + "\n}\n", "p", machine);
  if (!program) {
    ADD_FAILURE() << program.error().front().message << "\n" << body.substr(0, 500);
    return {};
  }
  auto timing = timeProgram(machine, *program);
  if (!timing) {
    ADD_FAILURE() << timing.error().message;
    return {};
  }
  return *timing;
}

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Microarchitecture arrayOf(const char *name, int64_t rows, int64_t columns) {
  return microarchitectureOf(catalogMachine(name),
                             fmt::format("rows = {}, columns = {}, stream = {}", rows, columns, rows));
}

/// `count` folds of a stream; stationary operands are loaded first.
Cycles folds(const Microarchitecture &machine, int64_t count, int64_t stream, bool isLoaded) {
  return timeOf(machine, fmt::format("loop fold {} {{\n{}compute accumulators0, buffer0, stationary, accumulators0, "
                                     "{}\n}}",
                                     count, isLoaded ? "preload stationary, buffer1\n" : "", stream))
      .cycles;
}

/// The three dataflows of SCALE-Sim v3 (systolic_compute_os.py, _ws.py, _is.py).
void expectClosedForms(const Microarchitecture &machine, int64_t rows, int64_t columns, const Gemm &g) {
  SCOPED_TRACE(fmt::format("{} x {} x {} on {} x {}", g.m, g.n, g.k, rows, columns));
  const int64_t os = up(g.m, rows) * up(g.n, columns), ws = up(g.k, rows) * up(g.n, columns),
                is = up(g.k, rows) * up(g.m, columns);
  EXPECT_EQ(folds(machine, os, g.k, false), os * (g.k + rows + columns - 2));
  EXPECT_EQ(folds(machine, ws, g.m, true), ws * (2 * rows + columns + g.m - 2));
  EXPECT_EQ(folds(machine, is, g.n, true), is * (2 * rows + columns + g.n - 2));
  const SystolicArray array{rows, columns};
  EXPECT_EQ(os * (g.k + rows + columns - 2), int64_t(systolicCost(g, Dataflow::OutputStationary, array)->cycles));
  EXPECT_EQ(ws * (2 * rows + columns + g.m - 2), int64_t(systolicCost(g, Dataflow::WeightStationary, array)->cycles));
  EXPECT_EQ(is * (2 * rows + columns + g.n - 2), int64_t(systolicCost(g, Dataflow::InputStationary, array)->cycles));
}

TEST(CatalogSystolic, FoldsInARowOfRandomProductsTakeTheClosedForms) {
  SplitMix random(28);
  auto any = [&] { return 1 + int64_t(random.below(uint64_t(1) << random.below(17))); };
  for (int array = 0; array < 20; ++array) {
    const int64_t rows = 1 + int64_t(random.below(40)), columns = 1 + int64_t(random.below(40));
    const Microarchitecture machine = arrayOf("systolic_folds", rows, columns);
    for (int product = 0; product < 10; ++product)
      expectClosedForms(machine, rows, columns, {1, any(), any(), any()});
  }
}

TEST(CatalogSystolic, FoldsInARowOfPublishedLayersTakeTheClosedForms) {
  const std::filesystem::path folder = accord::testing::sharedData("scalesim");
  if (folder.empty())
    GTEST_SKIP() << "no layer lists of SCALE-Sim";
  std::vector<Gemm> products;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv")
      continue;
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string field;
      std::getline(fields, field, ',');
      std::vector<int64_t> v;
      while (std::getline(fields, field, ','))
        if (field.find_first_of("0123456789") != std::string::npos)
          v.push_back(std::stoll(field));
      if (v.size() == 3)
        products.push_back({1, v[0], v[1], v[2]});
      else if (v.size() == 7)
        products.push_back({1, (up(v[0] - v[2], v[6]) + 1) * (up(v[1] - v[3], v[6]) + 1), v[5], v[4] * v[2] * v[3]});
    }
  }
  EXPECT_GT(products.size(), 50u);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(32, 32), {128, 128}, {8, 256}, {1, 1}}) {
    const Microarchitecture machine = arrayOf("systolic_folds", rows, columns);
    for (const Gemm &product : products)
      expectClosedForms(machine, rows, columns, product);
  }
}

Cycles overlapped(const Microarchitecture &machine, int64_t products, int64_t stream, Cycles &busy) {
  const InstructionTiming timing =
      timeOf(machine, fmt::format("loop product {} {{\npreload second, buffer0\ncompute accumulators0, buffer1, "
                                  "second, accumulators0, {}\n}}",
                                  products, stream));
  busy = Cycles(timing.units[unitNamed(machine, "array")].busy);
  return timing.cycles;
}

TEST(CatalogSystolic, AStreamOfSmallProductsHasNoBubbles) {
  for (int64_t side : {1, 2, 4, 16, 32, 128})
    for (int64_t products : {1, 2, 3, 1000, 1'000'000'000}) {
      const Microarchitecture machine = arrayOf("systolic", side, side);
      Cycles busy = 0;
      // Weights are loaded once before anything streams; from there on the array takes a row each cycle.
      EXPECT_EQ(overlapped(machine, products, side, busy), side + products * side);
      EXPECT_EQ(busy, products * side);
      // A shorter stream waits for its weights, a longer one for nothing.
      const int64_t half = up(side, 2);
      EXPECT_EQ(overlapped(machine, products, half, busy), side + (products - 1) * side + half);
      EXPECT_EQ(overlapped(machine, products, 3 * side, busy), side + products * 3 * side);
    }
}

// ---- one unit for each multiply-accumulate

/// Operands come from the west and the north one a cycle, sums stay.
const char *kOutputStationary = R"(
microarchitecture grid(rows = 4, columns = 4) {
  window = 100000
  opcode feed { writes = 1 }
  opcode mac { reads = 3, writes = 3 }
  fetch front { width = 10000, buffer = 20000, latency = 0 cycle, to = all }
  execute all { capacity = 100000, width = 20000, latency = 0 cycle, units = {west.port, north.port, mesh} }
  template feeder {
    registers v[1] { width = 32 bit }
    unit port {
      entries = 100
      writes = {v}
      operation feed { latency = 0 cycle }
    }
  }
  template pe {
    registers a[1] { width = 32 bit }
    registers b[1] { width = 32 bit }
    registers sum[1] { width = 32 bit }
    unit mac {
      entries = 100
      reads = {west.a, north.b, sum}
      writes = {a, b, sum}
      operation mac { latency = 1 cycle }
    }
  }
  array west[rows x 1] : feeder
  array north[1 x columns] : feeder
  array mesh[rows x columns] : pe {
    west = {a: west.v}
    north = {b: north.v}
  }
})";

/// Weights stay in `held`; `next` holds those of the next product, which come from the north through `passed`.
const char *kWeightStationary = R"(
microarchitecture grid(rows = 4, columns = 4) {
  window = 100000
  opcode feed { writes = 1 }
  opcode shift { reads = 2, writes = 2 }
  opcode swap { reads = 3, writes = 3 }
  opcode mac { reads = 3, writes = 2 }
  fetch front { width = 10000, buffer = 20000, latency = 0 cycle, to = all }
  execute all { capacity = 100000, width = 20000, latency = 0 cycle, units = {west.port, north.port, mesh} }
  template feeder {
    registers v[1] { width = 32 bit }
    unit port {
      entries = 1000
      writes = {v}
      operation feed { latency = 0 cycle }
    }
  }
  template pe {
    registers a[1] { width = 32 bit }
    registers partial[1] { width = 32 bit }
    registers held[1] { width = 32 bit }
    registers next[1] { width = 32 bit }
    registers passed[1] { width = 32 bit }
    unit mac {
      entries = 1000
      reads = {west.a, north.partial, held, next}
      writes = {a, partial, held}
      operation swap { latency = 1 cycle }
      operation mac { latency = 1 cycle }
    }
    unit shift {
      entries = 1000
      reads = {next, north.passed}
      writes = {next, passed}
      operation shift { latency = 1 cycle }
    }
  }
  registers zero[1] { width = 32 bit }
  array west[rows x 1] : feeder
  array north[1 x columns] : feeder
  array mesh[rows x columns] : pe {
    west = {a: west.v}
    north = {passed: north.v, partial: zero}
  }
})";

/// Calls for all units, from the north-west on.
template <class F> void everyUnit(int64_t rows, int64_t columns, F of) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      of(r, c);
}
std::string at(const char *part, int64_t r, int64_t c) { return fmt::format("mesh_{}_{}_{}", r, c, part); }
std::string fromWest(int64_t r, int64_t c) { return c == 0 ? fmt::format("west_{}_0_v", r) : at("a", r, c - 1); }

/// One fold of a stream of k products.
std::string outputStationaryFold(int64_t rows, int64_t columns, int64_t k) {
  std::string body = fmt::format("loop k {} {{\n", k);
  for (int64_t r = 0; r < rows; ++r)
    body += fmt::format("feed west_{}_0_v\n", r);
  for (int64_t c = 0; c < columns; ++c)
    body += fmt::format("feed north_0_{}_v\n", c);
  everyUnit(rows, columns, [&](int64_t r, int64_t c) {
    const std::string north = r == 0 ? fmt::format("north_0_{}_v", c) : at("b", r - 1, c);
    body += fmt::format("mac {}, {}, {}, {}, {}, {}\n", at("a", r, c), at("b", r, c), at("sum", r, c), fromWest(r, c),
                        north, at("sum", r, c));
  });
  return body + "}\n";
}

class WeightStationaryStream {
public:
  WeightStationaryStream(int64_t rows, int64_t columns, int64_t stream)
      : rows(rows), columns(columns), stream(stream) {}

  /// Rows of the next product's weights go in beside the rows of the present one.
  std::string run(int64_t products) {
    for (int64_t s = 0; s < rows; ++s)
      shift();
    for (int64_t p = 0; p < products; ++p)
      for (int64_t s = 0; s < std::max(rows, stream); ++s) {
        if (s < stream)
          multiply(s == 0);
        if (s < rows && p + 1 < products)
          shift();
      }
    return std::move(body);
  }

private:
  void shift() {
    for (int64_t c = 0; c < columns; ++c)
      body += fmt::format("feed north_0_{}_v\n", c);
    everyUnit(rows, columns, [&](int64_t r, int64_t c) {
      body += fmt::format("shift {}, {}, {}, {}\n", at("next", r, c), at("passed", r, c), at("next", r, c),
                          r == 0 ? fmt::format("north_0_{}_v", c) : at("passed", r - 1, c));
    });
  }
  void multiply(bool isFirst) {
    for (int64_t r = 0; r < rows; ++r)
      body += fmt::format("feed west_{}_0_v\n", r);
    everyUnit(rows, columns, [&](int64_t r, int64_t c) {
      const std::string north = r == 0 ? "zero" : at("partial", r - 1, c);
      if (isFirst)
        body += fmt::format("swap {}, {}, {}, {}, {}, {}\n", at("a", r, c), at("partial", r, c), at("held", r, c),
                            fromWest(r, c), north, at("next", r, c));
      else
        body += fmt::format("mac {}, {}, {}, {}, {}\n", at("a", r, c), at("partial", r, c), fromWest(r, c), north,
                            at("held", r, c));
    });
  }

  const int64_t rows, columns, stream;
  std::string body;
};

TEST(CatalogSystolic, AGridOfUnitsTakesAsLongAsAFold) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(1, 1), {2, 3}, {4, 4}, {5, 2}, {3, 7}}) {
    const std::string arguments = fmt::format("rows = {}, columns = {}", rows, columns);
    const Microarchitecture outputs = microarchitectureOf(kOutputStationary, "grid", arguments),
                            weights = microarchitectureOf(kWeightStationary, "grid", arguments),
                            tiles = arrayOf("systolic_folds", rows, columns);
    for (int64_t stream : {1, 2, 5, 40}) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", rows, columns, stream));
      const Cycles output = timeOf(outputs, outputStationaryFold(rows, columns, stream)).cycles;
      EXPECT_EQ(output, stream + rows + columns - 2);
      EXPECT_EQ(output, folds(tiles, 1, stream, false));
      const Cycles weight = timeOf(weights, WeightStationaryStream(rows, columns, stream).run(1)).cycles;
      EXPECT_EQ(weight, 2 * rows + columns + stream - 2);
      EXPECT_EQ(weight, folds(tiles, 1, stream, true));
    }
  }
}

TEST(CatalogSystolic, AGridWithASecondRegisterTakesAsLongAsTheOverlappedStream) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(1, 1), {2, 3}, {4, 4}, {5, 2}}) {
    const Microarchitecture grid = microarchitectureOf(kWeightStationary, "grid",
                                                       fmt::format("rows = {}, columns = {}", rows, columns)),
                            tiles = arrayOf("systolic", rows, columns);
    for (int64_t stream : {int64_t(1), rows, 3 * rows})
      for (int64_t products : {1, 2, 6}) {
        SCOPED_TRACE(fmt::format("{} x {}, {} products of {}", rows, columns, products, stream));
        Cycles busy = 0;
        // The last row of the last product leaves `skew` cycles after the array took it: what `drain` waits for.
        EXPECT_EQ(timeOf(grid, WeightStationaryStream(rows, columns, stream).run(products)).cycles,
                  overlapped(tiles, products, stream, busy) + rows + columns - 2);
      }
  }
}

} // namespace
} // namespace accord::microarchitecture
