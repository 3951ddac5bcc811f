// What a profiler's trace says of the steps of a training: how long they take, and how much of it is communication.
#pragma once
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord::service {

struct StepTrace {
  int64_t steps = 0;         ///< that were counted; 0: none is in it
  double seconds = 0;        ///< of one of them, the mean
  double communication = -1; ///< share of that time in which its device does nothing but communicate; -1: it has no
                             ///< kernel of which that is known
};

/// Reads a trace of torch.profiler (Kineto: JSON of the Trace Event Format), piece by piece. Steps are the annotations
/// "ProfilerStep#N" that `profiler.step()` makes; the first of three or more is passed over, because it starts what was
/// not started yet. Kernels are those of the first device that has one; those of NCCL, RCCL, NVSHMEM
/// and DeepEP are communication. Memory is that of two numbers for each kernel, at most four million kernels.
class StepTraceReader {
public:
  /// False: it has seen enough.
  bool take(std::string_view piece);
  /// Error A1208: there is no whole JSON, or no step.
  Result<StepTrace> end();

private:
  struct Span {
    double begin = 0, end = 0; ///< microseconds
  };
  void takeEvent();
  static double covered(std::vector<Span> spans, const Span &within);

  std::string object; ///< text of the event that is being read
  char outer = 0;     ///< the first bracket
  unsigned depth = 0;
  bool isText = false, isEscaped = false, isInside = false, isLong = false;
  std::vector<std::pair<int64_t, Span>> steps; ///< with their numbers
  std::vector<Span> computes, communicates;
  double device = -1;
};

/// Reads at most 1 GiB of a file. Errors as of the reader, and A1208 where it cannot be opened or is no plain file.
Result<StepTrace> readStepTrace(const std::string &file);

} // namespace accord::service
