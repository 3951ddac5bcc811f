// The machines of a description that leaves choices open.
#pragma once
#include "lib/exploration/problem/Design.h"
#include "lib/machine/model/Machine.h"
#include "lib/support/Dimension.h"
#include "lib/support/Result.h"
#include <memory>
#include <optional>

namespace mlir {
class Attribute;
}

namespace accord::accel {
class AcceleratorOp;
}

namespace accord {

/// A `require` of an accelerator, over what `DesignSpace` knows of a design: area, power.tdp, price, and every
/// parameter and number of the description by its path (`glb.capacity`, `clock`), in the units it is stated in.
/// Comparisons, `and`, `or`, `not`, arithmetic; a choice of words is compared with a word: `tc.dataflow ==
/// weight_stationary`. Numbers that differ by less than 1e-12 of the larger are equal.
///
/// A design power that is not stated follows from the energies where all are stated, or
/// `technology` is: idle power, and everything on the chip at its peak (`powerAtPeak`).
struct DesignRequirement {
  std::string text; ///< as written, or its label
  SourceLocation location;
};

/// A requirement on a number: `number op limit`, where no parameter changes the limit.
struct DesignLimit {
  std::string op; ///< "<=", "<", ">=", ">"
  double number = 0, limit = 0;
  Dimension dimension; ///< of both, in base units
  bool atMost() const { return op[0] == '<'; }
};

/// A training step, as `DesignSpace::metricValue` asks for it.
struct MeasuredStep {
  double seconds = 0, joules = 0;
  int64_t batch = 1; ///< samples
};

/// Why an expression is nothing that a design may be worth.
struct MetricError {
  Error error;
  std::string help;
  std::vector<size_t> at; ///< operands that lead to the part, from the whole inwards
};

/// What an expression that is made least speaks of.
struct MetricFigures {
  bool area = false, power = false, energy = false;
  bool parts = false; ///< other numbers of a machine of the space
};

class DesignSpace {
public:
  /// Copies what it needs: neither the operation nor its context need stay. All members may be
  /// called by several threads at once.
  /// Issues: A0612 an accelerator without choices; A0303, A0305, A0307, A0311 a choice that has no values, or too many
  /// (100,000); A0104 a reference or requirement to nothing, A0120 in a circle, A0203 with the wrong dimension, A0302
  /// without a value for every design (a divisor that may be 0); A0103 a requirement on an area or power that does not
  /// follow from what is stated; what machineFrom says of any design.
  /// `beside`: choices of what the machine is in, which change nothing of it; they are the last parameters.
  static Result<DesignSpace, Errors> of(accel::AcceleratorOp accelerator,
                                        std::vector<DesignParameter> clusterParameters = {});
  /// Of what `source` gives, and measuring what it measures. Errors as of `of`, and of a text that is no accelerator
  /// (A0901).
  /// `order`: names of its parameters, as designs list them; a source does not say where they were written.
  static Result<DesignSpace, Errors> fromSource(const std::string &text, std::vector<DesignParameter> clusterParameters,
                                                const std::vector<std::string> &order = {});
  DesignSpace(DesignSpace &&) noexcept;
  ~DesignSpace();

  const std::string &name() const;
  const std::vector<DesignParameter> &parameters() const;
  std::vector<DesignParameter> clusterParameters() const;
  const std::vector<DesignRequirement> &requirements() const;
  /// Number of designs, exact.
  std::string size() const;
  std::optional<uint64_t> points() const; ///< nothing: 2^63 and more
  Design at(uint64_t point) const;        ///< the last parameter counts fastest

  /// The machine of a design, with area and TDP; microseconds, for blocks are read once for each
  /// choice of what they depend on. Error: what is wrong with it (a size without an area).
  Result<Machine> machine(const Design &design) const;
  /// First requirement that the machine does not keep; nothing: it keeps all.
  std::optional<size_t> violatedRequirement(const Design &design, const Machine &machine) const;
  /// Best of everything in the box: each number of the machine at its most helpful (most
  /// instances, rows, bandwidth, capacity; least latency, energy, idle power, area, design power).
  /// Of words that the box leaves open: no dataflow (empty), every type of the cores, `either`
  /// spread, and the farthest memory that a core may read.
  Result<Machine> best(const DesignBox &box) const;
  /// What designs take that is known: "area" (m2), "tdp" (W). Of one design exact; no design of a box takes less.
  const std::vector<std::string> &costNames() const;
  std::vector<double> costs(const DesignBox &box) const;
  /// A requirement that no design of the box keeps, by intervals of its terms.
  std::optional<size_t> violatedRequirement(const DesignBox &box) const;

  /// Of a requirement that is one comparison with a limit above 0.
  std::optional<DesignLimit> limit(size_t requirement, const Design &design, const Machine &machine) const;
  /// From now on such a requirement allows so many times its limit (at least: so many times less);
  /// 1: as it is written. Not while another thread calls anything.
  void relax(size_t requirement, double factor);

  /// What is made least from now on: an expression over step_time, throughput (samples a second), energy and batch
  /// (joules and samples of a step), and all that requirements may speak of; of what is maximized its reciprocal.
  /// Powers need not be whole: area^0.5. Not while another thread calls anything. Problems: what requirements have
  /// (A0104, A0203, …); A0206 a divisor that may be 0, A0208 a root of what may be negative; A0302 a number that may be
  /// below 0, or beyond what a double holds; A0305 a part that falls where step_time or energy grows (of what is
  /// maximized: that rises), or nothing of it does.
  std::optional<MetricError> measure(bool maximize, const std::string &text, mlir::Attribute expression);
  std::string metric() const;        ///< "step_time * area", "1 / (throughput / price)"
  std::string metricUnit() const;    ///< of `metricValue`: "m^2*s"; empty: nothing is measured
  std::string metricPrinted() const; ///< with names resolved
  const MetricFigures &figures() const;
  /// Whether the machine has the area and design power that it speaks of.
  bool measures(const Machine &machine) const;
  /// By `measure`, of a step on the box's one design. Of several designs: none of them is worth less with a step that
  /// takes so long and so much energy or more; `machine` is `best` of the box. NaN: it has no value.
  double metricValue(const DesignBox &box, const Machine &machine, const MeasuredStep &step) const;

  /// The design as a description: readable, the choices made with a comment each. What the space minimizes is left out.
  std::string text(const Design &design) const;

  /// The whole space in the accel dialect, for certificates; with what is measured.
  std::string source() const;

private:
  struct Data;
  static Result<DesignSpace, Errors> made(accel::AcceleratorOp accelerator,
                                          std::vector<DesignParameter> clusterParameters,
                                          const std::vector<std::string> &order);
  explicit DesignSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
