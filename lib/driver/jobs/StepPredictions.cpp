#include "lib/driver/jobs/StepPredictions.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/jobs/FileErrors.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/jobs/solve/StepPredictor.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace jobs;
using prediction::describeHeldOutTable;
using prediction::HeldOutTable;

constexpr int64_t kMaxFactor = 64; ///< of the batches that are predicted

struct StepsOfBatch {
  int64_t batch = 0;
  PredictedSteps predicted;
  bool isKnown = false;
};
struct StepsDocument {
  std::vector<HeldOutTable> tables;
  std::string application;
  int64_t initialBatch = 0;
  double growth = 0;
  std::vector<double> noise; ///< samples at the initial batch, median of each quarter of the progress
  std::vector<StepsOfBatch> steps;
};

void describeSteps(JsonFields &f, StepsOfBatch &one) {
  f.about("samples a step").field("batch", one.batch);
  f.about("of this batch the run is known").field("known", one.isKnown);
  f.about("until the same progress or metric").field("steps", one.predicted.steps);
  f.about("95 of 100 such numbers of steps are not below").field("low", one.predicted.low);
  f.about("95 of 100 such numbers of steps are not above").field("high", one.predicted.high);
}
void describeDocument(JsonFields &f, StepsDocument &document) {
  f.head("calibrate").about("without an application").field("tables", document.tables, describeHeldOutTable);
  f.field("application", document.application);
  f.about("in whose steps progress counts; without an application 0").field("initial_batch", document.initialBatch);
  f.about("noise is taken times (batch / known batch) to the power of this").field("growth", document.growth);
  f.about("variance over squared norm of the gradient, in samples: medians of the quarters of the progress")
      .field("noise_samples", document.noise);
  f.about("of the application").field("steps", document.steps, describeSteps);
}
llvm::json::Value stepsSchema() {
  StepsDocument document;
  return describeJson([&](JsonVisitor &v) { visitValue(v, document, describeDocument); }, JsonRule::Open);
}
const DocumentEntry kDocument("steps", "accord calibrate --curves --json",
                              "How far predicted steps of trainings with other batches are from measured ones, or the "
                              "steps of one application. Errors are shares: 0.05 is 5 %.",
                              stepsSchema);

class Task {
public:
  explicit Task(const StepPredictionOptions &options) : options(options), diags(sources) {}

  int run() {
    StepsDocument document;
    if (readAll() && (options.application.empty() ? score(document) : predict(document))) {
      if (options.json)
        standardOutput() << jsonText(toDocument(document, describeDocument)) << "\n";
      else
        print(document);
    }
    return finish(diags, kDone, options.json, "calibrate");
  }

private:
  bool fail(const Error &error) {
    reportOfFile(diags, sources, error);
    return false;
  }
  bool refuse(const std::string &message) { return diags.error(Code::BadCommandLine, {}, message), false; }

  bool readAll() {
    if (options.application.empty() && (options.batch != 0 || options.metric))
      return refuse("--batch and --metric are of an application: --application names none");
    std::error_code problem;
    std::vector<std::string> folders;
    for (llvm::sys::fs::directory_iterator entry(options.folder, problem), end; !problem && entry != end;
         entry.increment(problem))
      if (llvm::sys::fs::is_directory(entry->path()))
        folders.push_back(entry->path());
    if (problem || folders.empty())
      return fail({Code::WrongJobsFile, fmt::format("'{}' has no folder of an application", options.folder)});
    std::ranges::sort(folders);
    for (const std::string &folder : folders) {
      auto curves = readPolluxCurves(folder);
      if (!curves)
        return fail(curves.error());
      const int64_t initial = curves->front().batch;
      applications.push_back({llvm::sys::path::filename(folder).str(), initial, std::move(*curves)});
    }
    return true;
  }

  bool score(StepsDocument &document) {
    for (const auto &[until, title] :
         {std::pair(StepsUntil::Progress, "to the same progress"), {StepsUntil::Quality, "to the same quality"}}) {
      auto leftOut = leaveStepsOut(applications, until);
      if (!leftOut)
        return fail(leftOut.error());
      for (const bool growing : {true, false}) {
        std::vector<prediction::HeldOutValue> values;
        for (const LeftOutSteps &one : *leftOut)
          if ((one.to > one.from) == growing)
            values.push_back(one.value);
        document.tables.push_back(
            prediction::heldOutTable(fmt::format("applications left out; known: the run with a {} batch; "
                                                 "steps {}",
                                                 growing ? "smaller" : "larger", title),
                                     values));
      }
    }
    return true;
  }

