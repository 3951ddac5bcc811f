// accord compare: a plan beside a step that a profiler measured.
#include "lib/driver/traces/Compare.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("compare", "A plan beside a measured step, operation by operation", [](Command &command) {
      auto options = Command::values<CompareOptions>();
      auto step = Command::values<int64_t>(), device = Command::values<int64_t>();
      *step = *device = -1;
      command.option("plan", options->plan, "A folder that `accord compile` wrote, or its plan.json").required();
      command
          .option("traces", options->traces,
                  "A trace of PyTorch's profiler (.json or .json.gz); of a cluster one of each rank, or their folder")
          .required();
      command.option("--from", options->from,
                     "Of a cluster: the .dnn file that the plan was made of, to compare each operation");
      command.option("--step", *step, "Number of the step (ProfilerStep#N; default: the one of median length)")
          .range(0, int64_t(1) << 40);
      command.option("--device", *device, "Number of the device (default: the one with the most kernel time)")
          .range(0, int64_t(1) << 20);
      command.option("--report", options->report, "Write a page with two bars for each operation (.html)");
      command.option("--rows", options->rows, "Write the step as a table for `accord calibrate` (.csv)");
      command.option("--operations", options->operations,
                     "Write the operations as a table for `accord calibrate --operations` (.csv)");
      command.flag("--all", options->all, "Show all operations, in the order of the plan");
      addJson(command, options->json);
      command.example("accord compare out/ trace.json.gz\n"
                      "         accord compare out/ trace.json --step 3 --all\n"
                      "         accord compare cluster/ rank0.json rank1.json\n"
                      "         accord compare out/ trace.json --report compare.html --rows steps.csv");
      command.action([=] {
        if (*step >= 0)
          options->step = *step;
        if (*device >= 0)
          options->device = *device;
        return comparePlan(*options);
      });
    });

} // namespace accord
