#include "lib/driver/ensembles/Answer.h"
#include "lib/driver/Documents.h"
#include "lib/driver/Session.h"
#include "lib/driver/ensembles/StatedErrors.h"
#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/solve/ChooseAnswer.h"
#include "lib/language/requests/EnsembleAnswer.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/planning/output/EstimateJson.h"
#include "lib/support/Version.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

const DocumentEntry
    kDocument("vote_answers", "accord vote --json of required answers, answer.json",
              "Members that answer on devices: what each takes there, who was chosen with which quorum, "
              "what is guaranteed of wrong, missing and late answers, what proves it, and why devices "
              "are idle. Members and devices are named by index.",
              answerSchema);

using Answer = EnsembleRequest::Answer;

/// Of what is stated, what counts for a member on a machine: the more special statement, of equal ones the later. Null:
/// nothing does.
template <typename T>
const T *statedOf(const std::vector<Answer::Stated<T>> &all, const std::string &member, const std::string &machine) {
  const T *best = nullptr;
  int bestRank = -1;
  for (const auto &one : all) {
    if ((!one.member.empty() && one.member != member) || (!one.machine.empty() && one.machine != machine))
      continue;
    int rank = (one.member.empty() ? 0 : 2) + (one.machine.empty() ? 0 : 1);
    if (rank >= bestRank)
      best = &one.value, bestRank = rank;
  }
  return best;
}

/// What a member takes on a machine by the plan of its inference.
struct PlannedMember {
  std::string reason; ///< why it does not run there; empty: it does
  int64_t picoseconds = 0;
  double joules = 0; ///< for one input
  int64_t bytes = 0;
};

/// Where the session's job is inference: a latency is taken to be the upper end of its interval, where the machine has
/// one. Nothing after errors.
std::optional<PlannedMember> planMember(Session &session) {
  if (!session.prepare())
    return std::nullopt;
  const TrainingJob &job = session.job();
  auto work = session.graphs().workAt(job.batch, 1);
  auto planned = work ? session.planFor(std::move(*work)) : std::nullopt;
  if (!planned)
    return std::nullopt;
  if (!planned->feasible)
    return PlannedMember{planned->conflicts.empty() ? "no plan is feasible"
                                                    : fmt::format("{}: {}", planned->conflicts.front().constraint,
                                                                  planned->conflicts.front().detail)};
  EstimateTotals totals;
  session.account(*planned, totals);
  const double seconds = totals.estimate ? totals.estimate->high : planned->schedule.step.seconds().value;
  return PlannedMember{"", static_cast<int64_t>(std::ceil(seconds * 1e12)),
                       totals.stepEnergy().value / static_cast<double>(job.batch), planned->memory.peak};
}

class AnswerPlanner {
public:
  AnswerPlanner(Session &base, const Options &options, const EnsembleRequest &request, std::optional<int> &status)
      : options(options), request(request), answer(request.answer.value_or(Answer())), status(status),
        diags(base.diagnostics()), isInference(base.job().inference.has_value()) {}

  std::optional<AnswerPlan> run() {
    plan.name = request.name, plan.train = request.train, plan.version = kVersion;
    plan.statistics = memberStatistics(request);
    if (!request.votesFile.empty()) {
      auto table = readVotes(request, diags);
      if (!table)
        return std::nullopt;
      plan.statistics.table = std::move(*table);
    }
    if (!answer.bitErrorsFile.empty()) {
      auto read = readBitErrors(request, diags);
      if (!read)
        return std::nullopt;
      curves = std::move(*read);
    }
    curves.resize(request.kinds.size());
    if (!requirements() || !devices() || !members())
      return std::nullopt;
    if (std::string wrong = check(plan.problem); !wrong.empty())
      return refuse(Code::NumberTooLarge, request.location, wrong), std::nullopt;
    if (answerPlacements(plan.problem) > kMaxAnswerPlacements)
      return refuse(Code::NumberTooLarge, request.location,
                    fmt::format("there are more than {} placements of members on devices", kMaxAnswerPlacements)),
             std::nullopt;
    plan.tests = answerTests(plan.problem, plan.statistics);
    StatedErrors stated{request, plan.statistics, plan.confidence, plan.tests};
    if (!stated.check(static_cast<unsigned>(plan.problem.maxSize), diags))
      return std::nullopt;
    plan.result = chooseAnswer(plan.problem, plan.statistics, {plan.confidence, plan.tests});
    if (!plan.result.best && !unanswered())
      return std::nullopt;
    assumptions();
    return std::move(plan);
  }

private:
  bool refuse(Code code, const SourceLocation &at, const std::string &message, const std::string &help = {}) {
    auto error = diags.error(code, rangeOf(diags, at), message);
    if (!help.empty())
      error.help(help);
    return false;
  }

