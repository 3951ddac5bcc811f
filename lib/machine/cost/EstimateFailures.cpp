#include "lib/machine/cost/EstimateFailures.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {

std::vector<Issue> issuesOf(std::vector<Failure> failures, const WorkGraph &graph) {
  constexpr size_t kMax = 20, kNamed = 3;
  std::map<std::string, size_t> places;
  std::vector<std::vector<Failure *>> causes;
  for (Failure &failure : failures) {
    auto [place, isNew] = places.try_emplace(failure.cause, causes.size());
    if (isNew)
      causes.emplace_back();
    causes[place->second].push_back(&failure);
  }
  std::vector<Issue> issues;
  for (std::vector<Failure *> &same : causes) {
    if (issues.size() == kMax)
      break;
    auto shown = llvm::max_element(same, [](const Failure *a, const Failure *b) { return a->excess < b->excess; });
    Issue &issue = issues.emplace_back(std::move((*shown)->issue));
    same.erase(shown);
    if (same.empty())
      continue;
    std::vector<std::string> names;
    for (const Failure *other : llvm::ArrayRef(same).take_front(kNamed))
      names.push_back(fmt::format("'{}'", graph.operations[other->operation].name));
    std::string more = same.size() > kNamed ? fmt::format(" and {} more", same.size() - kNamed) : "";
    issue.notes.insert(issue.notes.begin(), {graph.operations[same.front()->operation].location,
                                             fmt::format("the same holds for {} more operation{}: {}{}", same.size(),
                                                         same.size() == 1 ? "" : "s", fmt::join(names, ", "), more)});
  }
  return issues;
}

} // namespace accord
