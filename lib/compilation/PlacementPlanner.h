// The placement of one training on a cluster: the problem that its choices make, and the best answer.
#pragma once
#include "lib/compilation/Planning.h"
#include "lib/compilation/Target.h"
#include "lib/compilation/TrainingRequest.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"

namespace accord {
struct PlacementOptions;

/// What a device may use of its memory under the limits of a job, in bytes; 0: all of it.
int64_t memoryLimit(const TrainingJob &job);

class PlacementPlanner {
public:
  /// `graphs` makes the training graph of each parallel configuration that is looked at. All are kept by reference.
  PlacementPlanner(const TrainingRequest &request, const ClusterTarget &target, TrainingGraphs &graphs,
                   Diagnostics &diags)
      : request(request), job(request.job), target(target), graphs(graphs), diags(diags) {}

  /// What the problem is made from; what is assumed for it goes into `assumptions`. Nothing after errors.
  std::optional<PlacementProblemRequest> problemRequest(std::vector<std::string> &assumptions);
  /// The problem, with the constraints of the training. Nothing after errors.
  std::optional<BuiltPlacementProblem> problem() { return problemWithin({}, nullptr); }
  /// The best placement; where it is proved that none fits, `conflicts` say why. Stopped before the costs of the whole
  /// space are known, it is one of a small part of the space, if there was time for that. Nothing after errors.
  std::optional<PlacementPlan> plan(const Planning &planning);

  /// What the step of one device is built with at these degrees; `policy` is of recomputation, or one with `kGathered`.
  static TrainingOptions optionsAt(const TrainingOptions &base, const Degrees &degrees, llvm::StringRef policy);

private:
  /// The problem of the part of the space that `shrink` leaves, without a message if `stop` ended it.
  std::optional<BuiltPlacementProblem> problemWithin(const std::function<void(PlacementSpace &)> &shrink,
                                                     const std::atomic<bool> *stop,
                                                     const PlacementSparsityRequest *zeros = nullptr);
  /// Some plan of one tensor degree after the other, the largest within a node first, at the smallest micro-batch and
  /// with all activations computed again: what most likely fits, of few steps. Nothing where none was found.
  struct FirstPlan {
    BuiltPlacementProblem built; ///< with the chosen zeros
    PlacementResult result;
    std::optional<PlacementSparsity> zeros = {};
  };
  std::optional<FirstPlan> firstPlan();
  /// After a stop: the plan that the caller knows, in the part of the space that it names.
  std::optional<FirstPlan> knownPlan(const Planning &planning);
  std::optional<FirstPlan> search(const Planning &planning, PlacementOptions &how);
  /// That no plan fits is stated only with a proof that the verifier replays without a rest.
  void withdrawUnproved(PlacementPlan &plan, const Planning &planning) const;
  /// The same with the vocabulary that the framework makes of the model's.
  TrainingOptions paddedAt(const Degrees &degrees, llvm::StringRef policy) const;
  /// The stage of ZeRO that the framework has where the job states none, and only what it divides. False after errors:
  /// nothing of what the job offers is left.
  bool fitToFramework(PlacementSpace &space, std::vector<std::string> &assumptions) const;
  /// Parameters and FLOP are those of the model, not those of its padding.
  void countUnpadded(PlacementPlan &plan);
  /// What the objective needs to know of the cluster goes into `request`: prices, powers, or a key of its own. False
  /// after errors.
  bool findObjectiveNumbers(PlacementProblemRequest &request);
  void estimateStep(PlacementPlan &plan, const Planning &planning);
  /// The best zeros and plan of a problem that was built with zeros, which then has the chosen ones.
  void placeJointly(FirstPlan &answer, const PlacementSparsityRequest &zeros, const PlacementOptions &options);
  /// What its devices send over which links in a step; why it is not known is assumed.
  void addTraffic(PlacementPlan &plan, const Layering &layering);
  Result<WorkGraph> workOf(const Degrees &degrees, const std::string &policy, int64_t microbatch);
  /// What divides the numbers of experts of all mixtures of the model; 1 without any.
  int64_t numExperts();

  const TrainingRequest &request;
  const TrainingJob &job;
  const ClusterTarget &target;
  TrainingGraphs &graphs;
  Diagnostics &diags;
};

/// Reports an error at its place, with its code.
void reportError(Diagnostics &diags, const Error &error, llvm::StringRef help = {});

} // namespace accord
