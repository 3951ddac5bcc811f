// Cycles and accesses of systolic arrays against arrays that are stepped PE by PE, against counts
// that SCALE-Sim v3 prints, and against its formulas on published layer lists.
#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include "test/lib/machine/SystolicSimulator.h"
#include "test/support/Random.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <tuple>

using namespace accord;
using namespace accord::simulator;

namespace {

constexpr Dataflow kOutput = Dataflow::OutputStationary, kWeight = Dataflow::WeightStationary,
                   kInput = Dataflow::InputStationary, kRow = Dataflow::RowStationary;

struct Counted {
  int64_t cycles = 0, lhs = 0, rhs = 0, writes = 0;
};

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Batches of small matrices with arbitrary entries, and what the array made of them.
struct Matrices {
  Gemm g;
  std::vector<int64_t> lhs, rhs, found;
  explicit Matrices(const Gemm &gemm, fuzz::Random &random)
      : g(gemm), lhs(size(g.m, g.k)), rhs(size(g.k, g.n)), found(size(g.m, g.n)) {
    for (auto *values : {&lhs, &rhs})
      for (int64_t &value : *values)
        value = static_cast<int64_t>(random.below(19)) - 9;
  }
  size_t size(int64_t a, int64_t b) const { return static_cast<size_t>(g.batch * a * b); }
  int64_t &a(int64_t b, int64_t m, int64_t k) { return lhs[size_t((b * g.m + m) * g.k + k)]; }
  int64_t &b(int64_t b, int64_t k, int64_t n) { return rhs[size_t((b * g.k + k) * g.n + n)]; }
  int64_t &c(int64_t b, int64_t m, int64_t n) { return found[size_t((b * g.m + m) * g.n + n)]; }
  bool correct() {
    for (int64_t i = 0; i < g.batch; ++i)
      for (int64_t m = 0; m < g.m; ++m)
        for (int64_t n = 0; n < g.n; ++n) {
          int64_t sum = 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum += a(i, m, k) * b(i, k, n);
          if (sum != c(i, m, n))
            return false;
        }
    return true;
  }
};

/// The folds of one array, and where they lie in the matrices. Streams are cut into `pieces`, whose folds follow each
/// other.
class Share {
public:
  Share(Matrices &x, Dataflow flow, const SystolicArray &array, int64_t pieces, Counted &counted)
      : x(x), g(x.g), flow(flow), array(array), counted(counted), pieces(pieces), onRows(flow == kOutput ? g.m : g.k),
        onCols(flow == kInput ? g.m : g.n), whole(flow == kOutput  ? g.k
                                                  : flow == kInput ? g.n
                                                                   : g.m),
        piece(up(whole, pieces)), rowFolds(up(onRows, array.rows)), colFolds(up(onCols, array.cols)) {}

  /// Every `count`-th fold from `part` on; the cycles that they take.
  int64_t run(int64_t part, int64_t count) {
    mine.clear();
    for (int64_t f = part; f < g.batch * rowFolds * colFolds * pieces; f += count)
      mine.push_back(f);
    return mine.empty() ? 0 : flow == kOutput ? outputs() : stationary();
  }

private:
  int64_t row(int f, int r) const { return mine[f] / pieces / colFolds % rowFolds * array.rows + r; }
  int64_t col(int f, int c) const { return mine[f] / pieces % colFolds * array.cols + c; }
  int64_t at(int f, int t) const { return mine[f] % pieces * piece + t; }
  int64_t batch(int f) const { return mine[f] / pieces / colFolds / rowFolds; }

