// Kernels of operations that are no contraction compute their formulas; gradients are compared with differences of the
// forward functions.
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "lib/support/SplitMix.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/ProgramInterpreter.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

using Numbers = std::vector<double>;
using Named = std::map<std::string, Numbers>;

class RowCase {
public:
  RowCase(RowOperation of, RowSchedule with, const Microarchitecture &on)
      : operation(std::move(of)), schedule(with), machine(on), layout(rowLayout(operation, schedule)) {}

  /// Elements of a tensor in the order of its dimensions.
  int64_t size(const std::string &name) const {
    int64_t all = 1;
    for (int64_t extent : extents(at(name)))
      all *= extent;
    return all;
  }
  bool has(const std::string &name) const {
    for (const ContractionTensor &tensor : operation.tensors)
      if (tensor.name == name)
        return true;
    return false;
  }

  /// All tensors after the kernel; `wrong` says why not.
  Named run(const Named &operands) {
    Named found;
    auto kernel = rowKernel(operation, schedule);
    if (!kernel)
      return wrong = kernel.error().message, found;
    Microarchitecture slow = machine; // stores take long, so that a load that waits for none shows
    slow.window = 40, slow.storages[0].writeLatency = 90, slow.storages[0].requests = 64;
    auto mapped = emitKernel(*kernel, slow);
    if (!mapped)
      return wrong = mapped.error().message, found;
    ProgramInterpreter interpreter(*mapped, slow);
    for (size_t t = 0; t < operation.tensors.size(); ++t) {
      auto given = operands.find(operation.tensors[t].name);
      if (given == operands.end())
        interpreter.tensors[t].assign(interpreter.tensors[t].size(), NAN);
      else
        each(Index(t),
             [&](int64_t plain, int64_t stored) { interpreter.tensors[t].at(stored) = given->second.at(plain); });
    }
    interpreter.runByTime();
    wrong = interpreter.wrong, counts = interpreter.counts;
    for (size_t t = 0; t < operation.tensors.size(); ++t) {
      Numbers &into = found[operation.tensors[t].name];
      into.resize(size(operation.tensors[t].name));
      each(Index(t), [&](int64_t plain, int64_t stored) { into[plain] = interpreter.tensors[t].at(stored); });
    }
    return found;
  }

  std::string wrong;
  std::map<Role, int64_t> counts;

private:
  Index at(const std::string &name) const {
    for (size_t t = 0; t < operation.tensors.size(); ++t)
      if (operation.tensors[t].name == name)
        return Index(t);
    return kNone;
  }
  std::vector<int64_t> extents(Index t) const {
    std::vector<int64_t> all;
    for (const auto &dimension : operation.tensors[t].dimensions)
      all.push_back(dimension.size);
    return all;
  }
  template <class F> void each(Index t, F of) const {
    const auto &dimensions = operation.tensors[t].dimensions;
    auto go = [&](auto &self, size_t d, int64_t plain, int64_t stored) -> void {
      if (d == dimensions.size())
        return of(plain, stored);
      for (int64_t i = 0; i < dimensions[d].size; ++i)
        self(self, d + 1, plain * dimensions[d].size + i,
             stored + i * (layout.strides[t][dimensions[d].terms.back().loop] / dimensions[d].terms.back().stride));
    };
    go(go, 0, 0, 0);
  }

  RowOperation operation;
  RowSchedule schedule;
  const Microarchitecture &machine;
  RowLayout layout;
};

Numbers drawn(SplitMix &random, int64_t count, double low = -2, double high = 2) {
  Numbers made;
  for (int64_t i = 0; i < count; ++i)
    made.push_back(low + (high - low) * random.unit());
  return made;
}
void expectNear(const Numbers &found, const Numbers &wanted, const std::string &what, double tolerance = 1e-6) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << what << " " << i;
}

