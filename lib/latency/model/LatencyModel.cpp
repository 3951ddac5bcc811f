#include "lib/latency/model/LatencyModel.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace accord {
namespace {
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool inside(const LatencyArgument &argument, double value) {
  if (!(value >= argument.min && value <= argument.max)) // no number: outside
    return false;
  if (!argument.allowed.empty())
    return value == std::floor(value) &&
           std::binary_search(argument.allowed.begin(), argument.allowed.end(), static_cast<int64_t>(value));
  return !argument.integer || (value == std::floor(value) && static_cast<int64_t>(value) % argument.multiple == 0);
}

std::string text(const LatencyArgument &argument, double value) {
  return argument.integer && std::fabs(value) < 1e18 && value == std::floor(value)
             ? fmt::format("{}", static_cast<int64_t>(value))
             : fmt::format("{}", value);
}
} // namespace

std::optional<size_t> LatencyModel::argument(const std::string &wanted) const {
  for (size_t i = 0; i < arguments().size(); ++i)
    if (arguments()[i].name == wanted)
      return i;
  return std::nullopt;
}

std::vector<double> LatencyModel::initial() const {
  std::vector<double> values;
  for (const LatencyArgument &argument : arguments())
    values.push_back(argument.initial);
  return values;
}

std::vector<NodeId> LatencyModel::roots() const {
  std::vector<NodeId> all;
  for (const Guard &guard : guards)
    all.push_back(guard.min), all.push_back(guard.max);
  for (const Output &output : outputs)
    all.push_back(output.node);
  return all;
}

bool LatencyModel::uses(NodeKind kind) const {
  std::vector<NodeId> all = nodes.needed(roots());
  return std::any_of(all.begin(), all.end(), [&](NodeId id) { return nodes[id].kind == kind; });
}

std::string rangeText(const LatencyArgument &a) {
  if (!a.fixedReason.empty())
    return fmt::format("{} only: {}", text(a, a.initial), a.fixedReason);
  if (!a.allowed.empty())
    return fmt::format("{}", fmt::join(a.allowed, ", "));
  std::string range = fmt::format("{}..{}", text(a, a.min), text(a, a.max));
  return a.multiple > 1 ? fmt::format("{}, multiples of {}", range, a.multiple) : range;
}

std::string explain(const LatencyModel &model, LatencyStatus status, const std::vector<double> &arguments) {
  if (status <= 0)
    return "";
  auto index = static_cast<size_t>(status - 1);
  if (index < model.arguments().size()) {
    const LatencyArgument &a = model.arguments()[index];
    return fmt::format("{} = {} is {} {}", a.name, text(a, arguments[index]),
                       a.allowed.empty() ? "outside of" : "none of", rangeText(a));
  }
  index -= model.arguments().size();
  return index < model.guards.size() ? model.guards[index].text : "unknown status";
}

LatencyEvaluation evaluate(const LatencyModel &model, const std::vector<double> &arguments) {
  LatencyEvaluation found;
  found.result = {kNan, kNan, kNan};
  for (size_t i = 0; i < model.arguments().size(); ++i)
    if (!inside(model.arguments()[i], arguments[i])) {
      found.status = static_cast<LatencyStatus>(i + 1);
      return found;
    }
  Evaluation at(model.nodes, arguments);
  for (size_t i = 0; i < model.guards.size(); ++i) {
    const LatencyModel::Guard &guard = model.guards[i];
    bool holds = model.nodes[guard.min].integer ? at.integer(guard.min) <= at.integer(guard.max)
                                                : at.real(guard.min) <= at.real(guard.max);
    if (!holds) {
      found.status = static_cast<LatencyStatus>(model.arguments().size() + i + 1);
      return found;
    }
  }
  found.result = {at.real(model.outputs[kStepTime].node), at.real(model.outputs[kMemory].node),
                  at.real(model.outputs[kFlops].node)};
  return found;
}

LatencyEvaluation evaluate(const LatencyModel &model, int64_t batch, int64_t microbatch, int64_t sequence) {
  std::vector<double> arguments = model.initial();
  arguments[kBatch] = batch;
  arguments[kMicrobatch] = microbatch;
  arguments[kSequence] = sequence;
  return evaluate(model, arguments);
}

void addSamples(LatencyModel &model, unsigned count) {
  uint64_t state = 0x9e3779b97f4a7c15;
  auto random = [&] { // xorshift*: the same on every machine
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return ((state * 0x2545f4914f6cdd1d) >> 11) * 0x1p-53;
  };
  auto offer = [&](const std::vector<double> &arguments) {
    LatencyEvaluation at = evaluate(model, arguments);
    if (!at.status)
      model.samples.push_back({arguments, at.result});
  };
  offer(model.initial());
  for (unsigned tries = 0; model.samples.size() < count && tries < 20 * count; ++tries) {
    std::vector<double> arguments = model.initial();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const LatencyArgument &a = model.arguments()[i];
      if (!a.fixedReason.empty() || a.min >= a.max)
        continue;
      if (!a.allowed.empty()) {
        auto count = static_cast<double>(a.allowed.size());
        arguments[i] = a.allowed[static_cast<size_t>(random() * count)];
        continue;
      }
      if (!a.integer) { // within a factor of eight of the plan's
        arguments[i] =
            std::clamp(a.initial * std::ldexp(1 + random(), static_cast<int>(6 * random()) - 3), a.min, a.max);
        continue;
      }
      double max = std::min(a.max, std::max(64.0, 8 * a.initial)), step = double(a.multiple);
      double min = std::ceil(a.min / step), last = std::floor(max / step);
      arguments[i] = step * (min + std::floor(random() * (last - min + 1)));
    }
    if (auto devices = model.argument("devices")) // fewer would refuse most
      arguments[*devices] = model.arguments()[*devices].initial;
    double replicas = 1;
    if (auto data = model.argument("data_parallel"))
      replicas = arguments[*data];
    arguments[kBatch] = std::ceil(arguments[kBatch] / replicas) * replicas;
    if (arguments[kMicrobatch] * replicas > arguments[kBatch]) {
      double microbatch = std::max(1.0, arguments[kBatch] / replicas);
      arguments[kBatch] = arguments[kMicrobatch] * replicas;
      arguments[kMicrobatch] = microbatch;
    }
    offer(arguments);
  }
}

std::string cName(const std::string &name) {
  std::string out;
  for (unsigned char c : name)
    out += std::isalnum(c) && c < 128 ? static_cast<char>(c) : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "m_" + out : out;
}

} // namespace accord
