// Normalizations, softmax and losses.
#include "lib/training/interpret/Kernels.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace accord::interpret {
namespace {

/// Which elements share a mean and a variance, and which share a scale and an offset.
struct Grouping {
  std::function<std::vector<int64_t>(llvm::ArrayRef<int64_t>)> statistic;
  std::function<int64_t(llvm::ArrayRef<int64_t>)> channel;
};

/// Statistics over the last dimension, scale along it.
Grouping overLast() {
  return {[](IndexRef i) { return i.drop_back().vec(); }, [](IndexRef i) { return i.back(); }};
}
/// One statistic for each channel.
Grouping overBatch(int64_t channel) {
  return {[=](IndexRef i) { return std::vector<int64_t>{i[channel]}; }, [=](IndexRef i) { return i[channel]; }};
}
/// One statistic for each sample and group of channels.
Grouping overGroups(int64_t channel, int64_t channels, int64_t groups) {
  return {[=](IndexRef i) {
            std::vector<int64_t> key = i.take_front(channel).vec();
            key.push_back(i[channel] / (channels / groups));
            return key;
          },
          [=](IndexRef i) { return i[channel]; }};
}

struct Statistic {
  double count = 0, sum = 0, squares = 0;
  double mean = 0, deviation = 1; ///< what is subtracted, and what is divided by
  double dSum = 0, dProduct = 0;  ///< of the gradient, and of its product with the normalized
};
using Statistics = std::map<std::vector<int64_t>, Statistic>;

Statistics statisticsOf(const Array &x, const Grouping &g, double epsilon, bool centred) {
  Statistics all;
  forEach(x.shape, [&](IndexRef i) {
    Statistic &s = all[g.statistic(i)];
    s.count += 1;
    s.sum += x(i);
  });
  for (auto &[key, s] : all)
    s.mean = centred ? s.sum / s.count : 0;
  forEach(x.shape, [&](IndexRef i) {
    Statistic &s = all[g.statistic(i)];
    s.squares += (x(i) - s.mean) * (x(i) - s.mean);
  });
  for (auto &[key, s] : all)
    s.deviation = std::sqrt(s.squares / s.count + epsilon);
  return all;
}

void normalize(const Grouping &g, double epsilon, bool centred, const Array &x, const Array &scale, const Array *offset,
               Array &y) {
  Statistics all = statisticsOf(x, g, epsilon, centred);
  forEach(x.shape, [&](IndexRef i) {
    const Statistic &s = all[g.statistic(i)];
    int64_t c = g.channel(i);
    y(i) = (x(i) - s.mean) / s.deviation * scale({c}) + (offset ? (*offset)({c}) : 0);
  });
}

void normalizeGradient(const Grouping &g, double epsilon, bool centred, Inputs in, Outputs out) {
  const Array &dy = *in[0], &x = *in[1], &scale = *in[2];
  Statistics all = statisticsOf(x, g, epsilon, centred);
  forEach(x.shape, [&](IndexRef i) {
    Statistic &s = all[g.statistic(i)];
    int64_t c = g.channel(i);
    double normal = (x(i) - s.mean) / s.deviation;
    s.dSum += dy(i) * scale({c});
    s.dProduct += dy(i) * scale({c}) * normal;
    out[1]({c}) += dy(i) * normal;
    if (out.size() > 2)
      out[2]({c}) += dy(i);
  });
  forEach(x.shape, [&](IndexRef i) {
    const Statistic &s = all[g.statistic(i)];
    double normal = (x(i) - s.mean) / s.deviation;
    out[0](i) = (dy(i) * scale({g.channel(i)}) - (centred ? s.dSum / s.count : 0) - normal * s.dProduct / s.count) /
                s.deviation;
  });
}

template <typename OpTy, typename GradOp, typename MakeGrouping>
void norm(Kernels &kernels, bool centred, MakeGrouping grouping) {
  kernels.add<OpTy>([=](OpTy op, Inputs in, Outputs out) {
    normalize(grouping(op), op.getEpsilonAttr().getValueAsDouble(), centred, *in[0], *in[1],
              in.size() > 2 ? in[2] : nullptr, out[0]);
  });
  kernels.add<GradOp>([=](GradOp op, Inputs in, Outputs out) {
    normalizeGradient(grouping(op), op.getEpsilonAttr().getValueAsDouble(), centred, in, out);
  });
}

/// The index with the extent along a dimension left out.
std::vector<int64_t> without(IndexRef index, int64_t dimension) {
  std::vector<int64_t> key = index.vec();
  key.erase(key.begin() + dimension);
  return key;
}

void softmax(dnn::SoftmaxOp op, Inputs in, Outputs out, const Device &device) {
  const Array &x = *in[0];
  int64_t axis = dimensionOf(op.getAxis(), op.getX());
  int64_t first = op.getCausal() ? extentsOf(op, x.shape, device)[x.shape.size() - 2].offset : 0;
  auto masked = [&](IndexRef i) { return op.getCausal() && i[i.size() - 1] > first + i[i.size() - 2]; };
  std::map<std::vector<int64_t>, double> max, sum;
  forEach(x.shape, [&](IndexRef i) {
    if (!masked(i)) {
      auto [it, fresh] = max.try_emplace(without(i, axis), x(i));
      it->second = std::max(it->second, x(i));
    }
  });
  forEach(x.shape, [&](IndexRef i) {
    if (!masked(i))
      sum[without(i, axis)] += out[0](i) = std::exp(x(i) - max[without(i, axis)]);
  });
  forEach(x.shape, [&](IndexRef i) {
    if (!masked(i))
      out[0](i) /= sum[without(i, axis)];
  });
}

void softmaxGradient(dnn::SoftmaxGradOp op, Inputs in, Outputs out) {
  const Array &dy = *in[0], &y = *in[1];
  int64_t axis = dimensionOf(op.getAxis(), op.getY());
  std::map<std::vector<int64_t>, double> sum;
  forEach(y.shape, [&](IndexRef i) { sum[without(i, axis)] += dy(i) * y(i); });
  forEach(y.shape, [&](IndexRef i) { out[0](i) = (dy(i) - sum[without(i, axis)]) * y(i); });
}

/// Probability of each class, and log(sum exp), at one position of the logits.
std::pair<std::vector<double>, double> classesOf(const Array &logits, IndexRef position) {
  Index index(position);
  index.push_back(0);
  int64_t classes = logits.shape.back();
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  std::vector<double> p(classes);
  for (index.back() = 0; index.back() < classes; ++index.back())
    max = std::max(max, logits(index));
  for (index.back() = 0; index.back() < classes; ++index.back())
    sum += p[index.back()] = std::exp(logits(index) - max);
  for (double &x : p)
    x /= sum;
  return {p, max + std::log(sum)};
}

void crossEntropy(dnn::CrossEntropyOp, Inputs in, Outputs out) {
  const Array &logits = *in[0], &labels = *in[1];
  forEach(labels.shape, [&](IndexRef i) {
    Index at(i);
    at.push_back(labels.integer(i));
    out[0].data[0] += (classesOf(logits, i).second - logits(at)) / labels.size();
  });
}

void crossEntropyGradient(dnn::CrossEntropyGradOp, Inputs in, Outputs out) {
  const Array &logits = *in[1], &labels = *in[2];
  double dl = in[0]->data[0] / labels.size();
  forEach(labels.shape, [&](IndexRef i) {
    std::vector<double> p = classesOf(logits, i).first;
    Index at(i);
    at.push_back(0);
    for (; at.back() < logits.shape.back(); ++at.back())
      out[0](at) = dl * (p[at.back()] - (at.back() == labels.integer(i)));
  });
}

/// Of the classes of one device: largest logit, sum exp(logit - largest), the label's logit.
void crossEntropyStats(dnn::CrossEntropyStatsOp op, Inputs in, Outputs out, const Device &device) {
  const Array &logits = *in[0], &labels = *in[1];
  int64_t first = extentsOf(op, logits.shape, device).back().offset;
  forEach(labels.shape, [&](IndexRef i) {
    Index at(i), to(i);
    at.push_back(0);
    to.push_back(0);
    double max = -std::numeric_limits<double>::infinity(), sum = 0, chosen = 0;
    for (at.back() = 0; at.back() < logits.shape.back(); ++at.back()) {
      max = std::max(max, logits(at));
      if (first + at.back() == labels.integer(i))
        chosen = logits(at);
    }
    for (at.back() = 0; at.back() < logits.shape.back(); ++at.back())
      sum += std::exp(logits(at) - max);
    for (double x : {max, sum, chosen}) {
      out[0](to) = x;
      ++to.back();
    }
  });
}
/// log(sum exp) and the label's logit at a position, of the statistics of all devices.
std::pair<double, double> joinStats(const Array &stats, IndexRef position) {
  Index at(position);
  at.push_back(0);
  double max = -std::numeric_limits<double>::infinity(), sum = 0, chosen = 0;
  auto each = [&](auto visit) {
    for (at.back() = 0; at.back() < stats.shape.back(); at.back() += 3) {
      Index next(at), last(at);
      next.back() += 1;
      last.back() += 2;
      visit(stats(at), stats(next), stats(last));
    }
  };
  each([&](double largest, double, double) { max = std::max(max, largest); });
  each([&](double largest, double part, double logit) {
    sum += part * std::exp(largest - max);
    chosen += logit;
  });
  return {max + std::log(sum), chosen};
}
void crossEntropyJoin(dnn::CrossEntropyJoinOp, Inputs in, Outputs out) {
  llvm::ArrayRef<int64_t> positions = llvm::ArrayRef(in[0]->shape).drop_back();
  forEach(positions, [&](IndexRef i) {
    auto [all, chosen] = joinStats(*in[0], i);
    out[0].data[0] += (all - chosen) / volumeOf(positions);
  });
}
void crossEntropyPartGradient(dnn::CrossEntropyPartGradOp op, Inputs in, Outputs out, const Device &device) {
  const Array &logits = *in[1], &labels = *in[2];
  int64_t first = extentsOf(op, logits.shape, device).back().offset;
  double dl = in[0]->data[0] / labels.size();
  forEach(logits.shape, [&](IndexRef at) {
    IndexRef i = at.drop_back();
    bool chosen = first + at.back() == labels.integer(i);
    out[0](at) = dl * (std::exp(logits(at) - joinStats(*in[3], i).first) - chosen);
  });
}

// ---- normalization over neighbouring channels

template <typename OpTy> class Neighbours {
public:
  Neighbours(OpTy op, const Array &x, int64_t size)
      : x(x), channel(batchRankOf(op.getX())), size(size), alpha(op.getAlphaAttr().getValueAsDouble()),
        beta(op.getBetaAttr().getValueAsDouble()), bias(op.getBiasAttr().getValueAsDouble()) {}
  /// visit(j) for each element of a channel that y[i] reads.
  template <typename Visit> void readBy(IndexRef i, Visit visit) const {
    int64_t before = (size - 1) / 2, from = i[channel] - before;
    for (int64_t c = std::max<int64_t>(0, from); c < std::min(x.shape[channel], from + size); ++c) {
      Index j(i);
      j[channel] = c;
      visit(j);
    }
  }
  /// What x[i] is divided by, before its power.
  double divisor(IndexRef i) const {
    double sum = 0;
    readBy(i, [&](const Index &j) { sum += x(j) * x(j); });
    return bias + alpha / size * sum;
  }
  const Array &x;
  int64_t channel, size;
  double alpha, beta, bias;
};

void localNormalization(dnn::LrnOp op, Inputs in, Outputs out) {
  Neighbours all(op, *in[0], *op.getSize());
  forEach(out[0].shape, [&](IndexRef i) { out[0](i) = all.x(i) / std::pow(all.divisor(i), all.beta); });
}

void localNormalizationGradient(dnn::LrnGradOp op, Inputs in, Outputs out) {
  const Array &dy = *in[0];
  Neighbours all(op, *in[1], op.getSize());
  forEach(dy.shape, [&](IndexRef i) {
    double s = all.divisor(i), of = dy(i) * all.x(i) * std::pow(s, -all.beta - 1);
    out[0](i) += dy(i) * std::pow(s, -all.beta);
    all.readBy(i, [&](const Index &j) { out[0](j) -= 2 * all.alpha * all.beta / all.size * all.x(j) * of; });
  });
}

/// A mean over elements, and its derivative by each of the first operand.
template <typename OpTy, typename GradOp>
void elementLoss(Kernels &kernels, double (*loss)(double, double), double (*derivative)(double, double)) {
  kernels.add<OpTy>([=](OpTy, Inputs in, Outputs out) {
    for (int64_t i = 0; i < in[0]->size(); ++i)
      out[0].data[0] += loss(in[0]->data[i], in[1]->data[i]) / in[0]->size();
  });
  kernels.add<GradOp>([=](GradOp, Inputs in, Outputs out) {
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].data[i] = in[0]->data[0] * derivative(in[1]->data[i], in[2]->data[i]) / out[0].size();
  });
}

} // namespace

