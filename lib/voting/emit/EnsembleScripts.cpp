#include "lib/voting/emit/EnsembleScripts.h"
#include "lib/ensembles/solve/MoreData.h"
#include "lib/support/documents/JsonText.h"
#include "lib/voting/documents/VotingJson.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord::voting {
namespace {

/// A word of a shell script, whatever is in it.
std::string quoted(const std::string &text) {
  std::string word = "'";
  for (char c : text)
    word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// In a comment: on one line.
std::string oneLine(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ')
      c = '_';
  return text;
}

std::string fileName(std::string text) {
  for (char &c : text)
    if (!llvm::isAlnum(c) && c != '-' && c != '_' && c != '.')
      c = '_';
  return text;
}

/// A document that somebody changed may name anything.
bool isPlaced(const EnsemblePlan &plan, const MemberChoice &chosen) {
  const auto &kinds = plan.problem.kinds;
  return !chosen.members.empty() && chosen.members.size() <= kMaxVotingMembers &&
         chosen.counts.size() == kinds.size() && llvm::all_of(chosen.members, [&](const PlacedMember &member) {
           return member.kind < kinds.size() && member.device < plan.problem.devices.size() &&
                  member.device < kinds[member.kind].alternatives.size() &&
                  member.alternative < kinds[member.kind].alternatives[member.device].size();
         });
}

/// Votes that there are after the worst loss of devices that the guarantee covers, or all.
int64_t quorumOf(const EnsemblePlan &plan) {
  auto quorum = static_cast<int64_t>(plan.chosen()->members.size());
  for (const EnsemblePlan::FailureCase &failure : plan.failures)
    quorum = std::min<int64_t>(quorum, std::accumulate(failure.quorum.begin(), failure.quorum.end(), int64_t(0)));
  return std::max<int64_t>(1, quorum);
}

const std::string kHead = "#!/bin/sh\n# Written by `accord emit ensemble`.\n";

std::string trainText(const EnsemblePlan &plan, const RunningEnsemble &running) {
  std::string text =
      kHead + "# Hands the training of each member to the scheduler of a cluster (accord serve).\n"
              "# TRAIN: your program with its arguments. It finds in its environment which member it trains:\n"
              "#   MEMBER (its name), MEMBER_MODEL (the model, as the ensemble says it), SEED (another one for each).\n"
              "# SAMPLES: on how many samples each is trained.\n"
              "set -eu\n"
              ": \"${TRAIN:?your training program, as in TRAIN='python3 train.py'}\" \"${SAMPLES:?samples of a "
              "training}\"\n";
  uint64_t seed = 0;
  for (const ScriptDevice &device : running.devices)
    for (size_t i : device.members) {
      const PlacedMember &member = plan.chosen()->members[i];
      const MemberProblem::Kind &kind = plan.problem.kinds[member.kind];
      const MemberCost &cost = kind.alternatives[member.device][member.alternative];
      const std::string &name = running.config.members[i].name;
      const std::string call =
          member.kind < plan.request.kinds.size() ? plan.request.kinds[member.kind].call : kind.name;
      text += fmt::format("\n# {} on {}: {}, a step of {}\n", oneLine(name), oneLine(device.name), oneLine(cost.text),
                          formatSi(static_cast<double>(cost.time) * 1e-12, "s"));
      text += fmt::format(
          "# shellcheck disable=SC2086 # TRAIN is several words\n"
          "accord run --name {} --samples \"$SAMPLES\" --elastic rigid --device-types {} --min-devices {} \\\n"
          "  --max-devices {} --env {} --env {} --env SEED={} -- $TRAIN\n",
          quoted(plan.name + "-" + name), quoted(plan.problem.devices[member.device].name), cost.devices, cost.devices,
          quoted("MEMBER=" + name), quoted("MEMBER_MODEL=" + call), ++seed);
    }
  return text;
}

std::string startText(const RunningEnsemble &running, const ScriptDevice &device) {
  std::string text =
      kHead + fmt::format("# Starts the members on {}, and ends them when it is ended.\n"
                          "# ENGINE: what computes a vote (default: ONNX Runtime by engine.py).\n"
                          "{}"
                          "set -eu\n"
                          "here=$(cd \"$(dirname \"$0\")/..\" && pwd)\n"
                          "engine=${{ENGINE:-python3 $here/engine.py}}\n"
                          "members=\n"
                          "trap 'kill $members 2>/dev/null || true' EXIT\n"
                          "trap 'exit 0' TERM INT\n",
                          oneLine(device.name),
                          device.level.empty()
                              ? ""
                              : fmt::format("# The plan has the device at the level {}.\n", oneLine(device.level)));
  for (size_t i : device.members) {
    const VotingMember &member = running.config.members[i];
    const std::string port = member.url.substr(member.url.rfind(':') + 1);
    text += fmt::format("# shellcheck disable=SC2086 # ENGINE is several words\n"
                        "accord member {} \"$here/ensemble.json\" --listen \"${{ADDRESS:-0.0.0.0}}:{}\" -- $engine "
                        "\"$here/\"{} &\nmembers=\"$members $!\"\n",
                        quoted(member.name), port, quoted(member.model));
  }
  return text + "wait\n";
}

std::string answerText() {
  return kHead + "# Starts the voting server. Further arguments are those of `accord answer`.\n"
                 "set -eu\n"
                 "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
                 "exec accord answer \"$here/ensemble.json\" --listen \"${LISTEN:-0.0.0.0:8500}\" \"$@\"\n";
}

/// URLs of members on the hosts of their devices. Error A0801: another number of hosts than devices.
Result<void> placeMembers(RunningEnsemble &running, const EnsembleScriptOptions &options) {
  if (!options.hosts.empty() && options.hosts.size() != running.devices.size()) {
    std::string names;
    for (const ScriptDevice &device : running.devices)
      names += (names.empty() ? "" : ", ") + device.name;
    return Error{Code::BadCommandLine, fmt::format("{} hosts, and {} devices are used: {}", options.hosts.size(),
                                                   running.devices.size(), names)};
  }
  std::map<std::string, int64_t> ports;
  for (size_t d = 0; d < running.devices.size(); ++d)
    for (size_t i : running.devices[d].members) {
      const std::string host = options.hosts.empty() ? "127.0.0.1" : options.hosts[d];
      auto [port, isNew] = ports.try_emplace(host, options.port);
      running.config.members[i].url = fmt::format("http://{}:{}", host, port->second++);
    }
  return {};
}

/// Equal weights are one vote each. Soft votes are those of a plan whose table says what they were.
void weighMembers(VotingConfig &config, int64_t quorum, const MemberStatistics &statistics) {
  const int64_t unit = config.members[0].weight;
  const bool isWeighted = llvm::any_of(config.members, [&](const VotingMember &one) { return one.weight != unit; });
  if (statistics.table.softWrong)
    config.rule = VoteRule::Soft;
  else
    config.rule = isWeighted ? VoteRule::Weighted : VoteRule::Majority;
  config.quorum = config.rule == VoteRule::Majority ? (quorum + unit - 1) / unit : quorum;
}

/// "wide", "wide.2": the next of its kind.
VotingMember nextMember(const std::string &kind, unsigned &copies, int64_t weight) {
  const unsigned copy = ++copies;
  const std::string name = copy == 1 ? kind : fmt::format("{}.{}", kind, copy);
  return {.name = name, .url = "", .weight = weight, .model = fmt::format("models/{}.onnx", fileName(name))};
}

AnswerFiles scriptsOf(const RunningEnsemble &running, std::optional<int64_t> samples) {
  AnswerFiles files{{kEnsembleFile, jsonText(toDocument(running.config)) + "\n"},
                    {"answer.sh", answerText()},
                    {"engine.py", engineScript()},
                    {"collect_votes.py", collectVotesScript(samples.value_or(0))}};
  for (const ScriptDevice &device : running.devices)
    files.push_back({fmt::format("start/{}.sh", fileName(device.name)), startText(running, device)});
  return files;
}

} // namespace

Result<RunningEnsemble> runningEnsemble(const EnsemblePlan &plan, const EnsembleScriptOptions &options) {
  const MemberChoice *chosen = plan.chosen();
  if (!chosen)
    return Error{Code::NotAPlacement, fmt::format("the answer for ensemble '{}' has chosen no members", plan.name)};
  if (!isPlaced(plan, *chosen))
    return Error{Code::BadPlan, fmt::format("the members of ensemble '{}' are of no type, or on no device", plan.name)};
  RunningEnsemble running;
  VotingConfig &config = running.config;
  config.name = plan.name, config.classes = options.classes, config.timeout = options.timeout;
  std::map<std::pair<unsigned, int64_t>, size_t> devices;
  std::map<unsigned, unsigned> copies;
  for (const PlacedMember &member : chosen->members) {
    auto [device, isNew] = devices.try_emplace({member.device, member.first}, running.devices.size());
    if (isNew)
      running.devices.push_back(
          {.name = fmt::format("{}-{}", plan.problem.devices[member.device].name, member.first + 1), .members = {}});
    running.devices[device->second].members.push_back(config.members.size());
    config.members.push_back(nextMember(plan.problem.kinds[member.kind].name, copies[member.kind],
                                        plan.answer ? plan.answer->weights[member.kind] : 1));
  }
  if (auto placed = placeMembers(running, options); !placed)
    return placed.takeError();
  weighMembers(config, plan.answer ? plan.answer->quorum : quorumOf(plan), plan.statistics);
  config.planned = plan.answer ? PlannedAnswer{plan.answer->wrong.toDouble(), plan.answer->none.toDouble()}
                               : PlannedAnswer{chosen->errorAfterFailures.toDouble(), 0};
  return std::move(running);
}

Result<RunningEnsemble> runningEnsemble(const AnswerPlan &plan, const EnsembleScriptOptions &options) {
  const auto &chosen = plan.result.best;
  if (!chosen)
    return Error{Code::NotAPlacement, fmt::format("the answer for ensemble '{}' has chosen no members", plan.name)};
  RunningEnsemble running;
  VotingConfig &config = running.config;
  config.name = plan.name, config.classes = options.classes;
  config.timeout =
      plan.problem.timeout > 0 ? static_cast<double>(plan.problem.timeout) * 1e-9 : options.timeout; // of ps
  for (const AnsweringDevice &device : chosen->devices) {
    const AnswerProblem::Device &of = plan.problem.devices[device.device];
    running.devices.push_back(
        {.name = fmt::format("{}-{}", of.name, device.number + 1), .level = of.levels[device.level], .members = {}});
  }
  std::map<unsigned, unsigned> copies;
  for (const auto &member : placedVotes(chosen->devices)) {
    running.devices[member.on].members.push_back(config.members.size());
    const AnswerProblem::Kind &kind = plan.problem.kinds[member.kind];
    config.members.push_back(nextMember(kind.name, copies[member.kind], kind.weight));
  }
  if (auto placed = placeMembers(running, options); !placed)
    return placed.takeError();
  weighMembers(config, chosen->quorum, plan.statistics);
  config.planned = PlannedAnswer{std::max(chosen->wrong, chosen->wrongAfter).toDouble(),
                                 std::max(chosen->none, chosen->noneAfter).toDouble()};
  return std::move(running);
}

std::optional<int64_t> samplesOfTable(const AnswerPlan &plan) {
  return plan.statistics.table.samples > 0 ? std::optional(plan.statistics.table.samples) : std::nullopt;
}

std::optional<int64_t> samplesOfTable(const EnsemblePlan &plan) {
  const MemberChoice *chosen = plan.chosen();
  if (!chosen)
    return std::nullopt;
  const Rational required = plan.problem.max.value_or(chosen->error);
  MemberStatistics statistics = plan.statistics;
  for (unsigned k = 0; k < chosen->counts.size(); ++k) {
    const auto has = static_cast<unsigned>(llvm::count(plan.statistics.table.kinds, k));
    statistics.table.kinds.insert(statistics.table.kinds.end(), std::max(chosen->counts[k], has) - has, k);
  }
  const int64_t tests = simultaneousTests(statistics, plan.problem.sizes);
  Rational rate = required / Rational(2);
  int64_t wrong = 0, samples = 0;
  for (const auto &[pattern, votes] : statisticsOf(plan.statistics, chosen->counts).votes) {
    samples += votes;
    wrong += 2 * static_cast<size_t>(std::popcount(pattern)) >= chosen->members.size() ? votes : 0;
  }
  if (samples > 0)
    rate = Rational(wrong) / Rational(samples);
  return samplesNeeded(rate, required, (Rational(1) - plan.confidence) / Rational(tests));
}

Result<AnswerFiles> ensembleScripts(const EnsemblePlan &plan, const EnsembleScriptOptions &options) {
  ACCORD_TRY(running, runningEnsemble(plan, options));
  AnswerFiles files = scriptsOf(running, samplesOfTable(plan));
  files.push_back({"train.sh", trainText(plan, running)});
  return std::move(files);
}

Result<AnswerFiles> ensembleScripts(const AnswerPlan &plan, const EnsembleScriptOptions &options) {
  ACCORD_TRY(running, runningEnsemble(plan, options));
  return scriptsOf(running, samplesOfTable(plan));
}

} // namespace accord::voting