  bool requirements() {
    AnswerProblem &problem = plan.problem;
    double confidence = 0;
    for (const auto *one : {&request.answers.wrong, &request.answers.none})
      if (*one)
        confidence = std::max(confidence, (*one)->confidence);
    constexpr double kDefaultConfidence = 0.95;
    plan.confidence = *Rational::parse(fmt::format("{}", confidence > 0 ? confidence : kDefaultConfidence));
    if (request.answers.wrong)
      problem.maxWrong = request.answers.wrong->max;
    if (request.answers.none)
      problem.maxNone = request.answers.none->max;
    for (const auto &late : request.answers.late)
      problem.limits.push_back({late.share, late.time});
    if (!request.answers.late.empty() && answer.timeout == 0)
      return refuse(Code::MissingKey, request.answers.late.front().location,
                    isInference ? "answers are required in a time, and no time-out is stated"
                                : "answers are required in a time, and no latency of members is stated",
                    "answer { timeout = 50 ms, latency = {…: {p50: 8 ms, p99: 20 ms}} }");
    problem.timeout = answer.timeout;
    if (answer.hasQuorum)
      problem.quorum = answer.quorum;
    problem.deviceFailures = request.deviceFailures;
    problem.membersPerDevice = answer.membersPerDevice;
    problem.objective = request.objective == name(AnswerObjective::Latency) ? AnswerObjective::Latency
                        : request.objective == name(AnswerObjective::Error) ? AnswerObjective::Error
                                                                            : AnswerObjective::Energy;
    if (!request.answers.isObjective && answer.energy.empty() && !isInference && problem.maxWrong)
      problem.objective = AnswerObjective::Error;
    problem.minSize = std::max<int64_t>(1, request.min);
    if (request.max > 0)
      problem.maxSize = request.max;
    if (problem.objective == AnswerObjective::Latency && problem.timeout == 0)
      return refuse(Code::MissingKey, request.location, "no latency of members is stated, and it is to be minimized",
                    "answer { timeout = 50 ms, latency = {…: {p50: 8 ms, p99: 20 ms}} }");
    return true;
  }

  bool devices() {
    int64_t number = 0;
    for (const EnsembleRequest::Device &stated : request.devices) {
      AnswerProblem::Device device;
      device.name = stated.machine;
      device.count = stated.count;
      number = std::min<int64_t>(number + stated.count, 1 << 20);
      auto shareOf = [&](const std::map<std::string, Rational> &shares) {
        auto found = shares.find(stated.machine);
        return found == shares.end() ? Rational(0) : found->second;
      };
      device.lost = shareOf(answer.undelivered), device.corrupted = shareOf(answer.corrupted);
      if (auto found = answer.network.find(stated.machine); found != answer.network.end())
        device.network = found->second;
      auto levels = answer.voltage.find(stated.machine);
      if (levels != answer.voltage.end()) {
        device.levels.clear();
        for (const Answer::Level &level : levels->second)
          device.levels.push_back(level.name);
      }
      auto memory = memoryOf(stated.machine);
      if (!memory)
        return false;
      device.memory = *memory;
      plan.problem.devices.push_back(std::move(device));
    }
    if (number > 63)
      return refuse(Code::OutOfRange, request.devices.front().location,
                    fmt::format("{} devices may answer: from 1 to 63 can vote", number));
    plan.problem.maxSize = std::min(plan.problem.maxSize, std::min<int64_t>(63, number * answer.membersPerDevice));
    if (plan.problem.maxSize < plan.problem.minSize)
      return refuse(Code::OutOfRange, request.sizeAt,
                    fmt::format("{} members are to vote, and the devices have room for {}", plan.problem.minSize,
                                plan.problem.maxSize),
                    "answer { members_per_device = 2 } lets members of a device take turns");
    return true;
  }

