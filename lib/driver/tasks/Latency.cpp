#include "lib/driver/tasks/Latency.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/Session.h"
#include "lib/latency/forms/Jit.h"
#include "lib/latency/forms/ModelJson.h"
#include "lib/latency/forms/Print.h"
#include "lib/latency/model/LatencySweep.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {

std::optional<SampledWork> sampledAt(Session &session, EstimateOptions options, int64_t microbatch,
                                     int64_t microbatches, std::optional<int64_t> sequence,
                                     const std::optional<Degrees> &degrees) {
  size_t before = session.diagnostics().errors();
  auto work = session.graphs().workAt(microbatch, microbatches, sequence, degrees);
  session.diagnostics().dropErrors(before);
  if (!work)
    return std::nullopt;
  options.costModel = session.request().costModel;
  options.threads = session.request().threads;
  auto costs = estimate(*work, session.machine(), options);
  if (auto *found = costs.get())
    return SampledWork{std::move(*work), std::move(*found)};
  return std::nullopt;
}

std::optional<LatencyModel> latencyModel(Session &session, const Plan &plan, bool needed, const LatencyTable &table) {
  // Operations of equal shape are timed once for all sizes, where that takes long.
  const bool programs = llvm::any_of(session.machine().cores, [](const Core &core) { return core.microarchitecture; });
  std::optional<PriceCache> prices;
  EstimateOptions options;
  if (programs)
    options.prices = &prices.emplace(PriceCache::Detail::Numbers);
  auto sampleAt = [&](int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence) {
    return sampledAt(session, options, microbatch, microbatches, sequence);
  };
  return reportedModel(session, latencyModelOf(plan, session.sequence(), sampleAt, table), needed);
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
  static const std::vector<LatencyFormat> formats = {{"c", "latency_model.h", "//", printC},
                                                     {"python", "latency_model.py", "#", printPython},
                                                     {"javascript", "latency_model.js", "//", printJavaScript},
                                                     {"mlir", "latency_model.mlir", "//", printMlir},
                                                     {"csv", "latency_model.csv", "", printCsv}};
  return formats;
}

AnswerFiles filesOf(const LatencyModel &model, const std::vector<std::string> &names) {
  AnswerFiles files = {{kLatencyCertificate, latencyModelJson(model)}};
  std::string hash = sha256Of(files.front().text);
  for (const LatencyFormat &form : latencyFormats()) {
    if (!names.empty() && !llvm::is_contained(names, form.name))
      continue;
    std::string text = form.print(model);
    if (*form.comment)
      text += fmt::format("{} SHA-256 of {}: {}\n", form.comment, kLatencyCertificate, hash);
    files.push_back({form.file, std::move(text)});
  }
  return files;
}

namespace {

struct Row {
  std::vector<double> arguments;
  LatencyEvaluation found;
};

/// By a plan of the smallest micro-batch that is in the search space: its order of operations is the model's.
std::optional<LatencyModel> modelOfOneDevice(Session &session, const std::vector<std::string> &at) {
  int64_t microbatch = session.smallestMicrobatch();
  auto work = session.graphs().workAt(microbatch, session.job().batch / microbatch);
  auto plan = work ? session.planFor(std::move(*work)) : std::nullopt;
  if (!plan)
    return std::nullopt;
  return latencyModel(session, *plan, /*needed=*/true,
                      {.microbatches = tableMicrobatches(microbatch, /*brief=*/false),
                       .askedMicrobatches = wholeValuesAskedFor("microbatch", at, int64_t{1} << 20),
                       .askedSequences = wholeValuesAskedFor("sequence", at, session.sequence().value_or(1))});
}

/// The sweep, compiled: few rows one by one, many as a batch.
std::optional<std::vector<Row>> evaluateAll(Session &session, const LatencyModel &model, const LatencySweep &sweep) {
  std::vector<Row> rows(sweep.rows());
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].arguments = sweep.at(model, i);
  // Compiling the steps of many degrees takes longer than asking them a few times.
  size_t nodes = model.nodes.needed(model.roots()).size();
  if (sweep.arguments.empty() || (nodes > 4000 && rows.size() < 2000)) {
    for (Row &row : rows)
      row.found = evaluate(model, row.arguments);
    return rows;
  }
  LatencyJitOptions options;
  for (size_t index : sweep.arguments)
    options.varying.push_back(model.arguments()[index].name);
  options.batches = rows.size() >= 10'000;
  options.single = !options.batches;
  options.optimize = options.batches ? 2 : 1;
  auto compiled = LatencyJit::compile(model, options);
  if (!compiled) {
    session.report(compiled.error());
    return std::nullopt;
  }
  const LatencyJit &jit = **compiled;
  if (options.single) {
    for (Row &row : rows)
      row.found = jit.evaluate(row.arguments);
    return rows;
  }
  std::vector<LatencyEvaluation> found =
      jit.evaluate(rows.size(), [&](size_t row, size_t index) { return rows[row].arguments[index]; });
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].found = found[i];
  return rows;
}

/// What the document holds: a model, and the configurations that were asked for.
struct LatencyDocument {
  std::string version = kVersion;
  LatencyModel model = LatencyModel();
  std::vector<Row> rows;
};

void describeArgument(JsonFields &f, LatencyArgument &a) {
  f.field("name", a.name).field("unit", a.unit).field("description", a.text);
  f.field("default", a.initial).field("min", a.min).field("max", a.max).field("multiple", a.multiple, IntegerRange{1});
  f.about("of a parallel degree, and of a size that a table has: no other value than these")
      .maybe("allowed", a.allowed, IntegerRange{1});
  f.about("why no other value than the default is allowed").maybe("fixed_reason", a.fixedReason);
}

