// accord prune: which zeros each layer of a training should have.
#include "lib/driver/tasks/Prune.h"
#include "lib/driver/CommandLine.h"
#include "lib/support/Number.h"
#include <tuple>

namespace accord {

static const CommandEntry kEntry(
    "prune",
    "Choose a sparsity pattern and a storage format for each layer of a training, on a cluster with its placement",
    [](Command &command) {
      auto options = Command::values<Options>();
      auto pruning = std::make_shared<PruneOptions>();
      auto limits = Command::values<PlanSearchLimits>();
      addProgramOptions(command, *options);
      command.option("--framework", options->elaborate.framework,
                     "Framework that trains on a cluster (overrides the file): a name of the file, its imports or "
                     "catalog/frameworks.accel");
      addLimits(command, *limits, "the best plan on a cluster so far is written");
      command.option("--confidence", pruning->confidence, "Confidence level of the limits of time and memory")
          .check([](const std::string &text) { // a range lets NaN pass
            auto value = parseReal(text);
            bool fits = value && *value >= 0.5 && *value < 1;
            return fits ? std::string() : "expected at least 0.5 and below 1, found " + text;
          });
      command.option("--traces", pruning->traces,
                     "Table of zero products by layer and channel (.csv), on a device of layers side by side");
      command.option("--thresholds", pruning->thresholds,
                     "Table of thresholds with density and accuracy (.csv): one of them is taken");
      for (auto [name, bits, what] :
           {std::tuple("--weight-bits", &pruning->weightBits, "Bits of a weight, on a device of layers side by side"),
            std::tuple("--activation-bits", &pruning->activationBits, "Bits of an activation there")})
        command.option(name, *bits, what).check([](const std::string &text) {
          auto value = parseReal(text);
          bool fits = value && *value >= 1 && *value <= 64;
          return fits ? std::string() : "expected a whole number from 1 to 64, found " + text;
        });
      addOutput(command, options->output,
                "Folder for prune.json, sparsity.mlir and report.html; on a cluster for what accord compile writes");
      command.example("accord prune examples/11-prune/gpt2.dnn -o out/\n"
                      "         accord prune examples/11-prune/resnet18.dnn --thresholds "
                      "examples/11-prune/thresholds.csv -o out/");
      command.action([options, pruning, limits] { return prune(*options, *pruning, *limits); });
    });

} // namespace accord
