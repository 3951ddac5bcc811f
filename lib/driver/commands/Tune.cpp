// accord tune: hyper-parameters.
#include "lib/driver/tuning/Tune.h"
#include "lib/driver/CommandLine.h"

namespace accord {

static const CommandEntry kEntry(
    "tune", "Search hyper-parameters, or the parameters of a server while a training runs", [](Command &command) {
      auto options = Command::values<TuneOptions>();
      command.option("file", options->file, "A .dnn file with a `tuning` block").required();
      command.option("--tuning", options->tuning, "Which `tuning` block, where a file has several");
      command.option(
          "--table", options->table,
          "A .csv file of trials that were run before: a column for each hyper-parameter, seconds of a unit, "
          "and 1, 2, … with the value after each unit; of a server a column for each parameter and "
          "samples_per_second; the tuning is simulated");
      command
          .option("--engine", options->engine,
                  "Programs train, on the machines of this engine; serve: as jobs of a running accord serve")
          .oneOf({"local", "slurm", "serve"});
      command.option(
          "--engine-option", options->engineOptions,
          "KEY=VALUE of the engine, as of accord serve: nodes=here=cpu:4; of serve: server, devices, type, tenant, "
          "token-file, authority, priority, elastic, patience (may be repeated)");
      command.option(
          "--program", options->program,
          "With --engine: what trains one trial, a command of the shell; of a server: the training that runs; "
          "docs/learning.md says what it finds in its environment");
      command.option("--devices", options->devices, "With --table: devices of the cluster (default: 1)").range(1, 4096);
      command.option("--node", options->devicesPerNode, "With --table: devices of a node (default: all)")
          .range(1, 4096);
      command.option("--trials", options->trials, "Trials at most (default: as the file says, else 100)")
          .range(1, 100'000);
      command.option("--target", options->target, "The tuning ends when a value is as good (overrides the file)");
      command.option("--max-time", options->maxTime, "Nothing begins later, as in '2 h'");
      command
          .option("--proposals", options->proposals,
                  "How configurations are proposed: 'density' (as BOHB does; the default), 'priced' (the same for each "
                  "second that a unit is expected to take), or 'random'")
          .oneOf({"density", "priced", "random"});
      command
          .option("--sharing", options->sharing,
                  "How devices are given to trials: 'joint' with the search, or 'fixed:2', two for each")
          .showDefault();
      command.option(
          "--history", options->history,
          "Folder of an earlier tuning, or a journal of Optuna (JournalFileBackend), the best of which is tried first; "
          "'serve' or the URL of a service: what it keeps of earlier tunings of this name (may be repeated)");
      command.option("--seed", options->seed, "Of what is drawn at random").range(0, 1'000'000'000).showDefault();
      command.option("--seeds", options->seeds, "With --table: tunings with so many seeds, with intervals of 95 %")
          .range(1, 1000);
      command
          .option("--compare", options->compare,
                  "With --seeds: other ways to tune, as in random/fixed:1 or density/fixed:2, of a server unsafe or "
                  "random; "
                  "'all' for all that there are")
          .commaSeparated();
      command.option(
          "-o,--output", options->output,
          "Folder for tune.json, tune.txt, report.html, trials.csv and optuna.log, of a server servers.json, "
          "servers.txt and intervals.csv; "
          "of programs also for their trials or record, from which an interrupted tuning goes on");
      addJson(command, options->json);
      command.example(
          "accord tune examples/19-tune/spirals.dnn --table examples/19-tune/trials.csv --devices 4 -o out/\n"
          "         accord tune examples/19-tune/spirals.dnn --engine local --engine-option "
          "nodes=here=cpu:2 --program 'python3 examples/19-tune/train.py' -o out/\n"
          "         accord tune examples/20-servers/server.dnn --program 'python3 train.py' -o out/");
      command.action([options] { return tune(*options); });
    });

} // namespace accord
