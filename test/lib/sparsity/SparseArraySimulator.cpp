#include "test/lib/sparsity/SparseArraySimulator.h"
#include <algorithm>
#include <stdexcept>

namespace accord::simulator {
namespace {

/// Up to 64 neighbours of a row as bits.
uint64_t bitsAt(const SparseMask &mask, int64_t row, int64_t column, int64_t length) {
  int64_t index = column / 64, shift = column % 64;
  uint64_t bits = mask.word(row, index) >> shift;
  if (shift && index + 1 < mask.wordsOfRow())
    bits |= mask.word(row, index + 1) << (64 - shift);
  return length < 64 ? bits & ((uint64_t{1} << length) - 1) : bits;
}

/// The mask as a lane sees it that skips whole granules, counted from the start of each tile.
SparseMask coarse(const SparseMask &mask, int64_t tile, int64_t granule) {
  SparseMask seen(mask.rows(), mask.columns());
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t t = 0; t < mask.columns(); t += tile)
      for (int64_t end = std::min(t + tile, mask.columns()), g = t; g < end; g += granule) {
        bool any = false;
        for (int64_t c = g; c < std::min(g + granule, end); ++c)
          any |= mask.at(r, c);
        for (int64_t c = g; c < std::min(g + granule, end); ++c)
          seen.set(r, c, any);
      }
  return seen;
}

SparseMask seenBy(const LaneUse &use, const SparseMask &mask, int64_t tile) {
  if (!use.skip)
    return SparseMask(mask.rows(), mask.columns(), true);
  return use.granule > 1 ? coarse(mask, tile, use.granule) : mask;
}

/// Places of a tile of one result that take a slot, and of these, those whose multiplier moves.
struct Places {
  int32_t taken = 0, active = 0;
};

/// Tiles in the order in which they are handed out.
class TileQueue {
public:
  TileQueue(const MaskedProduct &product, const LaneArray &array)
      : product_(product), array_(array), stationary_(seenBy(array.stationary, product.stationary, array.tile)),
        streaming_(seenBy(array.streaming, product.streaming, array.tile)) {}

  bool empty() const { return m_ == product_.streaming.rows(); }
  /// A group: `lanes` tiles, or what is left of this row of the result.
  template <class Engine> void next(Engine &engine) {
    engine.taken.clear(), engine.active.clear();
    for (int64_t row = m_; m_ == row && static_cast<int64_t>(engine.taken.size()) < array_.lanes;) {
      Places places = look();
      engine.taken.push_back(places.taken), engine.active.push_back(places.active);
      engine.left |= places.taken;
      k_ += array_.tile;
      if (k_ < product_.streaming.columns())
        continue;
      k_ = 0;
      if (++n_ == product_.stationary.rows())
        n_ = 0, ++m_;
    }
  }

private:
  Places look() const {
    Places places;
    int64_t end = std::min(k_ + array_.tile, product_.streaming.columns());
    for (int64_t k = k_; k < end; k += 64) {
      int64_t length = std::min<int64_t>(64, end - k);
      uint64_t taken = bitsAt(stationary_, n_, k, length) & bitsAt(streaming_, m_, k, length);
      uint64_t active = taken;
      if (array_.stationary.gate)
        active &= bitsAt(product_.stationary, n_, k, length);
      if (array_.streaming.gate)
        active &= bitsAt(product_.streaming, m_, k, length);
      places.taken += std::popcount(taken);
      places.active += std::popcount(active);
    }
    return places;
  }

  MaskedProduct product_;
  const LaneArray &array_;
  SparseMask stationary_, streaming_; // as lanes see them
  int64_t m_ = 0, n_ = 0, k_ = 0;
};

/// Cycles until no engine has work; `refill` gives one the next, or returns false.
template <class Engine, class Refill> int64_t run(std::vector<Engine> &engines, Refill refill) {
  for (int64_t cycles = 0;; ++cycles) {
    bool busy = false;
    for (Engine &engine : engines) {
      while (engine.idle() && refill(engine)) {
      }
      if (engine.idle())
        continue;
      engine.cycle();
      busy = true;
    }
    if (!busy)
      return cycles;
  }
}

struct LaneEngine {
  const LaneArray *array;
  SparseRun *counted;
  std::vector<int32_t> taken, active; ///< that each lane still has to do
  int32_t left = 0;
  bool idle() const { return left == 0; }
  void cycle() {
    auto slots = static_cast<int32_t>(array->slots);
    int32_t all = 0, moved = 0;
    left = 0;
    for (size_t lane = 0; lane < taken.size(); ++lane) {
      int32_t done = std::min(taken[lane], slots), moving = std::min(active[lane], done);
      left |= taken[lane] -= done;
      active[lane] -= moving;
      all += done, moved += moving;
    }
    counted->active += moved, counted->gated += all - moved;
  }
};

/// Elements of a tile that are handed out; what is not zero comes first.
struct Handful {
  int64_t elements = 0, moving = 0;
};

Handful handOut(const SparseMask &mask, int64_t first, int64_t tile, int64_t k, const OuterArray::Use &use) {
  Handful out;
  for (int64_t r = first; r < std::min(first + tile, mask.rows()); ++r) {
    out.elements += !use.skip || mask.at(r, k);
    out.moving += mask.at(r, k) || !(use.skip || use.gate);
  }
  return out;
}

struct OuterEngine {
  const OuterArray *array;
  SparseRun *counted;
  Handful stationary, streaming;
  int64_t i = 0, j = 0; ///< elements that have been handed out
  bool idle() const { return i >= stationary.elements || j >= streaming.elements; }
  void cycle() {
    for (int64_t a = i; a < std::min(i + array->stationary.width, stationary.elements); ++a)
      for (int64_t b = j; b < std::min(j + array->streaming.width, streaming.elements); ++b)
        ++(a < stationary.moving && b < streaming.moving ? counted->active : counted->gated);
    if ((j += array->streaming.width) >= streaming.elements)
      j = 0, i += array->stationary.width;
  }
};

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Words of each tile of the streaming operand as it is stored.
std::vector<double> streamedTiles(const SparseMask &streams, int64_t depth, const StructuredArray &array) {
  std::vector<double> words;
  for (int64_t m = 0; m < streams.rows(); ++m)
    for (int64_t k = 0; k < depth; k += array.tile) {
      SparseMask tile(1, array.tile);
      for (int64_t c = 0; c < array.tile && k + c < streams.columns(); ++c)
        tile.set(0, c, streams.at(m, k + c));
      auto bits = encode(tile, array.streamingFormat, array.elementBits);
      if (!bits)
        throw std::runtime_error("a tile does not fit its format");
      words.push_back(static_cast<double>(bits->size()) / static_cast<double>(array.elementBits));
    }
  return words;
}

/// Words of a step, which takes places `first` to `last`, when all tiles come in order, each for as many of all
/// `places` as any other.
double streamed(const std::vector<double> &words, int64_t first, int64_t last, int64_t places) {
  auto tiles = static_cast<int64_t>(words.size());
  double sum = 0;
  for (int64_t at = first * tiles, end = last * tiles; at < end;) { // in parts of a place
    int64_t tile = at / places, to = std::min(end, (tile + 1) * places);
    sum += static_cast<double>(to - at) * words[static_cast<size_t>(tile)];
    at = to;
  }
  return sum / static_cast<double>(tiles);
}

} // namespace

