// accord estimate: what each operation costs on a machine, without planning.
#include "lib/driver/tasks/Estimate.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("estimate", "What each operation of a training step costs on a machine", [](Command &command) {
      auto options = Command::values<Options>();
      auto html = Command::values<std::string>();
      addProgramOptions(command, *options);
      addPage(command, *html);
      command.example("accord estimate gpt2.dnn --target a100_80g --html estimate.html\n"
                      "On a cluster, numbers are of one device; `search` fixes tensor_parallel and data_parallel.");
      command.action([options, html] { return estimateStep(*options, *html); });
    });

} // namespace accord