  int64_t outputs() {
    OutputFolds is;
    is.rows = int(array.rows), is.cols = int(array.cols), is.depth = int(piece), is.folds = int(mine.size());
    is.left = [&](int f, int r, int t) -> int64_t {
      if (row(f, r) >= g.m || at(f, t) >= g.k)
        return 0;
      return ++counted.lhs, x.a(batch(f), row(f, r), at(f, t));
    };
    is.top = [&](int f, int c, int t) -> int64_t {
      if (col(f, c) >= g.n || at(f, t) >= g.k)
        return 0;
      return ++counted.rhs, x.b(batch(f), at(f, t), col(f, c));
    };
    is.leaves = [&](int f, int r, int c, int64_t value) {
      if (row(f, r) < g.m && col(f, c) < g.n)
        ++counted.writes, x.c(batch(f), row(f, r), col(f, c)) += value;
    };
    for (int interval = array.overlapDrain ? 1 : 0;; ++interval) { // the shortest that does not collide
      Counted before = counted;
      auto results = x.found;
      if (int64_t cycles = runOutputStationary(is, interval); cycles >= 0)
        return cycles;
      counted = before;
      x.found = results;
    }
  }

  int64_t stationary() {
    bool input = flow == kInput;
    StationaryFolds is;
    is.rows = int(array.rows), is.cols = int(array.cols), is.outputs = int(piece), is.folds = int(mine.size());
    is.fill = array.overlapFill, is.drain = array.overlapDrain;
    is.stays = [&](int f, int r, int c, int) -> int64_t {
      int64_t k = row(f, r), other = col(f, c);
      if (k >= g.k || other >= onCols)
        return 0;
      ++(input ? counted.lhs : counted.rhs);
      return input ? x.a(batch(f), other, k) : x.b(batch(f), k, other);
    };
    is.moves = [&](int f, int r, int, int t) -> int64_t {
      int64_t k = row(f, r), moved = at(f, t);
      if (k >= g.k || moved >= whole)
        return 0;
      ++(input ? counted.rhs : counted.lhs);
      return input ? x.b(batch(f), k, moved) : x.a(batch(f), moved, k);
    };
    is.leaves = [&](int f, int c, int t, int64_t value) {
      int64_t moved = at(f, t);
      if (col(f, c) >= onCols || moved >= whole)
        return;
      ++counted.writes;
      (input ? x.c(batch(f), col(f, c), moved) : x.c(batch(f), moved, col(f, c))) += value;
    };
    return StationaryArray(is).run();
  }

  Matrices &x;
  const Gemm &g;
  Dataflow flow;
  const SystolicArray &array;
  Counted &counted;
  int64_t pieces, onRows, onCols, whole, piece, rowFolds, colFolds;
  std::vector<int64_t> mine;
};

/// Deals the folds to the arrays and steps each; the slowest one's cycles, and what all of them access.
Counted step(const Gemm &g, Dataflow flow, const SystolicArray &array, int64_t pieces, fuzz::Random &random) {
  Matrices x(g, random);
  Counted counted;
  Share share(x, flow, array, pieces, counted);
  int64_t count = array.split ? array.count : 1;
  for (int64_t part = 0; part < count; ++part) {
    int64_t cycles = share.run(part, count);
    counted.cycles = std::max(counted.cycles, cycles);
  }
  EXPECT_TRUE(x.correct());
  return counted;
}

std::string shown(const Gemm &g, Dataflow flow, const SystolicArray &a) {
  std::ostringstream out;
  out << name(flow) << " " << g.batch << " x " << g.m << "," << g.n << "," << g.k << " on " << a.count << " of "
      << a.rows << "x" << a.cols << (a.overlapFill ? " fill" : "") << (a.overlapDrain ? " drain" : "")
      << (a.split ? " split" : "");
  return out.str();
}

int64_t oneTo(fuzz::Random &random, size_t max) { return 1 + static_cast<int64_t>(random.below(max)); }

/// The fewest cycles of all ways to cut a stream of `steps`, as `run` gives them for folds and
/// steps.
template <typename Run> int64_t bestCut(int64_t folds, int64_t steps, const SystolicArray &a, Run run) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t cuts : {1, 2, 3, 4, 6, 8, 12}) {
    if (cuts > 1 && (cuts > a.count || cuts > steps || !a.split || !a.cutStream))
      continue;
    int64_t piece = up(steps, cuts), all = folds * up(steps, piece);
    best = std::min<int64_t>(best, run(a.split ? up(all, a.count) : all, piece));
  }
  return best;
}

