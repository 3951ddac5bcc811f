#include "lib/editor/Hints.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/driver/Session.h"
#include "lib/driver/tasks/Estimate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/placement/output/PlacementSummary.h"
#include "lib/planning/problem/Objective.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/TextStyle.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {

/// What the operations of one line of a model do in the forward pass.
struct LineWork {
  double flops = 0, bytes = 0;
};

class Deriver {
public:
  using Range = std::optional<std::pair<EditorPosition, EditorPosition>>;
  Deriver(const OpenFiles &open, const std::string &path, const std::function<bool()> &stop, Range range)
      : open(open), path(path), stop(stop), range(range) {}

  std::vector<Hint> derive() {
    machines();
    for (size_t i = 0; i < trainings.size() && !stop(); ++i)
      training(trainings[i]);
    for (const auto &[line, work] : lines)
      if (work.flops > 0)
        endOfLine(line, fmt::format("{}, {}", formatSi(work.flops, "FLOP"), formatBytes(work.bytes)),
                  "work of this line in the forward pass of a micro-batch, and the bytes that it reads and writes; a "
                  "repeated layer once");
    stableSort(found, [](const Hint &a, const Hint &b) { return a.at < b.at; });
    return std::move(found);
  }

private:
  Options optionsOf(const std::string &train) const {
    Options options;
    options.file = path;
    options.elaborate.train = train;
    options.elaborate.clusters = true;
    return options;
  }

  void add(const SourceManager &sources, uint32_t offset, std::string text, std::string tooltip) {
    FileId main = *sources.find(path);
    found.push_back({LineTable(sources.text(main)).position(offset), std::move(text), std::move(tooltip)});
  }

  bool isShown(SourceRange place) {
    if (!range)
      return true;
    if (!lineTable)
      lineTable.emplace(text);
    return lineTable->position(place.begin) <= range->second && range->first <= lineTable->position(place.end);
  }

  /// Of each core its peaks; and which trainings there are.
  void machines() {
    Options options = optionsOf("");
    options.elaborate.isChecked = [](const ast::Declaration &) { return true; }; // those that are asked for are
    Workspace workspace(options);
    provideOpenTexts(open, path, catalogFolder(), workspace.diagnostics().sources());
    if (!workspace.read() || stop())
      return;
    const ast::File *main = workspace.program().main();
    text = workspace.diagnostics().sources().text(main->id).str();
    mlir::ScopedDiagnosticHandler quiet(&workspace.context(), [](mlir::Diagnostic &) { return mlir::success(); });
    for (const ast::Declaration &one : main->declarations) {
      if (ast::runsModel(one.kind))
        trainings.push_back(one.name.text);
      if (one.kind != ast::DeclarationKind::Accelerator || one.hasParameters || !isShown(one.range) || stop())
        continue;
      accel::AcceleratorOp op = workspace.program().machine(one.name.text, one.name.range);
      auto machine = op ? machineFrom(op) : mlir::FailureOr<Machine>(mlir::failure());
      if (mlir::succeeded(machine))
        peaks(workspace, one, *machine);
    }
  }

  void peaks(Workspace &workspace, const ast::Declaration &declaration, const Machine &machine) {
    for (const ast::Entry &entry : declaration.entries) {
      auto *node = entry.as<ast::Node>();
      if (!node || node->kind.text != "core" || node->type.empty())
        continue;
      for (const Core &core : machine.cores) {
        if (core.name != node->name.text || core.peak.empty())
          continue;
        std::string text;
        for (const auto &[type, peak] : core.peak)
          text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                              formatSi(peak.value * static_cast<double>(core.count), "FLOP/s"), type);
        add(workspace.diagnostics().sources(), node->type.range.end, text, "peak of all its instances together");
      }
    }
  }

  void training(const std::string &name) {
    Options options = optionsOf(name);
    Session session(options);
    provideOpenTexts(open, path, catalogFolder(), session.diagnostics().sources());
    if (!session.prepare() || stop())
      return;
    auto plan = estimatedPlan(session);
    if (!plan || stop())
      return;
    const ast::Declaration &train = *session.job().declaration;
    const SourceManager &sources = session.diagnostics().sources();
    if (train.value)
      add(sources, train.value->range.end, formatSi(static_cast<double>(plan->graph.parameters), "parameters"),
          "trained scalars of this model");
    std::string assumed;
    for (const std::string &one : plan->costs.assumptions)
      assumed += "\n- " + one;
    add(sources, train.target.empty() ? train.name.range.end : train.target.range.end,
        "step " + formatDuration(measureCandidate(*plan).stepTime.value),
        "time of a step as `accord estimate` prices it: the smallest micro-batch, nothing is searched" + assumed);
    std::map<unsigned, LineWork> here;
    for (const Operation &one : plan->graph.operations)
      if (one.phase == Phase::Forward && one.location.file == path && one.location.line > 0) {
        LineWork &line = here[one.location.line];
        line.flops += static_cast<double>(one.flops);
        line.bytes += static_cast<double>(one.bytesRead + one.bytesWritten);
      }
    lines.merge(here); // a line that several trainings run tells of the first
  }

  void endOfLine(unsigned line, std::string text, std::string tooltip) {
    LineTable table(this->text);
    found.push_back({table.position(table.offset({line - 1, UINT32_MAX})), std::move(text), std::move(tooltip)});
  }

  const OpenFiles &open;
  std::string path, text;
  const std::function<bool()> &stop;
  Range range;
  std::optional<LineTable> lineTable; ///< of `text`
  std::vector<std::string> trainings;
  std::map<unsigned, LineWork> lines;
  std::vector<Hint> found;
};

} // namespace

std::vector<Hint> hints(const OpenFiles &open, const std::string &path, const std::function<bool()> &stop,
                        std::optional<std::pair<EditorPosition, EditorPosition>> range) {
  return Deriver(open, path, stop, range).derive();
}

} // namespace accord::editor
