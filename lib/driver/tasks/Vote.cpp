#include "lib/driver/tasks/Vote.h"
#include "dialects/dnn/Dnn.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Session.h"
#include "lib/driver/ensembles/Answer.h"
#include "lib/driver/ensembles/EnsembleChooser.h"
#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/solve/ChooseMembers.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/search/ParetoFront.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// How one member may be trained on one machine: each micro-batch and recomputation that its training offers, planned
/// as `accord compile` does, without those that another one dominates.
struct MemberAlternatives {
  std::vector<MemberCost> costs;
  std::string reason; ///< why there are none
  int64_t memory = 0; ///< bytes of the machine
  std::vector<std::string> assumptions;
};

int64_t stateBytes(const MemoryUse &memory) {
  return memory.atPeak[llvm::to_underlying(Category::Weights)] +
         memory.atPeak[llvm::to_underlying(Category::OptimizerStates)];
}

bool dominates(const MemberCost &a, const MemberCost &b) {
  return a.time <= b.time && a.state <= b.state && a.activations <= b.activations && a.joules <= b.joules;
}

/// Of the session's job on its machine. Nothing after errors.
std::optional<MemberAlternatives> memberAlternatives(Session &session) {
  const TrainingJob &job = session.job();
  const Machine &machine = session.machine();
  SingleDeviceRequest request = session.request();
  MemberAlternatives result;
  result.memory = machine.memories.front().capacity.value;
  result.assumptions = job.assumptions;
  int64_t min = INT64_MAX;
  for (const std::string &policy : job.recomputes)
    for (int64_t microbatch : job.microbatches) {
      if (microbatch < 1 || job.batch % microbatch != 0)
        continue;
      int64_t number = job.batch / microbatch;
      auto work = request.instantiate(microbatch, number, policy);
      if (!work) {
        session.report(work.error());
        return std::nullopt;
      }
      auto planned = accord::planFor(std::move(*work), machine, request);
      if (!planned) {
        for (const Error &error : planned.error())
          session.report(error);
        return std::nullopt;
      }
      const Plan &plan = *planned;
      if (!plan.feasible) {
        if (plan.memory.peak < min) {
          min = plan.memory.peak;
          result.reason = plan.conflicts.empty()
                              ? "no plan is feasible"
                              : fmt::format("{}: {}", plan.conflicts.front().constraint, plan.conflicts.front().detail);
        }
        continue;
      }
      MemberCost cost;
      cost.time = plan.schedule.step.value;
      cost.state = stateBytes(plan.memory);
      cost.activations = plan.memory.peak - cost.state;
      cost.joules = measureCandidate(plan).energy.value;
      cost.text = fmt::format("micro-batch {} x {}", microbatch, number);
      if (job.recomputes.size() > 1)
        cost.text += fmt::format(", recompute {}", policy);
      addNondominated(result.costs, std::move(cost), dominates);
    }
  if (!result.costs.empty())
    result.reason.clear();
  else if (result.reason.empty())
    result.reason = fmt::format("no micro-batch size in the search space divides its batch of {}", job.batch);
  return result;
}

// Without a range: what is easily trained, and what pairs of joint errors can certify.
constexpr int64_t kDefaultSizes = 5;
constexpr double kDefaultConfidence = 0.95;

bool emit(const EnsemblePlan &plan, const Options &options, Diagnostics &diags) {
  AnswerFolder answer(diags, options.output);
  return answer.write(filesOf(plan)).commit();
}

/// Odd sizes that are asked for; nothing after an error (A1006).
std::vector<unsigned> sizesOf(const EnsembleRequest &request, std::vector<std::string> &assumptions,
                              Diagnostics &diags) {
  int64_t min = std::max<int64_t>(1, request.min), max = request.max;
  if (max == 0) {
    max = std::max(min, kDefaultSizes);
    assumptions.push_back(fmt::format("sizes {} to {}: none is stated", min, max));
  }
  std::vector<unsigned> sizes;
  for (int64_t size = min; size <= max && size <= 63; ++size)
    if (size % 2)
      sizes.push_back(size);
  if (sizes.empty())
    diags
        .error(Code::EvenSize, rangeOf(diags, request.sizeAt),
               fmt::format("ensemble '{}' has an even number of members, {}: a tie counts as an "
                           "error, so one voter less is never worse",
                           request.name, min))
        .help(min > 1 ? fmt::format("size = {} or size = {}", min - 1, min + 1) : "size = 1..7");
  return sizes;
}

