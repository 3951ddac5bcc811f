#include "lib/driver/tasks/Vote.h"
#include "lib/driver/Session.h"
#include "lib/driver/tasks/MemberAlternatives.h"
#include "lib/driver/tasks/VoteWidths.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

// Without a range: what is easily trained, and what pairs of joint errors can certify.
constexpr int64_t kDefaultSizes = 5;
constexpr double kDefaultConfidence = 0.95;

void remember(std::vector<std::string> &all, const std::string &text) {
  if (!llvm::is_contained(all, text))
    all.push_back(text);
}

MemberObjective objectiveOf(const std::string &word) {
  return word == "energy"   ? MemberObjective::Energy
         : word == "memory" ? MemberObjective::Memory
         : word == "price"  ? MemberObjective::Price
                            : MemberObjective::StepTime;
}

bool emit(const EnsemblePlan &plan, const Options &options, Diagnostics &diags) {
  return makeFolder(diags, options.output) &&
         writeFile(diags, options.output + "/" + kVoteFile, jsonText(toJson(plan)) + "\n") &&
         writeFile(diags, options.output + "/report.html", toReport(plan));
}

} // namespace

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

bool planMembers(Session &base, const Options &options, EnsemblePlan &plan, std::optional<int> &status) {
  const EnsembleRequest &request = plan.request;
  std::vector<EnsembleRequest::Device> devices = request.devices;
  if (devices.empty()) {
    devices.push_back({base.job().target, 1, request.location});
    plan.assumptions.push_back(fmt::format("one device, '{}': none are stated", base.job().target));
  }
  for (const EnsembleRequest::Kind &kind : request.kinds)
    plan.problem.kinds.push_back({kind.name, {}});
  plan.alternatives.resize(request.kinds.size());
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
      plan.problem.kinds[k].alternatives.push_back(std::move(found->alternatives));
      plan.alternatives[k].push_back(std::move(found->texts));
      plan.reasons[k].push_back(std::move(found->reason));
      for (const std::string &text : found->assumptions)
        remember(plan.assumptions, text);
    }
    plan.problem.devices.push_back(std::move(on));
  }
  return true;
}

std::optional<EnsemblePlan> planEnsemble(Session &base, const Options &options, std::optional<int> &status) {
  Diagnostics &diags = base.diagnostics();
  auto request = base.program().ensemble();
  if (!request)
    return std::nullopt;
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
  plan.problem.objective = objectiveOf(request->objective);
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

int vote(const Options &options) {
  Session base(options);
  std::optional<int> status;
  auto plan = base.prepare() ? planEnsemble(base, options, status) : std::nullopt;
  if (status)
    return *status;
  if (!plan || !emit(*plan, options, base.diagnostics()))
    return base.finish(kWrongInput, "vote");
  if (options.json)
    llvm::outs() << jsonText(toJson(*plan)) << "\n";
  else
    llvm::outs() << ensembleSummary(*plan, llvm::StringRef(options.output).rtrim('/').str(),
                                    TextStyle::of(llvm::outs()));
  return base.finish(plan->chosen() ? kDone : kInfeasible, "vote");
}

} // namespace accord
