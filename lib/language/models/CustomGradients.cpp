// Gradients that an `operation` states, held against central differences of what it computes.
#include "lib/language/models/CustomOperation.h"
#include "lib/training/interpret/Array.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <random>

using namespace mlir;

namespace accord {
namespace {

using interpret::Array;

/// One sample of an operation: tensors by their number, each with random elements.
class Sample {
public:
  Sample(const CustomShape &shape, std::mt19937_64 &random, double min, double max)
      : shape(shape), batched(shape.tensors.size() + 1, false) {
    for (unsigned t = 0; t <= shape.gradient(); ++t)
      tensors.push_back(uniform(extentsOf(t), random, min, max));
    tensors[shape.result()] = compute(shape.forward);
  }
  static Array uniform(const interpret::Shape &extents, std::mt19937_64 &random, double min, double max) {
    Array array(extents);
    for (double &element : array.data)
      element = std::uniform_real_distribution<double>(min, max)(random);
    return array;
  }
  interpret::Shape extentsOf(unsigned tensor) const {
    interpret::Shape extents;
    for (unsigned index : shape.tensors[std::min(tensor, shape.result())])
      extents.push_back(shape.indices[index].extent);
    return extents;
  }

  Array compute(const CustomBody &body) const {
    CustomWork work = customWork(shape, body, batched);
    dnn::ScalarProgram program(work.body);
    double infinity = std::numeric_limits<double>::infinity();
    Array result(extentsOf(body.of), body.combine == dnn::Combine::Sum   ? 0
                                     : body.combine == dnn::Combine::Max ? -infinity
                                                                         : infinity);
    llvm::SmallVector<double> elements(work.reads.size());
    interpret::forEach(work.domain, [&](llvm::ArrayRef<int64_t> point) {
      for (auto [element, access, map] : llvm::zip(elements, work.reads, work.maps))
        element = tensors[shape.accesses[access].tensor](map.compose(point));
      double &into = result(work.maps.back().compose(point)), value = program(elements, point);
      into = body.combine == dnn::Combine::Sum   ? into + value
             : body.combine == dnn::Combine::Max ? std::max(into, value)
                                                 : std::min(into, value);
    });
    return result;
  }

  /// The scalar whose gradients are meant: sum of result times its gradient.
  double total() const {
    double sum = 0;
    Array result = compute(shape.forward);
    for (auto [y, dy] : llvm::zip(result.data, tensors[shape.gradient()].data))
      sum += y * dy;
    return sum;
  }

