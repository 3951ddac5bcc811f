// What layers take on each design of a space, for one share of operations and one micro-batch size:
// of a design as it is placed, of a box of designs at least.
#pragma once
#include "lib/exploration/clusters/PlacedProblem.h"
#include "lib/exploration/steps/DesignObjective.h"
#include "lib/exploration/steps/ParameterDependence.h"
#include <cmath>
#include <mutex>

namespace accord {

/// Inside and across as the faster of both.
PlacementProblem::Link fasterOf(const PlacementProblem::Link &link);

/// Safe to share between threads.
class StageLayers {
public:
  /// Of a mined problem's space and work, cut into layers as on `common`. Nothing where that
  /// design has no placements of this share and micro-batch.
  static std::unique_ptr<StageLayers> of(const DesignSpace &space, const ParameterDependence &dependence,
                                         const PlacedWork &work, const Machine &max, MiningMetric metric,
                                         const Design &common, const PlacementSpace::TensorSharding &sharding,
                                         int64_t microbatch);

  /// A design's problem as `place` has it. Nothing: it may not be, has no price or cuts its step into other layers.
  std::shared_ptr<const PlacementProblem> problem(const Design &design);
  const PlacementProblem &common() const { return *common_; }
  const PlacementSpace::TensorSharding &sharding() const { return share_; }
  int64_t microbatch() const { return microbatch_; }
  /// What the metric has besides time, of one device: watts of design power, m2, or 1.
  double cost(const Design &design) const;
  double cost(const DesignBox &box) const; ///< of no design of it less

  /// A way of a class of layers: with what is computed again. Numbers of `alternatives()` are by class, then policy.
  size_t policies() const { return policies_.size(); }
  size_t alternatives() const { return common_->classes.size() * policies(); }
  size_t alternative(PlacementProblem::Id cls, const std::string &policy) const;
  /// Least of a class's ways.
  double fastest(const std::vector<double> &times, PlacementProblem::Id cls) const {
    auto first = times.begin() + static_cast<ptrdiff_t>(cls * policies());
    return *std::min_element(first, first + static_cast<ptrdiff_t>(policies()));
  }
  /// Picoseconds of all passes of a micro-batch, by way, in the form that takes least. Null as above.
  std::shared_ptr<const std::vector<double>> times(const Design &design);
  /// On no design of the box less; null: none of it may be.
  std::shared_ptr<const std::vector<double>> minTimes(const DesignBox &box);

  /// The problem of no design: each way takes `times`, all else is the least of the space, links
  /// are the faster of each two. Forward passes take nothing, all is in the backward pass
  /// (`lowerBoundByCuts`). Nothing where layers as fine as can be are not those of `common`.
  std::optional<PlacementProblem> ideal(const std::vector<double> &times) const;
  /// No placement on any designs is worth less (of `StepTime`), before anything is priced.
  double root() const { return root_; }

private:
  StageLayers(const DesignSpace &space, const ParameterDependence &dependence, MiningMetric metric)
      : space_(space), dependence_(dependence), objective_{metric, ObjectiveAggregation::Sum, &space} {}
  std::vector<double> timesOf(const PlacementProblem &problem, bool fine) const;

  const DesignSpace &space_;
  const ParameterDependence &dependence_;
  DesignObjective objective_;
  std::unique_ptr<PlacedWork> work_; ///< of this share and micro-batch alone
  PlacementSpace::TensorSharding share_;
  int64_t microbatch_ = 1;
  bool alone_ = false;                               ///< one replica tells the times of all
  std::optional<PlacementProblem> common_, largest_; ///< most: on the machine with the most
  std::vector<std::string> policies_;
  std::vector<uint32_t> layerOf_; ///< by layer as fine as can be: that of `common`; empty: unknown
  double root_ = 0;
  std::mutex mutex_;
  template <class Key, class Value> using Known = std::map<Key, std::shared_ptr<const Value>>;
  /// What is known, or what `make` makes, by one of several threads.
  template <class Key, class Value, class Make>
  std::shared_ptr<const Value> once(Known<Key, Value> &known, const Key &key, Make make) {
    {
      std::scoped_lock lock(mutex_);
      if (auto found = known.find(key); found != known.end())
        return found->second;
    }
    std::shared_ptr<const Value> made = make();
    std::scoped_lock lock(mutex_);
    return known.emplace(key, std::move(made)).first->second;
  }
  Known<Design, PlacementProblem> problems_;
  Known<Design, std::vector<double>> times_;
  Known<std::pair<Design, Design>, std::vector<double>> minTimes_;
};

/// What a number of layers of each way takes on a design: their time or, with a power of 0 or more, their cost *
/// time^`power`. A design on which they take longer than `longest` may not be. Valued designs are kept for `best`.
class LayerMixProblem : public MiningProblem {
public:
  struct Target {
    double power = -1;
    double longest = INFINITY; ///< picoseconds
  };
  LayerMixProblem(const DesignSpace &space, StageLayers &layers, std::vector<double> counts, Target target);
  const std::vector<DesignParameter> &parameters() const override { return space_.parameters(); }
  double bound(const DesignBox &box) override;
  double value(const Design &design) override;
  /// By parameter, by how much the bound of the design falls where the design may have any larger choice of it.
  std::vector<double> bottleneckGains(const Design &design) override;
  /// The designs of least value, of equal ones the first.
  std::vector<Design> best(size_t max) const;

private:
  double timeOf(const std::vector<double> &times) const;
  const DesignSpace &space_;
  StageLayers &layers_;
  std::vector<double> counts_;
  Target target_;
  mutable std::mutex mutex_;
  std::map<Design, double> known_;
};

} // namespace accord
