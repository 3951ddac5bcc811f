// Synthetic problems of mining, whose answers every design tells.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"
#include "test/support/Random.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace accord::test {

inline DesignParameter numbers(std::string name, std::vector<double> numbers) {
  DesignParameter parameter;
  parameter.name = std::move(name);
  for (double number : numbers)
    parameter.labels.push_back(fmt::format("{}", number));
  parameter.numbers = std::move(numbers);
  return parameter;
}

inline DesignParameter powers(std::string name, int first, int last) {
  std::vector<double> all;
  for (int i = first; i <= last; ++i)
    all.push_back(std::ldexp(1, i));
  return numbers(std::move(name), std::move(all));
}

/// Counts what is asked, for limits.
class CountingProblem : public MiningProblem {
public:
  const std::vector<DesignParameter> &parameters() const override { return all; }
  double bound(const DesignBox &box) override {
    ++bounds;
    return boundIn(box);
  }
  double value(const Design &design) override {
    ++values;
    return valueOf(design);
  }
  virtual double boundIn(const DesignBox &box) = 0;
  virtual double valueOf(const Design &design) = 0;

  std::vector<DesignParameter> all;
  std::atomic<uint64_t> bounds = 0, values = 0;
};

/// A table of values: a monotone part, noise, designs that may not be, ties. The bound of a box is
/// the least value in it less a slack that
/// is the larger the larger the box, and half of that for one design.
class TableProblem : public CountingProblem {
public:
  explicit TableProblem(uint64_t seed, size_t max = 5000) {
    fuzz::Random random(seed);
    size_t size = 1;
    for (size_t i = 0, count = 2 + random.below(5); i < count; ++i) {
      size_t choices = std::min(1 + random.below(random.percent(20) ? 40 : 8), max / size);
      size *= choices;
      std::vector<double> values;
      for (size_t c = 0; c < choices; ++c)
        values.push_back(static_cast<double>(c + 1));
      all.push_back(numbers(fmt::format("p{}", i), values));
      if (random.percent(25)) {
        all.back().numbers.clear();
        all.back().name += ".word";
      } else if (random.percent(30)) {
        all.back().name += ".count";
      } else if (random.percent(30)) {
        all.back().name += ".rows";
      }
    }
    std::vector<double> slopes;
    for (size_t i = 0; i < all.size(); ++i)
      slopes.push_back(static_cast<double>(random.below(21)) - 10);
    size_t noise = random.below(3) * 20, impossible = random.below(4) * 30;
    bool coarse = random.percent(50); // many ties
    slack = random.percent(30) ? 0 : static_cast<double>(random.below(40));
    table.resize(size);
    for (size_t point = 0; point < size; ++point) {
      Design design = at(point);
      double value = 300;
      for (size_t i = 0; i < design.size(); ++i)
        value += slopes[i] * design[i] / static_cast<double>(all[i].labels.size());
      value += static_cast<double>(random.below(noise + 1));
      if (coarse)
        value = 10 * std::floor(value / 10);
      table[point] = random.below(100) < impossible ? INFINITY : value;
    }
  }

  Design at(size_t point) const {
    Design design(all.size());
    for (size_t i = all.size(); i-- > 0; point /= all[i].labels.size())
      design[i] = static_cast<uint32_t>(point % all[i].labels.size());
    return design;
  }
  double valueOf(const Design &design) override {
    size_t point = 0;
    for (size_t i = 0; i < design.size(); ++i)
      point = point * all[i].labels.size() + design[i];
    return table.at(point);
  }
  double boundIn(const DesignBox &box) override {
    Design design = box.low;
    double min = INFINITY, share = 0;
    for (size_t i = 0; i < design.size(); ++i)
      share += (box.high[i] - box.low[i]) / static_cast<double>(all[i].labels.size());
    for (;;) {
      min = std::min(min, valueOf(design));
      size_t i = design.size();
      while (i > 0 && design[i - 1] == box.high[i - 1]) {
        --i;
        design[i] = box.low[i];
      }
      if (i == 0)
        break;
      ++design[i - 1];
    }
    // Some designs that may not be are not known as such before they are valued.
    if (std::isinf(min) && slack > 0)
      min = 1000;
    return std::max(0.0, min - slack * (1 + share / static_cast<double>(design.size())) / 2);
  }

  std::vector<double> table;
  double slack = 0;
};

