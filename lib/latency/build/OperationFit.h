// The time of one operation at any size, from what it costs at some.
#pragma once
#include "lib/latency/forms/SymbolicCosts.h"
#include "lib/machine/model/Plan.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include <optional>
#include <span>

namespace accord {

/// Whether two numbers are the same but for rounding.
bool agree(double a, double b);

/// Whether a search for tiles, or the timing of a program, gives its time, which says nothing of other sizes.
bool isFoundForEachSize(const OperationCost &cost);

/// The same training at another (microbatch, sequence).
struct LatencySample {
  int64_t microbatch, sequence;
  const WorkGraph *graph;
  const Costs *costs;
};

/// Nodes that all operations use, made once.
struct MachineNodes {
  /// Seconds of an exchange with this payload (a real, bytes); kNoNode if no expression gives it. Empty where nothing
  /// is exchanged.
  std::function<NodeId(const Communication &, NodeId payload)> communication;
  /// Devices that exchange data, an integer; empty: as many as in the plan.
  std::function<NodeId(const Communication &)> devices;
  /// All arguments where the samples stand, but for micro-batch and sequence; empty: the initial.
  std::vector<double> at;
  NodeId microbatch, sequence;
  NodeId clock;
  std::vector<NodeId> bandwidths;                      ///< by memory; kNoNode where none is stated
  std::map<std::pair<int, std::string>, NodeId> rates; ///< by core and type
};

/// What stands for a time that no expression gives.
enum class WithoutExpression : uint8_t {
  Refuse,   ///< nothing: there is no model
  Table,    ///< what it is at each sample; the model is asked at their sizes alone
  Constant, ///< what it is in the plan, the only sample
};

struct PricedOperation {
  Polynomial flops;
  NodeId seconds = kNoNode; ///< a real
  bool tabulated = false;   ///< a part of it comes from a table over the samples
  /// Why its time does not follow the machine's clock and rates (a constant rate or time was found); else empty.
  std::string fixed;
};

class OperationFit {
public:
  /// `samples` stay where they are; `points` are theirs.
  OperationFit(const Plan &plan, const std::vector<LatencySample> &samples, const PolynomialFit &points,
               Expressions &nodes, const MachineNodes &machine, WithoutExpression without);
  /// `calibrated`: its seconds, where a calibration prices it (`CalibratedFit`). Code A0707: FLOPs or a time that no
  /// expression gives at every sample.
  Result<PricedOperation> price(OperationId id, NodeId calibrated = kNoNode);

private:
  /// What is priced at one rate: an operation, or a part of a fused one.
  struct Piece {
    OperationId id;
    std::optional<size_t> part;
    const std::vector<Loop> &domain(const WorkGraph &graph) const;
    int64_t flops(const WorkGraph &graph) const;
    double compute(const Costs &costs) const;
  };
  std::optional<Polynomial> polynomial(const std::vector<double> &values) const;
  /// Whether `seconds` is what `expected` says of every sample.
  template <typename Expected> bool agrees(NodeId seconds, Expected expected);
  bool agreesWithTime(OperationId id, NodeId seconds);
  template <typename Get> std::optional<Polynomial> counted(Get get) const;
  NodeId arithmetic(const Piece &piece, NodeId flops, PricedOperation &out);
  NodeId constantRate(const Piece &piece, NodeId flops, PricedOperation &out);
  bool isFixed(OperationId id) const;
  /// Of a core that is timed by its programs.
  NodeId programs(const Piece &piece, PricedOperation &out);
  /// Seconds at each sample, shorter as the core has a higher rate or clock; kNoNode where the cost model may say
  /// otherwise.
  NodeId tabulatedArithmetic(const Piece &piece);
  NodeId transfer(OperationId id, size_t level, PricedOperation &out);
  /// A real that is `values` at the samples, one for each.
  NodeId table(const std::vector<double> &values);
  NodeId communication(OperationId id);
  NodeId filledBeforeUse(OperationId id, std::span<const NodeId> computes, std::span<const NodeId> transfers);
  /// Seconds of the whole operation by the forms of cost models; kNoNode if none gives them at every sample.
  NodeId total(OperationId id, PricedOperation &out);
  Error error(OperationId id, const std::string &what) const;
  /// Why the machine's arguments are held.
  std::string noExpression(OperationId id) const;

  const Plan &plan;
  const std::vector<LatencySample> &samples;
  const PolynomialFit &points;
  Expressions &nodes;
  const MachineNodes &machine;
  WithoutExpression without;
  std::vector<Evaluation> at; ///< by sample
};

} // namespace accord
