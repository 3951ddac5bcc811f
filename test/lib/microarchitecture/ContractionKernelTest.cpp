// Kernels of products and convolutions compute what plain sums compute, with as many products.
#include "lib/microarchitecture/mapping/Contraction.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/support/SplitMix.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/ProgramInterpreter.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return low + int64_t(random.below(uint64_t(high - low + 1))); }
  double number() { return double((*this)(-8, 8)); }

private:
  SplitMix random;
};

/// A tensor by its positions, as the documentation of the builders orders them.
using Position = std::vector<int64_t>;
using Values = std::map<Position, double>;

/// Reads a tensor of the kernel at positions: the order of dimensions is undone with the strides of the layout.
class Tensors {
public:
  Tensors(const Contraction &contraction, const Schedule &schedule) : contraction(contraction) {
    layout = *layoutOf(contraction, schedule);
  }
  int64_t offset(int t, const Position &position) const {
    const ContractionTensor &tensor = of(t);
    int64_t all = 0;
    for (size_t d = 0; d < position.size(); ++d)
      all += position[d] * strideOf(tensor, t, d);
    return all;
  }

private:
  const ContractionTensor &of(int t) const {
    return t == 0 ? contraction.first : t == 1 ? contraction.second : contraction.result;
  }
  /// Elements between two positions of a dimension, from a loop that moves along it alone.
  int64_t strideOf(const ContractionTensor &tensor, int t, size_t d) const {
    const auto &term = tensor.dimensions[d].terms.back();
    return layout.strides[t][term.loop] / term.stride;
  }

  const Contraction &contraction;
  ContractionLayout layout;
};

struct Outcome {
  std::string wrong;
  std::map<Role, int64_t> counts;
  Values result;
};

/// Executes a contraction on these operands, with stores that take long; reads the result at `wanted`.
Outcome execute(const Contraction &contraction, const Schedule &schedule, Microarchitecture machine,
                const Values &first, const Values &second, const Values &wanted) {
  Outcome made;
  auto kernel = contractionKernel(contraction, schedule);
  if (!kernel)
    return made.wrong = kernel.error().message, made;
  machine.window = 40, machine.storages[0].writeLatency = 90, machine.storages[0].requests = 64;
  auto mapped = emitKernel(*kernel, machine);
  if (!mapped)
    return made.wrong = mapped.error().message, made;
  ProgramInterpreter run(*mapped, machine);
  const Tensors tensors(contraction, schedule);
  for (auto &[position, value] : first)
    run.tensors[0].at(tensors.offset(0, position)) = value;
  for (auto &[position, value] : second)
    run.tensors[1].at(tensors.offset(1, position)) = value;
  if (contraction.accumulates)
    for (auto &[position, value] : wanted)
      run.tensors[2].at(tensors.offset(2, position)) = 1000;
  else
    run.tensors[2].assign(run.tensors[2].size(), NAN); // what is not set shows
  run.runByTime();
  made.wrong = run.wrong, made.counts = run.counts;
  for (auto &[position, value] : wanted)
    made.result[position] = run.tensors[2].at(tensors.offset(2, position)) - (contraction.accumulates ? 1000 : 0);
  return made;
}

struct ProductCase {
  ProductShape shape;
  Values a, b, c;
};
ProductCase productCase(Draw &draw, int64_t max) {
  ProductCase made;
  ProductShape &s = made.shape;
  s = {draw(1, max), draw(1, max), draw(1, max), draw(1, 2), draw(0, 1) == 1, draw(0, 1) == 1};
  for (int64_t batch = 0; batch < s.batch; ++batch)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        for (int64_t k = 0; k < s.k; ++k) {
          const Position pa = s.transposedFirst ? Position{batch, k, i} : Position{batch, i, k};
          const Position pb = s.transposedSecond ? Position{batch, j, k} : Position{batch, k, j};
          if (!made.a.count(pa))
            made.a[pa] = draw.number();
          if (!made.b.count(pb))
            made.b[pb] = draw.number();
          made.c[{batch, i, j}] += made.a[pa] * made.b[pb];
        }
  return made;
}