  /// Bytes of one such machine; nothing after errors, which are printed.
  std::optional<int64_t> memoryOf(const std::string &machine) {
    Options own = options;
    own.elaborate.ensemble = request.name;
    own.elaborate.member = request.kinds.front().name;
    own.elaborate.target = machine;
    Workspace workspace(own);
    JobTarget target(workspace);
    if (!workspace.open() || !target.prepare()) {
      status = workspace.finish(kWrongInput, "vote");
      return std::nullopt;
    }
    return target.machine().memories.front().capacity.value;
  }

  bool members() {
    AnswerProblem &problem = plan.problem;
    const std::vector<int64_t> logOdds = logOddsWeights(plan.statistics);
    for (const EnsembleRequest::Kind &kind : request.kinds) {
      auto weight = answer.weights.find(kind.name);
      problem.kinds.push_back({kind.name, answer.isLogOdds                 ? logOdds[problem.kinds.size()]
                                          : weight == answer.weights.end() ? 1
                                                                           : weight->second});
      auto &byDevice = problem.runs.emplace_back();
      for (const AnswerProblem::Device &device : problem.devices) {
        auto &byLevel = byDevice.emplace_back();
        auto levels = answer.voltage.find(device.name);
        for (size_t level = 0; level < device.levels.size(); ++level) {
          auto run = runOf(problem.kinds.size() - 1, device,
                           levels == answer.voltage.end() ? Answer::Level() : levels->second[level]);
          if (!run)
            return false;
          byLevel.push_back(std::move(*run));
        }
      }
    }
    return true;
  }

  /// Of a member on a machine, where the ensemble is of an inference. Null after errors, which are printed.
  const PlannedMember *plannedMember(const std::string &member, const std::string &machine) {
    auto [slot, isNew] = planned.try_emplace({member, machine});
    if (!isNew)
      return &slot->second;
    Options own = options;
    own.elaborate.ensemble = request.name;
    own.elaborate.member = member;
    own.elaborate.target = machine;
    Session session(own);
    auto found = planMember(session);
    if (!found || session.diagnostics().hasErrors()) {
      status = session.finish(kWrongInput, "vote");
      return nullptr;
    }
    return &(slot->second = std::move(*found));
  }

  /// What is stated of a member on a machine; where nothing is, and the ensemble is of an inference, what its plan
  /// takes.
  std::optional<MemberRun> runOf(size_t kind, const AnswerProblem::Device &device, const Answer::Level &level) {
    const std::string &member = request.kinds[kind].name;
    MemberRun run;
    const TimeQuantiles *latency = statedOf(answer.latency, member, device.name);
    const double *joules = statedOf(answer.energy, member, device.name);
    const PlannedMember *plan = nullptr;
    if (isInference && (!latency || !joules) && !(plan = plannedMember(member, device.name)))
      return std::nullopt;
    run.isPossible = latency || (plan ? plan->reason.empty() : answer.latency.empty());
    if (latency)
      run.latency = *latency;
    else if (plan && run.isPossible && this->plan.problem.timeout > 0)
      run.latency = {{Rational(1), plan->picoseconds}};
    if (plan && run.isPossible)
      run.memory = plan->bytes;
    if (joules)
      run.joules = *joules * level.energy;
    else if (plan)
      run.joules = plan->joules * level.energy;
    else if (run.isPossible && this->plan.problem.objective == AnswerObjective::Energy)
      return refuse(Code::MissingRate, answer.location.line ? answer.location : request.location,
                    fmt::format("the energy of answers is to be minimized, and that of '{}' on '{}' is not stated",
                                member, device.name),
                    fmt::format("answer {{ energy = {{{}: {{{}: 80 mJ}}}} }}", member, device.name)),
             std::nullopt;
    if (const double *bytes = statedOf(answer.memory, member, device.name))
      run.memory = static_cast<int64_t>(std::ceil(*bytes));
    if (level.bitErrors.isZero() || !run.isPossible)
      return run;
    const BitErrorCurve &curve = curves[kind];
    if (curve.empty())
      return refuse(Code::MissingRate, answer.location,
                    fmt::format("'{}' has bit errors at {}, and no error of '{}' is stated for them", device.name,
                                level.name, member),
                    "bit_errors from \"bit_errors.csv\", with columns member, bit_error_rate and error"),
             std::nullopt;
    // The next larger rate, and no smaller error than at any smaller one: nothing between them is guessed.
    Rational error = curve.front().second;
    auto at = curve.begin();
    for (; at != curve.end() && at->first < level.bitErrors; ++at)
      error = std::max(error, at->second);
    if (at == curve.end()) {
      run.isPossible = false;
      return run;
    }
    error = std::max(error, at->second);
    const Rational right = Rational(1) - curve.front().second;
    run.corrupted = right.isZero() ? Rational(0) : (error - curve.front().second) / right;
    return run;
  }

