// A training step as layers that pipeline stages can be made of: which there are, and what each takes on one device.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Schedule.h"
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace accord {

/// The layers of a step. An iteration of a repeat of the forward pass that has parameters of its own and takes no
/// tensor apart (a scan of a sequence does) is a layer; all its iterations are one class. The operations between
/// repeats are a layer each; where repeats are less than half of the forward time (convolutional networks), they are
/// cut wherever one activation alone goes on, and what has no parameters and takes less than a hundredth of the forward
/// pass stays with what is before it.
struct Layering {
  struct Class {
    std::string name;      ///< of the repeat, else of the first operation
    int64_t count = 1;     ///< layers, one after the other
    bool iterated = false; ///< its layers are the iterations of a repeat
  };
  struct Edge {
    uint32_t from = 0, to = 0; ///< layers
    int64_t bytes = 0;         ///< of one sample
  };
  std::vector<Class> classes;
  std::vector<Edge> edges;                 ///< ascending, none twice, none back
  std::map<std::string, uint32_t> classOf; ///< by name of an operation of the forward pass

  int64_t layers() const;
  uint32_t firstOf(uint32_t cls) const; ///< first layer of a class

  /// Of a step on one device (no operation shared), scheduled. Slots give the times.
  static Layering of(const WorkGraph &graph, const Schedule &schedule);
  /// As many layers as there can be on any machine: those of every schedule are made of these, one or several in a row.
  static Layering finest(const WorkGraph &graph);
};

/// What one layer of a class takes on one device; times of one micro-batch in picoseconds.
struct LayerUse {
  int64_t forward = 0;
  int64_t backward = 0;      ///< without `weight` and `recomputeTime`
  int64_t weight = 0;        ///< of weight gradients
  int64_t recomputeTime = 0; ///< of what is computed again
  int64_t update = 0;        ///< once per step
  int64_t masks = 0;         ///< once per step, on every replica: finding masks of weights that move
  int64_t weights = 0, gradients = 0, states = 0; ///< bytes of residents
  int64_t quantized = 0;                          ///< of the weights' copies for products of 8 bits, not in `weights`
  /// Bytes from the forward to the backward pass of a micro-batch, the layer's input if its backward pass reads it.
  /// What is read by the backward passes of two layers is counted where it was made.
  int64_t activations = 0;
  int64_t workspace = 0; ///< the most bytes besides, in either pass
  /// Of `forward`, and of the rest of a micro-batch: what goes if products and the collectives of tensor parallelism
  /// around them run in pieces, one piece's exchange beside the next one's product (Wang et al., Overlap Communication
  /// with Dependent Computation via Decomposition, ASPLOS 2023).
  int64_t ringForward = 0, ringBackward = 0;
  /// Of `gradients`, those that are rows of tables, as many as the whole batch looks up: replicas that have the tables
  /// whole gather them.
  int64_t rows = 0;
  int64_t logits = 0;      ///< bytes that a loss over classes reads of a micro-batch, where it is in the layer
  int64_t tied = 0;        ///< of `gradients`, those of parameters that other layers use, too
  double joules = 0;       ///< of one micro-batch
  double updateJoules = 0; ///< of one step
  /// Of `weights`, …, `updateJoules`, those of parameters that an earlier class of layers has, too: a group of devices
  /// that has both layers has them there.
  struct Copy {
    int64_t weights = 0, gradients = 0, states = 0, quantized = 0, rows = 0, update = 0;
    double updateJoules = 0;
  } copy;
};
/// The use of a layer beside those that have what it has in common with them.
LayerUse withoutCopy(LayerUse use);

/// By class. The graph may be of any tensor degree, micro-batch size and recomputation of the same job. Operations of
/// the forward pass that the layering does not know belong to the layer with the longest name that theirs begins with
/// (up to a dot), else to that of what they read; so do those of the backward pass: all from the first gradient on, and
/// what depends on one. An iteration takes the schedule's length of its repeats' bodies, divided among the phases in
/// proportion to their operations; other layers take the sum of their operations, so a step of layers one after the
/// other is at least as long as the schedule without what it overlaps between them. A parameter belongs to the layer
/// with the longest name that its name begins with, else to all layers with an operation "….NAME_gradient": each has a
/// copy of its own. With `times`, seconds by operation, a layer takes the sum of what its operations take, one after
/// the other; the schedule then says which values are alive at a time, and no more.
std::vector<LayerUse> layerUses(const Layering &layering, const WorkGraph &graph, const Costs &costs,
                                const Schedule &schedule, const std::vector<double> *times = nullptr);

/// A parameter that layers of several classes use, and these, ascending.
struct SharedParameter {
  std::string name;
  std::vector<uint32_t> classes;
};
std::vector<SharedParameter> sharedParameters(const Layering &layering, const WorkGraph &graph);

/// Time that goes from one run of a region where each product and the collective among the devices of the axis "tensor"
/// that it feeds, or that feeds it, run in as many pieces as there are devices: with p and c for both, p + c becomes
/// (t-1)/t max(p, c) + (p + c)/t, so (t-1)/t min(p, c) goes. A product hides one collective. No more than what the
/// schedule takes besides its operations on cores goes: what it has hidden itself is hidden once.
int64_t ringOverlapTime(const WorkGraph &graph, const Dependences &deps, const Schedule &schedule, RegionId region);

namespace layers {
/// Longest key that `name` begins with, up to a dot or its end; null if there is none.
const uint32_t *byPrefix(const std::map<std::string, uint32_t> &classOf, const std::string &name);
/// By position in `Region::operations` of the micro-batch: whether it is of the backward pass.
std::vector<bool> backwardOf(const WorkGraph &graph, const Dependences &deps);
/// Where the time of an operation of a micro-batch goes.
struct Part {
  uint32_t cls = 0; ///< of layers
  bool backward = false;
};
/// By position in `Region::operations` of the micro-batch.
std::vector<Part> partsOf(const Layering &layering, const WorkGraph &graph, const Dependences &deps);
/// Roots of what lives from an iteration's forward to its backward pass: what it stashes, but what the next iteration
/// stashes again as its argument once.
std::set<ValueId> stashed(const WorkGraph &graph, const Dependences &deps, RegionId body);
/// A value that lies in memory besides the residents.
bool counts(const Value &value);
/// What of a layer's residents a tensor counts among.
int64_t &bytesOf(const StaticTensor &resident, LayerUse &use);
/// The layers' classes that a parameter belongs to; ascending, at least one.
std::vector<uint32_t> ownersOf(const Layering &layering, const WorkGraph &graph, const std::string &parameter);
} // namespace layers

/// With times not above those of a schedule, no member of what `of` gives is above that of `layerUses` for any layering
/// that is made of this one (`Layering::finest`): summed over the layers that became one, and the time behind the
/// forward pass in all. Exact are the residents, but that of what several layers own the first one has all.
/// `activations` is what the iterations of repeats stash, and `workspace` what any schedule of their bodies has alive
/// at some time.
class MinLayerUse {
public:
  MinLayerUse(const Layering &layering, const WorkGraph &graph);
  /// Seconds of each operation of a micro-batch, then of the update, by position in their regions; of a repeat in all
  /// of its iterations. Gradients of weights, and what is computed again, are in `backward`.
  std::vector<LayerUse> of(const std::vector<double> &seconds) const;

private:
  struct Share {
    uint32_t cls = 0;
    int64_t LayerUse::*into = nullptr;
  };
  std::vector<LayerUse> bytes_; ///< by class
  std::vector<double> counts_;  ///< layers by class
  std::vector<Share> shares_;   ///< by position
};

} // namespace accord
