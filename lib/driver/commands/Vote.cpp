// accord vote: which members of an ensemble, how many, and where each is trained.
#include "lib/driver/tasks/Vote.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry kEntry(
    "vote", "Choose the members of an ensemble and their devices, with a guaranteed error of their majority vote",
    [](Command &command) {
      auto options = Command::values<Options>();
      auto widths = Command::values<std::string>();
      command.option("file", options->file, "A .dnn file with an `ensemble`").required();
      command.option("--ensemble", options->elaborate.ensemble,
                     "Name of the `ensemble` block, where there are several");
      addCostModel(command, *options);
      addCompilerOptions(command, *options);
      addEffort(command, options->effort);
      addOutput(command, options->output, "Folder for vote.json and report.html");
      command.option("--widths", *widths,
                     "Choose nothing: list the widest members of each size that together have at most as many "
                     "parameters as the training's model, as MEMBER.PARAMETER[:STEP]");
      addJson(command, options->json);
      command.example("accord vote examples/12-vote/resnet.dnn -o out/");
      command.action([options, widths] { return widths->empty() ? vote(*options) : voteWidths(*options, *widths); });
    });

} // namespace accord
