// accord serve: a scheduler process for one cluster.
#include "lib/driver/tasks/Serve.h"
#include "lib/driver/CommandLine.h"

namespace accord {
namespace {

struct ServeCommand {
  Options options;
  ServeOptions how;
};

const CommandEntry kEntry("serve", "Schedule the jobs of a cluster and have its engine run them", [](Command &command) {
  auto values = Command::values<ServeCommand>();
  ServeOptions &how = values->how;
  values->options.effort = 2;
  command.option("description", values->options.file,
                 "What describes the cluster: a .dnn file with a `jobs` block without jobs (tenants, quotas, power, "
                 "objectives), or a .accel file; else the engine alone says which devices there are");
  command.option("--engine", how.engine, "What runs the jobs: local, slurm, kubernetes or podman").showDefault();
  command
      .option("--engine-option", how.engineOptions, "KEY=VALUE of the engine, see docs/operating.md (may be repeated)")
      .oneWord();
  command.option("--state", how.state, "A folder: database, folders of tasks, first token").showDefault();
  command.option(
      "--database", how.database,
      "postgresql://…, or a file of SQLite (default: state.db in the folder, which then needs a local disk)");
  command.option("--listen", how.listen, "ADDRESS:PORT of the interface; port 0 is any that is free").showDefault();
  command.option("--url", how.url,
                 "At which tasks and people reach it (default: where it listens, by the name of this machine if "
                 "everywhere)");
  command.option("--certificate", how.certificate, "TLS: a file with the certificate");
  command.option("--key", how.key, "TLS: a file with its key");
  command.option("--name", how.name, "Of the cluster, if not as it is described");
  command.flag("--open", how.isOpen, "No tokens: who reaches it is an operator");
  command.flag("--open-metrics", how.hasOpenMetrics, "/metrics needs no token");
  command.option("--interval", how.interval, "Seconds between two looks at the engine").showDefault();
  command.option("--plan-limit", how.planLimit, "Seconds that a plan may take").showDefault();
  command.option("--period", how.period, "Seconds of a period of plans (default: by what is planned)");
  command.option("--effort", values->options.effort, "Of searches for plans").showDefault();
  command.flag("--check", how.checks, "Checks what is stored, and ends");
  command.option("--backup", how.backup, "Writes a copy of the database to a file, and ends");
  command.example("accord serve lab.dnn --engine slurm --state /var/lib/accord\n"
                  "         accord serve --open --engine local --engine-option nodes=a1=a100:4,k1=k80:8");
  command.action([values] { return serve(values->options, values->how); });
});

} // namespace
} // namespace accord
