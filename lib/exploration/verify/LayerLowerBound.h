// What the layers of a step take at least, from what its operations take at least.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/exploration/verify/StepLowerBound.h"

namespace accord {

/// Of one layer of a class on one device; times in picoseconds of one micro-batch.
struct LayerLowerBound {
  int64_t forward = 0, backward = 0;              ///< the latter with what is computed again
  int64_t update = 0;                             ///< once per step
  int64_t weights = 0, gradients = 0, states = 0; ///< bytes of residents
  int64_t rows = 0;                               ///< of `gradients` those that are rows of tables
  int64_t activations = 0;                        ///< bytes that iterations of repeats stash
};

/// Not to be shared between threads.
class StepLayers {
public:
  /// An operation of the forward pass belongs to the class that `classOf` has for the longest name that its name begins
  /// with up to a dot, else to the last one of what it reads; of the backward pass, which is all from the first
  /// gradient on and what depends on one, to the first one. A parameter, its gradient, states and update belong to the
  /// class with the longest name that its name begins with, else to the first one with an operation "….NAME_gradient".
  StepLayers(const WorkGraph &graph, const PlacementProblem &problem, const std::map<std::string, uint32_t> &classOf);
  /// By class: no plan's layers take less, however they are merged. `prices`: null, or the operations' on the machine.
  std::vector<LayerLowerBound> lowerBound(const Machine &machine, const Costs *prices = nullptr);
  /// Whether anything is computed again.
  bool again() const { return again_; }

private:
  using Classes = std::map<std::string, uint32_t>;
  void addMicrobatch(const WorkGraph &graph, const Classes &classOf);
  void addUpdate(const WorkGraph &graph, const Classes &classOf);

  struct Part {
    uint32_t cls = 0;
    int64_t LayerLowerBound::*into = &LayerLowerBound::forward;
  };
  StepLowerBound floor_;
  bool again_ = false;
  std::vector<double> counts_;         ///< layers by class
  std::vector<LayerLowerBound> bytes_; ///< by class
  std::vector<Part> parts_;            ///< operations of a micro-batch, then of the update
  std::vector<double> seconds_;
};

} // namespace accord
