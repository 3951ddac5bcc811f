#include "lib/microarchitecture/mapping/Contraction.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Dimension = ContractionTensor::Dimension;

Dimension along(Index loop, int64_t extent) { return {{{loop, 1}}, extent}; }

} // namespace

Contraction product(const ProductShape &shape) {
  enum : Index { Batch, M, N, K };
  Contraction made;
  made.name = fmt::format("product_{}x{}x{}", shape.m, shape.n, shape.k);
  made.loops = {{"batch", shape.batch, false}, {"m", shape.m, false}, {"n", shape.n, false}, {"k", shape.k, true}};
  const Dimension batch = along(Batch, shape.batch), m = along(M, shape.m), n = along(N, shape.n),
                  k = along(K, shape.k);
  made.first = {"a", 4, {batch, shape.transposedFirst ? k : m, shape.transposedFirst ? m : k}};
  made.second = {"b", 4, {batch, shape.transposedSecond ? n : k, shape.transposedSecond ? k : n}};
  made.result = {"c", 4, {batch, m, n}};
  return made;
}

Contraction convolution(const ConvolutionShape &s, ConvolutionPart part) {
  enum : Index { Image, Group, Filter, Channel, Row, Column, FilterRow, FilterColumn };
  Contraction made;
  const char *suffix = part == ConvolutionPart::Forward        ? ""
                       : part == ConvolutionPart::DataGradient ? "_data_gradient"
                                                               : "_weight_gradient";
  made.name = fmt::format("convolution{}", suffix);
  made.loops = {{"image", s.images, false},          {"group", s.groups, false},
                {"filter", s.filters, false},        {"channel", s.channels, false},
                {"row", s.outRows(), false},         {"column", s.outColumns(), false},
                {"filter_row", s.filterRows, false}, {"filter_column", s.filterColumns, false}};
  auto window = [](Index out, Index filter, int64_t stride, int64_t dilation, int64_t size) {
    return Dimension{{{out, stride}, {filter, dilation}}, size};
  };
  ContractionTensor input{
      "input",
      4,
      {along(Image, s.images), along(Group, s.groups), along(Channel, s.channels),
       window(Row, FilterRow, s.rowStride, s.rowDilation, s.rows + 2 * s.rowPadding),
       window(Column, FilterColumn, s.columnStride, s.columnDilation, s.columns + 2 * s.columnPadding)}};
  ContractionTensor weight{"weight",
                           4,
                           {along(Group, s.groups), along(Filter, s.filters), along(Channel, s.channels),
                            along(FilterRow, s.filterRows), along(FilterColumn, s.filterColumns)}};
  ContractionTensor output{"output",
                           4,
                           {along(Image, s.images), along(Group, s.groups), along(Filter, s.filters),
                            along(Row, s.outRows()), along(Column, s.outColumns())}};
  auto reduces = [&](std::initializer_list<Index> loops) {
    for (Index loop : loops)
      made.loops[loop].reduces = true;
  };
  switch (part) {
  case ConvolutionPart::Forward:
    reduces({Channel, FilterRow, FilterColumn});
    made.first = input, made.second = weight, made.result = output;
    break;
  case ConvolutionPart::DataGradient: // a position of the input is reached from several windows
    reduces({Filter, FilterRow, FilterColumn});
    made.first = output, made.second = weight, made.result = input;
    break;
  case ConvolutionPart::WeightGradient:
    reduces({Image, Row, Column});
    made.first = input, made.second = output, made.result = weight;
    break;
  }
  return made;
}

namespace {

/// Of tensor t, the loop that must have stride 1; kNone: any.
Index innermostLoop(const Schedule &schedule, int t) {
  if (schedule.isTiled())
    return schedule.tileLoops[t == 0 ? 2 : 1]; // first m x k, second k x n, result m x n
  return schedule.vectorLoop;
}

} // namespace

Result<ContractionLayout> layoutOf(const Contraction &contraction, const Schedule &schedule) {
  ContractionLayout made;
  for (const ContractionLoop &loop : contraction.loops)
    made.extents.push_back(std::max<int64_t>(loop.extent, 0));
  if (schedule.isTiled())
    for (int i = 0; i < 3; ++i)
      if (Index loop = schedule.tileLoops[i]; loop != kNone)
        made.extents[loop] = (made.extents[loop] + schedule.tile[i] - 1) / schedule.tile[i] * schedule.tile[i];
  const ContractionTensor *tensors[] = {&contraction.first, &contraction.second, &contraction.result,
                                        contraction.initial ? &*contraction.initial : nullptr};
  for (int t = 0; t < 4; ++t) {
    made.strides[t].assign(contraction.loops.size(), 0);
    if (!tensors[t])
      continue;
    const ContractionTensor &tensor = *tensors[t];
    std::vector<size_t> order;
    std::optional<size_t> last;
    const Index innermost = innermostLoop(schedule, t);
    for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
      const bool isLast = innermost != kNone && !last &&
                          std::any_of(tensor.dimensions[d].terms.begin(), tensor.dimensions[d].terms.end(),
                                      [&](const auto &term) { return term.loop == innermost && term.stride == 1; });
      if (isLast)
        last = d;
      else
        order.push_back(d);
    }
    if (last)
      order.push_back(*last);
    __int128 elements = 1;
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
      __int128 reach = 1;
      for (const auto &term : tensor.dimensions[*d].terms) {
        made.strides[t][term.loop] += term.stride * int64_t(elements);
        reach += __int128(term.stride) * std::max<int64_t>(made.extents[term.loop] - 1, 0);
      }
      elements *= std::max<__int128>(reach, tensor.dimensions[*d].size);
      if (elements > int64_t(1) << 46)
        return Error{
            Code::NotMapped, fmt::format("'{}': '{}' has more than 2^46 elements", contraction.name, tensor.name), {}};
    }
    made.elements[t] = int64_t(elements);
  }
  return made;
}

} // namespace accord::microarchitecture