  const ValidationCurve *knownRun(const ApplicationCurves &of) {
    if (options.batch == 0)
      return &of.curves.front();
    const auto found = std::ranges::find(of.curves, options.batch, &ValidationCurve::batch);
    if (found != of.curves.end())
      return &*found;
    std::vector<std::string> batches;
    for (const ValidationCurve &one : of.curves)
      batches.push_back(std::to_string(one.batch));
    refuse(fmt::format("--batch: '{}' has no run with batch {}; it has {}", of.application, options.batch,
                       fmt::join(batches, ", ")));
    return nullptr;
  }

  bool predict(StepsDocument &document) {
    const auto found = std::ranges::find(applications, options.application, &ApplicationCurves::application);
    if (found == applications.end()) {
      std::vector<std::string> names;
      for (const ApplicationCurves &one : applications)
        names.push_back(one.application);
      diags
          .error(Code::BadCommandLine, {},
                 fmt::format("--application: '{}' has no folder '{}'", options.folder, options.application))
          .suggest(nearest(options.application, names));
      return false;
    }
    const ApplicationCurves own = std::move(*found);
    applications.erase(found);
    const ValidationCurve *run = knownRun(own);
    if (!run)
      return false;
    const std::optional<double> progress =
        options.metric ? progressAt(*run, *options.metric) : std::optional(run->epochs.back().progress);
    if (!progress)
      return refuse(fmt::format("--metric: the run with batch {} of '{}' never has the metric {:g}: it goes from {:g} "
                                "to {:g}",
                                run->batch, own.application, *options.metric, run->epochs.front().metric,
                                run->epochs.back().metric));
    auto predictor = StepPredictor::make(applications, options.metric ? StepsUntil::Quality : StepsUntil::Progress);
    if (!predictor)
      return fail(predictor.error());
    document.application = own.application;
    document.initialBatch = own.initialBatch;
    document.growth = predictor->growth();
    document.noise = noiseOf(own, *run);
    for (int64_t factor = 1; factor <= kMaxFactor; factor *= 2)
      document.steps.push_back(
          {run->batch * factor, predictor->predict(own, *run, run->batch * factor, *progress), factor == 1});
    return true;
  }

  /// Noise in samples, the median of each quarter of a run's epochs that have any.
  static std::vector<double> noiseOf(const ApplicationCurves &of, const ValidationCurve &run) {
    std::vector<double> medians;
    const size_t count = run.epochs.size(), parts = std::min<size_t>(4, count);
    for (size_t part = 0; part < parts; ++part) {
      std::vector<double> noise;
      for (size_t i = part * count / parts; i < (part + 1) * count / parts; ++i)
        if (const ValidationEpoch &epoch = run.epochs[i]; epoch.gradientSquare > 0)
          noise.push_back(static_cast<double>(of.initialBatch) * epoch.gradientVariance / epoch.gradientSquare);
      if (noise.empty())
        continue;
      std::ranges::nth_element(noise, noise.begin() + static_cast<std::ptrdiff_t>(noise.size() / 2));
      medians.push_back(noise[noise.size() / 2]);
    }
    return medians;
  }

  void print(const StepsDocument &document) const {
    const TextStyle style = TextStyle::of(standardOutput());
    for (const HeldOutTable &table : document.tables)
      standardOutput() << prediction::heldOutText(table, style);
    if (document.steps.empty())
      return;
    const StepsOfBatch &known = document.steps.front();
    TextTable text("rrrrrr", {"batch", "steps", "90 % from", "to", "samples", "times as many"});
    const double knownSamples = known.predicted.steps * static_cast<double>(known.batch);
    for (const StepsOfBatch &one : document.steps) {
      const double samples = one.predicted.steps * static_cast<double>(one.batch);
      text.row({std::to_string(one.batch), fmt::format("{:.0f}", one.predicted.steps),
                one.isKnown ? "known" : fmt::format("{:.0f}", one.predicted.low),
                one.isKnown ? "" : fmt::format("{:.0f}", one.predicted.high), fmt::format("{:.4g}", samples),
                fmt::format("{:.2f}", samples / knownSamples)});
    }
    standardOutput() << fmt::format("{}: steps until {}\n", document.application,
                                    options.metric ? fmt::format("its metric is {:g}", *options.metric)
                                                   : std::string("the end of the run"))
                     << text.text(style);
    std::vector<std::string> noise;
    for (double one : document.noise)
      noise.push_back(fmt::format("{:.4g}", one));
    if (!noise.empty())
      standardOutput() << fmt::format("gradient noise by quarters of the run, samples: {}\n", fmt::join(noise, ", "));
  }

  const StepPredictionOptions &options;
  SourceManager sources;
  Diagnostics diags;
  std::vector<ApplicationCurves> applications;
};

} // namespace

int predictSteps(const StepPredictionOptions &options) { return Task(options).run(); }

} // namespace accord
