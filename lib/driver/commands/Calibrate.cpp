// accord calibrate: a machine's parameters from measured step times, and how well they predict others.
#include "lib/driver/tasks/Calibrate.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/jobs/NoisePredictions.h"
#include "lib/driver/jobs/RatePredictions.h"
#include "lib/driver/jobs/StepPredictions.h"
#include "lib/driver/tasks/CalibrateOperations.h"

namespace accord {

static const CommandEntry
    kEntry("calibrate", "Fit a machine's parameters to measured step times", [](Command &command) {
      auto options = Command::values<CalibrateOptions>();
      auto operations = Command::values<CalibrateOperationsOptions>();
      auto rates = Command::values<RatePredictionOptions>();
      auto steps = Command::values<StepPredictionOptions>();
      auto isOfOperations = Command::values<bool>(), isOfRates = Command::values<bool>(),
           isOfCurves = Command::values<bool>(), isOfNoise = Command::values<bool>();
      command.option("rows", options->rows, "Table of measured steps (.csv)").required();
      command.option(
          "--target", options->target,
          "Machine of all rows: a catalogue name, or FILE.accel[:NAME] (default: the machine that each row names)");
      command.option("-o,--output", options->output,
                     "Calibration file to write; FOLDER/: one for each machine of the rows");
      command.option("--where", options->where,
                     "COLUMN=VALUE: only such rows (may be repeated; values of one column are alternatives)");
      command.option("--prior", options->prior,
                     "Calibration that stands where the rows say little, instead of the defaults of data sheets");
      command.flag(
          "--cluster", options->cluster,
          "The rows are of the cluster that plans will be of: its steps lie as near as rows that are left out");
      command.option("--check", options->check, "Score the rows with this calibration instead of fitting");
      command
          .flag("--accuracy{page}", options->accuracy,
                "Print docs/accuracy.md for these rows; =gates: only its first table; =unseen: models, families and "
                "sources that were left out")
          .oneOf({"page", "gates", "unseen"});
      command
          .flag("--placements{page}", options->placements,
                "Print docs/published.md for these rows: the configurations that were run, evaluated as placements; "
                "=forced: without the plans that would be chosen")
          .oneOf({"page", "forced"});
      command.flag("--operations", *isOfOperations, "The rows are single operations: fit and predict their times");
      command.option("--devices", operations->devices,
                     "With --operations: table of data sheets (default: devices.csv of the catalogue)");
      command.flag("--rates", *isOfRates,
                   "The rows are rates of jobs by device type (.json, Gavel) or profiles (a folder, Pollux): how well "
                   "those of left-out models are predicted");
      command.option("--application", rates->application,
                     "With --rates: predict the rates of this one from those of all others; with --curves: its steps");
      command.option("--known", rates->known, "With --application: TYPExDEVICES=RATE, what it was measured to do there")
          .commaSeparated();
      command.flag("--curves", *isOfCurves,
                   "A folder with a folder for each application, which has its validation-BATCH.csv (Pollux): how well "
                   "steps with other batches are predicted from the gradient noise");
      command
          .option("--batch", steps->batch,
                  "With --curves --application: the run that is known (default: with the smallest batch)")
          .range(1, 1'000'000'000);
      command.option("--metric", steps->metric,
                     "With --curves --application: steps until this metric (default: until the end of that run)");
      command.flag(
          "--gradient-noise", *isOfNoise,
          "The rows are gradient noise scales of trainings, as in gradient-noise.csv of the catalogue: how well "
          "those of left-out models are predicted");
      addJson(command, options->json);
      command.example("accord calibrate rows.csv --where framework=Megatron-LM -o selene.calibration\n"
                      "         accord calibrate --operations operations.csv -o gpus.operations\n"
                      "         accord calibrate --rates throughputs.json --application 'ViT (batch size 64)' "
                      "--known v100x1=4.4\n"
                      "         accord calibrate --curves traces --application cifar10 --batch 256 --metric 0.92");
      command.action([options, operations, rates, steps, isOfOperations, isOfRates, isOfCurves, isOfNoise] {
        auto wrong = [&](const char *message) {
          return refuse(Code::BadCommandLine, message, options->json, "calibrate");
        };
        if (*isOfRates + *isOfOperations + *isOfCurves + *isOfNoise > 1)
          return wrong("--rates, --operations, --curves and --gradient-noise are of different tables");
        if (!*isOfRates && !rates->known.empty())
          return wrong("--known is of --rates");
        if (!*isOfRates && !*isOfCurves && !rates->application.empty())
          return wrong("--application is of --rates and --curves");
        if (!*isOfCurves && (steps->batch != 0 || steps->metric))
          return wrong("--batch and --metric are of --curves");
        if (*isOfNoise && !options->where.empty())
          return wrong("--where is of rows and rates");
        if (*isOfNoise)
          return predictNoises({options->rows, options->json});
        if (*isOfCurves) {
          if (!options->where.empty())
            return wrong("--where is of rows and rates");
          steps->folder = options->rows, steps->application = rates->application, steps->json = options->json;
          return predictSteps(*steps);
        }
        if (*isOfRates) {
          rates->table = options->rows, rates->where = options->where, rates->json = options->json;
          return predictRates(*rates);
        }
        if (!*isOfOperations)
          return calibrateMachine(*options);
        operations->rows = options->rows, operations->output = options->output, operations->check = options->check;
        operations->json = options->json;
        return calibrateOperations(*operations);
      });
    });

} // namespace accord
