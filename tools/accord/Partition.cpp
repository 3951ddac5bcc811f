// accord place: a graph onto devices, stage by stage.
#include "tools/accord/Commands.h"
#include "tools/accord/PartitionProfiledGraph.h"
#include "tools/accord/Session.h"
#include <CLI/CLI.hpp>
#include <memory>

namespace accord {

void addPartition(CLI::App &app, int &status) {
  auto options = std::make_shared<PartitionOptions>();
  CLI::App *command = app.add_subcommand("place", "Which stage of a pipeline runs which nodes of a profiled graph");
  command->add_option("file", options->file, "A graph of dnn-partitioning (.json), or a profile of PipeDream (.txt)")
      ->required();
  command->add_option("--accelerators", options->accelerators, "How many there are (default of .json: its maxFPGAs)")
      ->check(CLI::Range(int64_t(0), int64_t(10'000)));
  command->add_option("--processors", options->processors, "Of .json: how many there are (default: its maxCPUs)")
      ->check(CLI::Range(int64_t(0), int64_t(10'000)));
  command->add_option("--memory", options->memory,
                      "Of each accelerator: 16GiB (default of .json: its maxSizePerFPGA; of .txt: "
                      "no limit)");
  command->add_option("--bandwidth", options->bandwidth,
                      "Of .txt: between two accelerators, and of an all-reduce: 12GB/s");
  command->add_flag("!--no-replicas", options->allowReplicas, "Of .txt: each stage on one accelerator");
  command->add_option("--effort", options->effort, "Work limit: each step doubles it (default: 10, at most 40)");
  command->add_option("--gap", options->gap, "Stop when the load reaches this relative gap to its bound, such as 2%");
  command->add_option("--time-limit", options->timeLimit,
                      "none, or a time such as '30 s', at which the best stages so far are printed "
                      "(default: none)");
  command->add_option("-o,--output", options->output, "Folder for stages.json");
  addJson(*command, options->json);
  command->footer(
      "Stages are contiguous: in an order in which no edge points back. Minimizes the load of the bottleneck "
      "device, which a pipeline waits for.\n"
      ".json: of an accelerator, the time of its nodes and of each result that comes in or goes "
      "out; of a processor, the time of its nodes. Nodes of a colour class are together, backward "
      "nodes with their class.\n"
      ".txt: the longest of forward and backward time / replicas, activations in and gradients "
      "back "
      "(2 x bytes / bandwidth), and the all-reduce of parameters among m replicas (2(m-1)/m x "
      "bytes / bandwidth); memory is parameters and activations of each mini-batch in flight.\n"
      "Examples: accord place gnmt.json --json\n"
      "          accord place gnmt.graph.txt --accelerators 8 --memory 16GiB --bandwidth 12GB/s\n"
      "Ctrl-C prints the best stages so far, with their gap.");
  command->callback([options, &status] {
    if (!isProfiledGraph(options->file)) {
      status = refuse(Code::BadCommandLine,
                      "expected a graph of dnn-partitioning (.json) or a profile of PipeDream "
                      "(.txt), found '" +
                          options->file + "'; `accord compile` plans a .dnn file",
                      options->json, "place");
      return;
    }
    status = partitionProfiledGraph(*options);
  });
}

} // namespace accord
