// accord run, queue, watch, top, cancel, drain, token: what people ask a scheduler process.
#include "lib/driver/CommandLine.h"
#include "lib/driver/tasks/ServiceCommands.h"

namespace accord {
namespace {

void addClient(Command &command, service::ClientOptions &client) {
  command.option("--server", client.server, "URL of the scheduler (default: ACCORD_SERVER, or http://localhost:8421)");
  command.option("--token", client.token, "(default: ACCORD_TOKEN, or the file ~/.config/accord/token)");
  command.option("--authority", client.authority, "Certificate of who signed that of the server");
}

const CommandEntry kRun("run", "Hand a job to the scheduler of a cluster", [](Command &command) {
  auto options = Command::values<RunCommandOptions>();
  service::Submission &job = options->submission;
  command.option("command", job.command, "The program and its arguments; behind --, they may begin with dashes")
      .required();
  command.option("--samples", job.samples, "Samples that it trains on (default: what its description says)");
  command.option("--job", options->job, "A .dnn file with the `train` block of its training");
  command.option("--train", job.train, "Which block, where there are several");
  command
      .option("--measured", options->measured,
              "TYPE=DEVICES:RATE: samples a second that were measured, as in a100=4:120 (may be repeated)")
      .oneWord();
  command.option("--progress-from", job.progressFrom,
                 "URL of its metrics for Prometheus, as in http://{node}:9400/metrics, where it does not say by itself "
                 "how far it is");
  command.option("--progress-metric", job.progressMetric, "Which of them are its samples (default: samples_total)");
  command.option("--name", job.name, "Of the job (default: that of the program)");
  command.option("--tenant", job.tenant, "(default: that of the token)");
  command
      .option("--start", options->start, "plain (once on each server), torchrun or megatron (default: by the program)")
      .oneOf({"plain", "torchrun", "megatron"});
  command
      .option("--elastic", options->elastic,
              "rigid, moldable (keeps its devices) or malleable (saves when it gets SIGUSR1, and goes on elsewhere)")
      .oneOf({"rigid", "moldable", "malleable"})
      .showDefault();
  command.option("--min-devices", job.minDevices, "At least").positive();
  command.option("--max-devices", job.maxDevices, "At most").positive();
  command.option("--device-types", job.deviceTypes, "On which it may run (default: all)").commaSeparated().oneWord();
  command.option("--priority", job.priority, "Its weight among all jobs").showDefault();
  command.option("--deadline", options->deadline, "From now on, as in 6h");
  command.option("--due", options->due, "From now on; later costs --late-price");
  command.option("--late-price", job.latePrice, "Dollars a second after --due");
  command.option("--after", job.after, "Jobs that have to be complete before it starts").commaSeparated().oneWord();
  command.option("--restart", options->restart, "Time until it makes progress after a start");
  command.option("--notice", options->notice, "Time between the signal to save and the end (default: 30 s)");
  command.option("--max-failures", job.maxFailures, "After so many it is given up").positive().showDefault();
  command.option("--directory", job.directory, "Where it runs (default: here)");
  command.option("--env", options->environment, "NAME=VALUE, or NAME alone for what it is here (may be repeated)")
      .oneWord();
  command.option("--key", job.key, "Handed in again with the same key, it is the same job");
  command.flag("--wait", options->waits, "Says what happens to it, until it is over");
  addClient(command, options->client);
  addJson(command, options->json);
  command.example("accord run --samples 1e6 train.py\n"
                  "         accord run --job gpt2.dnn --elastic malleable --deadline 12h --wait -- train.py --lr 3e-4");
  command.action([options] { return runJob(*options); });
});

const CommandEntry kQueue("queue", "List the jobs of a scheduler", [](Command &command) {
  auto options = Command::values<QueueOptions>();
  command
      .option("--phase", options->phases,
              "Only these: modelling, queued, running, stopping, complete, failed, cancelled")
      .commaSeparated();
  command.option("--tenant", options->filter.tenant, "Only of this one");
  command.option("--name", options->filter.name, "Only of this name");
  command.option("--prefix", options->filter.prefix, "Only those whose names begin with it: tune- are trials");
  command.option("--after", options->filter.after, "Jobs behind this one");
  command.flag("--newest", options->filter.newestFirst, "The newest first");
  command.flag("--all", options->all, "Also those that are over");
  addClient(command, options->client);
  addJson(command, options->json);
  command.example("accord queue --tenant vision");
  command.action([options] { return showQueue(*options); });
});

const CommandEntry kWatch("watch", "Say what happens at a scheduler", [](Command &command) {
  auto options = Command::values<WatchOptions>();
  command.option("job", options->job, "Only of this job, until it is over");
  command.option("--after", options->after, "From this event on (default: from now on)");
  addClient(command, options->client);
  addJson(command, options->json);
  command.example("accord watch 17");
  command.action([options] { return watchEvents(*options); });
});

const CommandEntry kTop("top", "Show a cluster and its jobs, again and again", [](Command &command) {
  auto options = Command::values<TopOptions>();
  command.flag("--once", options->once, "Once");
  addClient(command, options->client);
  addJson(command, options->json);
  command.example("accord top");
  command.action([options] { return showTop(*options); });
});

struct CancelOptions {
  service::ClientOptions client;
  std::vector<int64_t> jobs;
  std::string reason;
};
const CommandEntry kCancel("cancel", "End jobs of a scheduler", [](Command &command) {
  auto options = Command::values<CancelOptions>();
  command.option("jobs", options->jobs, "Their numbers").required();
  command.option("--reason", options->reason, "Why, for those who see them");
  addClient(command, options->client);
  command.example("accord cancel 17 18");
  command.action([options] { return cancelJobs(options->client, options->jobs, options->reason); });
});

struct DrainOptions {
  service::ClientOptions client;
  std::string node, reason = "drained by hand";
  bool resumes = false;
};
const CommandEntry kDrain("drain", "Take a node out of service, or back", [](Command &command) {
  auto options = Command::values<DrainOptions>();
  command.option("node", options->node, "Its name").required();
  command.option("--reason", options->reason, "Why");
  command.flag("--resume", options->resumes, "It takes tasks again");
  addClient(command, options->client);
  command.example("accord drain node7 --reason 'new fans'");
  command.action([options] { return drainNode(options->client, options->node, options->resumes, options->reason); });
});

struct TokenOptions {
  service::ClientOptions client;
  std::string name, tenant, role = "submitter", expires;
  bool revokes = false;
};
const CommandEntry kToken("token", "Make or revoke a token of a scheduler", [](Command &command) {
  auto options = Command::values<TokenOptions>();
  command.option("name", options->name, "Of whom it is").required();
  command.option("--tenant", options->tenant, "Whose jobs it sees (default: all)");
  command.option("--role", options->role, "viewer, submitter or operator")
      .oneOf({"viewer", "submitter", "operator"})
      .showDefault();
  command.option("--expires", options->expires, "After this time, as in 30d (default: never)");
  command.flag("--revoke", options->revokes, "It is no token any more");
  addClient(command, options->client);
  command.example("accord token ada --tenant vision");
  command.action([options] {
    if (options->revokes)
      return revokeToken(options->client, options->name);
    return makeToken(options->client, {options->name, options->tenant, *service::roleNamed(options->role)},
                     options->expires);
  });
});

} // namespace
} // namespace accord
