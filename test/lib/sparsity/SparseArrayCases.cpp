#include "test/lib/sparsity/SparseArrayCases.h"
#include <algorithm>
#include <cmath>

namespace accord::test {
namespace {

using fuzz::Random;
using simulator::SparseMask;
using Kind = SparsityPattern::Kind;
using Mode = SparseAcceleration::Mode;
using Format = SparseFormat::Kind;

int64_t between(Random &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.below(static_cast<size_t>(high - low + 1)));
}

int64_t extent(Random &random, int64_t min, int64_t max) { // log-uniform
  double share = static_cast<double>(random.below(1 << 20)) / (1 << 20);
  return static_cast<int64_t>(static_cast<double>(min) *
                              std::pow(static_cast<double>(max) / static_cast<double>(min), share));
}

SparsityPattern windows(Random &random, int64_t window) {
  SparsityPattern p;
  p.kind = Kind::Histogram;
  p.window = window;
  p.histogram.resize(static_cast<size_t>(window + 1));
  double sum = 0;
  for (double &share : p.histogram)
    sum += share = static_cast<double>(random.below(8));
  if (sum == 0)
    sum = p.histogram[0] = 1;
  for (double &share : p.histogram)
    share /= sum;
  return p;
}

/// Rows of different densities.
SparsityPattern mask(Random &random, int64_t outputs, int64_t reduction) {
  SparsityPattern p;
  p.kind = Kind::Mask;
  for (int64_t r = 0; r < outputs; ++r) {
    auto percent = static_cast<unsigned>(between(random, 10, 90));
    p.mask.emplace_back();
    for (int64_t c = 0; c < reduction; ++c)
      p.mask.back().push_back(random.percent(percent));
  }
  return p;
}

SparsityPattern pattern(Random &random, int64_t outputs, int64_t reduction) {
  SparsityPattern p;
  p.density = static_cast<double>(between(random, 5, 100)) / 100;
  switch (random.below(10)) {
  case 0:
    return p;
  case 1:
    p.kind = Kind::Structured;
    p.of = between(random, 1, 8), p.kept = between(random, 1, p.of);
    p.transposable = random.percent(30);
    p.along = random.percent(70) ? SparsityPattern::Along::Reduction : SparsityPattern::Along::Output;
    return p;
  case 2:
    p.kind = Kind::Block;
    p.blockRows = between(random, 1, 4);
    p.blockColumns = between(random, 1, 8);
    p.independent = random.percent(50);
    return p;
  case 3:
    p.kind = Kind::Banded;
    p.band = between(random, 0, std::max(outputs, reduction) - 1);
    return p;
  case 4:
    return windows(random, between(random, 1, 9));
  case 5:
    return mask(random, outputs, reduction);
  default:
    p.kind = Kind::Unstructured;
    p.independent = random.percent(40);
    return p;
  }
}

SparseAcceleration use(Random &random) {
  SparseAcceleration use;
  use.mode = random.percent(20) ? Mode::None : random.percent(25) ? Mode::Gate : Mode::Skip;
  use.compress = use.mode == Mode::Skip;
  if (random.percent(15))
    use.granule = between(random, 2, 4);
  return use;
}

bool skips(const SparseAcceleration &use, const SparsityPattern &pattern, const SparseFormat &format) {
  return use.mode == Mode::Skip && format.kind != Format::Dense && pattern.kind != Kind::Dense;
}

/// `places`: multiply-accumulates at most.
void drawProduct(Random &random, int64_t places, SparseCase &c) {
  SparseProduct &p = c.product;
  do {
    p.rows = extent(random, 16, 400), p.columns = extent(random, 16, 400);
    p.depth = extent(random, 16, 400);
  } while (p.rows * p.columns * p.depth > places);
  for (SparseFormat *format : {&p.stationaryFormat, &p.streamingFormat})
    format->kind = random.percent(10) ? Format::Dense : Format::Bitmask;
  p.elementBits = random.percent(50) ? 8 : 16;
  p.stationary = pattern(random, p.columns, p.depth);
  p.streaming = pattern(random, p.rows, p.depth);
}

} // namespace

bool isRandom(const SparsityPattern &p) {
  return p.kind != Kind::Dense && p.kind != Kind::Banded && p.kind != Kind::Mask;
}

