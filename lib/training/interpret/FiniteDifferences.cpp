#include "lib/training/interpret/Interpreter.h"
#include <cmath>

namespace accord::interpret {

/// Error of a central difference: h^2 * f''' / 6 + epsilon * |f| / h; both below 1e-9 of a gradient of order 1.
static constexpr double kStep = 2e-5;

llvm::Expected<DerivativeCheck> checkDerivatives(dnn::TrainingGraphOp graph, const StepInputs &inputs, int64_t max) {
  llvm::Expected<StepResult> result = interpret(graph, inputs);
  if (!result)
    return result.takeError();
  DerivativeCheck check;
  double largest = 0;
  for (const auto &[name, copies] : result->gradients)
    for (const Array &gradient : copies)
      for (double g : gradient.data)
        largest = std::max(largest, std::fabs(g));
  StepInputs moved = inputs;
  for (auto &[name, copies] : moved.parameters)
    for (size_t copy = 0; copy < copies.size(); ++copy) {
      const Array &gradient = result->gradients[name][copy];
      std::vector<double> &values = copies[copy].data;
      // Elements spread evenly over the whole.
      int64_t count = std::min<int64_t>(max, gradient.size());
      for (int64_t i = 0; i < count; ++i) {
        size_t at = i * gradient.size() / count;
        double here = values[at], losses[2];
        for (int side : {0, 1}) {
          values[at] = side ? here + kStep : here - kStep;
          llvm::Expected<StepResult> step = interpret(graph, moved, /*backward=*/false);
          if (!step)
            return step.takeError();
          losses[side] = step->loss;
        }
        values[at] = here;
        double expected = (losses[1] - losses[0]) / (2 * kStep), found = gradient.data[at];
        double scale = std::max({std::fabs(found), 1e-3 * largest, 1e-6});
        double error = std::fabs(expected - found) / scale;
        ++check.checked;
        if (!(error <= check.largestError)) {
          check.largestError = std::isnan(error) ? INFINITY : error;
          check.where = name + (copies.size() > 1 ? "[" + std::to_string(copy) + "]" : "") + ", element " +
                        std::to_string(at) + ": gradient " + std::to_string(found) + ", finite difference " +
                        std::to_string(expected);
        }
      }
    }
  return check;
}

} // namespace accord::interpret
