#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/machine/calibration/CalibrationJson.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/EstimateJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/scheduling/output/SchedulingJson.h"
#include "lib/sparsity/output/Sparsity.h"

using namespace llvm;
namespace accord {

std::map<std::string, Document> &documents() {
  // Those of subjects; what stands above this folder adds its own with `DocumentEntry`.
  static std::map<std::string, Document> all{
      {"diagnostics",
       {"accord COMMAND --json of wrong input",
        "What every command answers instead of its own document when the input has errors (exit status 1). A command "
        "line that cannot be understood is answered in words alone.",
        diagnosticsSchema}},
      {"calibrate",
       {"accord calibrate --json",
        "Parameters of a machine fitted to measured steps (or, with --check, read from a file) and how far computed "
        "steps are from measured ones. Errors are shares: 0.05 is 5 %.",
        calibrate::calibrateSchema}},
      {"estimate",
       {"accord estimate --json",
        "Work, time, energy and bytes of a training step. flops, time_s, cycles, energy_J and bytes of an operation "
        "are "
        "of ONE execution; count is how often it runs in one step (micro-batches times the repeats around it). "
        "totals.flops is the sum of flops * count, and so are time_s (one after the other) and energy_J.",
        estimateSchema}},
      {"layer_plan",
       {"accord partition --json of layers with configurations",
        "Which stage of a pipeline runs which layers, with which tensor and data degree, each layer in which "
        "configuration. Times are seconds of one micro-batch.",
        layerPlanSchema}},
      {"mine",
       {"accord mine --json, mine.json", "The best accelerator of a design space for training jobs.", mineSchema}},
      {"partition",
       {"accord partition --json",
        "Which stage of a pipeline runs which nodes of a profiled graph. Times are seconds of one sample, or of the "
        "mini-batch that was profiled.",
        partitionSchema}},
      {"placement",
       {"accord compile --json of a cluster, plan.json",
        "Stages on groups of devices: what accord verify, explain, diff and emit read, with "
        "certificate/placement.json, from which it follows. Times in _s are seconds.",
        placementSchema}},
      {"plan",
       {"accord compile --json, plan.json",
        "The whole plan: what accord verify, explain and diff read. Times in _s are seconds, in _ps whole picoseconds.",
        planSchema}},
      {"profiled_layers",
       {"what accord partition reads: layers in parallel configurations",
        "Layers that a profiler measured, each in several configurations (tensor degree, time, memory of a "
        "micro-batch and fixed memory), with the devices that run them: chains and graphs of PHAZE, Alpa and Piper.",
        layersSchema}},
      {"prune",
       {"accord prune --json, prune.json",
        "Zeros of each layer of a training step (step, with the problem of the choice and its answer), or of layers "
        "side by side on a dataflow device (pipeline); what is claimed of accuracy.",
        pruneSchema}},
      {"schedule",
       {"accord schedule --json",
        "When each operation runs on which core. Times are seconds from the start of one iteration of the slot's "
        "region: the micro-batch, the update or the body of a repeat. Of a PSPLIB project: when each job runs, in "
        "periods from the start.",
        scheduleSchema}},
      {"scheduling_problem",
       {"accord schedule --export-problem, and what accord schedule reads",
        "Tasks with modes on resources, within budgets and memories: the problem of `accord schedule`. Times are whole "
        "numbers of any unit, of regions of a training picoseconds.",
        schedulingProblemSchema}},
      {"unknown",
       {"accord COMMAND --json, stopped before there was an answer",
        "What a command that searches answers instead of its own document when a time limit or a signal stopped it "
        "before it had a first answer (exit status 4).",
        unknownSchema}},
      {"vote",
       {"accord vote --json, vote.json",
        "An ensemble: members, devices and what is known; the best of each size; what is chosen, what guarantees its "
        "error and proves the choice. Members and devices are named by index elsewhere.",
        voteSchema}},
  };
  return all;
}

json::Value documentSchema(const std::string &name, const Document &document) {
  json::Value schema = document.describe();
  json::Object &object = *schema.getAsObject();
  object["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  object["$id"] = "accord:" + name + ".schema.json";
  object["title"] = document.title;
  object["description"] = document.sentence;
  return schema;
}

} // namespace accord
