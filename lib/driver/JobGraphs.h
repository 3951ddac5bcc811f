// The training graphs of a workspace's job on its target, and their work, each built once.
#pragma once
#include "lib/compilation/TrainingGraphs.h"
#include "lib/driver/JobTarget.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

class JobGraphs {
public:
  JobGraphs(Workspace &workspace, JobTarget &target)
      : workspace(workspace), target(target),
        graphs([this](std::optional<int64_t> sequence) { return modelAt(sequence); }) {}

  /// Builds the graph of every recomputation policy that the job may choose. False after errors: of passes of the user,
  /// too (A0801, A0810).
  bool prepare();

  /// The graph with a recomputation policy; null after errors. `sequence`: of another length; `degrees`: among other
  /// numbers of devices than the job's, what then stays whole is not said.
  dnn::TrainingGraphOp graph(const std::string &policy, std::optional<int64_t> sequence = {},
                             const std::optional<Degrees> &degrees = {});
  /// The graph's work in micro-batches, with the policy of `choose`; kept for later calls. Nothing after errors.
  std::optional<WorkGraph> workAt(int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence = {},
                                  const std::optional<Degrees> &degrees = {});
  /// The work of a graph that `prepare` built, which several threads may ask for at once.
  Result<WorkGraph> preparedWork(const std::string &policy, int64_t microbatch, int64_t microbatches) const;
  /// What of the graph stays whole at these degrees, in the words of the passes that share it. Nothing after errors.
  std::optional<std::vector<std::string>> unshardedAt(const Degrees &degrees);

  /// The policy that `workAt` and `unshardedAt` take; in the beginning the first of the job's.
  void choose(const std::string &policy) { recompute = policy; }
  TrainingOptions optionsAt(const std::string &policy, const std::optional<Degrees> &degrees) const;
  TrainingGraphs &cache() { return graphs; }
  /// Reports errors of passes. Those that state no code are of the user's passes, if there are any.
  void report(Errors errors);

private:
  bool checkPasses();
  dnn::ModelOp modelAt(std::optional<int64_t> sequence);
  std::optional<WorkGraph> extract(dnn::TrainingGraphOp graph, const std::string &policy, int64_t microbatch,
                                   int64_t microbatches, std::string &error) const;

  Workspace &workspace;
  JobTarget &target;
  TrainingGraphs graphs;
  std::string recompute;
};

} // namespace accord