/// As whole columns do it: the folds of the array that gets most.
int64_t skewed(const Gemm &g, Dataflow flow, const SystolicArray &a) {
  int64_t onRows = flow == kOutput ? g.m : g.k, onCols = flow == kInput ? g.m : g.n;
  int64_t steps = flow == kOutput ? g.k : flow == kInput ? g.n : g.m;
  SkewArray array(a.rows, a.cols, a.overlapFill, a.overlapDrain);
  return bestCut(g.batch * up(onRows, a.rows) * up(onCols, a.cols), steps, a, [&](int64_t folds, int64_t piece) {
    return flow == kOutput ? array.outputs(folds, piece) : array.stationary(folds, 1, piece);
  });
}

} // namespace

TEST(Systolic, EqualsTheArrayThatIsSteppedPeByPe) {
  fuzz::Random random(11);
  for (int i = 0; i < 300; ++i) {
    Gemm g{oneTo(random, 2), oneTo(random, 9), oneTo(random, 9), oneTo(random, 9)};
    SystolicArray a{oneTo(random, 5), oneTo(random, 5), oneTo(random, 3), i % 2 > 0, i % 4 > 1, i % 8 < 5, i % 16 < 12};
    for (Dataflow flow : {kOutput, kWeight, kInput}) {
      SCOPED_TRACE(shown(g, flow, a));
      SystolicCost cost = systolicCost(g, flow, a).value();
      Counted counted = step(g, flow, a, cost.pieces, random);
      ASSERT_EQ(int64_t(cost.cycles), counted.cycles);
      ASSERT_EQ(skewed(g, flow, a), counted.cycles);
      EXPECT_EQ(int64_t(cost.lhsReads), counted.lhs);
      EXPECT_EQ(int64_t(cost.rhsReads), counted.rhs);
      EXPECT_EQ(int64_t(cost.resultWrites), counted.writes);
      EXPECT_EQ(int64_t(cost.resultWrites - cost.resultReads), g.batch * g.m * g.n);
    }
  }
}

TEST(Systolic, EqualsTheSkewOfColumnsOnArraysUpTo512) {
  fuzz::Random random(12);
  for (int i = 0; i < 2000; ++i) {
    Gemm g{oneTo(random, 3), oneTo(random, 900), oneTo(random, 900), oneTo(random, 900)};
    size_t max = size_t{1} << random.below(10);
    SystolicArray a{oneTo(random, max), oneTo(random, max), oneTo(random, 9), i % 2 > 0, i % 4 > 1, i % 8 < 6};
    if (i % 5 == 0) // long and thin
      (i % 2 ? a.rows : a.cols) = 1;
    if (i % 7 == 0)
      (i % 2 ? a.rows : a.cols) = 512;
    for (Dataflow flow : {kOutput, kWeight, kInput}) {
      int64_t folds = g.batch * up(flow == kOutput ? g.m : g.k, a.rows) * up(flow == kInput ? g.m : g.n, a.cols);
      if (folds * a.cols > 100000) // too long to step
        continue;
      ASSERT_EQ(int64_t(systolicCost(g, flow, a)->cycles), skewed(g, flow, a)) << shown(g, flow, a);
    }
  }
}