/// Members of a request on its devices, each planned; false after errors, which are printed, with the exit status in
/// `status`.
bool planMembers(Session &base, const Options &options, EnsemblePlan &plan, std::optional<int> &status) {
  const EnsembleRequest &request = plan.request;
  std::vector<EnsembleRequest::Device> devices = request.devices;
  if (devices.empty()) {
    devices.push_back({base.job().target, 1, request.location});
    plan.assumptions.push_back(fmt::format("one device, '{}': none are stated", base.job().target));
  }
  for (const EnsembleRequest::Kind &kind : request.kinds)
    plan.problem.kinds.push_back({kind.name, {}});
  plan.reasons.resize(request.kinds.size());
  for (const EnsembleRequest::Device &device : devices) {
    MemberProblem::Device on;
    on.name = device.machine;
    on.count = device.count;
    for (size_t k = 0; k < request.kinds.size(); ++k) {
      Options own = options;
      own.elaborate.ensemble = request.name;
      own.elaborate.member = request.kinds[k].name;
      own.elaborate.target = device.machine;
      Session session(own);
      if (!session.prepare()) {
        status = session.finish(kWrongInput, "vote");
        return false;
      }
      auto found = memberAlternatives(session);
      if (!found || session.diagnostics().hasErrors()) {
        status = session.finish(kWrongInput, "vote");
        return false;
      }
      on.memory = found->memory;
      plan.problem.kinds[k].alternatives.push_back(std::move(found->costs));
      plan.reasons[k].push_back(std::move(found->reason));
      for (const std::string &text : found->assumptions)
        if (!llvm::is_contained(plan.assumptions, text))
          plan.assumptions.push_back(text);
    }
    plan.problem.devices.push_back(std::move(on));
  }
  return true;
}

} // namespace

std::optional<EnsemblePlan> planEnsemble(Session &base, const Options &options, std::optional<int> &status) {
  Diagnostics &diags = base.diagnostics();
  auto request = base.program().ensemble();
  if (!request)
    return std::nullopt;
  if (request->answers.any()) {
    diags
        .error(Code::NotSupported, rangeOf(diags, request->location),
               fmt::format("answers are required of ensemble '{}', and its training is planned here", request->name))
        .help("accord vote plans who answers; require 'error' for the training");
    return std::nullopt;
  }
  EnsemblePlan plan;
  plan.name = request->name, plan.train = request->train, plan.version = kVersion;
  plan.request = *request;
  plan.statistics = memberStatistics(*request);
  plan.statistics.anyOfKind = request->deviceFailures > 0;
  if (!request->votesFile.empty()) {
    auto table = readVotes(*request, diags);
    if (!table)
      return std::nullopt;
    plan.statistics.table = std::move(*table);
  }
  double confidence =
      request->error && request->error->confidence > 0 ? request->error->confidence : kDefaultConfidence;
  plan.confidence = *Rational::parse(fmt::format("{}", confidence)); // as it is written
  plan.problem.sizes = sizesOf(*request, plan.assumptions, diags);
  plan.problem.deviceFailures = std::min<int64_t>(request->deviceFailures, 1 << 20);
  if (request->error)
    plan.problem.max = request->error->max;
  for (auto objective : {MemberObjective::Energy, MemberObjective::Memory, MemberObjective::Price})
    if (request->objective == name(objective))
      plan.problem.objective = objective;
  if (diags.hasErrors() || !planMembers(base, options, plan, status))
    return std::nullopt;
  if (plan.problem.objective == MemberObjective::Price &&
      std::ranges::all_of(plan.problem.devices, [](const auto &device) { return device.pricePerHour == 0; }))
    diags
        .error(
            Code::MissingRate, rangeOf(diags, request->location),
            fmt::format("ensemble '{}' is to minimize its price, and none of its devices has a price", request->name))
        .help("minimize energy, or step_time");
  if (diags.hasErrors() || !chooseEnsemble(plan, diags))
    return std::nullopt;
  return plan;
}

namespace {

/// Where answers are required of the session's ensemble.
int voteOnAnswers(Session &base, const Options &options, const EnsembleRequest &request) {
  std::optional<int> status;
  auto plan = planAnswers(base, options, request, status);
  if (status)
    return *status;
  AnswerFolder folder(base.diagnostics(), options.output);
  if (!plan || base.diagnostics().hasErrors() || !folder.write(filesOf(*plan)).commit())
    return base.finish(kWrongInput, "vote");
  if (options.json)
    standardOutput() << jsonText(toJson(*plan)) << "\n";
  else
    standardOutput() << answerSummary(*plan, TextStyle::of(standardOutput()));
  return base.finish(exitOf(statusOf(*plan)), "vote");
}

} // namespace

int vote(const Options &options) {
  Session base(options);
  std::optional<int> status;
  const bool isPrepared = base.prepare();
  if (isPrepared)
    if (auto request = base.program().ensemble(); request && request->answers.any())
      return voteOnAnswers(base, options, *request);
  auto plan = isPrepared ? planEnsemble(base, options, status) : std::nullopt;
  if (status)
    return *status;
  if (!plan || !emit(*plan, options, base.diagnostics()))
    return base.finish(kWrongInput, "vote");
  if (options.json)
    standardOutput() << jsonText(toJson(*plan)) << "\n";
  else
    standardOutput() << ensembleSummary(*plan, llvm::StringRef(options.output).rtrim('/').str(),
                                        TextStyle::of(standardOutput()));
  return base.finish(exitOf(statusOf(*plan)), "vote");
}