void addNormalizations(Kernels &kernels) {
  auto last = [](auto) { return overLast(); };
  auto batch = [](auto op) { return overBatch(batchRankOf(op.getX())); };
  norm<dnn::LayerNormOp, dnn::LayerNormGradOp>(kernels, true, last);
  norm<dnn::RmsNormOp, dnn::RmsNormGradOp>(kernels, false, last);
  norm<dnn::BatchNormOp, dnn::BatchNormGradOp>(kernels, true, batch);
  norm<dnn::GroupNormOp, dnn::GroupNormGradOp>(kernels, true, [](auto op) {
    int64_t channel = batchRankOf(op.getX());
    return overGroups(channel, op.getX().getType().getDimSize(channel), op.getGroupsAttr().getInt());
  });
  kernels.add<dnn::LrnOp>(localNormalization);
  kernels.add<dnn::LrnGradOp>(localNormalizationGradient);
  kernels.add<dnn::SoftmaxOp>(softmax);
  kernels.add<dnn::SoftmaxGradOp>(softmaxGradient);
  kernels.add<dnn::CrossEntropyOp>(crossEntropy);
  kernels.add<dnn::CrossEntropyGradOp>(crossEntropyGradient);
  kernels.add<dnn::CrossEntropyStatsOp>(crossEntropyStats);
  kernels.add<dnn::CrossEntropyJoinOp>(crossEntropyJoin);
  kernels.add<dnn::CrossEntropyPartGradOp>(crossEntropyPartGradient);
  kernels.add<dnn::MeanOp>([](dnn::MeanOp, Inputs in, Outputs out) {
    for (double x : in[0]->data)
      out[0].data[0] += x / in[0]->size();
  });
  kernels.add<dnn::MeanGradOp>([](dnn::MeanGradOp, Inputs in, Outputs out) {
    for (double &dx : out[0].data)
      dx = in[0]->data[0] / out[0].size();
  });
  elementLoss<dnn::MseOp, dnn::MseGradOp>(
      kernels, [](double x, double y) { return (x - y) * (x - y); }, [](double x, double y) { return 2 * (x - y); });
  elementLoss<dnn::SmoothL1Op, dnn::SmoothL1GradOp>(
      kernels,
      [](double x, double y) {
        double distance = std::fabs(x - y);
        return distance < 1 ? distance * distance / 2 : distance - 0.5;
      },
      [](double x, double y) { return std::clamp(x - y, -1.0, 1.0); });
  elementLoss<dnn::BinaryCrossEntropyOp, dnn::BinaryCrossEntropyGradOp>(
      kernels, [](double x, double y) { return std::max(x, 0.0) - x * y + std::log1p(std::exp(-std::fabs(x))); },
      [](double x, double y) { return sigmoid(x) - y; });
}

} // namespace accord::interpret