/// A convolution stepped PE by PE; also checks its results against the definition.
static Counted stepRows(const Convolution &v, const SystolicArray &array, int64_t pieces, fuzz::Random &random) {
  int R = static_cast<int>(array.rows), C = static_cast<int>(array.cols);
  int64_t inRows = (v.outRows - 1) * v.rowStride + (v.filterRows - 1) * v.rowDilation + 1,
          inCols = (v.outCols - 1) * v.colStride + (v.filterCols - 1) * v.colDilation + 1;
  auto values = [&](int64_t size) {
    std::vector<int64_t> made(static_cast<size_t>(size));
    for (int64_t &value : made)
      value = static_cast<int64_t>(random.below(19)) - 9;
    return made;
  };
  auto input = values(v.groups * v.images * v.channels * inRows * inCols),
       filter = values(v.groups * v.filters * v.channels * v.filterRows * v.filterCols);
  std::vector<int64_t> found(size_t(v.groups * v.images * v.filters * v.outRows * v.outCols));
  auto in = [&](int64_t g, int64_t i, int64_t ch, int64_t h, int64_t w) {
    return size_t((((g * v.images + i) * v.channels + ch) * inRows + h) * inCols + w);
  };
  auto kernel = [&](int64_t g, int64_t f, int64_t ch, int64_t h, int64_t w) {
    return size_t((((g * v.filters + f) * v.channels + ch) * v.filterRows + h) * v.filterCols + w);
  };
  auto out = [&](int64_t g, int64_t i, int64_t f, int64_t h, int64_t w) {
    return size_t((((g * v.images + i) * v.filters + f) * v.outRows + h) * v.outCols + w);
  };
  // Sets below each other are channels; sets beside each other planes, filters changing fastest,
  // then groups, then images.
  int64_t below = std::max<int64_t>(R / v.filterRows, 1), beside = std::max<int64_t>(C / v.outRows, 1),
          rowStrips = up(v.filterRows, R), colStrips = up(v.outRows, C), channelFolds = up(v.channels, below),
          planes = v.groups * v.images * v.filters,
          folds = channelFolds * up(planes, beside) * rowStrips * colStrips * pieces, piece = up(v.outCols, pieces);
  struct Place {
    int64_t group, image, filter, channel, i, j;
  };
  auto place = [&](int64_t fold, int r, int c) -> std::optional<Place> {
    fold /= pieces;
    int64_t colStrip = fold % colStrips, rowStrip = fold / colStrips % rowStrips,
            channels = fold / colStrips / rowStrips % channelFolds,
            planeFold = fold / colStrips / rowStrips / channelFolds;
    int64_t height = std::min<int64_t>(v.filterRows, R), width = std::min<int64_t>(v.outRows, C);
    int64_t plane = planeFold * beside + c / width;
    Place p{plane / v.filters % v.groups,  plane / v.filters / v.groups, plane % v.filters,
            channels * below + r / height, rowStrip * R + r % height,    colStrip * C + c % width};
    if (r / height >= below || c / width >= beside || plane >= planes || p.channel >= v.channels ||
        p.i >= v.filterRows || p.j >= v.outRows)
      return std::nullopt;
    return p;
  };
  Counted counted;
  for (int64_t part = 0; part < array.count; ++part) {
    std::vector<int64_t> mine;
    for (int64_t f = part; f < folds; f += array.count)
      mine.push_back(f);
    if (mine.empty())
      continue;
    std::set<std::pair<int, size_t>> inputs, kernels, results; // what each fold touches
    StationaryFolds is;
    is.rows = R, is.cols = C, is.kept = int(v.filterCols), is.outputs = int(piece);
    is.folds = int(mine.size()), is.fill = array.overlapFill, is.drain = array.overlapDrain;
    is.fromTheLeft = false;
    is.stays = [&](int f, int r, int c, int q) -> int64_t {
      auto p = place(mine[size_t(f)], r, c);
      if (!p)
        return 0;
      size_t at = kernel(p->group, p->filter, p->channel, p->i, q);
      kernels.insert({f, at});
      return filter[at];
    };
    is.moves = [&](int f, int r, int c, int t) -> int64_t {
      auto p = place(mine[size_t(f)], r, c);
      int64_t x = mine[size_t(f)] % pieces * piece + t / v.filterCols;
      if (!p || x >= v.outCols)
        return 0;
      size_t at = in(p->group, p->image, p->channel, p->i * v.rowDilation + p->j * v.rowStride,
                     x * v.colStride + t % v.filterCols * v.colDilation);
      inputs.insert({f, at});
      return input[at];
    };
    is.leaves = [&](int f, int c, int x, int64_t value) {
      x += static_cast<int>(mine[size_t(f)] % pieces * piece);
      if (auto p = place(mine[size_t(f)], 0, c); p && x < v.outCols) {
        size_t at = out(p->group, p->image, p->filter, p->j, x);
        results.insert({f, at});
        found[at] += value;
      }
    };
    counted.cycles = std::max(counted.cycles, StationaryArray(is).run());
    counted.lhs += int64_t(inputs.size()), counted.rhs += int64_t(kernels.size());
    counted.writes += int64_t(results.size());
  }
  for (int64_t g = 0; g < v.groups; ++g)
    for (int64_t i = 0; i < v.images; ++i)
      for (int64_t f = 0; f < v.filters; ++f)
        for (int64_t h = 0; h < v.outRows; ++h)
          for (int64_t w = 0; w < v.outCols; ++w) {
            int64_t sum = 0;
            for (int64_t ch = 0; ch < v.channels; ++ch)
              for (int64_t a = 0; a < v.filterRows; ++a)
                for (int64_t b = 0; b < v.filterCols; ++b)
                  sum += filter[kernel(g, f, ch, a, b)] *
                         input[in(g, i, ch, h * v.rowStride + a * v.rowDilation, w * v.colStride + b * v.colDilation)];
            EXPECT_EQ(found[out(g, i, f, h, w)], sum);
          }
  return counted;
}

