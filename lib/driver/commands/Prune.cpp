// accord prune: which zeros each layer of a training should have.
#include "lib/driver/tasks/Prune.h"
#include "lib/driver/CommandLine.h"
#include "lib/support/Number.h"

namespace accord {

static const CommandEntry
    kEntry("prune", "Choose a sparsity pattern and a storage format for each layer of a training",
           [](Command &command) {
             auto options = Command::values<Options>();
             auto confidence = std::make_shared<double>(0);
             addProgramOptions(command, *options);
             command.option("--confidence", *confidence, "Confidence level of the limits of time and memory")
                 .check([](const std::string &text) { // a range lets NaN pass
                   auto value = parseReal(text);
                   bool fits = value && *value >= 0.5 && *value < 1;
                   return fits ? std::string() : "expected at least 0.5 and below 1, found " + text;
                 });
             addOutput(command, options->output, "Folder for prune.json, sparsity.mlir and report.html");
             command.example("accord prune examples/11-prune/gpt2.dnn -o out/");
             command.action([options, confidence] { return prune(*options, *confidence); });
           });

} // namespace accord