SparseCase dotProducts(Random &random, int64_t engines) {
  SparseCase c;
  c.core.stationary = use(random), c.core.streaming = use(random);
  c.core.tile = extent(random, 1, 100), c.core.slots = extent(random, 1, 8);
  c.core.lanes = extent(random, 1, 32);
  c.core.setupCycles = static_cast<double>(random.percent(20) ? between(random, 1, 100) : 0);
  c.array.perCycle = static_cast<double>(c.core.lanes * c.core.slots * between(random, 1, engines));
  drawProduct(random, 60'000, c);
  return c;
}

SparseCase outerProducts(Random &random, int64_t engines) {
  SparseCase c;
  c.core.stationary = use(random), c.core.streaming = use(random);
  c.core.stationary.granule = c.core.streaming.granule = 1;
  c.core.tile = between(random, 1, 64);
  c.array.outerStationary = between(random, 1, 16);
  c.array.outerStreaming = between(random, 1, 16);
  c.array.perCycle =
      static_cast<double>(c.array.outerStationary * c.array.outerStreaming * between(random, 1, engines));
  drawProduct(random, 60'000, c);
  return c;
}

SparseCase structuredProducts(Random &random) {
  SparseCase c;
  SparseAcceleration &w = c.core.stationary;
  w.mode = Mode::Skip, w.compress = true;
  w.of = between(random, 2, 8), w.kept = between(random, 1, w.of - 1);
  SparsityPattern stored;
  stored.kind = Kind::Structured;
  stored.of = w.of, stored.kept = between(random, 1, w.kept);
  c.core.tile = random.percent(50) ? 1 : w.of * between(random, 1, 8);
  drawProduct(random, 300'000, c);
  SparseProduct &p = c.product;
  // What is short of a whole tile is full of zeros that nobody stored; only the dense form of the other operand has
  // them.
  bool moved = random.percent(50);
  int64_t step = std::max(c.core.tile, w.of);
  if (moved && random.percent(50)) {
    c.core.streaming.compress = true;
    p.depth = (p.depth + step - 1) / step * step;
    p.streamingFormat.kind = Format::Bitmask;
  }
  p.stationary = stored;
  do
    p.streaming = pattern(random, p.rows, p.depth);
  while (c.core.streaming.compress && !isRandom(p.streaming)); // a buffer does not outlast a whole band
  p.stationaryFormat = {.kind = Format::Structured, .kept = w.kept, .of = w.of};
  c.core.streaming.mode = random.percent(50) ? Mode::Gate : Mode::None;
  // Each tile of the streaming operand enters at least once.
  c.array.perCycle =
      static_cast<double>(between(random, 1, std::max<int64_t>(1, std::min<int64_t>(64, p.columns * w.kept / w.of))));
  if (moved) {
    c.array.stationaryWords = static_cast<double>(between(random, 2, 16));
    c.core.metadataBits = static_cast<double>(between(random, 0, 3));
    c.core.wordsPerCycle = static_cast<double>(between(random, 1, 2 * step + 16));
    // Where a memory is about as fast as what is asked of it at random, the depth of the buffer decides.
    auto words = static_cast<int64_t>(c.array.stationaryWords);
    if (c.core.streaming.compress)
      c.core.wordsPerCycle = static_cast<double>(
          random.percent(30) ? 2 * (words + step) : between(random, 1, std::max<int64_t>(1, words * 4 / 5)));
  }
  return c;
}

StoredCase stored(Random &random) {
  StoredCase c;
  c.shape = {between(random, 8, 60), between(random, 8, 90)};
  c.pattern = pattern(random, c.shape.outputs, c.shape.reduction);
  c.bits = random.percent(50) ? 8 : 16;
  c.format.kind = static_cast<Format>(random.below(6));
  c.format.coordinateBits = between(random, 3, 16);
  if (c.format.kind == Format::Structured) {
    c.format.of = c.pattern.kind == Kind::Structured ? c.pattern.of : 4;
    c.format.kept = c.pattern.kind == Kind::Structured ? c.pattern.kept : 2;
  } else if (c.format.kind == Format::Rows && c.pattern.kind == Kind::Unstructured) {
    c.format.blockRows = between(random, 1, 3), c.format.blockColumns = between(random, 1, 4);
    c.shape.outputs -= c.shape.outputs % c.format.blockRows;
    c.shape.reduction -= c.shape.reduction % c.format.blockColumns;
  }
  return c;
}

simulator::SparseRun simulate(const SparseCase &c, const SparseMask &stationary, const SparseMask &streaming) {
  bool w = skips(c.core.stationary, c.product.stationary, c.product.stationaryFormat),
       x = skips(c.core.streaming, c.product.streaming, c.product.streamingFormat);
  bool gateW = c.core.stationary.mode != Mode::None, gateX = c.core.streaming.mode != Mode::None;
  auto engines = [&](int64_t ofOne) { return std::max<int64_t>(1, static_cast<int64_t>(c.array.perCycle) / ofOne); };
  auto withSetup = [&](simulator::SparseRun run) {
    run.cycles += w || x ? static_cast<int64_t>(c.core.setupCycles) : 0;
    return run;
  };
  if (c.core.stationary.of > 0) {
    simulator::StructuredArray array;
    array.multipliers = static_cast<int64_t>(c.array.perCycle);
    array.kept = c.core.stationary.kept, array.of = c.core.stationary.of;
    array.tile = c.core.tile > 1 ? c.core.tile : array.of;
    array.wordsKept = c.array.stationaryWords, array.wordsPerCycle = c.core.wordsPerCycle;
    int64_t bits = 0;
    while ((int64_t{1} << bits) < array.of)
      ++bits;
    array.metadataBits = static_cast<double>(bits) + c.core.metadataBits;
    if (c.core.streaming.compress)
      array.streamingFormat = c.product.streamingFormat;
    array.elementBits = c.product.elementBits;
    array.gateStationary = gateW, array.gateStreaming = gateX;
    return withSetup(step({stationary, streaming}, array));
  }
  if (c.array.outerStationary > 0) {
    simulator::OuterArray array;
    array.tile = c.core.tile;
    array.engines = engines(c.array.outerStationary * c.array.outerStreaming);
    array.stationary = {c.array.outerStationary, w, gateW};
    array.streaming = {c.array.outerStreaming, x, gateX};
    return withSetup(step({stationary, streaming}, array));
  }
  simulator::LaneArray array;
  array.tile = c.core.tile, array.slots = c.core.slots, array.lanes = c.core.lanes;
  array.engines = engines(array.lanes * array.slots);
  array.stationary = {w, c.core.stationary.granule, gateW};
  array.streaming = {x, c.core.streaming.granule, gateX};
  return withSetup(step({stationary, streaming}, array));
}

std::string told(const SparseCase &c) {
  auto pattern = [](const SparsityPattern &p) {
    return "pattern " + std::to_string(static_cast<int>(p.kind)) + " d " + std::to_string(p.density) +
           (p.independent ? " independent " : " ") + std::to_string(p.kept) + ":" + std::to_string(p.of) +
           (p.along == SparsityPattern::Along::Output ? " along output" : "") +
           (p.transposable ? " transposable" : "") + " block " + std::to_string(p.blockRows) + "x" +
           std::to_string(p.blockColumns) + " band " + std::to_string(p.band) + " window " + std::to_string(p.window);
  };
  auto use = [](const SparseAcceleration &u) {
    return " mode " + std::to_string(static_cast<int>(u.mode)) + " granule " + std::to_string(u.granule) + " takes " +
           std::to_string(u.kept) + ":" + std::to_string(u.of);
  };
  return std::to_string(c.product.rows) + " x " + std::to_string(c.product.columns) + " x " +
         std::to_string(c.product.depth) + "\n stationary " + pattern(c.product.stationary) + use(c.core.stationary) +
         "\n streaming " + pattern(c.product.streaming) + use(c.core.streaming) + "\n tile " +
         std::to_string(c.core.tile) + " slots " + std::to_string(c.core.slots) + " lanes " +
         std::to_string(c.core.lanes) + " outer " + std::to_string(c.array.outerStationary) + "x" +
         std::to_string(c.array.outerStreaming) + " per cycle " + std::to_string(c.array.perCycle) + " words " +
         std::to_string(c.array.stationaryWords) + " of " + std::to_string(c.core.wordsPerCycle);
}

} // namespace accord::test
