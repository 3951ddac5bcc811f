// What the operations of a calibrated machine take at any size: `calibrate::operationTimes` as expressions.
#pragma once
#include "lib/latency/build/OperationFit.h"
#include "lib/machine/calibration/WorkTime.h"

namespace accord {

/// Whether any time of the plan is that of a calibration.
bool isCalibrated(const Plan &plan);
/// What a latency model of such a plan assumes, for its notes.
std::string calibrationNote(const Plan &plan);

/// FLOPs, bytes, extents and payloads are polynomials through the samples, rates and the bandwidth the machine's
/// arguments; the parameters of the calibration are constants, and so is the share of the 16-bit rate that slower
/// arithmetic has (`calibrate::Work::rate`). Real arithmetic runs in the order of lib/machine/calibration/WorkTime.cpp,
/// so that at the machine's own numbers every bit agrees.
class CalibratedFit {
public:
  /// As OperationFit; the machine of the plan has parameters (`calibrate::calibratedParametersOf`).
  CalibratedFit(const Plan &plan, const std::vector<LatencySample> &samples, const PolynomialFit &points,
                Expressions &nodes, const MachineNodes &machine);
  /// Seconds of one execution by OperationId; kNoNode of operations that the calibration does not price. A0707: a size
  /// that is no polynomial, another number of equal lookups at other sizes, a rate that is no argument.
  Result<std::vector<NodeId>> run();
  /// How much longer a micro-batch takes than the device computes, because the host launches it; after `run`.
  NodeId hostFactor() const { return factor_; }

private:
  /// The sizes of an operation, integers; bytes are a real.
  struct Sizes {
    NodeId flops, bytes, batch, m, n, k;
  };
  /// Seconds on the device and, a constant, on the host.
  struct Times {
    NodeId device = kNoNode;
    double host = 0;
  };
  double parameter(calibrate::Parameter which) const { return parameters_[which]; }
  Error error(OperationId id, const std::string &what) const;
  /// A count of each sample as an integer node.
  template <typename Get> Result<NodeId> count(OperationId id, const char *what, Get get) const;
  Result<NodeId> bytesOf(OperationId id) const;
  Result<Sizes> sizesOf(OperationId id) const;
  /// bytes * passes / (bandwidth * efficiency).
  NodeId moved(NodeId bytes, calibrate::Parameter efficiency, double passes = 1) const;
  Result<Times> timesOf(OperationId id, const calibrate::ProfileItem &item) const;
  /// Of one product, or of many small ones where `batch` is above 1.
  Result<NodeId> productTime(OperationId id, const calibrate::ProfileItem &item) const;
  Result<NodeId> productTimeOf(OperationId id, const calibrate::ProfileItem &item, const Sizes &sizes) const;
  Result<NodeId> collectiveTime(OperationId id, const calibrate::ProfileItem &item) const;
  /// Of what replicas exchange during a micro-batch.
  Result<NodeId> exchangeTime(OperationId id) const;
  Result<NodeId> updateTime(OperationId id, const calibrate::ProfileItem &item) const;
  std::optional<Error> region(RegionId r);

  const Plan &plan_;
  const std::vector<LatencySample> &samples_;
  const PolynomialFit &points_;
  Expressions &nodes_;
  const MachineNodes &machine_;
  calibrate::Parameters parameters_;
  std::vector<std::vector<double>> lookups_; ///< by sample and operation
  std::vector<NodeId> times_;
  NodeId device_, factor_ = kNoNode; ///< seconds of one micro-batch
  double host_ = 0;                  ///< seconds of one micro-batch
};

} // namespace accord
