// accord partition: a profiled graph in stages of a pipeline.
#include "lib/driver/tasks/Partition.h"
#include "lib/driver/CommandLine.h"
#include "lib/partitioning/problem/PipelineObjective.h"

namespace accord {

static const CommandEntry
    kEntry("partition", "Which stage of a pipeline runs which nodes of a profiled graph", [](Command &command) {
      auto options = Command::values<PartitionOptions>();
      command
          .option(
              "file", options->file,
              "A graph of dnn-partitioning, Piper or PHAZE, or profiled_layers (.json), a profile of PipeDream (.txt), "
              "or costs of Alpa (.npy)")
          .required();
      command.option("--accelerators", options->accelerators, "How many there are (default of .json: its maxFPGAs)")
          .range(0, 10'000);
      command.option("--processors", options->processors, "Of .json: how many there are (default: its maxCPUs)")
          .range(0, 10'000);
      command.option("--microbatches", options->microbatches, "Of layers: in a batch (default: what the file says)")
          .range(1, 1'000'000'000);
      command.option("--memory", options->memory,
                     "Of each accelerator: 16GiB (default of .json: its maxSizePerFPGA; of .txt: no limit)");
      command.option("--bandwidth", options->bandwidth,
                     "Of .txt and layers: between two accelerators, and of an all-reduce: 12GB/s");
      command.flag("!--no-replicas", options->allowReplicas,
                   "Of .txt and layers: each stage on one accelerator, or on one replica");
      command
          .option("--objective", options->objective,
                  "Of layers: the load of the longest stage, the latency of one micro-batch, or the makespan of a step")
          .oneOf({std::begin(kPipelineObjectives), std::end(kPipelineObjectives)})
          .showDefault();
      command.flag("!--non-contiguous", options->contiguous,
                   "Of .json with nodes: a device may hold any nodes, not an interval of the pipeline alone");
      addEffort(command, options->effort);
      addLimits(command, options->limits, "the best stages so far are printed");
      command.option("-o,--output", options->output, "Folder for stages.json and report.html");
      addPage(command, options->html);
      addJson(command, options->json);
      command.example(
          "accord partition gnmt.json --html stages.html\n"
          "         accord partition gnmt.graph.txt --accelerators 8 --memory 16GiB --bandwidth 12GB/s\n"
          "Stages are contiguous: in an order in which no edge points back. The bottleneck load, which a pipeline "
          "waits for, is minimized.\n"
          ".json: of an accelerator, the time of its nodes and of each result that comes in or goes out; of a "
          "processor, the time of its nodes. Nodes of a colour class are together, backward nodes with their class.\n"
          ".txt: the longest of forward and backward time / replicas, activations in and gradients back (2 x bytes / "
          "bandwidth), and the all-reduce of parameters among m replicas (2(m-1)/m x bytes / bandwidth); memory is "
          "parameters and activations of each mini-batch in flight.\n"
          ".json of Piper or PHAZE, and profiled_layers (`accord schema profiled_layers`): layers with parallel "
          "configurations; "
          "tensor and data degrees of each stage, and a configuration of each layer, within the memory.\n"
          ".npy of Alpa: stages of layers on meshes with their time, and how many may follow them; --accelerators and "
          "--microbatches are required.\n"
          "Ctrl-C prints the best stages so far, with their gap.");
      command.action([options] { return partitionProfiledGraph(*options); });
    });

} // namespace accord