namespace {

// Wider models than this are not tried.
constexpr int64_t kWidest = 1 << 20;

/// Trained scalars of the session's model with a parameter set; nothing: there is no such model.
std::optional<double> scalarsOf(Session &session, const std::map<std::string, int64_t> &overrides = {}) {
  size_t errors = session.diagnostics().errors();
  dnn::ModelOp model = session.program().model(session.job(), overrides);
  if (!model || session.diagnostics().errors() > errors) {
    session.diagnostics().dropErrors(errors);
    return std::nullopt;
  }
  double scalars = 0;
  for (dnn::ParameterOp parameter : model.getBlock().getOps<dnn::ParameterOp>())
    scalars += parameter.getElements();
  model->erase();
  return scalars;
}

} // namespace

int voteWidths(const Options &options, const std::string &asked) {
  auto [name, stepText] = llvm::StringRef(asked).split(':');
  auto [member, parameter] = name.split('.');
  int64_t step = 1;
  if (member.empty() || parameter.empty() ||
      (!stepText.empty() && (stepText.getAsInteger(10, step) || step < 1 || step > kWidest)))
    return refuse(Code::BadCommandLine,
                  fmt::format("--widths '{}' is not MEMBER.PARAMETER or MEMBER.PARAMETER:STEP", asked), options.json,
                  "vote");
  Session base(options);
  if (!base.prepare())
    return base.finish(kWrongInput, "vote");
  Diagnostics &diags = base.diagnostics();
  auto request = base.program().ensemble();
  std::vector<std::string> assumptions;
  std::vector<unsigned> sizes;
  if (request)
    sizes = sizesOf(*request, assumptions, diags);
  auto budget = scalarsOf(base);
  if (!request || !budget || diags.hasErrors())
    return base.finish(kWrongInput, "vote");
  std::vector<std::string> known;
  for (const EnsembleRequest::Kind &kind : request->kinds)
    known.push_back(kind.name);
  if (!llvm::is_contained(known, member)) {
    diags
        .error(Code::UnknownName, rangeOf(diags, request->location),
               fmt::format("ensemble '{}' has no member '{}'", request->name, member.str()))
        .suggest(nearest(member, known));
    return base.finish(kWrongInput, "vote");
  }
  Options own = options;
  own.elaborate.ensemble = request->name;
  own.elaborate.member = member.str();
  Session narrow(own);
  if (!narrow.prepare())
    return narrow.finish(kWrongInput, "vote");
  auto written = narrow.program().parameter(narrow.job(), parameter);
  if (!written || *written < 1) {
    narrow.diagnostics().error(
        Code::UnknownName, {},
        fmt::format("the model of '{}' has no parameter '{}' that is a number from 1", member.str(), parameter.str()));
    return narrow.finish(kWrongInput, "vote");
  }
  auto cost = [&](int64_t width) { return scalarsOf(narrow, {{parameter.str(), width}}); };
  int64_t max = std::min(*written, kWidest);
  for (auto one = cost(max); one && *one <= *budget && max < kWidest; one = cost(max))
    max *= 2;
  std::vector<MemberWidth> widths = memberWidths(sizes, max, step, *budget, cost);
  if (options.json) {
    llvm::json::Array all;
    for (const MemberWidth &one : widths)
      all.push_back(llvm::json::Object{{"members", one.members}, {"width", one.width}, {"parameters", one.cost}});
    standardOutput() << jsonText(llvm::json::Object{{"command", "vote"},
                                                    {"version", kVersion},
                                                    {"status", "done"},
                                                    {"parameter", name.str()},
                                                    {"budget", *budget},
                                                    {"widths", std::move(all)}})
                     << "\n";
    return narrow.finish(kDone, "vote");
  }
  TextStyle style = TextStyle::of(standardOutput());
  TextTable table("rrrr", {"members", parameter.str(), "parameters of all", "of the whole"});
  for (const MemberWidth &one : widths)
    table.row({std::to_string(one.members), std::to_string(one.width), formatSi(one.cost, ""),
               fmt::format("{:.1f} %", 100 * one.cost / *budget)});
  standardOutput() << fmt::format("the widest {} of so many {} with at most the {} parameters of {}\n", parameter.str(),
                                  member.str(), formatSi(*budget, ""), request->train)
                   << table.text(style) << "  a heuristic: what the errors of such members are has to be measured\n";
  return narrow.finish(kDone, "vote");
}

} // namespace accord
