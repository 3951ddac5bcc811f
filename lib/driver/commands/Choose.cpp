// accord choose: which accelerators, how many, from whom.
#include "lib/driver/tasks/Choose.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry kEntry(
    "choose", "Choose offers of clouds or of an inventory for trainings, under a deadline, a budget and a power",
    [](Command &command) {
      auto options = Command::values<ChooseOptions>();
      command.option("files", options->files, ".dnn files: each `train` block is a training, beside the others")
          .required();
      command.option("--from", options->prices,
                     "Price list with SkyPilot's columns: InstanceType, AcceleratorName, AcceleratorCount, Price, … "
                     "(may be repeated)");
      command.option("--inventory", options->inventories,
                     "A .accel file: its clusters are there, or describe an accelerator of a list (may be repeated)");
      command.option("--train", options->trains, "Which `train` blocks (default: all of the files)").commaSeparated();
      command.option("--deadline", options->deadline, "Time of each training, as in 48h");
      command.option("--budget", options->budget, "Price of all trainings, as in '5000 USD'");
      command.option("--power", options->power, "Power of all that run together, as in '20 kW'");
      command.option("--minimize", options->minimize, "cost, time, energy or carbon")
          .oneOf({"cost", "time", "energy", "carbon"})
          .showDefault();
      command.option("--intensity", options->intensities,
                     "Greenhouse gases of electricity, as in '400 g/kWh' or 'eu-north1=30 g/kWh' (may be repeated)");
      command.option("--samples", options->samples, "Samples of each training (overrides the files)");
      command.option("--max-instances", options->maxInstances, "Instances of one training at most")
          .range(1, 4096)
          .showDefault();
      // --spot alone means spot instances only.
      auto only = Command::values<bool>();
      auto none = Command::values<bool>();
      *only = *none = false;
      OptionEntry spot = command.flag("--spot", *only, "Spot instances only (default: both)");
      command.flag("--no-spot", *none, "No spot instances").excludes(spot);
      command.flag("--sure", options->sure, "The upper end of the interval of time keeps the deadline");
      command.option("--sky", options->sky,
                     "A .yaml file to write: a task of SkyPilot; of several trainings one file for each");
      command.option("-o,--output", options->output,
                     "Folder for choose.json, choose.txt and what `accord verify` needs");
      addCostModel(command, options->training);
      addCompilerOptions(command, options->training);
      addEffort(command, options->training.effort);
      addJson(command, options->training.json);
      command.example("accord choose gpt3.dnn --from vms.csv --deadline 48h\n"
                      "         accord choose a.dnn b.dnn --from vms.csv --inventory mine.accel --budget '5000 USD' "
                      "--minimize time --sure");
      command.action([options, only, none] {
        ChooseOptions chosen = *options;
        chosen.onDemand = !*only, chosen.spot = !*none;
        return choose(chosen);
      });
    });

} // namespace accord