SparseRun step(const MaskedProduct &product, const LaneArray &array) {
  SparseRun counted;
  TileQueue queue(product, array);
  std::vector<LaneEngine> engines(static_cast<size_t>(array.engines), {&array, &counted, {}, {}});
  counted.cycles = run(engines, [&](LaneEngine &engine) {
    if (queue.empty())
      return false;
    queue.next(engine);
    return true;
  });
  return counted;
}

SparseRun step(const MaskedProduct &product, const OuterArray &array) {
  SparseRun counted;
  const SparseMask &stationary = product.stationary, &streaming = product.streaming;
  std::vector<Handful> a, b; // tiles at this place of the reduction
  int64_t k = 0;
  size_t i = 0, j = 0;
  std::vector<OuterEngine> engines(static_cast<size_t>(array.engines), {&array, &counted, {}, {}});
  counted.cycles = run(engines, [&](OuterEngine &engine) {
    if (i == a.size()) {
      if (k == streaming.columns())
        return false;
      a.clear(), b.clear();
      i = j = 0;
      for (int64_t n = 0; n < stationary.rows(); n += array.tile)
        a.push_back(handOut(stationary, n, array.tile, k, array.stationary));
      for (int64_t m = 0; m < streaming.rows(); m += array.tile)
        b.push_back(handOut(streaming, m, array.tile, k, array.streaming));
      ++k;
    }
    engine.stationary = a[i], engine.streaming = b[j], engine.i = engine.j = 0;
    if (++j == b.size())
      j = 0, ++i;
    return true;
  });
  return counted;
}

SparseRun step(const MaskedProduct &product, const StructuredArray &array) {
  SparseRun counted;
  const SparseMask &stays = product.stationary, &streams = product.streaming;
  int64_t depth = up(streams.columns(), array.tile) * array.tile, places = 0;
  for (int64_t n = 0; n < stays.rows(); ++n)
    for (int64_t k = 0; k < depth; k += array.of) {
      int64_t held = 0;
      for (int64_t c = k; c < std::min(k + array.of, stays.columns()); ++c)
        held += stays.at(n, c);
      if (held > array.kept)
        throw std::runtime_error("a group has more than the array keeps");
      // A place that is left over holds a zero.
      (array.gateStationary ? counted.gated : counted.active) += (array.kept - held) * streams.rows();
      places += array.kept * streams.rows();
    }
  for (int64_t m = 0; m < streams.rows(); ++m)
    for (int64_t n = 0; n < stays.rows(); ++n)
      for (int64_t i = 0; i < stays.wordsOfRow(); ++i) {
        int64_t taken = std::popcount(stays.word(n, i)), useful = std::popcount(stays.word(n, i) & streams.word(m, i));
        counted.active += array.gateStreaming ? useful : taken;
        counted.gated += array.gateStreaming ? taken - useful : 0;
      }
  std::vector<double> words = streamedTiles(streams, depth, array);
  double kept = array.wordsKept * (1 + array.metadataBits / static_cast<double>(array.elementBits));
  // The memory runs ahead of the multipliers, as far as the buffer goes.
  int64_t steps = up(places, array.multipliers), there = 0, done = 0;
  double arrived = 0; // of the words of the next cycle's work
  for (; done < steps; ++counted.cycles) {
    double budget = array.wordsPerCycle;
    while (there < steps && there < done + array.ahead) {
      int64_t first = there * array.multipliers, last = std::min(first + array.multipliers, places);
      double missing = (kept * static_cast<double>(last - first) + streamed(words, first, last, places)) /
                           static_cast<double>(array.multipliers) -
                       arrived;
      if (array.wordsPerCycle > 0 && missing > budget + 1e-6) { // more than rounding
        arrived += budget;
        break;
      }
      budget -= missing, arrived = 0;
      ++there;
    }
    done += done < there;
  }
  return counted;
}

} // namespace accord::simulator
