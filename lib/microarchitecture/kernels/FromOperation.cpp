#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace accord::microarchitecture {

Error refused(const Operation &operation, std::string why) {
  return Error{Code::NotMapped, fmt::format("'{}' ({}): {}", operation.name, operation.kind, why), operation.location};
}

namespace {

/// One dimension of a tensor, or several where its loops count as the digits of a number do (group * filters + filter).
void addDimensions(const std::vector<LoopTensor::Term> &terms, int64_t size, const std::vector<Loop> &domain,
                   ContractionTensor &into) {
  std::vector<LoopTensor::Term> order = terms;
  std::sort(order.begin(), order.end(),
            [](const auto &a, const auto &b) { return std::pair(-a.stride, a.loop) < std::pair(-b.stride, b.loop); });
  bool isMixed = order.size() > 1 && order.back().stride == 1;
  for (size_t i = 0; i + 1 < order.size() && isMixed; ++i)
    isMixed = order[i].stride == order[i + 1].stride * domain[order[i + 1].loop].extent;
  if (isMixed && size <= order.front().stride * domain[order.front().loop].extent) {
    for (const auto &term : order)
      into.dimensions.push_back({{{Index(term.loop), 1}}, domain[term.loop].extent});
    return;
  }
  ContractionTensor::Dimension dimension;
  for (const auto &term : terms)
    dimension.terms.push_back({Index(term.loop), term.stride});
  dimension.size = std::max<int64_t>(size, 1);
  into.dimensions.push_back(std::move(dimension));
}

constexpr __int128 kMaxPoints = __int128(1) << 56;
constexpr int64_t kMaxElements = int64_t(1) << 46;

/// What is wrong with the shapes, so that nothing can be computed with them.
std::optional<std::string> irregular(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  __int128 points = 1;
  for (const Loop &loop : domain)
    if (points *= std::max<int64_t>(loop.extent, 0); points > kMaxPoints)
      return "it has more than 2^56 points";
  for (const LoopTensor &tensor : tensors) {
    if (!tensor.sizes.empty() && tensor.sizes.size() != tensor.dimensions.size())
      return "a tensor has other dimensions than its map";
    if (elementsOf(tensor) > kMaxElements)
      return "a tensor has more than 2^46 elements";
    for (const auto &dimension : tensor.dimensions)
      for (const LoopTensor::Term &term : dimension)
        if (term.loop >= domain.size() || term.stride < 1)
          return "a tensor is reached by a loop that there is not";
  }
  return std::nullopt;
}
bool isEmpty(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  auto isNothing = [](int64_t extent) { return extent <= 0; };
  return std::any_of(domain.begin(), domain.end(), [&](const Loop &loop) { return isNothing(loop.extent); }) ||
         std::any_of(tensors.begin(), tensors.end(), [&](const LoopTensor &tensor) {
           return std::any_of(tensor.sizes.begin(), tensor.sizes.end(), isNothing);
         });
}

/// By tensor: whether a kernel reads it before it writes any of it, and whether it writes it.
struct Traffic {
  std::vector<char> reads, writes;
};
Traffic trafficOf(const LoopKernel &kernel) {
  Traffic made{std::vector<char>(kernel.tensors.size()), std::vector<char>(kernel.tensors.size())};
  auto walk = [&](auto &self, const KernelBody &body) -> void {
    for (const KernelStep &step : body) {
      if (step.loop != kNone) {
        self(self, kernel.loops[step.loop].body);
        continue;
      }
      auto reach = [&](Index tensor, bool isWrite) {
        if (tensor == kNone)
          return;
        if (const Index within = kernel.tensors[tensor].within; within != kNone)
          tensor = within;
        if (isWrite)
          made.writes[tensor] = 1;
        else if (!made.writes[tensor])
          made.reads[tensor] = 1;
      };
      reach(step.access.tensor, step.role.does == Role::Store);
      reach(step.target.tensor, true);
    }
  };
  walk(walk, kernel.body);
  return made;
}

/// The parts one after the other. What a part reads is the newest result of a part before it with as many elements,
/// since the graph does not say whose result it is; else it is an operand of the whole.
Result<LoopKernel> fused(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine) {
  KernelSequence sequence(operation.name);
  struct Made {
    int64_t elements = 0;
    int32_t bytes = 4;
    Index tensor = kNone;
  };
  std::vector<Made> results;
  for (size_t p = 0; p < operation.parts.size(); ++p) {
    const FusedPart &part = operation.parts[p];
    Operation alone;
    alone.name = part.name, alone.kind = part.kind, alone.core = part.core, alone.type = part.type;
    alone.flops = part.flops, alone.contraction = part.contraction, alone.domain = part.domain;
    alone.tensors = part.tensors, alone.location = operation.location;
    auto kernel = kernelOf(alone, optimizer, machine);
    if (!kernel)
      return kernel.takeError();
    const Traffic traffic = trafficOf(*kernel);
    std::vector<KernelSequence::Place> places;
    std::vector<Made> made;
    for (size_t t = 0; t < kernel->tensors.size(); ++t) {
      const KernelTensor &tensor = kernel->tensors[t];
      places.emplace_back();
      if (tensor.within != kNone || tensor.storage != kNone)
        continue;
      auto from = std::find_if(results.rbegin(), results.rend(), [&](const Made &one) {
        return traffic.reads[t] && one.elements == tensor.elements && one.bytes == tensor.bytes;
      });
      places.back().tensor = from != results.rend()
                                 ? from->tensor
                                 : sequence.tensor(fmt::format("{}.{}.{}", p, part.name, tensor.name), tensor.bytes);
      if (traffic.writes[t])
        made.push_back({tensor.elements, tensor.bytes, places.back().tensor});
    }
    sequence.append(*kernel, places);
    results.insert(results.end(), made.begin(), made.end());
  }
  sequence.assume("results that fused operations pass on go through memory, to whichever has as many elements");
  return sequence.finish();
}

/// A gradient goes to a buffer whose elements may be wider, and is added to what is there where there are several
/// microbatches: the bytes of the operation say so.
void setBuffer(const Operation &operation, const LoopTensor &result, Contraction &made) {
  __int128 read = 0;
  int64_t results = 0;
  for (const LoopTensor &tensor : operation.tensors)
    if (tensor.written)
      ++results;
    else
      read += __int128(elementsOf(tensor)) * bytesOf(tensor);
  const __int128 elements = elementsOf(result);
  if (results != 1 || elements == 0)
    return;
  for (int32_t bytes : {2, 4, 8})
    if (bytes > made.result.bytes && operation.bytesWritten == elements * bytes) {
      made.result.bytes = bytes;
      break;
    }
  made.accumulates = !made.initial && operation.bytesRead - read == elements * made.result.bytes;
}

} // namespace

