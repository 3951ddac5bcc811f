#include "lib/exploration/output/DesignFindings.h"
#include "lib/exploration/solve/Sensitivity.h"
#include "lib/exploration/strategies/ParetoFront.h"
#include "lib/support/documents/TextStyle.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

// Of each search for findings at least, where the search before found its design at once.
constexpr uint64_t kEvaluations = 64, kBounds = 1024;

std::string numberText(double number, const Dimension &dimension) {
  Dimension perSecond = Dimension::of(Base::Second, -1);
  if (dimension == Dimension::of(Base::Metre, 2))
    return fmt::format("{:.4g} mm2", number * 1e6);
  if (dimension == Dimension::of(Base::Joule) * perSecond)
    return formatSi(number, "W");
  if (dimension == Dimension::of(Base::Byte))
    return formatBytes(number);
  if (dimension == Dimension::of(Base::Byte) * perSecond)
    return formatSi(number, "B/s");
  if (dimension == Dimension::of(Base::Second))
    return formatSi(number, "s");
  if (dimension == Dimension::of(Base::Cycle) * perSecond)
    return formatSi(number, "Hz");
  return fmt::format("{:.6g}", number);
}

/// Why a design may not be.
std::string infeasibilityReason(const MinedProblem &mined, const Design &design) {
  auto machine = mined.space.machine(design);
  if (!machine)
    return machine.error().message;
  std::optional<size_t> violatedRequirement = mined.space.violatedRequirement(design, *machine);
  if (!violatedRequirement)
    return mined.unfit(design);
  std::string text = "breaks '" + mined.space.requirements()[*violatedRequirement].text + "'";
  if (auto limit = mined.space.limit(*violatedRequirement, design, *machine))
    text += fmt::format(": {} {} {}", numberText(limit->number, limit->dimension),
                        limit->op == "<="   ? ">"
                        : limit->op == "<"  ? ">="
                        : limit->op == ">=" ? "<"
                                            : "<=",
                        numberText(limit->limit, limit->dimension));
  return text;
}

void searchRelaxed(RequirementSensitivity &entry, const MinedProblem &mined, size_t requirement,
                   const MiningOptions &search) {
  mined.space.relax(requirement, kRelaxationFactor);
  entry.relaxed = mineExactly(mined.problem, search);
  mined.space.relax(requirement, 1);
  if (entry.relaxed->best)
    entry.chosen = labelsOf(mined.space.parameters(), *entry.relaxed->best);
}

} // namespace

RequirementSensitivity requirementSensitivity(const DesignSpace &space, size_t requirement, const Design &best) {
  RequirementSensitivity entry;
  entry.text = space.requirements()[requirement].text;
  auto machine = space.machine(best);
  if (!machine)
    return entry;
  if (auto limit = space.limit(requirement, best, *machine)) {
    entry.used = limit->atMost() ? limit->number / limit->limit : limit->number > 0 ? limit->limit / limit->number : 0;
    entry.figures = fmt::format("{} of {} {}", numberText(limit->number, limit->dimension),
                                limit->atMost() ? "at most" : "at least", numberText(limit->limit, limit->dimension));
    Dimension areas = Dimension::of(Base::Metre, 2),
              powers = Dimension::of(Base::Joule) * Dimension::of(Base::Second, -1);
    bool area = limit->dimension == areas && limit->number == machine->area.value,
         power = limit->dimension == powers && limit->number == machine->tdp.value;
    if (area || power) {
      entry.figure = area ? "area" : "tdp", entry.atMost = limit->atMost();
      entry.limit = area ? SquareMetres{limit->limit}.squareMillimetres() : limit->limit;
    }
  }
  return entry;
}

void addFindings(MiningPlan &plan, const MinedProblem &mined, const MineReportOptions &options) {
  const MiningResult &result = plan.best.result;
  if (!result.best)
    return;
  const Design &best = *result.best;
  MiningFindings &findings = plan.findings;
  if (mined.search.stopped()) {
    findings.left = "the search was stopped: nothing was found out about its design";
    plan.assumptions.push_back(findings.left);
    return;
  }
  findings.limits = mined.limits(best);
  findings.bottleneckGains = mined.problem.bottleneckGains(best);
  for (size_t r = 0; r < mined.space.requirements().size(); ++r)
    findings.requirements.push_back(requirementSensitivity(mined.space, r, best));
  SensitivityOptions beside;
  beside.threads = mined.search.threads;
  beside.stop = mined.search.stop;
  if (options.sensitivity)
    beside.evaluations = std::max(kEvaluations, result.evaluations), beside.bounds = std::max(kBounds, result.bounds);
  // Where a value takes a search of its own, the choices wait until they are asked for.
  if (options.sensitivity || mined.problem.numBoundLevels() == 0)
    findings.parameters = sensitivityOf(mined.problem, best, beside);
  for (size_t p = 0; p < findings.parameters.size(); ++p)
    for (ChoiceSensitivity &entry : findings.parameters[p])
      if (std::isinf(entry.value)) {
        Design design = best;
        design[p] = entry.choice;
        entry.reason = infeasibilityReason(mined, design);
      }
  MiningOptions search = mined.search;
  search.known = {best};
  search.executor = nullptr; // an executor serves the searches of strategies, of the space as it is written
  MiningOptions relaxed = search;
  // Of more designs than before.
  relaxed.evaluations = std::min(search.evaluations, 2 * std::max(kEvaluations, result.evaluations));
  relaxed.bounds = std::min(search.bounds, 2 * std::max(kBounds, result.bounds));
  for (size_t r = 0; r < findings.requirements.size() && options.sensitivity; ++r)
    if (findings.requirements[r].used > 0 && !mined.search.stopped())
      searchRelaxed(findings.requirements[r], mined, r, relaxed);
  if (!options.front)
    return;
  MinedParetoFront &front = plan.front.emplace();
  front.front = mineParetoFront(mined.problem, *options.front, search);
  size_t digits = std::max<size_t>(2, std::to_string(front.front.points.size()).size());
  for (size_t i = 0; i < front.front.points.size(); ++i)
    front.designs.push_back(mined.designed(fmt::format("{:0{}}", i + 1, digits), front.front.points[i].design));
}

} // namespace accord
