#include "lib/sparsity/solve/FabricZeros.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/NamePattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord {
namespace {

/// Whether a name of a file means a layer, whole or from one of its parts on.
bool means(const std::string &name, const DataflowLayer &layer) {
  const std::string whole = layer.name.substr(0, layer.name.find(" #"));
  return matchesPattern(name, layer.name) || matchesPattern(name, whole) || matchesPattern("*." + name, whole);
}

class ZeroAssigner {
public:
  ZeroAssigner(std::vector<DataflowLayer> layers, const SparsityRequest &request, const FabricInputs &inputs)
      : request(request), inputs(inputs) {
    out.layers = std::move(layers);
    out.isMeasured.assign(out.layers.size(), false);
  }

  MeasuredZeros run() {
    if (inputs.thresholds && !request.measurements.empty())
      refuse(Code::WrongQualityFile, "accuracies are in the table of thresholds, and in files of 'accuracy' too",
             request.measurements.front().location, "leave one of them out");
    else if (inputs.thresholds)
      networks(*inputs.thresholds);
    else if (auto stray = std::ranges::find_if(inputs.traces->channels, [](auto &c) { return !c.threshold.empty(); });
             stray != inputs.traces->channels.end())
      refuse(Code::WrongQualityFile,
             fmt::format("zeros of threshold {}, and no table says how accurate its network is", stray->threshold),
             stray->location, "--thresholds names a table");
    else
      traces("", "measured");
    if (inputs.traces && out.rejections.empty())
      checkNames();
    return std::move(out);
  }

private:
  const SparsityRequest &request;
  const FabricInputs &inputs;
  MeasuredZeros out;

  void refuse(Code code, std::string message, const SourceLocation &at, std::string help) {
    out.rejections.push_back({{code, std::move(message), at, {}}, std::move(help)});
  }

  /// All names of the traces mean something.
  void checkNames() {
    for (const ZeroTraces::Channel &channel : inputs.traces->channels) {
      if (inputs.thresholds &&
          std::ranges::find(inputs.thresholds->networks, channel.threshold, &ThresholdTable::Network::threshold) ==
              inputs.thresholds->networks.end())
        return refuse(Code::WrongQualityFile,
                      channel.threshold.empty()
                          ? "zeros with which threshold, is not said"
                          : fmt::format("threshold {} is not in the table of thresholds", channel.threshold),
                      channel.location, "a column 'threshold' names it as the table does");
      if (std::ranges::none_of(out.layers, [&](const DataflowLayer &layer) { return means(channel.layer, layer); }))
        return refuse(Code::WrongQualityFile, fmt::format("'{}' is no layer of this network", channel.layer),
                      channel.location, "");
    }
  }

  /// Of each layer the histograms that were measured with this threshold.
  void traces(const std::string &threshold, const std::string &label) {
    std::map<size_t, std::vector<const ZeroTraces::Channel *>> found;
    for (const ZeroTraces::Channel &channel : inputs.traces->channels)
      for (size_t l = 0; channel.threshold == threshold && l < out.layers.size(); ++l)
        if (means(channel.layer, out.layers[l]))
          found[l].push_back(&channel);
    for (const auto &[l, channels] : found) {
      DataflowLayer &layer = out.layers[l];
      const int64_t window = layer.kernelRows * layer.kernelColumns;
      DataflowSparsity sparsity;
      sparsity.label = label;
      sparsity.windows.assign(window + 1, 0.0);
      sparsity.channels.assign(layer.channels, {});
      for (const ZeroTraces::Channel *channel : channels) {
        const double sum = std::accumulate(channel->counts.begin(), channel->counts.end(), 0.0);
        std::string wrong;
        if (channel->channel >= layer.channels)
          wrong =
              fmt::format("channel {} of '{}', which has {} (from 0)", channel->channel, layer.name, layer.channels);
        else if (std::ssize(channel->counts) > window + 1)
          wrong = fmt::format("windows of '{}' with {} zeros, and they have {} products", layer.name,
                              channel->counts.size() - 1, window);
        else if (!(sum > 0))
          wrong = fmt::format("channel {} of '{}' has no windows", channel->channel, layer.name);
        else if (!sparsity.channels[channel->channel].empty())
          wrong = fmt::format("channel {} of '{}' is meant twice", channel->channel, layer.name);
        if (!wrong.empty()) {
          refuse(Code::WrongQualityFile, wrong, channel->location, "");
          return;
        }
        std::vector<double> &shares = sparsity.channels[channel->channel];
        shares.assign(window + 1, 0.0);
        for (size_t z = 0; z < channel->counts.size(); ++z)
          shares[z] = channel->counts[z] / sum;
        for (int64_t z = 0; z <= window; ++z)
          sparsity.windows[z] += shares[z] / static_cast<double>(layer.channels);
      }
      auto missing = std::ranges::find_if(sparsity.channels, [](const auto &shares) { return shares.empty(); });
      if (missing != sparsity.channels.end()) {
        refuse(Code::WrongQualityFile,
               fmt::format("no windows of channel {} of '{}', which has {}", missing - sparsity.channels.begin(),
                           layer.name, layer.channels),
               channels.front()->location, "a channel without zeros has all its windows at 'zeros' 0");
        return;
      }
      if (!out.isMeasured[l])
        layer.sparsity.clear();
      out.isMeasured[l] = true;
      std::erase_if(layer.sparsity, [&](const DataflowSparsity &other) { return other.label == label; });
      layer.sparsity.push_back(std::move(sparsity));
    }
  }