/// Any schedule: levels in any order with any steps, any blocks.
Schedule randomSchedule(Draw &draw, const Contraction &contraction, const Schedule &shape) {
  Schedule made = shape;
  made.levels.clear();
  const int64_t loops = int64_t(contraction.loops.size());
  std::vector<int64_t> covered(loops, 1);
  for (int i = 0; i < 3; ++i)
    if (shape.isTiled())
      covered[shape.tileLoops[i]] = shape.tile[i];
  if (shape.vectorLoop != kNone)
    covered[shape.vectorLoop] = shape.lanes;
  made.block.assign(loops, 0);
  int64_t unrolled = 0;
  for (int64_t l = 0; l < loops; ++l)
    if (draw(0, 2) == 0 && unrolled++ < 2)
      made.block[l] = covered[l] * draw(1, 2);
  std::vector<int64_t> last(loops, 1 << 20);
  for (int64_t i = draw(0, 7); i > 0; --i) {
    const int64_t l = draw(0, loops - 1);
    const int64_t high = std::min(contraction.loops[l].extent / covered[l] + 1, last[l] / covered[l]);
    const int64_t step = covered[l] * draw(1, std::max<int64_t>(high, 1));
    if (step <= last[l])
      made.levels.push_back({Index(l), step}), last[l] = step;
  }
  for (int64_t l = 0; l < loops; ++l)
    if (made.block[l] > 0 && last[l] % made.block[l])
      made.block[l] = 0;
  for (Schedule::StagedPiece &staging : made.staged)
    if (staging.storage != kNone)
      staging.level = int32_t(draw(0, int64_t(made.levels.size()))), staging.isDouble = draw(0, 2) > 0;
  made.ahead = int16_t(std::max<int64_t>(draw(-4, 5), 0));
  return made;
}

struct ConvolutionCase {
  ConvolutionShape shape;
  Values input, weight, output;
};
ConvolutionShape randomShape(Draw &draw) {
  for (;;) {
    ConvolutionShape s;
    s.images = draw(1, 2), s.groups = draw(0, 2) ? 1 : draw(1, 3), s.filters = draw(1, 3), s.channels = draw(1, 3);
    if (s.groups > 1 && draw(0, 1))
      s.filters = s.channels = 1; // depthwise
    s.rows = draw(1, 6), s.columns = draw(1, 6), s.filterRows = draw(1, 3), s.filterColumns = draw(1, 3);
    s.rowStride = draw(1, 3), s.columnStride = draw(1, 3), s.rowPadding = draw(0, 2), s.columnPadding = draw(0, 2);
    s.rowDilation = draw(1, 2), s.columnDilation = draw(1, 2);
    if (s.outRows() > 0 && s.outColumns() > 0)
      return s;
  }
}
int64_t productsOf(const ConvolutionShape &s) {
  return s.images * s.groups * s.filters * s.channels * s.outRows() * s.outColumns() * s.filterRows * s.filterColumns;
}

/// All three tensors of a convolution: two drawn, the third by its definition without padding in memory. The gradient
/// of the input asks, for each of its elements, which windows it was in.
ConvolutionCase convolutionCase(Draw &draw, ConvolutionPart part) {
  ConvolutionCase made;
  const ConvolutionShape s = made.shape = randomShape(draw);
  const int64_t channels = s.groups * s.channels, filters = s.groups * s.filters;
  auto fill = [&](Values &into, int64_t a, int64_t b, int64_t c, int64_t d, bool isDrawn) {
    for (int64_t i = 0; i < a * b * c * d; ++i)
      into[{i / (b * c * d), i / (c * d) % b, i / d % c, i % d}] = isDrawn ? draw.number() : 0;
  };
  fill(made.input, s.images, channels, s.rows, s.columns, part != ConvolutionPart::DataGradient);
  fill(made.weight, filters, s.channels, s.filterRows, s.filterColumns, part != ConvolutionPart::WeightGradient);
  fill(made.output, s.images, filters, s.outRows(), s.outColumns(), part != ConvolutionPart::Forward);
  if (part == ConvolutionPart::DataGradient) {
    for (auto &[at, sum] : made.input)
      for (auto &[w, weight] : made.weight) {
        const int64_t row = at[2] + s.rowPadding - w[2] * s.rowDilation;
        const int64_t column = at[3] + s.columnPadding - w[3] * s.columnDilation;
        if (w[0] / s.filters != at[1] / s.channels || w[1] != at[1] % s.channels || row < 0 || column < 0 ||
            row % s.rowStride || column % s.columnStride)
          continue;
        auto found = made.output.find({at[0], w[0], row / s.rowStride, column / s.columnStride});
        if (found != made.output.end())
          sum += found->second * weight;
      }
    return made;
  }
  for (auto &[at, output] : made.output)
    for (auto &[w, weight] : made.weight) {
      auto found = made.input.find({at[0], at[1] / s.filters * s.channels + w[1],
                                    at[2] * s.rowStride + w[2] * s.rowDilation - s.rowPadding,
                                    at[3] * s.columnStride + w[3] * s.columnDilation - s.columnPadding});
      if (w[0] != at[1] || found == made.input.end())
        continue;
      if (part == ConvolutionPart::Forward)
        output += found->second * weight;
      else
        weight += found->second * output;
    }
  return made;
}

