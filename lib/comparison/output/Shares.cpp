#include "lib/comparison/output/Shares.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <functional>
#include <map>

namespace accord::comparison {
namespace {

std::vector<Share> sumsBy(const Comparison &comparison, const std::function<std::string(const Row &)> &nameOf) {
  std::vector<Share> shares;
  std::map<std::string, size_t> index;
  for (const Row &row : comparison.rows) {
    auto [at, isNew] = index.try_emplace(nameOf(row), shares.size());
    if (isNew)
      shares.push_back({at->first});
    shares[at->second].planned += row.planned;
    shares[at->second].measured += row.exposed;
  }
  return shares;
}

const PlannedOperation *mainOf(const Comparison &comparison, const Row &row) {
  const PlannedOperation *main = nullptr;
  for (uint32_t id : row.operations)
    if (const PlannedOperation &op = comparison.plan.operations[id]; !main || op.seconds > main->seconds)
      main = &op;
  return main;
}

} // namespace

std::string nameOf(const Comparison &comparison, const Row &row) {
  if (row.operations.empty())
    return "update";
  const PlannedOperation &first = comparison.plan.operations[row.operations.front()];
  if (first.part == Part::Update)
    return "update";
  if (row.operations.size() == 1)
    return first.name;
  // All gradients of one operation.
  if (first.forward >= 0 && llvm::all_of(row.operations, [&](uint32_t id) {
        return comparison.plan.operations[id].forward == first.forward;
      }))
    return comparison.plan.operations[first.forward].name + ", gradients";
  return fmt::format("{} and {} more", mainOf(comparison, row)->name, row.operations.size() - 1);
}

std::string partOf(const Comparison &comparison, const Row &row) {
  bool data = false, weight = false;
  Part part = row.operations.empty() ? Part::Update : comparison.plan.operations[row.operations.front()].part;
  for (uint32_t id : row.operations) {
    const PlannedOperation &op = comparison.plan.operations[id];
    part = std::max(part, op.part);
    if (op.part == Part::Backward)
      (op.isWeightGradient ? weight : data) = true;
  }
  if (part != Part::Backward)
    return accord::comparison::nameOf(part);
  return data && weight ? "both gradients" : weight ? "weight gradients" : "data gradients";
}

WorkClass classOf(const Comparison &comparison, const Row &row) {
  const PlannedOperation *main = mainOf(comparison, row);
  return main && !main->work.empty() && main->part != Part::Update ? main->work.front().workClass : WorkClass::Other;
}

std::vector<Share> sharesByPart(const Comparison &comparison) {
  std::vector<Share> shares = sumsBy(comparison, [&](const Row &row) { return partOf(comparison, row); });
  double planned = 0;
  for (const Row &row : comparison.rows)
    planned += row.planned;
  for (const MeasuredGroup &group : comparison.groups)
    shares.push_back({group.name, 0, group.seconds});
  shares.push_back({"planned outside of operations", comparison.plan.seconds - planned, 0});
  shares.push_back({"not explained", 0, comparison.unexplained});
  return shares;
}

std::vector<Share> sharesByClass(const Comparison &comparison) {
  return sumsBy(comparison, [&](const Row &row) {
    return partOf(comparison, row) == "update" ? std::string("update")
                                               : std::string(accord::comparison::nameOf(classOf(comparison, row)));
  });
}

std::vector<Share> sharesByRepeat(const Comparison &comparison) {
  return sumsBy(comparison, [&](const Row &row) {
    const PlannedOperation *main = mainOf(comparison, row);
    return !main || main->part == Part::Update ? std::string("update")
           : main->group.empty()               ? std::string("outside of repeats")
                                               : main->group;
  });
}

} // namespace accord::comparison
