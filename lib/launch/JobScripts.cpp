#include "lib/launch/JobScripts.h"
#include "lib/jobs/output/TenantQueues.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <tuple>

namespace accord {
namespace {

using namespace jobs;

/// Names of JobSets leave room for what their pods have behind them, and those of jobs for the number of a run.
constexpr size_t kMaxJobName = 24;
constexpr int64_t kNotice = 300; ///< seconds in which a checkpoint is saved

constexpr const char *kNeeds = R"bash(needs() { # VARIABLE WORD...
  (($# > 1)) || {
    echo "$1=(COMMAND ARGUMENTS) is not set" >&2
    exit 2
  }
}
)bash";

constexpr const char *kWithoutMegatron = R"bash(without_megatron() { # REASON WORD...
  local one
  for one in "${@:2}"; do
    [ "$one" != @megatron ] || {
      echo "$1" >&2
      exit 2
    }
  done
}
)bash";

constexpr const char *kSubmit = R"bash(start=$(date -d "${ACCORD_START:-now}" +%s)
declare -A ids=()
submitted=()
trap '(($? == 0 || ${#submitted[@]} == 0)) || scancel "${submitted[@]}"' EXIT
submit() { # JOB/RUN SECONDS SERVERS DEPENDENCES WORD...
  local name=$1 options=() after='' hosts='' one id
  options+=(--begin="$(date -d "@$((start + $2))" +%FT%T)")
  for one in $4; do
    id=${ids[${one#*:}]:-}
    if [ -n "$id" ]; then after+=${after:+,}${one%%:*}:$id; fi
  done
  if [ -n "$after" ]; then options+=(--dependency="$after" --kill-on-invalid-dep=yes); fi
  if ((${#servers[@]})); then
    for one in $3; do hosts+=${hosts:+,}${servers[one]}; done
  fi
  if [ -n "$hosts" ]; then options+=(--nodelist="$hosts"); fi
  id=$(sbatch --parsable "${options[@]}" "$folder/$name.sbatch" "${@:5}")
  ids[$name]=${id%%;*}
  submitted+=("${id%%;*}")
  echo "$name ${ids[$name]}"
}
)bash";

constexpr const char *kApply =
    R"bash(# Runs until the last one is created. Images and commands have to be filled in before.
# A run that goes on in another configuration ends the one before it.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
start=$(date -d "${ACCORD_START:-now}" +%s)
if grep -l 'FILL IN' "$folder"/*/*.yaml >&2; then
  echo 'lines of these files have to be filled in' >&2
  exit 2
fi
apply() { # JOB/RUN SECONDS NAMESPACE BEFORE FINISHED, the last ones as NAMESPACE:NAME
  local now one state
  now=$(date +%s)
  if ((start + $2 > now)); then sleep $((start + $2 - now)); fi
  for one in $5; do
    state=''
    until [ -n "$state" ]; do
      state=$(kubectl get --namespace "${one%%:*}" "jobset/${one#*:}" -o 'jsonpath={.status.terminalState}')
      [ -n "$state" ] || sleep 10
    done
    [ "$state" = Completed ] || {
      echo "$1: not applied: ${one#*:} failed" >&2
      return 1
    }
  done
  if [ -n "$4" ]; then kubectl delete --namespace "$3" --ignore-not-found --wait "jobset/$4"; fi
  kubectl apply -f "$folder/$1.yaml"
}
)bash";

constexpr const char *kWait = R"bash(status=0
for one in $(jobs -p); do wait "$one" || status=1; done
exit "$status"
)bash";

/// For text within single or double quotes.
std::string harmless(const std::string &text) {
  std::string out = sanitized(text);
  std::erase(out, '\'');
  return out;
}

std::string variableOf(std::string label) {
  std::ranges::replace(label, '-', '_');
  return label;
}

/// A run with all that its files say of it.
struct Run {
  size_t job = 0, index = 0, count = 1;
  int64_t begin = 0, limit = 0;      ///< seconds
  const LaunchPlan *plan = nullptr;  ///< null: it was profiled
  LaunchPlan profiled;               ///< servers and devices of a run without a plan
  std::string name;                  ///< "lm/0"
  std::string label;                 ///< "lm-0"
  std::vector<unsigned> servers;     ///< as planned; empty: none are known, or devices of them are not alike
  bool exclusive = true;             ///< has whole servers
  bool goesOn = false;               ///< runs before the schedule begins
  std::vector<std::string> finished; ///< last runs of jobs that it comes after
  std::string before;                ///< the run of its job before it; empty: it is the first
  std::string command;               ///< the variable of what it runs
};

class JobScripts {
public:
  explicit JobScripts(const JobAnswer &answer) : answer(answer) {
    if (answer.launch.size() != answer.problem.jobs.size() || answer.schedule.jobs.size() != answer.problem.jobs.size())
      return;
    for (const std::string &type : answer.cluster.types) {
      slurmTypes.push_back(slurm.types.of(type));
      kueueTypes.push_back(kueue.types.of(type));
    }
    for (size_t job = 0; job < answer.problem.jobs.size(); ++job) {
      labels.push_back(names.of(answer.problem.jobs[job].name));
      families.push_back(names.of(answer.launch[job].job));
    }
    for (size_t job = 0; job < labels.size(); ++job)
      addRuns(job);
    std::ranges::sort(runs, {}, [](const Run &run) { return std::tuple(run.begin, run.job, run.index); });
  }

  AnswerFiles files() const;
  Result<GuardExpectation> guard(const std::string &name, const LaunchOptions &options) const;

private:
  const LaunchPlan &planOf(const Run &run) const { return run.plan ? *run.plan : run.profiled; }
  bool isRefused(const Run &run) const { return !planOf(run).refusal.empty(); }

  /// The variable of the command of a run: of the training that it is, or of its job.
  std::string commandOf(size_t job, unsigned configuration) {
    const std::string &choice = answer.jobs[job].configurations[configuration].choice;
    const std::string &train = choice.empty() ? answer.jobs[job].train : choice;
    return variableOf(train.empty() ? "job_" + families[job] : "train_" + trains.of(train));
  }

  void addRuns(size_t job);
  void addServers(Run &run, const ConfigurationWords &words) const;
  LaunchLayout layoutOf(const Run &run) const;
  BatchOptions batchOf(const Run &run) const;
  std::string head(const std::string &what) const;
  std::string submission(const Run &run) const;
  std::string application(const Run &run) const;
  std::string submitText() const;
  std::string applyText() const;

  const JobAnswer &answer;
  SystemNames slurm = slurmNames({}), kueue = kueueNames({});
  QueueNames names{"j-", kMaxJobName, {}}, trains{"t-", 40, {}};
  std::vector<std::string> slurmTypes, kueueTypes, labels;
  std::vector<std::string> families; ///< of jobs, the labels of those in the block: phases have the same
  std::vector<Run> runs;             ///< by their begin
};

/// Runs of one job.
void JobScripts::addRuns(size_t job) {
  const ScheduledJob &asked = answer.problem.jobs[job];
  const std::vector<JobRun> &all = answer.schedule.jobs[job].runs;
  for (size_t index = 0; index < all.size(); ++index) {
    Run run;
    run.job = job, run.index = index, run.count = all.size();
    run.begin = all[index].begin * answer.problem.slot;
    run.limit = (all[index].end - all[index].begin) * answer.problem.slot;
    run.name = fmt::format("{}/{}", labels[job], index), run.label = fmt::format("{}-{}", labels[job], index);
    run.goesOn = all[index].begin == 0 && asked.running == static_cast<int64_t>(all[index].configuration);
    for (const JobLaunch::Configuration &one : answer.launch[job].configurations)
      if (one.index == all[index].configuration)
        run.plan = &one.plan;
    run.command = commandOf(job, all[index].configuration);
    addServers(run, answer.jobs[job].configurations[all[index].configuration]);
    if (index > 0)
      run.before = runs.back().name;
    else
      for (unsigned earlier : asked.after)
        if (const size_t count = answer.schedule.jobs[earlier].runs.size(); count > 0)
          run.finished.push_back(fmt::format("{}/{}", labels[earlier], count - 1));
    runs.push_back(std::move(run));
  }
}

/// Servers of a run, and what a run without a plan needs.
void JobScripts::addServers(Run &run, const ConfigurationWords &words) const {
  const bool isPlaced = run.job < answer.placements.size() && run.index < answer.placements[run.job].size();
  const JobPlacement placement = isPlaced ? answer.placements[run.job][run.index] : JobPlacement{};
  const int64_t largest = words.type < answer.cluster.types.size() ? answer.cluster.largestServer(words.type) : 0;
  if (!run.plan) {
    const int64_t each = std::min(words.devices, largest);
    run.profiled.title = sanitized(answer.problem.jobs[run.job].name + ", as it was profiled");
    if (!answer.jobs[run.job].train.empty())
      run.profiled.refusal = "its plan is not known";
    else if (each < 1)
      run.profiled.refusal = "it uses no devices of a server";
    else if (words.devices % each != 0)
      run.profiled.refusal = fmt::format("{} devices do not fill servers of {}", words.devices, each);
    else
      run.profiled.servers = words.devices / each, run.profiled.devicesPerServer = each;
  }
  const LaunchPlan &plan = planOf(run);
  run.exclusive = plan.devicesPerServer >= largest;
  if (static_cast<int64_t>(placement.size()) != plan.servers ||
      !std::ranges::all_of(placement, [&](const ServerShare &one) { return one.devices == plan.devicesPerServer; }))
    return;
  for (const ServerShare &share : placement)
    run.servers.push_back(share.server);
}

LaunchLayout JobScripts::layoutOf(const Run &run) const {
  const LaunchPlan &plan = planOf(run);
  const JobLaunch &launch = answer.launch[run.job];
  LaunchLayout shape;
  const unsigned configuration = answer.schedule.jobs[run.job].runs[run.index].configuration;
  LaunchLayout::Pool pool;
  pool.name = answer.cluster.types[answer.jobs[run.job].configurations[configuration].type];
  pool.nodes = plan.servers, pool.perNode = plan.devicesPerServer, pool.memory = plan.memory;
  shape.pools.push_back(std::move(pool));
  shape.nodes = plan.servers, shape.perNode = plan.devicesPerServer;
  shape.job = run.label, shape.title = sanitized(plan.title);
  shape.environment = plan.environment;
  shape.environment.push_back({"ACCORD_JOB", families[run.job]});
  shape.environment.push_back({"ACCORD_RUN", std::to_string(run.index)});
  shape.environment.push_back({"ACCORD_RUNS", std::to_string(run.count)});
  const ConfigurationWords &words = answer.jobs[run.job].configurations[configuration];
  if (!words.level.empty())
    shape.environment.push_back({"ACCORD_POWER_LEVEL", harmless(words.level)});
  if (words.learningRate > 0)
    shape.environment.push_back({"ACCORD_LEARNING_RATE_FACTOR", fmt::format("{:.6g}", words.learningRate)});
  if (words.warmup > 0)
    shape.environment.push_back({"ACCORD_WARMUP_FACTOR", fmt::format("{:.6g}", words.warmup)});
  if (launch.samples > 0 && launch.samples < 0x1p62)
    shape.environment.push_back({"ACCORD_SAMPLES", std::to_string(std::llround(std::ceil(launch.samples)))});
  return shape;
}

BatchOptions JobScripts::batchOf(const Run &run) const {
  const LaunchPlan &plan = planOf(run);
  const JobLaunch &launch = answer.launch[run.job];
  const ScheduledJob &asked = answer.problem.jobs[run.job];
  BatchOptions batch;
  batch.comment = fmt::format("{}: {}, run {} of {}", answer.name, asked.name, run.index + 1, run.count);
  batch.remarks.push_back(batch.comment);
  if (!run.servers.empty())
    batch.remarks.push_back(fmt::format("planned on server{} {} of the cluster, from 0 in the order of jobs.json",
                                        run.servers.size() > 1 ? "s" : "", fmt::join(run.servers, ", ")));
  batch.remarks.push_back(fmt::format("from {} s on, ended after {} s: others are planned on its devices from then on",
                                      run.begin, run.limit));
  const unsigned configuration = answer.schedule.jobs[run.job].runs[run.index].configuration;
  if (const std::string &level = answer.jobs[run.job].configurations[configuration].level; !level.empty())
    batch.remarks.push_back(
        fmt::format("planned at power level '{}': whoever may set clocks of devices has to", level));
  if (run.index > 0)
    batch.remarks.push_back("continues from what the run before it saved, which may have had other degrees");
  batch.remarks.insert(batch.remarks.end(), plan.remarks.begin(), plan.remarks.end());
  batch.account = launch.account, batch.service = launch.service;
  batch.queue = launch.queue, batch.priorityClass = launch.priorityClass;
  batch.begin = run.begin, batch.limit = run.limit;
  const bool isMalleable = asked.elasticity == Elasticity::Malleable;
  batch.notice = isMalleable ? std::min(kNotice, run.limit / 2) : 0;
  batch.requeue = true, batch.exclusive = run.exclusive, batch.coresPerDevice = plan.coresPerDevice;
  batch.torchrun = run.plan != nullptr;
  batch.withoutMegatron = plan.withoutMegatron;
  if (plan.withoutMegatron.empty() && run.plan) {
    MegatronArguments megatron;
    megatron.arguments = plan.megatron;
    if (launch.samples > 0 && launch.samples < 0x1p62)
      megatron.arguments.push_back(fmt::format("--train-samples {}", std::llround(std::ceil(launch.samples))));
    if (isMalleable) // it saves and ends by itself
      megatron.arguments.push_back(
          fmt::format("--exit-duration-in-mins {}", std::max<int64_t>(1, (run.limit - batch.notice) / 60)));
    batch.megatron = std::make_shared<const MegatronArguments>(std::move(megatron));
  }
  return batch;
}

AnswerFiles JobScripts::files() const {
  AnswerFiles made;
  for (const Run &run : runs) {
    if (isRefused(run))
      continue;
    const JobRun &planned = answer.schedule.jobs[run.job].runs[run.index];
    const unsigned type = answer.jobs[run.job].configurations[planned.configuration].type;
    LaunchLayout layout = layoutOf(run);
    describeDevices(layout.pools.front(), "");
    LaunchOptions options;
    options.kind = KubernetesKind::JobSet;
    options.batch = batchOf(run);
    layout.pools.front().deviceName = slurmTypes[type];
    made.push_back({fmt::format("launch/{}.sbatch", run.name), slurmText(layout, options)});
    layout.pools.front().deviceName = kueueTypes[type];
    made.push_back({fmt::format("launch/{}.yaml", run.name), kubernetesText(layout, options)});
  }
  if (runs.empty())
    return made;
  made.push_back({"launch/submit.sh", submitText()});
  made.push_back({"launch/apply.sh", applyText()});
  return made;
}

Result<GuardExpectation> JobScripts::guard(const std::string &name, const LaunchOptions &options) const {
  std::string names;
  for (const Run &run : runs) {
    names += (names.empty() ? "" : ", ") + run.name;
    if (run.name != name)
      continue;
    if (isRefused(run))
      return Error{Code::LauncherCannot, fmt::format("'{}' is started by nothing: {}", name, planOf(run).refusal)};
    ACCORD_TRY(layout, describedLayout(layoutOf(run), Launcher::Slurm, options));
    return guardOf(layout);
  }
  return Error{Code::LauncherCannot, names.empty() ? "no job runs"
                                     : name.empty()
                                         ? fmt::format("each run has its own devices: say which one, of {}", names)
                                         : fmt::format("no run is called '{}': there are {}", name, names)};
}

/// Comments with which both scripts begin.
std::string JobScripts::head(const std::string &what) const {
  return fmt::format("#!/usr/bin/env bash\n# {}\n{}"
                     "# ACCORD_START is when the first period begins, as `date -d` reads it: now, unless it is set.\n",
                     what, names.comments() + trains.comments());
}

/// The line that submits a run, or says why it does not.
std::string JobScripts::submission(const Run &run) const {
  if (isRefused(run))
    return fmt::format("echo '{}: not submitted: {}' >&2\n", run.name, harmless(planOf(run).refusal));
  if (run.goesOn)
    return fmt::format("ids[{0}]=${{running_{1}:-}}\necho '{0}: goes on as it runs' >&2\n", run.name,
                       variableOf(labels[run.job]));
  std::string after = run.before.empty() ? "" : "afterany:" + run.before;
  for (const std::string &one : run.finished)
    after += (after.empty() ? "afterok:" : " afterok:") + one;
  return fmt::format("submit {} {} '{}' '{}' \"${{{}[@]}}\"\n", run.name, run.begin, fmt::join(run.servers, " "), after,
                     run.command);
}

std::string JobScripts::submitText() const {
  std::set<std::string> used;
  std::set<std::pair<std::string, std::string>> checked;
  std::string running, unset, needed, checks, submits;
  for (const Run &run : runs) {
    submits += submission(run);
    if (run.goesOn)
      running += fmt::format("# running_{}=NUMBER is the job that runs already, after which others come.\n",
                             variableOf(labels[run.job]));
    if (isRefused(run) || run.goesOn)
      continue;
    used.insert(run.command);
    if (run.plan && !run.plan->withoutMegatron.empty() &&
        checked.emplace(run.command, run.plan->withoutMegatron).second)
      checks += fmt::format("without_megatron '{}: {}' \"${{{}[@]}}\"\n", run.name, harmless(run.plan->withoutMegatron),
                            run.command);
  }
  for (const std::string &command : used) {
    unset += fmt::format("{}=()\n", command);
    needed += fmt::format("needs {0} \"${{{0}[@]}}\"\n", command);
  }
  if (used.empty()) // nothing needs them
    return head(fmt::format("Submits the runs of '{}' to Slurm", harmless(answer.name))) + "declare -A ids=()\n" +
           submits;
  return head(fmt::format("Submits the runs of '{}' to Slurm: bash submit.sh COMMANDS", harmless(answer.name))) +
         fmt::format(
             "# COMMANDS is a file for bash that says what is run, as an array of words for each of\n"
             "#   {}\n"
             "# for example {}=(train.py --data \"/my data\"). With servers=(host0 host1 ...), the host names in the\n"
             "# order of jobs.json, runs are on the servers of the plan; else Slurm chooses servers of the type.\n"
             "# Prints JOB/RUN and its number in Slurm. Where a submission fails, those before it are cancelled.\n"
             "{}set -euo pipefail\n"
             "folder=$(cd \"$(dirname \"${{BASH_SOURCE[0]}}\")\" && pwd)\n"
             "servers=()\n{}"
             "# shellcheck source=/dev/null\n"
             "source \"${{1:?a file with the commands}}\"\n{}{}{}{}{}{}",
             fmt::join(used, ", "), *used.begin(), running, unset, kNeeds, needed,
             checks.empty() ? "" : kWithoutMegatron, checks, kSubmit, submits);
}

/// The line that creates the objects of a run at its time.
std::string JobScripts::application(const Run &run) const {
  if (isRefused(run))
    return fmt::format("echo '{}: not applied: {}' >&2\n", run.name, harmless(planOf(run).refusal));
  if (run.goesOn)
    return fmt::format("echo '{}: goes on as it runs' >&2\n", run.name);
  std::string before, finished;
  if (!run.before.empty())
    before = fmt::format("{}-{}", labels[run.job], run.index - 1);
  for (unsigned earlier : run.index == 0 ? answer.problem.jobs[run.job].after : std::vector<unsigned>{})
    if (const size_t count = answer.schedule.jobs[earlier].runs.size(); count > 0)
      finished += fmt::format("{}{}:{}-{}", finished.empty() ? "" : " ", answer.launch[earlier].queue, labels[earlier],
                              count - 1);
  return fmt::format("apply {} {} '{}' '{}' '{}' &\n", run.name, run.begin, answer.launch[run.job].queue, before,
                     finished);
}

std::string JobScripts::applyText() const {
  std::string applies;
  for (const Run &run : runs)
    applies += application(run);
  return head(fmt::format("Creates the JobSets of '{}' on Kubernetes, each at its time: bash apply.sh",
                          harmless(answer.name))) +
         kApply + applies + kWait;
}

} // namespace

LaunchPlan launchPlanOf(const PlacementPlan &plan, int64_t coresPerDevice) {
  LaunchPlan made;
  auto shape = launchLayout(plan);
  if (!shape) {
    made.refusal = shape.error().message;
    return made;
  }
  made.title = shape->title;
  made.servers = shape->nodes, made.devicesPerServer = shape->perNode;
  made.coresPerDevice = coresPerDevice;
  made.memory = shape->pools.front().memory;
  made.environment = std::move(shape->environment);
  made.environment.push_back({"ACCORD_PRECISION", harmless(plan.precision)});
  made.environment.push_back({"ACCORD_OPTIMIZER", harmless(plan.optimizer)});
  auto isKnown = [&](const char *size) {
    return std::ranges::any_of(plan.sizes, [&](const auto &one) { return one.first == size && one.second > 0; });
  };
  if (auto megatron = megatronArguments(plan); !megatron) {
    made.withoutMegatron = megatron.error().message;
  } else if (!plan.architecture && !isKnown("seq")) {
    made.withoutMegatron =
        fmt::format("Megatron-LM trains transformers of sequences: '{}' has no parameter seq", plan.model);
  } else {
    made.megatron = std::move(megatron->arguments);
    made.remarks = std::move(megatron->remarks);
    if (megatron->script != "pretrain_gpt.py")
      made.remarks.insert(made.remarks.begin(), "the arguments are those of " + megatron->script);
  }
  return made;
}

Result<GuardExpectation> guardOfRun(const JobAnswer &answer, const std::string &run, const LaunchOptions &options) {
  return JobScripts(answer).guard(run, options);
}

AnswerFiles launchFiles(const JobAnswer &answer) { return JobScripts(answer).files(); }

} // namespace accord