/// Dimension d of the positions as groups of `size`, and shifts of the last two.
Values stored(const Values &values, size_t d, int64_t size, int64_t rows = 0, int64_t columns = 0) {
  Values made;
  for (const auto &[key, value] : values) {
    Position at = key;
    at[2] += rows, at[3] += columns;
    at.insert(at.begin() + int64_t(d), at[d] / size), at[d + 1] %= size;
    made[at] = value;
  }
  return made;
}

/// The outcome of a convolution or a gradient of it against its definition.
void expectConvolution(uint64_t seed, const ConvolutionCase &one, ConvolutionPart part, const Schedule &schedule,
                       const Microarchitecture &machine, std::map<Role, int64_t> &counts, std::string &wrong) {
  const Contraction contraction = convolution(one.shape, part);
  const ConvolutionShape &s = one.shape;
  const Values input = stored(one.input, 1, s.channels, s.rowPadding, s.columnPadding);
  const Values weight = stored(one.weight, 0, s.filters), output = stored(one.output, 1, s.filters);
  const Values &first = part == ConvolutionPart::DataGradient ? output : input;
  const Values &second = part == ConvolutionPart::WeightGradient ? output : weight;
  const Values &wanted = part == ConvolutionPart::Forward        ? output
                         : part == ConvolutionPart::DataGradient ? input
                                                                 : weight;
  const Outcome found = execute(contraction, schedule, machine, first, second, wanted);
  wrong = found.wrong, counts = found.counts;
  if (wrong.empty()) {
    ASSERT_EQ(found.result, wanted) << seed;
  }
}

/// Sums that begin with a bias of rows, of columns, of both, or of neither.
TEST(ContractionKernel, SumsBeginWithABias) {
  int tried = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    const ProductCase one = productCase(draw, 9);
    Contraction contraction = product(one.shape);
    enum : Index { Batch, M, N };
    ContractionTensor bias{"bias", 4, {}};
    std::vector<Index> moved;
    for (Index loop : {M, N})
      if (draw(0, 1))
        moved.push_back(loop), bias.dimensions.push_back({{{loop, 1}}, contraction.loops[loop].extent});
    contraction.initial = bias;
    KernelMachineOptions options;
    options.addresses = draw(0, 1);
    const Microarchitecture machines[] = {KernelMachine(options).scalar(), KernelMachine(options).vector(),
                                          KernelMachine(options).tiles()};
    const Microarchitecture &machine = machines[seed % 3];
    Schedule schedule = plainSchedule(contraction, machine);
    if (draw(0, 1))
      schedule = randomSchedule(draw, contraction, schedule);
    auto kernel = contractionKernel(contraction, schedule);
    auto mapped = kernel ? emitKernel(*kernel, machine) : Result<MappedKernel>(kernel.takeError());
    if (!mapped)
      continue;
    ++tried;
    ProgramInterpreter run(*mapped, machine);
    const Tensors tensors(contraction, schedule);
    const ContractionLayout layout = *layoutOf(contraction, schedule);
    for (auto &[position, value] : one.a)
      run.tensors[0].at(tensors.offset(0, position)) = value;
    for (auto &[position, value] : one.b)
      run.tensors[1].at(tensors.offset(1, position)) = value;
    run.tensors[2].assign(run.tensors[2].size(), NAN);
    for (size_t i = 0; i < run.tensors[3].size(); ++i)
      run.tensors[3][i] = double(i + 1);
    run.run();
    ASSERT_EQ(run.wrong, "") << seed;
    for (auto &[position, value] : one.c) {
      int64_t at = 0;
      for (Index loop : moved)
        at += position[loop] * layout.strides[3][loop];
      ASSERT_EQ(run.tensors[2].at(tensors.offset(2, position)), value + double(at + 1)) << seed;
    }
  }
  EXPECT_GE(tried, 120);
}

constexpr ConvolutionPart kParts[] = {ConvolutionPart::Forward, ConvolutionPart::DataGradient,
                                      ConvolutionPart::WeightGradient};

