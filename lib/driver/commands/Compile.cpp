// accord compile: the best plan, and everything that explains and proves it.
#include "lib/driver/tasks/Compile.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("compile", "Find the best plan; write it with latency model, trace and report", [](Command &command) {
      auto options = Command::values<Options>();
      auto limits = Command::values<PlanSearchLimits>();
      addProgramOptions(command, *options);
      command.option("--framework", options->elaborate.framework,
                     "Framework that trains on a cluster (overrides the file): a name of the file, its imports or "
                     "catalog/frameworks.accel");
      addOutput(
          command, options->output,
          "Folder for plan.json, plan.mlir, latency_model.{h,py,js,mlir,csv}, trace.json, report.html, certificate/");
      command.option("--until", options->until,
                     "Print the module after this phase (train, simplify, shard, cost, place, schedule, emit), for "
                     "accord-opt, and stop");
      addLimits(command, *limits, "the best plan so far is written");
      command.example("accord compile gpt2.dnn --target a100_80g -o out/\n"
                      "Ctrl-C while it plans writes the best plan so far, with its gap.");
      command.action([options, limits] { return compile(*options, *limits); });
    });

} // namespace accord
