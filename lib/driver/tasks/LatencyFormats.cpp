#include "lib/driver/tasks/LatencyFormats.h"
#include "lib/driver/Session.h"
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/forms/Print.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include <fmt/format.h>
#include <map>

namespace accord {

std::optional<LatencyModel> latencyModel(Session &session, const Plan &plan, bool needed) {
  Diagnostics &diags = session.diagnostics();
  EstimateOptions priced;
  priced.costModel = session.request().costModel;
  priced.threads = session.request().threads;
  auto sampleAt = [&](int64_t microbatch, int64_t microbatches,
                      std::optional<int64_t> sequence) -> std::optional<SampledWork> {
    // That the training is not defined at another size is no error of the plan.
    size_t before = diags.errors();
    auto work = session.graphs().workAt(microbatch, microbatches, sequence);
    diags.dropErrors(before);
    if (!work)
      return std::nullopt;
    auto costs = estimate(*work, session.machine(), priced);
    if (auto *found = costs.get())
      return SampledWork{std::move(*work), std::move(*found)};
    return std::nullopt;
  };
  return reportedModel(session, latencyModelOf(plan, session.sequence(), sampleAt), needed);
}

std::optional<LatencyModel> reportedModel(Session &session, Result<LatencyModel> made, bool needed) {
  Diagnostics &diags = session.diagnostics();
  if (!made) {
    std::string message = "no latency model for this job: " + made.error().message;
    if (needed)
      diags.error(Code::NoLatencyModel, {}, message);
    else
      diags.warning(Code::NoLatencyModel, {}, message);
    return std::nullopt;
  }
  auto &model = *made;
  std::map<std::string, std::string> fixedReason; // by reason
  for (size_t i = 0; i < model.arguments().size(); ++i) {
    const LatencyArgument &a = model.arguments()[i];
    if (!a.fixedReason.empty() && (i != kSequence || session.sequence()))
      fixedReason[a.fixedReason] += (fixedReason[a.fixedReason].empty() ? "'" : ", '") + a.name + "'";
  }
  for (const auto &[reason, names] : fixedReason)
    diags.warning(Code::LatencyArgumentFixed, {},
                  fmt::format("the latency model holds {} at the plan's value: {}", names, reason));
  return std::move(model);
}

const std::vector<LatencyFormat> &latencyFormats() {
  static const std::vector<LatencyFormat> formats = {{"c", "latency_model.h", printC},
                                                     {"python", "latency_model.py", printPython},
                                                     {"mlir", "latency_model.mlir", printMlir},
                                                     {"csv", "latency_model.csv", printCsv}};
  return formats;
}

bool writeLatencyFormats(Session &session, const std::optional<LatencyModel> &model, const std::string &folder,
                         const std::vector<std::string> &names) {
  bool ok = true;
  for (const LatencyFormat &form : latencyFormats()) {
    std::string path = folder + "/" + form.file;
    if (!model)
      llvm::sys::fs::remove(path);
    else if (names.empty() || llvm::is_contained(names, form.name))
      ok = ok && writeFile(session.diagnostics(), path, form.print(*model));
  }
  return ok;
}

} // namespace accord