  struct Slopes {
    double stated, found, scale;
    bool differ() const { return std::fabs(stated - found) > 1e-5 * (scale + std::fabs(found)) + 1e-9; }
  };
  /// Along one random direction of the operand; nothing where it is no number.
  std::optional<Slopes> slopes(const CustomBody &stated, std::mt19937_64 &random) {
    Array gradient = compute(stated), along = uniform(gradient.shape, random, -1, 1);
    Slopes slopes{0, 0, 0};
    for (auto [g, v] : llvm::zip(gradient.data, along.data)) {
      slopes.stated += g * v;
      slopes.scale += std::fabs(g * v);
    }
    Array &x = tensors[stated.of];
    Array kept = x;
    auto totalAt = [&](double step) {
      for (auto [element, start, v] : llvm::zip(x.data, kept.data, along.data))
        element = start + step * v;
      return total();
    };
    constexpr double kStep = 1e-5;
    slopes.found = (totalAt(kStep) - totalAt(-kStep)) / (2 * kStep);
    x = kept;
    slopes.scale += 1e-5 * std::fabs(total()); // what rounding leaves of the difference
    if (!std::isfinite(slopes.stated) || !std::isfinite(slopes.found))
      return std::nullopt;
    return slopes;
  }

private:
  const CustomShape &shape;
  llvm::SmallVector<bool> batched;
  std::vector<Array> tensors;
};

/// The derivative as the language writes it, if it is one formula.
std::string derivativeText(const CustomShape &shape, unsigned tensor,
                           llvm::function_ref<std::string(unsigned)> nameOf) {
  std::optional<unsigned> only;
  const dnn::ScalarProgram program(shape.forward.body);
  for (unsigned access : program.operands().set_bits())
    if (shape.accesses[access].tensor == tensor) {
      if (only)
        return {};
      only = access;
    }
  MLIRContext *context = shape.forward.body.getContext();
  for (auto [expr, index] : llvm::zip(shape.accesses[*only].at, shape.tensors[tensor]))
    if (expr != getAffineDimExpr(index, context))
      return {};
  if (shape.forward.combine != dnn::Combine::Sum)
    return {};
  auto list = [&](llvm::ArrayRef<unsigned> indices) {
    return fmt::format(
        "{}",
        fmt::join(llvm::map_range(indices, [&](unsigned i) -> const std::string & { return shape.indices[i].name; }),
                  ", "));
  };
  unsigned gradient = shape.accesses.size();
  dnn::ScalarAttr slope = dnn::derivative(shape.forward.body, *only);
  if (slope == dnn::scalarNumber(context, 0))
    return {};
  dnn::ScalarAttr body = dnn::scalar(dnn::ScalarKind::Multiply, {dnn::scalarOperand(context, gradient), slope});
  auto operandName = [&](unsigned access) {
    if (access == gradient)
      return nameOf(shape.gradient()) + "[" + list(shape.tensors[shape.result()]) + "]";
    const CustomAccess &read = shape.accesses[access];
    std::vector<std::string> at;
    for (AffineExpr expr : read.at) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      at.push_back(dim ? shape.indices[dim.getPosition()].name : "…");
    }
    return at.empty() ? nameOf(read.tensor) : fmt::format("{}[{}]", nameOf(read.tensor), fmt::join(at, ", "));
  };
  std::string text = dnn::scalarText(body, operandName, [&](unsigned index) { return shape.indices[index].name; });
  std::vector<unsigned> over;
  for (unsigned index : shape.tensors[shape.result()])
    if (!llvm::is_contained(shape.tensors[tensor], index))
      over.push_back(index);
  for (unsigned index : shape.forward.over)
    if (!llvm::is_contained(shape.tensors[tensor], index))
      over.push_back(index);
  if (over.empty())
    return text;
  return over.size() == 1 ? fmt::format("sum({}, over = {})", text, list(over))
                          : fmt::format("sum({}, over = [{}])", text, list(over));
}

} // namespace

void checkGradients(const CustomShape &real, const std::optional<CustomShape> &small,
                    llvm::function_ref<std::string(unsigned)> nameOf, Diagnostics &diags) {
  for (size_t g = 0; g < real.gradients.size(); ++g) {
    const CustomBody &stated = real.gradients[g];
    if (stated.surrogate)
      continue;
    std::string name = nameOf(stated.of);
    unsigned checked = 0;
    std::vector<Sample::Slopes> wrong;
    if (small)
      // Where functions are defined differs: above 0, around 0, between 0 and 1.
      for (auto [min, max] : {std::pair(0.2, 1.8), {-1.5, 1.5}, {0.2, 1.8}, {0.05, 0.95}}) {
        std::mt19937_64 random(checked + 1);
        Sample sample(*small, random, min, max);
        auto slopes = sample.slopes(small->gradients[g], random);
        if (!slopes)
          continue;
        ++checked;
        if (slopes->differ())
          wrong.push_back(*slopes);
      }
    if (checked == 0) {
      diags
          .warning(Code::GradientNotChecked, stated.at,
                   fmt::format("the gradient of '{}' could not be held against differences of the "
                               "result",
                               name))
          .help(small ? "no element between -1.5 and 1.5 gives a number"
                      : "the operation has no small example: its indices need many positions");
      continue;
    }
    // At one of the samples a difference may reach over a corner.
    if (wrong.size() < std::min(checked, 2u))
      continue;
    std::string derived = derivativeText(real, stated.of, nameOf);
    diags
        .error(Code::WrongGradient, stated.at,
               fmt::format("the gradient of '{}' is not the derivative of '{}': along some "
                           "direction it says {:.6g}, and the result changes by {:.6g}",
                           name, nameOf(real.result()), wrong[0].stated, wrong[0].found))
        .help(fmt::format("{}{}write 'surrogate {} = …' if another gradient is meant",
                          derived.empty() ? "" : "the derivative is " + derived, derived.empty() ? "" : "; ", name));
  }
}

} // namespace accord
