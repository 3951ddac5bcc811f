// Mixture of experts: routing and capacity, the experts' two or three layers, and the way back.
#include "lib/training/interpret/Kernels.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::interpret {
namespace {

/// What stands between an expert's layers, and its derivatives: gelu(h), or silu(h) * g when gated.
struct Activation {
  bool gated;
  double value(double h, double g) const { return gated ? h * sigmoid(h) * g : h * cdf(h); }
  double alongH(double h, double g) const {
    double s = sigmoid(h);
    return gated ? s * (1 + h * (1 - s)) * g : cdf(h) + h * pdf(h);
  }
  double alongG(double h) const { return h * sigmoid(h); }
};

/// An array [.., width] as rows, those of a sample together; the same number of rows in each.
struct Rows {
  int64_t samples, count, width; ///< rows per sample
  Rows(const Array &array, mlir::Value value)
      : samples(batchRankOf(value) ? array.shape[0] : 1), width(array.shape.back()) {
    count = array.size() / std::max<int64_t>(1, samples * width);
  }
  size_t at(int64_t sample, int64_t row, int64_t d = 0) const { return (sample * count + row) * width + d; }
};

/// How much each expert counts for one token, and the experts by falling weight.
struct Choice {
  std::vector<double> weight;
  std::vector<int64_t> order;
};
Choice choose(const Array &x, size_t row, const Array &gate, int64_t topK, bool normalize) {
  int64_t experts = gate.shape[0], width = gate.shape[1];
  Choice choice{std::vector<double>(experts), {}};
  std::vector<double> &p = choice.weight;
  for (int64_t e = 0; e < experts; ++e)
    for (int64_t d = 0; d < width; ++d)
      p[e] += x.data[row + d] * gate({e, d});
  double max = *std::max_element(p.begin(), p.end()), sum = 0;
  for (double &one : p)
    sum += one = std::exp(one - max);
  for (double &one : p)
    one /= sum;
  std::vector<int64_t> &order = choice.order;
  order.resize(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  if (normalize) { // what is not chosen takes no part: a softmax over the chosen
    double chosen = 0;
    for (int64_t k = 0; k < experts; ++k)
      k < topK ? chosen += p[order[k]] : p[order[k]] = 0;
    for (double &one : p)
      one /= chosen;
  }
  return choice;
}

/// Tokens choose in order of position; an expert whose slots are taken drops what comes later.
void dispatch(dnn::MoeDispatchOp op, Inputs in, Outputs out) {
  const Array &x = *in[0], &gate = *in[1];
  Rows tokens(x, op.getX());
  int64_t experts = gate.shape[0], capacity = out[1].shape.back();
  std::fill(out[1].data.begin(), out[1].data.end(), -1);
  for (int64_t n = 0; n < tokens.samples; ++n) {
    std::vector<int64_t> used(experts);
    for (int64_t token = 0; token < tokens.count; ++token) {
      Choice choice = choose(x, tokens.at(n, token), gate, op.getTopK(), op.getNormalize());
      for (int64_t k = 0; k < op.getTopK(); ++k) {
        int64_t e = choice.order[k];
        if (used[e] == capacity)
          continue;
        int64_t slot = (n * experts + e) * capacity + used[e]++;
        out[1].data[slot] = token;
        out[2].data[slot] = choice.weight[e];
        for (int64_t d = 0; d < tokens.width; ++d)
          out[0].data[slot * tokens.width + d] = x.data[tokens.at(n, token, d)];
      }
    }
  }
}

/// dslots, dweights, x, gate, tokens -> dx, dgate.
void dispatchGrad(dnn::MoeDispatchGradOp op, Inputs in, Outputs out, const Device &device) {
  const Array &dslots = *in[0], &dweights = *in[1], &x = *in[2], &gate = *in[3], &sits = *in[4];
  Rows tokens(x, op.getX());
  int64_t experts = gate.shape[0], capacity = sits.shape.back();
  int64_t expert = sits.rank() - 2;
  int64_t first = extentsOf(op, dslots.shape, device)[expert].offset;
  int64_t slots = sits.shape[expert] * capacity;
  for (int64_t n = 0; n < tokens.samples; ++n) {
    std::vector<std::vector<double>> dp(tokens.count, std::vector<double>(experts));
    for (int64_t s = 0; s < slots; ++s) {
      int64_t slot = n * slots + s;
      auto token = static_cast<int64_t>(sits.data[slot]);
      if (token < 0)
        continue;
      dp[token][first + s / capacity] += dweights.data[slot];
      for (int64_t d = 0; d < tokens.width; ++d)
        out[0].data[tokens.at(n, token, d)] += dslots.data[slot * tokens.width + d];
    }
    for (int64_t token = 0; token < tokens.count; ++token) {
      Choice choice = choose(x, tokens.at(n, token), gate, op.getTopK(), op.getNormalize());
      const std::vector<double> &p = choice.weight;
      double mean = 0;
      for (int64_t e = 0; e < experts; ++e)
        mean += p[e] * dp[token][e];
      for (int64_t e = 0; e < experts; ++e)
        for (int64_t d = 0; d < tokens.width; ++d) {
          double dScore = p[e] * (dp[token][e] - mean);
          out[1]({e, d}) += dScore * x.data[tokens.at(n, token, d)];
          out[0].data[tokens.at(n, token, d)] += dScore * gate({e, d});
        }
    }
  }
}

/// visit(row of the slots, its expert), over [.., experts, capacity, d].
template <typename Visit> void forEachSlot(const Array &slots, Visit visit) {
  int64_t experts = slots.shape[slots.rank() - 3], capacity = slots.shape[slots.rank() - 2];
  for (int64_t row = 0, rows = slots.size() / slots.shape.back(); row < rows; ++row)
    visit(row, row / capacity % experts);
}

void experts(dnn::MoeExpertsOp, Inputs in, Outputs out) {
  const Array &x = *in[0], &w1 = *in[1], &w2 = *in[2];
  const Array *w3 = in.size() > 3 ? in[3] : nullptr;
  Activation activation{w3 != nullptr};
  int64_t inner = w1.shape[1], width = w1.shape[2], kept = out[1].shape.back();
  forEachSlot(x, [&](size_t row, int64_t e) {
    auto product = [&](const Array &weight, int64_t i) {
      double sum = 0;
      for (int64_t d = 0; d < width; ++d)
        sum += weight({e, i, d}) * x.data[row * width + d];
      return sum;
    };
    for (int64_t i = 0; i < inner; ++i) {
      double h = out[1].data[row * kept + i] = product(w1, i), g = 0;
      if (w3)
        g = out[1].data[row * kept + inner + i] = product(*w3, i);
      for (int64_t d = 0; d < width; ++d)
        out[0].data[row * width + d] += w2({e, d, i}) * activation.value(h, g);
    }
  });
}

/// dy, slots, w1, w2, kept, w3 -> dslots, dw1, dw2, dw3.
void expertsGrad(dnn::MoeExpertsGradOp, Inputs in, Outputs out) {
  const Array &dy = *in[0], &x = *in[1], &w1 = *in[2], &w2 = *in[3], &kept = *in[4];
  const Array *w3 = in.size() > 5 ? in[5] : nullptr;
  Activation activation{w3 != nullptr};
  int64_t inner = w1.shape[1], width = w1.shape[2], keptWidth = kept.shape.back();
  forEachSlot(x, [&](size_t row, int64_t e) {
    for (int64_t i = 0; i < inner; ++i) {
      double h = kept.data[row * keptWidth + i];
      double g = w3 ? kept.data[row * keptWidth + inner + i] : 0;
      double active = activation.value(h, g), dActive = 0;
      for (int64_t d = 0; d < width; ++d) {
        double dOut = dy.data[row * width + d];
        out[2]({e, d, i}) += dOut * active;
        dActive += dOut * w2({e, d, i});
      }
      auto back = [&](double dSum, const Array &weight, Array &dWeight) {
        for (int64_t d = 0; d < width; ++d) {
          dWeight({e, i, d}) += dSum * x.data[row * width + d];
          out[0].data[row * width + d] += dSum * weight({e, i, d});
        }
      };
      back(dActive * activation.alongH(h, g), w1, out[1]);
      if (w3)
        back(dActive * activation.alongG(h), *w3, out[3]);
    }
  });
}

/// visit(slot, its token's row in z), over the slots that are taken.
template <typename Visit> void forEachTaken(const Array &sits, const Rows &z, Visit visit) {
  int64_t slots = sits.size() / std::max<int64_t>(1, z.samples);
  for (int64_t n = 0; n < z.samples; ++n)
    for (int64_t s = 0; s < slots; ++s)
      if (int64_t token = sits.data[n * slots + s]; token >= 0)
        visit(n * slots + s, z.at(n, token));
}

void combine(dnn::MoeCombineOp op, Inputs in, Outputs out) {
  const Array &y = *in[0], &weights = *in[2];
  Rows z(out[0], op.getZ());
  forEachTaken(*in[1], z, [&](size_t slot, size_t row) {
    for (int64_t d = 0; d < z.width; ++d)
      out[0].data[row + d] += weights.data[slot] * y.data[slot * z.width + d];
  });
}

/// dz, y, tokens, weights -> dy, dweights.
void combineGrad(dnn::MoeCombineGradOp op, Inputs in, Outputs out) {
  const Array &dz = *in[0], &y = *in[1], &weights = *in[3];
  Rows z(dz, op.getDz());
  forEachTaken(*in[2], z, [&](size_t slot, size_t row) {
    for (int64_t d = 0; d < z.width; ++d) {
      out[0].data[slot * z.width + d] = weights.data[slot] * dz.data[row + d];
      out[1].data[slot] += y.data[slot * z.width + d] * dz.data[row + d];
    }
  });
}

} // namespace

void addExperts(Kernels &kernels) {
  kernels.add<dnn::MoeDispatchOp>(dispatch);
  kernels.add<dnn::MoeDispatchGradOp>(dispatchGrad);
  kernels.add<dnn::MoeExpertsOp>(experts);
  kernels.add<dnn::MoeExpertsGradOp>(expertsGrad);
  kernels.add<dnn::MoeCombineOp>(combine);
  kernels.add<dnn::MoeCombineGradOp>(combineGrad);
}

} // namespace accord::interpret
