// What a calibration fits: a few physical numbers of a machine and its software, each with a prior
// that follows from the data sheet.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/StepEstimate.h"
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace accord::calibrate {

enum class Parameter : uint8_t {
  ProductEfficiency,         ///< share of the peak that large products reach, 16-bit types
  Fp32Efficiency,            ///< … in fp32
  Tf32Efficiency,            ///< … in tf32
  Fp8Efficiency,             ///< … in fp8 and int8
  ProductDepth,              ///< length of the inner loop at which a product takes twice as long per FLOP
  ProductWave,               ///< elements of a result that take as long as filling all compute units once
  AttentionEfficiency,       ///< share of the peak of batched products and of attention
  AttentionDepth,            ///< as ProductDepth, of batched products
  MemoryEfficiency,          ///< bytes per second over the memory's; beyond 1 where kernels join operations
  SoftmaxEfficiency,         ///< … of normalized exponentials
  LookupEfficiency,          ///< … of gathered and scattered rows
  LossPasses,                ///< times the traffic of a cross entropy that its kernels cause
  KernelLaunchOverhead,      ///< seconds that each kernel takes at least
  Launch,                    ///< seconds of the host for each operation
  LaunchCollective,          ///< seconds of the host for each collective and further device in it
  LinkLatency,               ///< seconds of a collective inside of a server
  LinkStep,                  ///< … of each of the 2 (n - 1) steps of a ring of its own
  LinkCopies,                ///< times a ring moves each part through memory besides its links
  LinkEfficiency,            ///< share of the stated bandwidth inside of a server that a device reaches
  NetworkLatency,            ///< seconds of a collective between servers
  NetworkEfficiency,         ///< share of the stated bandwidth between servers when all devices of one work
                             ///< together
  StreamEfficiency,          ///< … of one device's own transfers: gradients, activations between stages
  DataParallelExposed,       ///< share of the gradients' time that no computation hides
  UpdatePasses,              ///< times the optimizer's own traffic: norms, scaling, copies to 16 bit
  HostOverheadPerMicrobatch, ///< seconds of the host for each micro-batch
  HostOverheadPerStep,       ///< seconds of the host for each step
  DecodeCost                 ///< seconds of one of the host's workers to read, decode and crop an image
};
constexpr size_t kParameters = 27;
constexpr size_t indexOf(Parameter parameter) { return static_cast<size_t>(parameter); }
/// Indexed by Parameter, in base units.
struct Parameters : std::array<double, kParameters> {
  using std::array<double, kParameters>::operator[];
  double &operator[](Parameter parameter) { return (*this)[indexOf(parameter)]; }
  double operator[](Parameter parameter) const { return (*this)[indexOf(parameter)]; }
};

struct ParameterInfo {
  const char *name; ///< "product_efficiency"
  const char *unit; ///< "", "s", "B/s": of the calibration file
  double initial;   ///< prior median for a machine of 312 TFLOP/s at most
  double spread;    ///< standard deviation of the prior's logarithm
  double upper;     ///< largest value that has a meaning; infinite if there is none
};
const ParameterInfo &info(size_t index);

/// The prior's medians for a machine. A chip with r times the 16-bit peak of an A100 needs larger
/// products to fill it and is held back more by power and operand delivery: efficiencies go with
/// r^-0.2, depth and wave with the root of r, for r of at least 1. A processor without tensor cores has few
/// units to fill: its wave goes with r, for r below 1, too. These are engineering defaults,
/// held against published steps in docs/accuracy.md.
Parameters priorOf(const Machine &machine);

/// What a calibration fitted to this machine, where its description names one: the prior's median
/// where a name is missing. Nothing without a calibration.
std::optional<Parameters> calibratedParametersOf(const Machine &machine);
/// The same numbers by name, for `Machine::fitted`.
Machine::Fitted toCalibratedValues(const std::string &source, const Parameters &parameters);

/// Measured over computed step time: 90 of 100 measured steps lie within these factors.
struct StepTimeInterval {
  double low = 1, high = 1;
};
/// By which clusters of one accelerator differ (docs/accuracy.md: a source left out of the fit).
constexpr StepTimeInterval kUnseenSource = {0.8, 1.25};
/// Of trainings that repeat a block with attention, whose kernels libraries tune alike, and of all others.
struct StepTimeIntervals {
  StepTimeInterval attending, other;
};
/// Their names among `Machine::fitted`.
constexpr const char *kStepTimeLow = "step_time_low", *kStepTimeHigh = "step_time_high",
                     *kOtherStepTimeLow = "other_step_time_low", *kOtherStepTimeHigh = "other_step_time_high";
/// Of machines without any measurement: `priorOf` against published steps (docs/accuracy.md).
constexpr StepTimeIntervals kPriorStepTime = {{0.75, 1.75}, {0.5, 2}};
/// Of the calibration of a machine; nothing without one.
std::optional<StepTimeIntervals> stepTimeIntervalsOf(const Machine &machine);
/// What a person may rely on of a step that is computed to take `step` seconds on calibrated machines, and `ideal`
/// seconds at the rates of their data sheets: the widest interval of them. `attends`: the training repeats a block with
/// attention. Nothing where one is not calibrated.
std::optional<StepEstimate> stepEstimateOf(const std::vector<const Machine *> &machines, bool attends, double step,
                                           double ideal);

/// The core on which products of a type are fastest, all instances together, in the type or the next wider one that the
/// machine has; 0 FLOP/s if none.
struct ProductPeak {
  int core = -1; ///< index into Machine::cores
  std::string type;
  double flopsPerSecond = 0;
};
ProductPeak productPeakOf(const Machine &machine, const std::string &type);
/// The same FLOP/s alone.
double peakOf(const Machine &machine, const std::string &type);

} // namespace accord::calibrate