/// A table where what a design is worth is the answer of a search: bounds of single designs climb
/// in tiers, and an appraisal breaks off where it is of no use.
class MultiLevelProblem : public TableProblem {
public:
  /// `open`: least share of a design's value that its own search leaves unproved.
  explicit MultiLevelProblem(uint64_t seed, double open = 0)
      : TableProblem(seed), open(open), count(static_cast<unsigned>(seed % 4)) {}
  unsigned numBoundLevels() const override { return count; }
  double tightenBound(const Design &design, unsigned level) override {
    ++bounds;
    double value = valueOf(design), part = static_cast<double>(level) / (count + 1);
    // Not always higher than the one before.
    return value * (1 - open) - (level == 2 ? 2 : 1) * slack * (1 - part);
  }
  DesignEvaluation evaluate(const Design &design, double below) override {
    ++values;
    double value = valueOf(design);
    if (value >= below)
      return {INFINITY, std::min(value, below + (value - below) / 2)};
    return {value, value * (1 - open)};
  }

  double open;
  unsigned count;
};

/// Two kinds of cores and a buffer: time of matrix work, of vector work and of traffic, one after
/// the other in part, under a limit of area.
class HardwareProblem : public CountingProblem {
public:
  explicit HardwareProblem(uint64_t seed) {
    fuzz::Random random(seed);
    auto log = [&random](double low, double high) {
      return low * std::pow(high / low, static_cast<double>(random.below(1001)) / 1000);
    };
    all = {powers("tc.count", 0, 9), powers("tc.array.rows", 2, 8), powers("tc.array.cols", 2, 8),
           powers("vc.count", 0, 9), powers("vc.lanes", 2, 8),      powers("glb.capacity", 1, 7)};
    matrix = log(1e5, 1e8);
    vector = log(1e4, 1e6);
    traffic = log(1e2, 1e4);
    wide = log(16, 512);
    area = log(3e4, 3e5);
    share = static_cast<double>(random.below(100)) / 100;
    reportsGains = random.percent(50);
  }

  struct Times {
    double matrix, vector, traffic, area;
  };
  /// With the low corner's and the high corner's choices where each helps.
  Times times(const Design &small, const Design &large) const {
    auto number = [this](const Design &design, size_t i) { return all[i].numbers[design[i]]; };
    double rows = number(large, 1), cols = number(large, 2);
    // A block of `wide` needs whole arrays: the larger of them are used in part.
    double used = std::min(rows, wide) * std::min(cols, wide);
    double tc = std::min(number(large, 0), 64 * wide / 16);
    return {matrix / (tc * used) * 1.0, vector / (number(large, 3) * number(large, 4)),
            traffic / std::sqrt(number(large, 5)),
            number(small, 0) * (number(small, 1) * number(small, 2) + 30) + number(small, 3) * (number(small, 4) + 20) +
                200 * number(small, 5)};
  }
  double boundIn(const DesignBox &box) override {
    Times t = times(box.low, box.high);
    return t.area > area ? INFINITY : std::max({t.matrix, t.vector, t.traffic});
  }
  double valueOf(const Design &design) override {
    Times t = times(design, design);
    if (t.area > area)
      return INFINITY;
    double longest = std::max({t.matrix, t.vector, t.traffic});
    return longest + share * (t.matrix + t.vector + t.traffic - longest);
  }
  std::vector<double> bottleneckGains(const Design &design) override {
    if (!reportsGains)
      return {};
    Times t = times(design, design);
    double v = valueOf(design);
    return {t.matrix / v, 0, 0, t.vector / v, 0, t.traffic / v};
  }

  double matrix, vector, traffic, wide, area, share;
  bool reportsGains;
};

/// 2^80 designs: the sum of what is not chosen highest, above a floor.
class VastProblem : public CountingProblem {
public:
  VastProblem() {
    for (int i = 0; i < 10; ++i) {
      std::vector<double> values;
      for (int c = 1; c <= 256; ++c)
        values.push_back(c);
      all.push_back(numbers(fmt::format("p{}", i), values));
    }
  }
  double sum(const Design &design) const {
    double sum = 1;
    for (size_t i = 0; i < design.size(); ++i)
      sum += std::abs(static_cast<double>(design[i]) - 20 * static_cast<double>(i)) / 256;
    return sum;
  }
  double boundIn(const DesignBox &box) override {
    Design nearest = box.low;
    for (size_t i = 0; i < nearest.size(); ++i)
      nearest[i] = std::clamp(static_cast<uint32_t>(20 * i), box.low[i], box.high[i]);
    return sum(nearest);
  }
  double valueOf(const Design &design) override { return sum(design); }
};

} // namespace accord::test
