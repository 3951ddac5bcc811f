// accord compare: a plan beside a step that a profiler measured.
#include "lib/driver/comparison/Compare.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("compare", "A plan beside a measured step, operation by operation", [](Command &command) {
      auto options = Command::values<CompareOptions>();
      auto step = Command::values<int64_t>(), device = Command::values<int64_t>();
      *step = *device = -1;
      command.option("plan", options->plan, "A folder that `accord compile` wrote, or its plan.json").required();
      command.option("trace", options->trace, "A trace of PyTorch's profiler (.json or .json.gz)").required();
      command.option("--step", *step, "Number of the step (ProfilerStep#N; default: the one of median length)")
          .range(0, int64_t(1) << 40);
      command.option("--device", *device, "Number of the device (default: the one with the most kernel time)")
          .range(0, int64_t(1) << 20);
      command.flag("--all", options->all, "Show all operations, in the order of the plan");
      addJson(command, options->json);
      command.example("accord compare out/ trace.json.gz\n"
                      "         accord compare out/ trace.json --step 3 --all");
      command.action([=] {
        if (*step >= 0)
          options->step = *step;
        if (*device >= 0)
          options->device = *device;
        return comparePlan(*options);
      });
    });

} // namespace accord
