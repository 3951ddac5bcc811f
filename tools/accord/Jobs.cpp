// accord jobs: jobs that share a cluster.
#include "lib/driver/tasks/Jobs.h"
#include "tools/accord/CommandLine.h"

namespace accord {

static const CommandEntry
    kEntry("jobs", "Jobs that share a cluster: replay a trace under policies", [](Command &command) {
      auto options = Command::values<JobsOptions>();
      command
          .option("--simulate", options->trace,
                  "A workload of Pollux (.csv) or a trace of Gavel: which jobs arrive when")
          .required();
      command
          .option("--profiles", options->profiles,
                  "How fast the jobs are: a folder with a folder for each application "
                  "(Pollux), or throughputs by device type (.json, Gavel)")
          .required();
      command
          .option("--servers", options->servers, "16x4 is 16 servers of 4 devices; v100=8x1,k80=24x1 names the types")
          .required();
      command.option("--policy", options->policies, "Policies to compare (default: all that the trace allows)")
          .oneOf(jobPolicies())
          .commaSeparated();
      command.option("--round", options->round, "Seconds between two decisions (default: 60, of Gavel 360)");
      command.option("--restart", options->restart,
                     "Seconds without progress each time that a job starts or its devices "
                     "change (default: 30, of Gavel 0)");
      command.option("--schedule", options->schedule, "A .csv file to write: which job is on which servers when");
      addJson(command, options->json);
      command.example("accord jobs --simulate workload-1.csv --profiles traces --servers 16x4\n"
                      "         accord jobs --simulate max_min_fairness.trace --profiles "
                      "physical_cluster_throughputs.json --servers v100=8x1,p100=16x1,k80=24x1\n"
                      "Policies differ in what they know of the jobs; the table says it of each. "
                      "'exact' allocates the devices of each round by an exact search whose bound is "
                      "proved, and packs them on servers with the fewest moves.");
      command.action([options] { return simulateJobs(*options); });
    });

} // namespace accord
