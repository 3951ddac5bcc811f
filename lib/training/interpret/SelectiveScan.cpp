// The scan of a selective state space model, step by step, as its definition says it.
#include "lib/training/interpret/Kernels.h"
#include <cmath>

namespace accord::interpret {
namespace {

/// Where the step of a sample lies in a tensor [n, steps, columns] or [steps, columns].
Index at(IndexRef sample, int64_t step, int64_t column) {
  Index index(sample);
  index.append({step, column});
  return index;
}

/// Calls `visit(sample, channel, state)` for each state of each sample.
template <typename Visit> void forEachState(const Array &x, const Array &a, Visit visit) {
  Shape samples(llvm::ArrayRef(x.shape).drop_back(2));
  samples.append(a.shape.begin(), a.shape.end());
  forEach(samples, [&](IndexRef index) { visit(index.drop_back(2), index[index.size() - 2], index.back()); });
}

void selectiveScan(dnn::SelectiveScanOp, Inputs in, Outputs out) {
  const Array &x = *in[0], &delta = *in[1], &a = *in[2], &b = *in[3], &c = *in[4];
  int64_t steps = x.shape[x.rank() - 2];
  forEachState(x, a, [&](IndexRef sample, int64_t d, int64_t s) {
    double h = 0;
    for (int64_t t = 0; t < steps; ++t) {
      double step = delta(at(sample, t, d));
      h = std::exp(step * a({d, s})) * h + step * b(at(sample, t, s)) * x(at(sample, t, d));
      out[0](at(sample, t, d)) += c(at(sample, t, s)) * h;
    }
  });
}

void selectiveScanGradient(dnn::SelectiveScanGradOp, Inputs in, Outputs out) {
  const Array &dy = *in[0], &x = *in[1], &delta = *in[2], &a = *in[3], &b = *in[4], &c = *in[5];
  int64_t steps = x.shape[x.rank() - 2];
  forEachState(x, a, [&](IndexRef sample, int64_t d, int64_t s) {
    std::vector<double> before(steps + 1, 0.0); // the state before each step
    auto decay = [&](int64_t t) { return std::exp(delta(at(sample, t, d)) * a({d, s})); };
    for (int64_t t = 0; t < steps; ++t)
      before[t + 1] = decay(t) * before[t] + delta(at(sample, t, d)) * b(at(sample, t, s)) * x(at(sample, t, d));
    double g = 0; // the gradient of the state behind a step
    for (int64_t t = steps - 1; t >= 0; --t) {
      Index channel = at(sample, t, d), state = at(sample, t, s);
      g += c(state) * dy(channel);
      double p = g * before[t] * decay(t); // of delta * a
      out[0](channel) += g * delta(channel) * b(state);
      out[1](channel) += p * a({d, s}) + g * b(state) * x(channel);
      out[2]({d, s}) += p * delta(channel);
      out[3](state) += g * delta(channel) * x(channel);
      out[4](state) += before[t + 1] * dy(channel);
      g *= decay(t);
    }
  });
}

} // namespace

void addScans(Kernels &kernels) {
  kernels.add<dnn::SelectiveScanOp>(selectiveScan);
  kernels.add<dnn::SelectiveScanGradOp>(selectiveScanGradient);
}

} // namespace accord::interpret