/// Derivative of a sum of dy * f(x) in each x.
Numbers differences(const std::function<Numbers(const Numbers &)> &f, Numbers x, const Numbers &dy) {
  Numbers made;
  auto value = [&] {
    const Numbers y = f(x);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      sum += dy[i] * y[i];
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (double &one : x) {
    const double before = one;
    one = before + kStep;
    const double above = value();
    one = before - kStep;
    made.push_back((above - value()) / (2 * kStep));
    one = before;
  }
  return made;
}

const std::map<std::string, std::function<double(double)>> kFunctions = {
    {"relu", [](double x) { return x > 0 ? x : 0; }},
    {"relu6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
    {"hard_sigmoid", [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {"hard_swish", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {"gelu", [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"neg", [](double x) { return -x; }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
};

std::vector<std::pair<Microarchitecture, bool>> machines() {
  KernelMachineOptions plain;
  plain.addresses = false, plain.control = false;
  KernelMachineOptions small = plain, large;
  small.scratchpad = 1536, large.scratchpad = 1 << 16;
  return {{KernelMachine({}).scalar(), false},      {KernelMachine(plain).scalar(), false},
          {KernelMachine({}).vector(), true},       {KernelMachine(small).stagedVector(), true},
          {KernelMachine({}).stagedVector(), true}, {KernelMachine(large).stagedVector(), true}};
}

/// The plain schedule, which uses the lanes of a machine that has some.
RowSchedule scheduleOf(const RowOperation &operation, const Microarchitecture &machine, bool isVector) {
  const RowSchedule made = plainRowSchedule(operation, machine);
  EXPECT_EQ(made.lanes > 1, isVector) << operation.name;
  return made;
}

TEST(RowKernel, ElementWiseOperationsAndTheirGradients) {
  SplitMix random(1);
  for (const auto &[machine, isVector] : machines())
    for (const auto &[kind, function] : kFunctions)
      for (int64_t count : {1, 7, 8, 29}) {
        const RowOperation operation = pointOperation(*pointFormula(kind), {count});
        RowSchedule schedule = scheduleOf(operation, machine, isVector);
        schedule.unroll = 1 + int64_t(random.below(3));
        Named given{{"x", drawn(random, count, kind == "sqrt" ? 0.5 : -7, 7)}};
        RowCase forward(operation, schedule, machine);
        const Numbers y = forward.run(given)["y_out"];
        ASSERT_EQ(forward.wrong, "") << kind;
        Numbers wanted, slopes;
        for (double x : given["x"]) {
          wanted.push_back(function(x));
          slopes.push_back((function(x + 1e-6) - function(x - 1e-6)) / 2e-6);
        }
        expectNear(y, wanted, kind);
        const PointFormula *gradient = pointFormula(kind + "_grad");
        if (!gradient)
          continue;
        given["dy"] = drawn(random, count), given["y"] = y;
        const RowOperation slope = pointOperation(*gradient, {count});
        RowSchedule backwards = scheduleOf(slope, machine, isVector);
        backwards.unroll = schedule.unroll;
        RowCase backward(slope, backwards, machine);
        const Numbers dx = backward.run(given)["dx_out"];
        ASSERT_EQ(backward.wrong, "") << kind;
        for (int64_t i = 0; i < count; ++i)
          slopes[i] *= given["dy"][i];
        expectNear(dx, slopes, kind + "_grad", 1e-5);
      }
}

TEST(RowKernel, EveryPointFormulaIsMapped) {
  SplitMix random(2);
  for (const auto &[machine, isVector] : machines())
    for (const std::string &kind : pointKinds()) {
      const RowOperation operation = pointOperation(*pointFormula(kind), {3, 11});
      RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
      Named given;
      for (const std::string &name : pointFormula(kind)->operands)
        given[name] = drawn(random, 33, 0.1, 2);
      for (const auto &[name, numbers] : one.run(given))
        for (double x : numbers)
          ASSERT_FALSE(std::isnan(x)) << kind << " " << name;
      ASSERT_EQ(one.wrong, "") << kind;
    }
}

TEST(RowKernel, UpdatesOfAdam) {
  SplitMix random(3);
  for (const auto &[machine, isVector] : machines()) {
    const RowOperation operation = pointOperation(*pointFormula("update_adamw"), {21});
    Named given;
    for (const char *name : {"g", "w", "m", "v"})
      given[name] = drawn(random, 21, 0.1, 1);
    RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
    Named found = one.run(given);
    ASSERT_EQ(one.wrong, "");
    for (int i = 0; i < 21; ++i) { // the first step of PyTorch's AdamW with lr 1e-3 and weight decay 1e-2
      const double m = 0.9 * given["m"][i] + 0.1 * given["g"][i];
      const double v = 0.999 * given["v"][i] + 0.001 * given["g"][i] * given["g"][i];
      const double step = m / (1 - 0.9) / (std::sqrt(v / (1 - 0.999)) + 1e-8);
      ASSERT_NEAR(found["m"][i], m, 1e-12);
      ASSERT_NEAR(found["v"][i], v, 1e-12);
      ASSERT_NEAR(found["w"][i], given["w"][i] * (1 - 1e-3 * 1e-2) - 1e-3 * step, 1e-12);
    }
  }
}

/// Rows of `length`: softmax and normalizations.
Numbers lineFunction(const std::string &kind, const Numbers &x, const Numbers &scale, const Numbers &offset,
                     size_t length) {
  Numbers y(x.size());
  for (size_t row = 0; row < x.size(); row += length) {
    double mean = 0, squares = 0, sum = 0;
    for (size_t i = 0; i < length; ++i)
      mean += x[row + i] / double(length), squares += x[row + i] * x[row + i] / double(length),
          sum += std::exp(x[row + i]);
    for (size_t i = 0; i < length; ++i) {
      const double one = x[row + i];
      y[row + i] = kind == "softmax"    ? std::exp(one) / sum
                   : kind == "rms_norm" ? one / std::sqrt(squares + 1e-5) * scale[i]
                                        : (one - mean) / std::sqrt(squares - mean * mean + 1e-5) * scale[i] + offset[i];
    }
  }
  return y;
}

TEST(RowKernel, SoftmaxAndNormalizationsOfRows) {
  SplitMix random(4);
  for (const auto &[machine, isVector] : machines())
    for (const std::string kind : {"softmax", "layer_norm", "rms_norm"})
      for (auto [rows, length] : {std::pair{1, 1}, {3, 5}, {2, 8}, {9, 3}, {4, 19}}) {
        Named given{{"x", drawn(random, rows * length)},
                    {"scale", drawn(random, length)},
                    {"offset", drawn(random, length)},
                    {"dy", drawn(random, rows * length)}};
        auto forward = [&](const Numbers &x) {
          return lineFunction(kind, x, given["scale"], given["offset"], size_t(length));
        };
        given["y"] = forward(given["x"]);
        for (const std::string &name : {kind, kind + "_grad"}) {
          const RowOperation operation = *lineOperation(name, rows, length);
          RowSchedule schedule = scheduleOf(operation, machine, isVector);
          schedule.unroll = 1 + int64_t(random.below(3));
          RowCase one(operation, schedule, machine);
          Named operands = given;
          if (name == kind)
            operands.erase("y");
          const Named found = one.run(operands);
          ASSERT_EQ(one.wrong, "") << name;
          if (name == kind) {
            expectNear(found.at("y"), given["y"], name);
            continue;
          }
          expectNear(found.at("dx"), differences(forward, given["x"], given["dy"]), name, 1e-5);
          if (found.count("dscale"))
            expectNear(found.at("dscale"),
                       differences(
                           [&](const Numbers &scale) {
                             return lineFunction(kind, given["x"], scale, given["offset"], size_t(length));
                           },
                           given["scale"], given["dy"]),
                       name + " scale", 1e-5);
          if (found.count("doffset"))
            expectNear(found.at("doffset"),
                       differences(
                           [&](const Numbers &offset) {
                             return lineFunction(kind, given["x"], given["scale"], offset, size_t(length));
                           },
                           given["offset"], given["dy"]),
                       name + " offset", 1e-5);
        }
      }
}

/// x[image][group][channel][point] as channelNorm has it.
Numbers channelFunction(bool isBatch, const Numbers &x, const Numbers &scale, const Numbers &offset,
                        const std::array<int64_t, 4> &e) {
  const auto [images, groups, channels, points] = e;
  Numbers y(x.size());
  std::map<int64_t, std::array<double, 3>> sums; // by statistics: count, sum, squares
  auto place = [&](int64_t i) {
    const int64_t channel = i / points % (groups * channels), image = i / points / (groups * channels);
    return isBatch ? channel : image * groups + channel / channels;
  };
  for (int64_t i = 0; i < int64_t(x.size()); ++i)
    sums[place(i)][0] += 1, sums[place(i)][1] += x[i], sums[place(i)][2] += x[i] * x[i];
  for (int64_t i = 0; i < int64_t(x.size()); ++i) {
    const auto &[count, sum, squares] = sums[place(i)];
    const double mean = sum / count;
    const int64_t channel = i / points % (groups * channels);
    y[i] = (x[i] - mean) / std::sqrt(squares / count - mean * mean + 1e-5) * scale[channel] + offset[channel];
  }
  return y;
}

TEST(RowKernel, NormalizationsOfChannels) {
  SplitMix random(5);
  const std::array<int64_t, 4> shapes[] = {{2, 1, 3, 5}, {1, 2, 2, 4}, {3, 2, 1, 9}, {2, 3, 9, 2}};
  for (const auto &[machine, isVector] : machines())
    for (const std::string kind : {"batch_norm", "group_norm"})
      for (const auto &shape : shapes) {
        const auto [images, groups, channels, points] = shape;
        const int64_t all = images * groups * channels * points;
        Named given{{"x", drawn(random, all)},
                    {"scale", drawn(random, groups * channels)},
                    {"offset", drawn(random, groups * channels)},
                    {"dy", drawn(random, all)}};
        const bool isBatch = kind == "batch_norm";
        auto forward = [&](const Numbers &x) {
          return channelFunction(isBatch, x, given["scale"], given["offset"], shape);
        };
        for (const std::string &name : {kind, kind + "_grad"}) {
          const RowOperation operation = *channelNorm(name, images, groups, channels, points);
          RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
          const Named found = one.run(given);
          ASSERT_EQ(one.wrong, "") << name;
          if (name == kind) {
            expectNear(found.at("y"), forward(given["x"]), name);
            continue;
          }
          expectNear(found.at("dx"), differences(forward, given["x"], given["dy"]), name, 1e-5);
          expectNear(found.at("dscale"),
                     differences(
                         [&](const Numbers &scale) {
                           return channelFunction(isBatch, given["x"], scale, given["offset"], shape);
                         },
                         given["scale"], given["dy"]),
                     name + " scale", 1e-5);
        }
      }
}

TEST(RowKernel, ReductionsAndLosses) {
  SplitMix random(6);
  const std::map<std::string, std::function<double(double, double)>> terms = {
      {"reduce_sum", [](double a, double) { return a; }},
      {"reduce_mean", [](double a, double) { return a; }},
      {"mse", [](double a, double b) { return (a - b) * (a - b); }},
      {"smooth_l1",
       [](double a, double b) { return std::abs(a - b) < 1 ? (a - b) * (a - b) / 2 : std::abs(a - b) - 0.5; }},
      {"binary_cross_entropy",
       [](double x, double l) {
         return -l * std::log(1 / (1 + std::exp(-x))) - (1 - l) * std::log(1 / (1 + std::exp(x)));
       }},
  };
  for (const auto &[machine, isVector] : machines())
    for (const auto &[kind, term] : terms) {
      const int64_t rows = 3, length = 13;
      Named given;
      given["x"] = given["a"] = drawn(random, rows * length),
      given["b"] = given["labels"] = drawn(random, rows * length, 0, 1);
      const RowOperation operation = *reduction(kind, rows, length);
      RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
      const Named found = one.run(given);
      ASSERT_EQ(one.wrong, "") << kind;
      Numbers wanted(rows, 0);
      for (int64_t i = 0; i < rows * length; ++i)
        wanted[i / length] += term(given["a"][i], given["b"][i]) / (kind == "reduce_sum" ? 1 : double(length));
      expectNear(found.at("y"), wanted, kind);
    }
}

TEST(RowKernel, CrossEntropyAndItsGradient) {
  SplitMix random(7);
  const int64_t rows = 4, classes = 11;
  for (const auto &[machine, isVector] : machines()) {
    Named given{{"x", drawn(random, rows * classes)}, {"labels", {}}, {"positions", {}}};
    for (int64_t r = 0; r < rows; ++r)
      given["labels"].push_back(double(random.below(classes)));
    for (int64_t c = 0; c < classes; ++c)
      given["positions"].push_back(double(c));
    auto forward = [&](const Numbers &x) {
      Numbers losses;
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t c = 0; c < classes; ++c)
          sum += std::exp(x[r * classes + c]);
        losses.push_back((std::log(sum) - x[r * classes + int64_t(given["labels"][r])]) / double(rows));
      }
      return losses;
    };
    for (const std::string kind : {"cross_entropy", "cross_entropy_grad"}) {
      const RowOperation operation = *lineOperation(kind, rows, classes);
      RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
      const Named found = one.run(given);
      ASSERT_EQ(one.wrong, "") << kind;
      if (kind == "cross_entropy")
        expectNear(found.at("losses"), forward(given["x"]), kind);
      else
        expectNear(found.at("dx"), differences(forward, given["x"], Numbers(rows, 1)), kind);
    }
  }
}

TEST(RowKernel, Pooling) {
  SplitMix random(8);
  const PoolShape shapes[] = {
      {2, 3, 2, 3, 2, 2, 2, 2, 4, 6}, {1, 9, 3, 3, 3, 3, 1, 1, 5, 5}, {1, 2, 2, 9, 3, 2, 2, 1, 6, 10}};
  for (const auto &[machine, isVector] : machines())
    for (const std::string kind : {"max_pool", "avg_pool"})
      for (const PoolShape &s : shapes) {
        const int64_t all = s.images * s.channels * s.rows * s.columns;
        auto forward = [&](const Numbers &x) {
          Numbers y;
          for (int64_t plane = 0; plane < s.images * s.channels; ++plane)
            for (int64_t p = 0; p < s.outRows; ++p)
              for (int64_t q = 0; q < s.outColumns; ++q) {
                double top = -1e9, sum = 0;
                for (int64_t r = 0; r < s.windowRows; ++r)
                  for (int64_t c = 0; c < s.windowColumns; ++c) {
                    const double one = x[(plane * s.rows + p * s.rowStride + r) * s.columns + q * s.columnStride + c];
                    top = std::max(top, one), sum += one;
                  }
                y.push_back(kind == "max_pool" ? top : sum / double(s.windowRows * s.windowColumns));
              }
          return y;
        };
        Named given{{"x", drawn(random, all)}};
        given["y"] = forward(given["x"]);
        given["dy"] = drawn(random, int64_t(given["y"].size()));
        for (const std::string &name : {kind, kind + "_grad"}) {
          const RowOperation operation = *pool(name, s);
          RowCase one(operation, scheduleOf(operation, machine, isVector), machine);
          Named operands = given;
          if (name == kind)
            operands.erase("y");
          const Named found = one.run(operands);
          ASSERT_EQ(one.wrong, "") << name;
          if (name == kind)
            expectNear(found.at("y"), given["y"], name);
          else
            expectNear(found.at("dx"), differences(forward, given["x"], given["dy"]), name, 1e-5);
        }
      }
}

} // namespace
} // namespace accord::microarchitecture