void describeRow(JsonFields &f, Row &row, const LatencyModel &model) {
  std::map<std::string, double> at;
  for (size_t i = 0; i < row.arguments.size(); ++i)
    at[model.arguments()[i].name] = row.arguments[i];
  f.field("arguments", at).about("0: the model holds there").field("status", row.found.status);
  LatencyResult &result = row.found.result;
  bool holds = row.found.status == 0;
  f.about("why it does not").computedIf(!holds, "refused", [&] {
    return explain(model, row.found.status, row.arguments);
  });
  f.maybeIf(holds, "step_time_s", result.step).maybeIf(holds, "memory_bytes", result.memory);
  f.maybeIf(holds, "flops", result.flops);
}

void describeDocument(JsonFields &f, LatencyDocument &document) {
  LatencyModel &model = document.model;
  f.constant("command", "latency", "no latency model");
  f.about("version of accord that wrote this").field("version", document.version);
  f.constant("status", "done", "no latency model").field("model", model.model).field("machine", model.machine);
  f.about("what the schedule says at the defaults").field("plan_step_s", model.planStep);
  f.about("the model gives plan_step_s there, else less").field("exact", model.exact);
  f.about("what was assumed, held or left out, and why").field("notes", model.notes);
  f.field("arguments", model.nodes.arguments(), describeArgument);
  f.field("configurations", document.rows, [&](JsonFields &g, Row &row) { describeRow(g, row, model); });
}

void printTables(const LatencyModel &model, const LatencySweep &sweep, const std::vector<Row> &rows) {
  TextStyle style = TextStyle::of(standardOutput());
  if (sweep.arguments.empty()) {
    standardOutput() << fmt::format("latency model of '{}' on '{}'\n\n", model.model, model.machine);
    TextTable arguments("lrll", {"argument", "default", "unit", "range"});
    for (const LatencyArgument &a : model.arguments())
      arguments.row({a.name, fmt::format("{:.6g}", a.initial), a.unit, rangeText(a)});
    standardOutput() << arguments.text(style) << "\n";
    for (const std::string &note : model.notes)
      standardOutput() << "note: " << note << "\n";
    if (!model.notes.empty())
      standardOutput() << "\n";
  }
  std::vector<std::string> heading;
  for (size_t index : sweep.arguments)
    heading.push_back(model.arguments()[index].name);
  for (const char *name : {"step time", "samples/s", "memory", "FLOPs"})
    heading.push_back(name);
  TextTable table(std::string(heading.size(), 'r'), heading);
  for (const Row &row : rows) {
    std::vector<std::string> cells;
    for (size_t index : sweep.arguments)
      cells.push_back(model.arguments()[index].integer && row.arguments[index] < 0x1p53
                          ? fmt::format("{:.0f}", row.arguments[index])
                          : fmt::format("{:.6g}", row.arguments[index]));
    const LatencyResult &r = row.found.result;
    if (row.found.status)
      cells.insert(cells.end(), {"refused", "", "", ""});
    else
      cells.insert(cells.end(), {formatSi(r.step, "s"), fmt::format("{:.4g}", row.arguments[kBatch] / r.step),
                                 formatBytes(r.memory), formatSi(r.flops, "FLOP")});
    table.row(std::move(cells));
  }
  standardOutput() << table.text(style);
}

} // namespace

static const DocumentEntry
    kDocument("latency", "accord latency --json",
              "Arguments of the latency model with their ranges, and the configurations that were asked for.",
              [] { return schemaOf<LatencyDocument>(describeDocument); });

std::optional<LatencyModel> jobLatencyModel(Session &session, const std::vector<std::string> &at) {
  return session.cluster() ? clusterLatencyModel(session) : modelOfOneDevice(session, at);
}

int latency(LatencyOptions options) {
  options.elaborate.clusters = true;
  Session session(options);
  Diagnostics &diags = session.diagnostics();
  auto stop = [&] { return session.finish(kWrongInput, "latency"); };
  if (!session.prepare())
    return stop();
  auto model = jobLatencyModel(session, options.at);
  if (!model)
    return stop();
  bool writes = !options.output.empty();
  if (writes) {
    AnswerFolder answer(diags, options.output);
    if (!answer.write(filesOf(*model, options.formats)).commit())
      return stop();
  } else if (!options.json) {
    for (const LatencyFormat &form : latencyFormats())
      if (llvm::is_contained(options.formats, form.name))
        standardOutput() << form.print(*model);
  }
  auto sweep = parseSweep(*model, options.at);
  if (!sweep) {
    session.report(sweep.error());
    return stop();
  }
  bool quiet = options.at.empty() && !options.json && (writes || !options.formats.empty());
  if (quiet)
    return session.finish(kDone, "latency");
  auto rows = evaluateAll(session, *model, *sweep);
  if (!rows)
    return session.finish(kInternal, "latency");
  if (llvm::all_of(*rows, [](const Row &row) { return row.found.status != 0; })) {
    const Row &first = rows->front();
    diags.error(Code::OutsideLatencyModel, {}, explain(*model, first.found.status, first.arguments));
    return stop();
  }
  if (options.json)
    standardOutput() << jsonText(toDocument(LatencyDocument{.model = std::move(*model), .rows = std::move(*rows)},
                                            describeDocument))
                     << "\n";
  else
    printTables(*model, *sweep, *rows);
  return session.finish(kDone, "latency");
}

} // namespace accord
