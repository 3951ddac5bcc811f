// accord latency: step time, memory and FLOPs as functions, without searching for a plan.
#include "lib/driver/tasks/Latency.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("latency", "Step time, memory and FLOPs as functions of sizes and of the machine", [](Command &command) {
      auto options = Command::values<LatencyOptions>();
      options->output.clear();
      addProgramOptions(command, *options);
      command.option("-o,--output", options->output, "Folder for latency_model.{h,py,js,mlir,csv}");
      command
          .option("--format", options->formats,
                  "Formats to write: c, python, javascript, mlir, csv; printed where there is no folder")
          .commaSeparated()
          .oneOf({"c", "python", "javascript", "mlir", "csv"});
      command.option("--at", options->at, "Values to evaluate at: batch=64,microbatch=1,2,4 (every combination)");
      command.example("accord latency gpt2.dnn --target a100_80g --at microbatch=1,2,4,8\n"
                      "On a cluster: --target dgx_a100 --at tensor_parallel=1,2,4,8");
      command.action([options] { return latency(*options); });
    });

} // namespace accord
