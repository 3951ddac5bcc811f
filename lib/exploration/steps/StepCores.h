// What cores take for the shapes of a step, kept by all that it follows from.
#pragma once
#include "lib/exploration/steps/StepShapes.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/machine/cost/InstructionBound.h"
#include <deque>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>

namespace accord {

/// Safe to share between threads.
class StepCores {
public:
  StepShapes shapes;

  /// The cores that an operation may run on (`chooseCores`), and in which arithmetic.
  struct Choice {
    std::vector<int> cores;
    std::string type;
    bool unknown = false; ///< by a cost model that is none of the built-in ones
  };
  /// Of one machine; lives as long as this table and until the next look with the same view.
  struct View {
    std::span<const Choice> choices;                   ///< by want
    std::vector<const std::vector<ShapeTime> *> times; ///< by core, then shape
    std::vector<double> sums;                          ///< by core, for the caller
    std::string key;
    std::deque<std::vector<ShapeTime>> own; ///< what the table had no room for
  };
  void choose(const Machine &machine, View &view) const; ///< `choices` alone
  void look(const Machine &machine, const StepBoundOptions &options, View &view) const;

  /// The core that operations of given time run on; -1 without cores.
  static int ofProducts(const Machine &machine);

private:
  void setInstructionTimes(const Machine &machine, int core, bool same, std::vector<ShapeTime> &times) const;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  template <typename T> using Table = std::unordered_map<std::string, std::unique_ptr<T>, Hash, std::equal_to<>>;
  mutable std::shared_mutex mutex_;
  mutable Table<const std::vector<Choice>> choices_;
  mutable Table<const std::vector<ShapeTime>> times_;
  mutable Table<const InstructionBound> programs_; ///< of all shapes, by instances and what programs follow from
};

} // namespace accord