  /// Why nothing is chosen: an error where more were to be known of errors, else it cannot be.
  bool unanswered() {
    const AnswerResult &result = plan.result;
    if (plan.problem.maxWrong && !result.minWrongDevices.empty()) {
      std::vector<unsigned> counts = kindCounts(plan.problem, result.minWrongDevices);
      std::string who;
      for (size_t k = 0; k < counts.size(); ++k)
        if (counts[k])
          who += fmt::format("{}{} {}", who.empty() ? "" : ", ", counts[k], plan.problem.kinds[k].name);
      return refuse(
          Code::RequirementNotShown, request.answers.wrong->location,
          fmt::format("of answers of {} at most {} are guaranteed to be wrong{}, at most {} are required", who,
                      percentText(result.minWrong),
                      result.minWrong <= *plan.problem.maxWrong ? " while no device fails" : "",
                      percentText(*plan.problem.maxWrong)),
          "state joint_error of more members, votes from a file, or independent; or allow more without an answer");
    }
    plan.conflict =
        result.placements == 0 ? "no members of these sizes run on the devices"
        : result.numRejected > 0
            ? "no votes decide in time as often as is required: where a vote is missing, they decide before "
              "the time-out only if more than half of the weight of all members is right"
            : "no placement has a quorum in time as often as is required of answers";
    return true;
  }

  void assumptions() {
    auto assume = [&](const std::string &text) { plan.assumptions.push_back(text); };
    assume("latencies and losses of devices, and wrong votes on the way, are independent of each other and of errors");
    if (answer.membersPerDevice > 1)
      assume("members of a device take turns and send their votes together");
    if (answer.timeout > 0)
      assume(
          "latencies are distributed as their quantiles say; in between nothing is assumed, but for estimates, which "
          "are lognormal");
    if (!plan.problem.quorum && !plan.problem.maxNone)
      assume("the quorum is more than half of the weight: no 'quorum' is stated, and no 'no_answer' is required");
    if (!answer.bitErrorsFile.empty())
      assume("bit errors make a right vote wrong independently of other members and of the input; between rates of the "
             "curve the next larger one counts");
    if (!planned.empty())
      assume(fmt::format(
          "what is not stated of a member on a machine follows from the plan of inference '{}' there: a latency is "
          "the upper end of its interval, and the same for each input",
          request.train));
    for (const auto &[who, one] : planned)
      if (!one.reason.empty())
        assume(fmt::format("'{}' does not run on '{}': {}", who.first, who.second, one.reason));
    if (!answer.latency.empty() || !answer.energy.empty() || !planned.empty())
      assume("latencies, energies and memory of members as they are stated; devices that are idle, and what counts the "
             "votes, take no energy");
  }

  const Options &options;
  const EnsembleRequest &request;
  const Answer answer;
  std::optional<int> &status;
  Diagnostics &diags;
  bool isInference;                  ///< that the ensemble is of: its plans say what members take
  std::vector<BitErrorCurve> curves; ///< by kind of member
  std::map<std::pair<std::string, std::string>, PlannedMember> planned; ///< by member and machine
  AnswerPlan plan;
};

} // namespace

std::optional<AnswerPlan> planAnswers(Session &base, const Options &options, const EnsembleRequest &request,
                                      std::optional<int> &status) {
  return AnswerPlanner(base, options, request, status).run();
}

} // namespace accord