TEST(ContractionKernel, ConvolutionsOnAScalarMachine) {
  for (uint64_t seed = 0; seed < 240; ++seed) {
    Draw draw(seed);
    const ConvolutionPart part = kParts[seed % 3];
    const ConvolutionCase one = convolutionCase(draw, part);
    KernelMachineOptions options;
    options.addresses = draw(0, 1);
    const Microarchitecture machine = KernelMachine(options).scalar();
    const Contraction contraction = convolution(one.shape, part);
    const Schedule schedule = seed % 2 ? randomSchedule(draw, contraction, {}) : plainSchedule(contraction, machine);
    std::map<Role, int64_t> counts;
    std::string wrong;
    expectConvolution(seed, one, part, schedule, machine, counts, wrong);
    ASSERT_EQ(wrong, "") << seed;
    ASSERT_EQ(counts[Role::MultiplyAdd], productsOf(one.shape)) << seed;
  }
}

/// With lanes, or with tiles; the plain schedule must always work, of others all that are not refused.
void expectShaped(const Microarchitecture &machine, uint64_t seeds, int min) {
  int convolutions = 0, products = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Draw draw(seed);
    std::map<Role, int64_t> counts;
    std::string wrong;
    const ConvolutionPart part = kParts[seed % 3];
    const ConvolutionCase one = convolutionCase(draw, part);
    const Contraction contraction = convolution(one.shape, part);
    Schedule schedule = plainSchedule(contraction, machine);
    if (draw(0, 1))
      schedule = randomSchedule(draw, contraction, schedule);
    expectConvolution(seed, one, part, schedule, machine, counts, wrong);
    convolutions += wrong.empty();
    const ProductCase two = productCase(draw, 11);
    const Contraction matrices = product(two.shape);
    const Schedule plain = plainSchedule(matrices, machine);
    const Outcome found =
        execute(matrices, draw(0, 1) ? plain : randomSchedule(draw, matrices, plain), machine, two.a, two.b, two.c);
    products += found.wrong.empty();
    if (!found.wrong.empty()) {
      ASSERT_TRUE(found.wrong.find("registers") != std::string::npos ||
                  found.wrong.find("not hold") != std::string::npos)
          << seed << found.wrong;
    } else {
      ASSERT_EQ(found.result, two.c) << seed;
    }
  }
  EXPECT_GE(convolutions, min);
  EXPECT_GE(products, min);
}

TEST(ContractionKernel, Lanes) { expectShaped(KernelMachine({}).vector(), 240, 200); }
TEST(ContractionKernel, Tiles) { expectShaped(KernelMachine({}).tiles(), 240, 100); }

/// A machine with a scratchpad, of a size that small pieces fill.
KernelMachine staged(int64_t bytes, bool tokens = true, bool addresses = true) {
  KernelMachineOptions options;
  options.scratchpad = bytes, options.tokens = tokens, options.addresses = addresses;
  return KernelMachine(options);
}
TEST(ContractionKernel, PiecesInAScratchpad) {
  for (bool addresses : {false, true}) {
    const Microarchitecture machine = staged(1024, true, addresses).stagedVector();
    ASSERT_TRUE(check(machine).empty()) << check(machine).front().message;
    expectShaped(machine, 120, 80);
  }
  expectShaped(staged(16384).stagedVector(), 120, 100);
}
TEST(ContractionKernel, PiecesInBanksAndSums) {
  ASSERT_TRUE(check(staged(1024).stagedTiles()).empty()) << check(staged(1024).stagedTiles()).front().message;
  expectShaped(staged(1024).stagedTiles(), 120, 40);
  expectShaped(staged(8192).stagedTiles(), 120, 50);
}

TEST(ContractionKernel, ProductsOnAScalarMachine) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Draw draw(seed);
    const ProductCase one = productCase(draw, 7);
    Contraction contraction = product(one.shape);
    contraction.accumulates = draw(0, 3) == 0;
    KernelMachineOptions options;
    options.addresses = draw(0, 1), options.control = draw(0, 1), options.multiplyAdd = draw(0, 3) > 0;
    const Microarchitecture machine = KernelMachine(options).scalar();
    ASSERT_TRUE(check(machine).empty());
    const Schedule schedule = seed % 3 ? randomSchedule(draw, contraction, {}) : plainSchedule(contraction, machine);
    const Outcome found = execute(contraction, schedule, machine, one.a, one.b, one.c);
    ASSERT_EQ(found.wrong, "") << seed;
    ASSERT_EQ(found.result, one.c) << seed;
    const int64_t products = one.shape.batch * one.shape.m * one.shape.n * one.shape.k;
    ASSERT_EQ(found.counts.at(options.multiplyAdd ? Role::MultiplyAdd : Role::Multiply), products) << seed;
  }
}

} // namespace
} // namespace accord::microarchitecture
