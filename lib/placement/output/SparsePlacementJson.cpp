// certificate/sparsity.json: what there is to choose from, what was chosen, and why nothing is better.
#include "lib/placement/output/SparsePlacementJson.h"
#include "lib/placement/output/PlacementDocumentCheck.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/support/documents/JsonText.h"

using namespace llvm;
namespace accord {
using json::Path;

/// In PlacementCertificate.cpp and PlacementPathsJson.cpp.
void describe(JsonFields &f, PlacementProblem::Cost &cost);
void describe(JsonFields &f, PathBound &bound);

void describe(JsonFields &f, SparsityDecision::Option &option) {
  f.field("label", option.label).maybe("takes", option.takes);
}

void describe(JsonFields &f, SparsityDecision &decision) {
  f.field("layers", decision.layers)
      .field("options", decision.options)
      .check("layers", !decision.layers.empty(), "expected at least one")
      .check("options", !decision.options.empty(), "expected at least one");
}

void describe(JsonFields &f, SparsityAlternative &alternative) {
  f.field("options", alternative.options).field("costs", alternative.costs);
}

void describe(JsonFields &f, SparsityUnit &unit) {
  f.field("classes", unit.classes)
      .field("decisions", unit.decisions)
      .field("alternatives", unit.alternatives)
      .check("classes", !unit.classes.empty(), "expected at least one")
      .check("alternatives", !unit.alternatives.empty(), "expected at least one");
}

void describe(JsonFields &f, SparsityBudget &budget) { f.field("what", budget.what).field("max", budget.max); }

void describe(JsonFields &f, SparsityProofNode &node) {
  if (f.writes() ? node.splits() : f.has("unit")) {
    f.field("unit", node.unit)
        .field("alternatives", node.alternatives)
        .check("alternatives", !node.alternatives.empty(), "expected at least one");
    return;
  }
  f.field("bound", node.bound, [](JsonVisitor &v, double &bound) { v.numberOrNull(bound); })
      .maybe("prices", node.prices)
      .maybe("paths", node.paths);
}

namespace {

bool fail(Path at, StringLiteral message) {
  at.report(message);
  return false;
}

bool checkAlternative(const SparsityUnit &unit, const SparsityAlternative &alternative, Path at) {
  if (alternative.options.size() != unit.decisions.size())
    return fail(at.field("options"), "expected one of each decision");
  for (unsigned d = 0; d < alternative.options.size(); ++d)
    if (alternative.options[d] >= unit.decisions[d].options.size())
      return fail(at.field("options").index(d), "the decision has no option with this index");
  if (alternative.costs.size() != unit.classes.size())
    return fail(at.field("costs"), "expected those of each class");
  for (unsigned c = 0; c < alternative.costs.size(); ++c)
    if (alternative.costs[c].size() != unit.alternatives[0].costs[0].size())
      return fail(at.field("costs").index(c), "expected as many as the first class has");
  return true;
}

bool checkUnit(const PlacementSparsity &zeros, const SparsityUnit &unit, Path at) {
  for (unsigned c = 1; c < unit.classes.size(); ++c)
    if (unit.classes[c] <= unit.classes[c - 1])
      return fail(at.field("classes").index(c), "expected ascending classes");
  for (unsigned d = 0; d < unit.decisions.size(); ++d)
    for (unsigned o = 0; o < unit.decisions[d].options.size(); ++o)
      if (const auto &takes = unit.decisions[d].options[o].takes;
          !takes.empty() && takes.size() != zeros.budgets.size())
        return fail(at.field("decisions").index(d).field("options").index(o).field("takes"),
                    "expected one number for each budget");
  if (unit.alternatives[0].costs.empty())
    return fail(at.field("alternatives").index(0).field("costs"), "expected those of each class");
  for (unsigned a = 0; a < unit.alternatives.size(); ++a)
    if (!checkAlternative(unit, unit.alternatives[a], at.field("alternatives").index(a)))
      return false;
  return true;
}

bool checkZeros(const PlacementSparsity &zeros, Path at) {
  for (unsigned u = 0; u < zeros.units.size(); ++u)
    if (!checkUnit(zeros, zeros.units[u], at.field("units").index(u)))
      return false;
  if (!zeros.choice.empty() && zeros.choice.size() != zeros.units.size())
    return fail(at.field("choice"), "expected one alternative of each unit, or none");
  for (unsigned u = 0; u < zeros.choice.size(); ++u)
    if (zeros.choice[u] >= zeros.units[u].alternatives.size())
      return fail(at.field("choice").index(u), "the unit has no alternative with this index");
  for (unsigned i = 0; i < zeros.proof.size(); ++i) {
    const SparsityProofNode &node = zeros.proof[i];
    if (!node.prices.empty() && node.prices.size() != zeros.budgets.size())
      return fail(at.field("proof").index(i).field("prices"), "expected one for each budget");
    if (!node.splits())
      continue;
    if (node.unit >= zeros.units.size())
      return fail(at.field("proof").index(i).field("unit"), "no unit has this index");
    for (unsigned k = 0; k < node.alternatives.size(); ++k)
      if (node.alternatives[k] >= zeros.units[node.unit].alternatives.size())
        return fail(at.field("proof").index(i).field("alternatives").index(k),
                    "the unit has no alternative with this index");
  }
  return true;
}

void describeZeros(JsonVisitor &v, PlacementSparsity &zeros) {
  v.object([&](JsonFields &f) {
    int64_t schema = 2;
    f.field("schema", schema, IntegerRange{2, 2})
        .constant("kind", "placement_sparsity", "expected placement_sparsity")
        .field("units", zeros.units)
        .field("budgets", zeros.budgets)
        .field("choice", zeros.choice)
        .field("proof", zeros.proof)
        .maybe("dense_value", zeros.denseValue)
        .field("parts", zeros.parts, [](JsonVisitor &count, uint64_t &parts) { count.natural(parts); })
        .maybe("accuracy", zeros.accuracy);
  });
  v.check([&](Path at) { return checkZeros(zeros, at); });
}

} // namespace

std::string placementSparsity(const PlacementSparsity &zeros) {
  return jsonLine(toDocument(zeros, describeZeros)) + "\n";
}

Expected<PlacementSparsity> placementSparsityFrom(StringRef text, StringRef path) {
  return readCertificate<PlacementSparsity>(text, path, "sparsity", describeZeros);
}

} // namespace accord