  Rational shown(const ThresholdTable::Network &network) const {
    if (out.confidence == 0)
      return network.share;
    const Rational delta = Rational(1) - Rational::ofDouble(out.confidence);
    return lowerLimit(network.right, network.samples, delta / Rational(static_cast<int64_t>(out.limits)));
  }

  void networks(const ThresholdTable &table) {
    out.metric = table.metric;
    out.limits = table.networks.size();
    out.confidence = request.accuracy ? request.accuracy->confidence : 0;
    for (size_t l = 0; l < out.layers.size(); ++l)
      out.layers[l].sparsity.clear(), out.isMeasured[l] = true;
    for (const ThresholdTable::Network &network : table.networks)
      add(network);
    if (out.rejections.empty() && out.networks.empty()) {
      Rejection none{{Code::RequirementNotShown,
                      fmt::format("no network of '{}' is shown to have the required {}", table.file, table.metric),
                      request.accuracy->location,
                      {}},
                     ""};
      for (const Rejection &one : out.excluded)
        if (none.error.notes.size() < 3)
          none.error.notes.push_back({one.error.location, one.error.message});
      out.rejections.push_back(std::move(none));
    }
  }

  void add(const ThresholdTable::Network &network) {
    const std::string label = "threshold " + network.threshold;
    if (out.confidence > 0 && network.samples == 0) {
      refuse(Code::RequirementNotShown,
             fmt::format("a confidence is required, and of how many samples the accuracy with threshold {} is, is not "
                         "said",
                         network.threshold),
             network.location, "a column 'samples' says it");
      return;
    }
    const Rational limit = shown(network);
    if (request.accuracy && limit < request.accuracy->min) {
      out.excluded.push_back(
          {{Code::RequirementNotShown,
            fmt::format("threshold {} is shown to have a {} of {:.6g}, and {:.6g} is required", network.threshold,
                        out.metric, limit.toDouble(), request.accuracy->min.toDouble()),
            network.location,
            {}},
           ""});
      return;
    }
    out.networks.push_back({label, limit});
    for (const ThresholdTable::Density &density : network.densities) {
      bool isUsed = false;
      for (DataflowLayer &layer : out.layers) {
        if (!density.layer.empty() && !means(density.layer, layer))
          continue;
        isUsed = true;
        std::erase_if(layer.sparsity, [&](const DataflowSparsity &other) { return other.label == label; });
        if (density.density < 1)
          layer.sparsity.push_back(
              {label, binomialZeroHistogram(layer.kernelRows * layer.kernelColumns, 1 - density.density), 0, {}});
      }
      if (!isUsed)
        refuse(Code::WrongQualityFile, fmt::format("'{}' is no layer of this network", density.layer), density.location,
               "");
    }
    if (inputs.traces)
      traces(network.threshold, label);
  }
};

} // namespace

MeasuredZeros measuredZeros(std::vector<DataflowLayer> layers, const SparsityRequest &request,
                            const FabricInputs &inputs) {
  return ZeroAssigner(std::move(layers), request, inputs).run();
}

AccuracyEvaluation evaluationOf(const MeasuredZeros &zeros, const std::string &label) {
  AccuracyEvaluation evaluation;
  evaluation.level = AccuracyBasis::WholeConfigurations;
  evaluation.metric = zeros.metric;
  evaluation.confidence = zeros.confidence;
  evaluation.guaranteed = zeros.confidence > 0;
  evaluation.numSimultaneousLimits = static_cast<int64_t>(zeros.limits);
  for (const MeasuredZeros::Shown &network : zeros.networks)
    if (label.empty() ? evaluation.dense < network.limit : network.label == label)
      evaluation.dense = network.limit;
  evaluation.assumptions = {"samples are independent and none was trained on",
                            "each line of the table of thresholds is of this network, as it was measured"};
  return evaluation;
}

} // namespace accord
