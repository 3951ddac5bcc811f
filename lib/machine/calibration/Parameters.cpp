#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/cost/Estimate.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::calibrate {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();
const ParameterInfo kInfo[kParameters] = {
    {"product_efficiency", "", 0.83, 0.2, 1},
    {"fp32_efficiency", "", 0.9, 0.2, 1},
    {"tf32_efficiency", "", 0.6, 0.3, 1},
    {"fp8_efficiency", "", 0.6, 0.3, 1},
    {"product_depth", "", 64, 0.7, 4096},
    {"product_wave", "", 1e6, 0.7, 1e9},
    {"attention_efficiency", "", 0.5, 0.4, 1},
    {"attention_depth", "", 32, 0.7, 4096},
    {"memory_efficiency", "", 0.8, 0.3, 1.6},
    {"softmax_efficiency", "", 0.7, 0.3, 1},
    {"lookup_efficiency", "", 0.3, 0.7, 1},
    {"loss_passes", "", 3, 0.5, 100},
    {"kernel_launch_overhead", "s", 3e-6, 0.7, 1e-3},
    {"launch", "s", 4.5e-5, 0.7, 1e-2},
    {"launch_collective", "s", 2e-5, 1, 1e-2},
    {"link_latency", "s", 3e-5, 0.7, 1e-1},
    {"link_step", "s", 3.4e-6, 0.5, 1e-2},
    {"link_copies", "", 4, 0.4, 100},
    {"link_bandwidth", "B/s", 2e11, 0.3, kFree},
    {"network_latency", "s", 3e-5, 1, 1},
    {"network_efficiency", "", 0.8, 0.5, 1.2},
    {"stream_efficiency", "", 0.8, 0.5, 1.2},
    {"data_parallel_exposed", "", 0.5, 0.7, 1},
    {"update_passes", "", 1.5, 0.5, 100},
    {"host_overhead_per_microbatch", "s", 1e-3, 1, 100},
    {"host_overhead_per_step", "s", 1e-2, 1, 1000},
    {"decode_cost", "s", 7e-3, 0.3, 10},
};
constexpr double kPeak = 312e12;       // see the header
constexpr double kMemoryShare = 0.098; // 200 of 2039 GB/s

} // namespace

const ParameterInfo &info(Parameter parameter) { return kInfo[static_cast<size_t>(parameter)]; }
const ParameterInfo &info(size_t index) { return kInfo[index]; }

double peakOf(const Machine &machine, const std::string &type) {
  for (const std::string &candidate : fallbackTypes(type)) {
    double best = 0;
    for (const Core &core : machine.cores)
      best = std::max(best, peakOfOne(machine, core, candidate).value * core.count);
    if (best > 0)
      return best;
  }
  return 0;
}

Parameters priorOf(const Machine &machine) {
  Parameters prior;
  for (size_t i = 0; i < kParameters; ++i)
    prior[i] = kInfo[i].initial;
  auto at = [&](Parameter p) -> double & { return prior[static_cast<size_t>(p)]; };
  double bandwidth = machine.memories.empty() ? 0 : machine.memories.front().bandwidth.value;
  double peak = peakOf(machine, "bf16");
  if (!(bandwidth > 0) || !(peak > 0))
    return prior;
  double r = std::clamp(peak / kPeak, 1.0, 20.0);
  for (Parameter p : {Parameter::ProductEfficiency, Parameter::AttentionEfficiency})
    at(p) *= std::pow(r, -0.2);
  for (Parameter p : {Parameter::ProductDepth, Parameter::ProductWave})
    at(p) *= std::sqrt(r);
  at(Parameter::LinkBandwidth) = kMemoryShare * bandwidth;
  return prior;
}

std::optional<Parameters> calibratedParametersOf(const Machine &machine) {
  if (machine.fitted.values.empty())
    return std::nullopt;
  Parameters result = priorOf(machine);
  for (const auto &[name, value] : machine.fitted.values)
    for (size_t i = 0; i < kParameters; ++i)
      if (name == kInfo[i].name)
        result[i] = value;
  return result;
}

Machine::Fitted toCalibratedValues(const std::string &source, const Parameters &parameters) {
  Machine::Fitted fitted{source, {}};
  for (size_t i = 0; i < kParameters; ++i)
    fitted.values.push_back({kInfo[i].name, parameters[i]});
  return fitted;
}

} // namespace accord::calibrate
