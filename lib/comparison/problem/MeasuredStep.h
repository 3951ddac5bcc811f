// One training step as a profiler saw it, as plain data: operations with the time that they took on the device.
#pragma once
#include "lib/comparison/problem/Communication.h"

namespace accord::comparison {

/// A call of the framework that did work, with all that it called; or a kernel that no call is known of.
struct MeasuredOperation {
  std::string name; ///< "aten::addmm"
  Signature work;
  Part part = Part::Forward;
  std::vector<std::string> scopes; ///< annotations and modules around it, outermost first
  /// The numbers that the automatic differentiation gives forward calls. Of a backward operation, the one of the
  /// forward call that it is the gradient of.
  std::vector<int64_t> sequences;
  double start = 0;   ///< seconds from the start of the step: of its first kernel, or of the call on a processor
  double seconds = 0; ///< sum over its kernels; of the call where the processor is the device
  /// Of `seconds`, the part in which nothing that started earlier ran beside it; communication yields to everything
  /// else. The sum over all operations and the times between them is the length of the step.
  double exposed = 0;
  int64_t kernels = 0;
  std::string kernel; ///< the longest; empty on a processor
};

/// Time of the step that belongs to no operation of the model.
struct MeasuredGroup {
  std::string name;  ///< "copies to the device", "launch gaps", "idle"
  std::string about; ///< what it means, in a sentence
  double seconds = 0;
  int64_t events = 0;
};

struct MeasuredStep {
  std::string source;       ///< path of the trace
  std::string device;       ///< "NVIDIA A100-SXM4-80GB"; empty: the trace does not say
  std::string step;         ///< "ProfilerStep#3"; empty: the trace has no such marks, all of it is one step
  bool onProcessor = false; ///< the trace has no kernels: calls are timed
  bool hasShapes = false;
  double seconds = 0;                          ///< length of the step
  std::vector<MeasuredOperation> operations;   ///< by start of their calls
  std::vector<MeasuredGroup> groups;           ///< those with time
  std::vector<MeasuredCollective> collectives; ///< by start; their time is in `operations`, too
  std::vector<std::string> notes;              ///< what a reader should know
};

} // namespace accord::comparison
