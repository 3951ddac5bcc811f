// The machines of a description that leaves choices open.
#pragma once
#include "lib/model/Design.h"
#include "lib/model/Machine.h"
#include <memory>
#include <optional>
#include <variant>

namespace accord::accel {
class AcceleratorOp;
}

namespace accord {

/// A `require` of an accelerator, over what `DesignSpace` knows of a design: area, power.tdp,
/// price, and every parameter and number of cores and memories by its path.
struct DesignRequirement {
  std::string text; ///< as written, or its label
  SourceLocation location;
};

class DesignSpace {
public:
  /// Issues: A0612 an accelerator without choices; what machineFrom says of any design.
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
  /// instances, rows, bandwidth, capacity; least latency, energy, idle power).
  std::variant<Machine, Issue> best(const DesignBox &box) const;
  /// A requirement that no design of the box keeps, by intervals of its terms.
  std::optional<size_t> broken(const DesignBox &box) const;

  /// The design as a description: readable, the choices made with a comment each.
  std::string text(const Design &design, const std::vector<std::string> &comments = {}) const;

private:
  struct Data;
  explicit DesignSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
