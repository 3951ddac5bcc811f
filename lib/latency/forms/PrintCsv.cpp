#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/Print.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace accord {
namespace {

/// The plan's value, and the powers of two from `least` to `most` that are in the range.
std::set<int64_t> grid(const LatencyArgument &a, double min, double max) {
  std::set<int64_t> values = {static_cast<int64_t>(a.initial)};
  for (int64_t value : a.allowed)
    if (value >= min && value <= max)
      values.insert(value);
  for (int64_t power = 1; power <= std::min(max, a.max); power *= 2)
    if (power >= std::max(min, a.min))
      values.insert(power);
  return values;
}

/// Over the degrees and the micro-batch, at the plan's batch and sequence. A model without pipelines has no such
/// column.
std::string degrees(const LatencyModel &model, size_t tensor, std::optional<size_t> pipeline, size_t data) {
  const auto &a = model.arguments();
  std::string out = "batch,microbatch,sequence,tensor_parallel";
  out += pipeline ? ",pipeline_parallel,data_parallel" : ",data_parallel";
  for (const LatencyModel::Output &o : model.outputs)
    out += "," + o.name;
  out += "\n";
  auto allowed = [&](size_t index) {
    return a[index].allowed.empty() ? std::vector{static_cast<int64_t>(a[index].initial)} : a[index].allowed;
  };
  std::vector<double> at = model.initial();
  auto row = [&](std::string &to) {
    auto samples = static_cast<int64_t>(a[kBatch].initial / at[data]);
    LatencyEvaluation found = evaluate(model, at);
    if (found.status || samples % static_cast<int64_t>(at[kMicrobatch]) != 0)
      return;
    to += fmt::format("{:.0f},{:.0f},{:.0f},{:.0f}", at[kBatch], at[kMicrobatch], at[kSequence], at[tensor]);
    if (pipeline)
      to += fmt::format(",{:.0f}", at[*pipeline]);
    to += fmt::format(",{:.0f},{},{:.0f},{:.0f}\n", at[data], ExpressionPrinter::real(found.result.step),
                      found.result.memory, found.result.flops);
  };
  std::vector<int64_t> groups = pipeline ? allowed(*pipeline) : std::vector<int64_t>{1};
  for (int64_t t : allowed(tensor))
    for (int64_t p : groups)
      for (int64_t d : allowed(data))
        for (int64_t microbatch : grid(a[kMicrobatch], 1, a[kBatch].initial)) {
          at[kMicrobatch] = static_cast<double>(microbatch);
          at[tensor] = static_cast<double>(t), at[data] = static_cast<double>(d);
          if (pipeline)
            at[*pipeline] = static_cast<double>(p);
          row(out);
        }
  return out;
}

} // namespace

std::string printCsv(const LatencyModel &model) {
  if (auto tensor = model.argument("tensor_parallel"))
    return degrees(model, *tensor, model.argument("pipeline_parallel"), *model.argument("data_parallel"));
  const auto &a = model.arguments();
  std::string out = "batch,microbatch,sequence";
  for (const LatencyModel::Output &o : model.outputs)
    out += "," + o.name;
  out += "\n";
  std::set<int64_t> sequences;
  // Eighths of the longest, from the shortest on.
  for (int64_t i = 1; i <= 8; ++i) {
    int64_t step = a[kSequence].multiple;
    auto value = static_cast<int64_t>(a[kSequence].max) * i / 8 / step * step;
    if (value >= a[kSequence].min && value > 0)
      sequences.insert(value);
  }
  sequences.insert(static_cast<int64_t>(a[kSequence].initial));
  sequences.insert(a[kSequence].allowed.begin(), a[kSequence].allowed.end());
  std::set<int64_t> microbatches = grid(a[kMicrobatch], 1, 1024);
  for (int64_t batch : grid(a[kBatch], a[kBatch].initial / 8, a[kBatch].initial * 8))
    for (int64_t microbatch : microbatches)
      for (int64_t sequence : sequences) {
        if (batch % microbatch != 0)
          continue;
        LatencyEvaluation at = evaluate(model, batch, microbatch, sequence);
        if (!at.status)
          out += fmt::format("{},{},{},{},{:.0f},{:.0f}\n", batch, microbatch, sequence,
                             ExpressionPrinter::real(at.result.step), at.result.memory, at.result.flops);
      }
  return out;
}

} // namespace accord
