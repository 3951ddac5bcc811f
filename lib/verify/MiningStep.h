// What a training step takes on a machine at least, for proofs about many machines.
#pragma once
#include "lib/verify/MiningWork.h"
#include <map>
#include <unordered_map>

namespace accord {

/// Of a graph that `check` passes. Not to be shared between threads.
class StepFloor {
public:
  explicit StepFloor(const WorkGraph &graph);

  /// Seconds that no plan of the graph on the machine is below: micro-batches and the update one
  /// after the other, a repeat its count times its body. Each operation takes its arithmetic
  /// (`floorOn`) and its compulsory bytes at each memory's bandwidth, joined as in a roofline. Of a
  /// region the largest of its longest chain; for each core and memory the work of all its
  /// operations between the least chain before and the least behind; and the same of operations
  /// that exclude each other, as all are on one core or take a whole memory's bandwidth.
  double seconds(const Machine &machine);
  /// The same with the times that `prices` has for the machine (the shortest of the forms).
  double seconds(const Machine &machine, const Costs &prices);
  /// Joules of a step that takes `step` seconds: arithmetic, compulsory bytes, idle power.
  double joules(const Machine &machine, double step);
  double joules(const Machine &machine, const Costs &prices, double step);
  /// Of device memory, in any order of operations: all residents, and for some operation what is
  /// made before its end and read after it.
  double bytes() const { return bytes_; }

private:
  struct Kind {
    std::optional<double> given;
    bool free = false, mapped = false, fused = false;
    double bytes = 0, flops = 0, executions = 0;
    std::vector<FlooredPart> parts; ///< one, unless it is fused
    FlooredPart main;               ///< that says on which core it runs
  };
  struct Item {
    uint32_t kind = 0;
    OperationId operation = kNone;
    RegionId body = kNone;
    std::vector<uint32_t> before; ///< places in the region
  };
  /// What an operation takes.
  struct Price {
    double time = 0;
    int core = -1;          ///< the only one it may run on
    double work = 0;        ///< seconds of all instances of `core`
    std::vector<int> holds; ///< whole cores, by a fused operation
    int64_t fills = -1;     ///< a memory whose bandwidth it takes
    double joules = 0;
    std::vector<double> transfers; ///< by memory
  };
  struct Times {
    std::vector<FlooredTime> parts; ///< of all kinds, in order
  };

  const Times &timesOn(const Machine &machine, size_t core);
  void price(const Machine &machine);
  void price(const Machine &machine, const Costs &prices);
  double length(RegionId region, const Machine &machine);
  double step(const Machine &machine);
  double leastBytes() const;

  WorkGraph graph_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> firstPart_; ///< by kind, among the parts of all
  size_t allParts_ = 0;
  std::vector<std::vector<Item>> regions_; ///< by region
  bool byKind_ = true;                     ///< prices_ is by kind, else by operation
  std::vector<Price> prices_;
  std::vector<double> lengths_;               ///< by region
  std::vector<std::vector<double>> sums_;     ///< by region: work of each core, then memory
  std::unordered_map<std::string, Times> on_; ///< by all of a core that times follow from
  double bytes_ = 0;
};

} // namespace accord
