// Mixture of experts: routing, capacity and the experts' two or three layers.
#include "lib/interpret/Kernels.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::interpret {
namespace {

double cdf(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }
double pdf(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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

/// The tokens of one sample as rows, and where they went.
struct Routing {
  struct Slot {
    int64_t token, expert, index; ///< index: of the sample's slots
  };
  std::vector<Slot> taken;
  std::vector<std::vector<double>> probability; ///< by token and expert
};

/// x without its batch as [tokens, width].
struct Tokens {
  const Array &x;
  bool batched;
  int64_t samples() const { return batched ? x.shape[0] : 1; }
  int64_t width() const { return x.shape.back(); }
  int64_t count() const { return x.size() / samples() / width(); }
  size_t at(int64_t sample, int64_t token, int64_t d) const {
    return static_cast<size_t>((sample * count() + token) * width() + d);
  }
};

/// Tokens choose in order of position; an expert whose slots are taken drops what comes later.
Routing route(const Tokens &t, int64_t sample, const Array &gate, int64_t topK, bool normalize,
              int64_t slots) {
  int64_t experts = gate.shape[0];
  Routing result;
  std::vector<int64_t> used(static_cast<size_t>(experts));
  for (int64_t token = 0; token < t.count(); ++token) {
    std::vector<double> p(static_cast<size_t>(experts));
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t d = 0; d < t.width(); ++d)
        p[e] += t.x.data[t.at(sample, token, d)] * gate({e, d});
    double most = *std::max_element(p.begin(), p.end()), sum = 0;
    for (double &one : p)
      sum += one = std::exp(one - most);
    for (double &one : p)
      one /= sum;
    std::vector<int64_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
    if (normalize) { // what is not chosen takes no part: a softmax over the chosen
      double chosen = 0;
      for (int64_t k = 0; k < experts; ++k)
        k < topK ? chosen += p[order[k]] : p[order[k]] = 0;
      for (double &one : p)
        one /= chosen;
    }
    for (int64_t k = 0; k < topK; ++k)
      if (int64_t e = order[k]; used[e] < slots)
        result.taken.push_back({token, e, e * slots + used[e]++});
    result.probability.push_back(std::move(p));
  }
  return result;
}

Index keptAt(const Tokens &t, int64_t sample, int64_t slot, int64_t inner) {
  return t.batched ? Index{sample, slot, inner} : Index{slot, inner};
}

void forward(dnn::MoeOp op, Inputs in, Outputs out) {
  const Array &gate = *in[1], &w1 = *in[2], &w2 = *in[3];
  Tokens t{*in[0], batchRankOf(op.getX()) != 0};
  Activation activation{in.size() > 4};
  int64_t inner = w1.shape[1], slots = out[1].shape[t.batched] / gate.shape[0];
  for (int64_t n = 0; n < t.samples(); ++n) {
    Routing routing = route(t, n, gate, op.getTopK(), op.getNormalize(), slots);
    auto product = [&](const Array &weight, const Routing::Slot &s, int64_t i) {
      double sum = 0;
      for (int64_t d = 0; d < t.width(); ++d)
        sum += weight({s.expert, i, d}) * t.x.data[t.at(n, s.token, d)];
      return sum;
    };
    for (const Routing::Slot &s : routing.taken)
      for (int64_t i = 0; i < inner; ++i) {
        double h = out[1](keptAt(t, n, s.index, i)) = product(w1, s, i), g = 0;
        if (activation.gated)
          g = out[1](keptAt(t, n, s.index, inner + i)) = product(*in[4], s, i);
        for (int64_t d = 0; d < t.width(); ++d)
          out[0].data[t.at(n, s.token, d)] += routing.probability[s.token][s.expert] *
                                              w2({s.expert, d, i}) * activation.value(h, g);
      }
  }
}

/// dy, x, gate, w1, w2, kept, w3 -> dx, dgate, dw1, dw2, dw3.
void backward(dnn::MoeGradOp op, Inputs in, Outputs out) {
  const Array &dy = *in[0], &gate = *in[2], &w1 = *in[3], &w2 = *in[4], &kept = *in[5];
  const Array *w3 = in.size() > 6 ? in[6] : nullptr;
  Tokens t{*in[1], batchRankOf(op.getX()) != 0};
  Activation activation{w3 != nullptr};
  int64_t inner = w1.shape[1], experts = gate.shape[0], slots = kept.shape[t.batched] / experts;
  for (int64_t n = 0; n < t.samples(); ++n) {
    Routing routing = route(t, n, gate, op.getTopK(), op.getNormalize(), slots);
    std::vector<std::vector<double>> dp(routing.probability.size(),
                                        std::vector<double>(static_cast<size_t>(experts)));
    for (const Routing::Slot &s : routing.taken)
      for (int64_t i = 0; i < inner; ++i) {
        double h = kept(keptAt(t, n, s.index, i));
        double g = w3 ? kept(keptAt(t, n, s.index, inner + i)) : 0;
        double active = activation.value(h, g), dActive = 0;
        double p = routing.probability[s.token][s.expert];
        for (int64_t d = 0; d < t.width(); ++d) {
          double dOut = dy.data[t.at(n, s.token, d)];
          dp[s.token][s.expert] += dOut * w2({s.expert, d, i}) * active;
          out[3]({s.expert, d, i}) += p * dOut * active;
          dActive += p * dOut * w2({s.expert, d, i});
        }
        auto back = [&](double dSum, const Array &weight, Array &dWeight) {
          for (int64_t d = 0; d < t.width(); ++d) {
            dWeight({s.expert, i, d}) += dSum * t.x.data[t.at(n, s.token, d)];
            out[0].data[t.at(n, s.token, d)] += dSum * weight({s.expert, i, d});
          }
        };
        back(dActive * activation.alongH(h, g), w1, out[2]);
        if (w3)
          back(dActive * activation.alongG(h), *w3, out[4]);
      }
    for (int64_t token = 0; token < t.count(); ++token) {
      const std::vector<double> &p = routing.probability[token];
      double mean = 0;
      for (int64_t e = 0; e < experts; ++e)
        mean += p[e] * dp[token][e];
      for (int64_t e = 0; e < experts; ++e)
        for (int64_t d = 0; d < t.width(); ++d) {
          double dScore = p[e] * (dp[token][e] - mean);
          out[1]({e, d}) += dScore * t.x.data[t.at(n, token, d)];
          out[0].data[t.at(n, token, d)] += dScore * gate({e, d});
        }
    }
  }
}

} // namespace

void addExperts(Kernels &kernels) {
  kernels.add<dnn::MoeOp>(forward);
  kernels.add<dnn::MoeGradOp>(backward);
}

} // namespace accord::interpret