Result<Contraction> contractionOf(const Operation &operation) {
  std::vector<const LoopTensor *> operands;
  const LoopTensor *result = nullptr;
  for (const LoopTensor &tensor : operation.tensors) {
    if (!tensor.written)
      operands.push_back(&tensor);
    else if (!result)
      result = &tensor;
  }
  if (operands.size() < 2 || !result)
    return refused(operation, "it is no product of two tensors with one result");
  Contraction made;
  made.name = operation.name;
  for (size_t l = 0; l < operation.domain.size(); ++l)
    made.loops.push_back(
        {fmt::format("d{}", l), operation.domain[l].extent, operation.domain[l].kind == IteratorKind::Reduction});
  // Loops of one iteration, so that every product has rows, columns and a depth.
  const Index rows = Index(made.loops.size());
  made.loops.insert(made.loops.end(), {{"rows", 1, false}, {"columns", 1, false}, {"depth", 1, true}});
  auto tensor = [&](const LoopTensor &of, const char *name, Index first, Index second) {
    ContractionTensor to;
    to.name = name, to.bytes = int32_t(std::max<int64_t>(of.elementBits / 8, 1));
    for (size_t d = 0; d < of.dimensions.size(); ++d)
      addDimensions(of.dimensions[d], d < of.sizes.size() ? of.sizes[d] : 1, operation.domain, to);
    to.dimensions.push_back({{{first, 1}}, 1}), to.dimensions.push_back({{{second, 1}}, 1});
    return to;
  };
  made.first = tensor(*operands[0], "first", rows, rows + 2);
  made.second = tensor(*operands[1], "second", rows + 2, rows + 1);
  made.result = tensor(*result, "result", rows, rows + 1);
  if (operands.size() > 2)
    made.initial = tensor(*operands[2], "bias", rows, rows + 1);
  setBuffer(operation, *result, made);
  return made;
}

