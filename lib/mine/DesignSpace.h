// The machines of a description that leaves choices open.
#pragma once
#include "lib/model/Design.h"
#include "lib/model/Machine.h"
#include "lib/support/Dimension.h"
#include <memory>
#include <optional>
#include <variant>

namespace accord::accel {
class AcceleratorOp;
}

namespace accord {

/// A `require` of an accelerator, over what `DesignSpace` knows of a design: area, power.tdp,
/// price, and every parameter and number of the description by its path (`glb.capacity`, `clock`),
/// in the units it is stated in. Comparisons, `and`, `or`, `not`, arithmetic; a choice of words is
/// compared with a word: `tc.dataflow == weight_stationary`. Numbers that differ by less than 1e-12
/// of the larger are equal.
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

class DesignSpace {
public:
  /// Copies what it needs: neither the operation nor its context need stay. All members may be
  /// called by several threads at once.
  /// Issues: A0612 an accelerator without choices; A0303, A0305, A0307, A0311 a choice that has no
  /// values, or too many (100,000); A0104 a reference or requirement to nothing, A0120 in a circle,
  /// A0203 with the wrong dimension, A0302 without a value for every design (a divisor that may be
  /// 0); A0103 a requirement on an area or power that does not follow from what is stated; what
  /// machineFrom says of any design.
  static std::variant<DesignSpace, std::vector<Issue>> of(accel::AcceleratorOp accelerator);
  DesignSpace(DesignSpace &&) noexcept;
  ~DesignSpace();

  const std::string &name() const;
  const std::vector<DesignParameter> &parameters() const;
  const std::vector<DesignRequirement> &requirements() const;
  /// Number of designs, exact.
  std::string size() const;
  std::optional<uint64_t> points() const; ///< nothing: 2^63 and more
  Design at(uint64_t point) const;        ///< the last parameter counts fastest

  /// The machine of a design, with area and TDP; microseconds, for blocks are read once for each
  /// choice of what they depend on. Issue: what is wrong with it (a size without an area).
  std::variant<Machine, Issue> machine(const Design &design) const;
  /// First requirement that the machine does not keep; nothing: it keeps all.
  std::optional<size_t> broken(const Design &design, const Machine &machine) const;
  /// Best of everything in the box: each number of the machine at its most helpful (most
  /// instances, rows, bandwidth, capacity; least latency, energy, idle power, area, design power).
  /// Of words that the box leaves open: no dataflow (empty), every type of the cores, `either`
  /// spread, and the farthest memory that a core may read.
  std::variant<Machine, Issue> best(const DesignBox &box) const;
  /// What designs take that is known: "area" (m2), "tdp" (W). Of one design exact; no design of a
  /// box takes less.
  const std::vector<std::string> &costNames() const;
  std::vector<double> costs(const DesignBox &box) const;
  /// A requirement that no design of the box keeps, by intervals of its terms.
  std::optional<size_t> broken(const DesignBox &box) const;

  /// Of a requirement that is one comparison with a limit above 0.
  std::optional<DesignLimit> limit(size_t requirement, const Design &design,
                                   const Machine &machine) const;
  /// From now on such a requirement allows so many times its limit (at least: so many times less);
  /// 1: as it is written. Not while another thread calls anything.
  void relax(size_t requirement, double factor);

  /// The design as a description: readable, the choices made with a comment each.
  std::string text(const Design &design, const std::vector<std::string> &comments = {}) const;

  /// The whole space in the accel dialect, for certificates.
  std::string source() const;

private:
  struct Data;
  explicit DesignSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
