// Which numbers of the machine follow from which parameter of a design space.
#pragma once
#include "lib/exploration/steps/StepWork.h"

namespace accord {

/// Found by changing one parameter at a time, from the first, middle and last design.
class ParameterDependence {
public:
  struct Effect {
    /// By core and memory, as bounds leave them out: `Queue` where only the number of cores
    /// changes, and each operation runs on one.
    std::vector<StepBoundOptions::Omitted> cores, memories;
    std::vector<bool> arrays; ///< by core: rows, columns, dataflow or overlaps, or instructions of programs
    bool capacity = false;    ///< of a memory that is not the farthest
  };
  explicit ParameterDependence(const DesignSpace &space);
  const Effect &of(size_t parameter) const { return all_[parameter]; }
  /// By core: all designs of the box have the same arrays.
  std::vector<bool> sameArrays(const DesignBox &box) const;
  /// Of its bounds on the best machine of the box; `exact`: on the only one.
  StepBoundOptions boundOptions(const DesignBox &box, bool exact) const {
    return exact ? StepBoundOptions{} : StepBoundOptions{.sameArrays = sameArrays(box), .exact = false};
  }

private:
  std::vector<Effect> all_;
  size_t cores_ = 0;
};

} // namespace accord