/// Whether windows leave gaps between them along one of the dimensions of a tensor.
static bool hasGaps(const LoopTensor &tensor, const std::vector<Loop> &domain) {
  for (std::vector<LoopTensor::Term> terms : tensor.dimensions) {
    std::sort(terms.begin(), terms.end(), [](const auto &a, const auto &b) { return a.stride < b.stride; });
    __int128 covered = 1; // side by side, from the first element on
    for (const LoopTensor::Term &term : terms) {
      if (term.stride > covered && domain[term.loop].extent > 1)
        return true;
      covered += __int128(term.stride) * (domain[term.loop].extent - 1);
    }
  }
  return false;
}

/// One part after the other, with the tensors of the same names in common.
static Result<LoopKernel> inTurn(const std::string &name, Result<LoopKernel> first, const LoopKernel &second) {
  if (!first)
    return first;
  KernelSequence sequence(name);
  for (const LoopKernel *part : std::array<const LoopKernel *, 2>{&*first, &second}) {
    std::vector<KernelSequence::Place> places(part->tensors.size());
    for (size_t t = 0; t < places.size(); ++t)
      if (const KernelTensor &tensor = part->tensors[t]; tensor.within == kNone && tensor.storage == kNone)
        places[t].tensor = sequence.tensor(tensor.name, tensor.bytes);
    sequence.append(*part, places);
  }
  return sequence.finish();
}

/// What no iteration reaches becomes 0 before, where the machine can do so.
static Result<LoopKernel> onProduct(const Operation &operation, const Microarchitecture &machine) {
  ACCORD_TRY(made, contractionOf(operation));
  ACCORD_TRY(product, contractionKernel(made, plainSchedule(made, machine)));
  const auto result = std::find_if(operation.tensors.begin(), operation.tensors.end(),
                                   [](const auto &tensor) { return tensor.written; });
  if (made.accumulates || !hasGaps(*result, operation.domain))
    return product;
  RowOperation clear;
  clear.name = operation.name, clear.loops = {{"element", product.tensors[2].elements, false}};
  clear.tensors.push_back(made.result);
  clear.tensors[0].dimensions = {{{{0, 1}}, product.tensors[2].elements}};
  clear.passes = {{true, {{RowStatement::Kind::Store, made.result.name, "0"}}}};
  RowSchedule schedule = plainRowSchedule(clear, machine);
  for (;; schedule.strip = (schedule.strip / 2 + schedule.lanes - 1) / schedule.lanes * schedule.lanes) {
    auto both = inTurn(operation.name, rowKernel(clear, schedule), product);
    if (both && emitKernel(*both, machine))
      return both;
    if (schedule.stripLoop == kNone || schedule.strip <= schedule.lanes) // else both need smaller buffers
      break;
  }
  product.assumptions.push_back("what no window reaches is zero before");
  return product;
}

Result<LoopKernel> kernelOf(const Operation &operation, const std::string &optimizer,
                            const Microarchitecture &machine) {
  if (operation.core == CoreKind::None)
    return LoopKernel{operation.name, {}, {}, {}, {}};
  if (operation.core == CoreKind::Network)
    return refused(operation, "it exchanges data with other devices");
  if (auto wrong = irregular(operation.domain, operation.tensors))
    return refused(operation, *wrong);
  if (isEmpty(operation.domain, operation.tensors))
    return LoopKernel{operation.name, {}, {}, {}, {}};
  for (auto kernel : {attentionKernelOf, recurrentKernelOf, expertsKernelOf, sparseKernelOf})
    if (auto made = kernel(operation, machine))
      return std::move(*made);
  if (!operation.parts.empty())
    return fused(operation, optimizer, machine);
  if (operation.contraction)
    return onProduct(operation, machine);
  if (auto rows = rowKernelOf(operation, optimizer, machine))
    return std::move(*rows);
  if (auto moved = movementKernelOf(operation, machine))
    return std::move(*moved);
  return refused(operation, "there is no kernel for this kind of operation");
}

} // namespace accord::microarchitecture
