#include "lib/machine/cost/EstimateFailures.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {

Errors errorsOf(std::vector<Failure> failures, const WorkGraph &graph) {
  constexpr size_t kMax = 20, kNamed = 3;
  std::map<std::string, size_t> places;
  std::vector<std::vector<Failure *>> causes;
  for (Failure &failure : failures) {
    auto [place, isNew] = places.try_emplace(failure.cause, causes.size());
    if (isNew)
      causes.emplace_back();
    causes[place->second].push_back(&failure);
  }
  Errors errors;
  for (std::vector<Failure *> &same : causes) {
    if (errors.size() == kMax)
      break;
    auto shown = llvm::max_element(same, [](const Failure *a, const Failure *b) { return a->excess < b->excess; });
    Error &error = errors.emplace_back(std::move((*shown)->error));
    same.erase(shown);
    if (same.empty())
      continue;
    std::vector<std::string> names;
    for (const Failure *other : llvm::ArrayRef(same).take_front(kNamed))
      names.push_back(fmt::format("'{}'", graph.operations[other->operation].name));
    std::string more = same.size() > kNamed ? fmt::format(" and {} more", same.size() - kNamed) : "";
    error.notes.insert(error.notes.begin(), {graph.operations[same.front()->operation].location,
                                             fmt::format("the same holds for {} more operation{}: {}{}", same.size(),
                                                         same.size() == 1 ? "" : "s", fmt::join(names, ", "), more)});
  }
  return errors;
}

} // namespace accord