TEST(Systolic, RowStationaryEqualsTheArrayThatIsSteppedPeByPe) {
  fuzz::Random random(13);
  for (int i = 0; i < 300; ++i) {
    Convolution v{oneTo(random, 2), oneTo(random, 2), oneTo(random, 3), oneTo(random, 4),
                  oneTo(random, 4), oneTo(random, 3), oneTo(random, 6), oneTo(random, 5),
                  oneTo(random, 3), oneTo(random, 3), oneTo(random, 2), oneTo(random, 2)};
    SystolicArray a{oneTo(random, 7), oneTo(random, 7), oneTo(random, 4), i % 2 > 0, i % 4 > 1, true, i % 8 > 2};
    SCOPED_TRACE(i);
    SystolicCost cost = rowStationaryCost(v, a).value();
    Counted counted = stepRows(v, a, cost.pieces, random);
    ASSERT_EQ(int64_t(cost.cycles), counted.cycles);
    SkewArray array(a.rows, a.cols, a.overlapFill, a.overlapDrain);
    ASSERT_EQ(bestCut(int64_t(cost.folds) / cost.pieces, v.outCols, a,
                      [&](int64_t folds, int64_t piece) { return array.stationary(folds, v.filterCols, piece); }),
              counted.cycles);
    EXPECT_EQ(int64_t(cost.lhsReads), counted.lhs);
    EXPECT_EQ(int64_t(cost.rhsReads), counted.rhs);
    EXPECT_EQ(int64_t(cost.resultWrites), counted.writes);
    EXPECT_EQ(int64_t(cost.resultWrites - cost.resultReads), v.groups * v.images * v.filters * v.outRows * v.outCols);
  }
}

TEST(Systolic, RowStationaryProductIsWeightStationary) {
  fuzz::Random random(14);
  for (int i = 0; i < 200; ++i) {
    Gemm g{1, oneTo(random, 300), oneTo(random, 300), oneTo(random, 300)};
    SystolicArray a{oneTo(random, 40), oneTo(random, 40), oneTo(random, 4), i % 2 > 0, i % 4 > 1};
    SystolicCost rows = *systolicCost(g, kRow, a), weights = *systolicCost(g, kWeight, a);
    EXPECT_TRUE(rows.cycles == weights.cycles);
    EXPECT_TRUE(rows.lhsReads == weights.lhsReads && rows.rhsReads == weights.rhsReads);
    EXPECT_TRUE(rows.resultWrites == weights.resultWrites);
  }
}
