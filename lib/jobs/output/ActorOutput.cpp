#include "lib/jobs/output/ActorOutput.h"
#include "lib/jobs/actor/ActorWeigher.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextTable.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::jobs {
namespace {

void describeStep(JsonFields &f, TrainingStep &step) {
  int64_t generation = static_cast<int64_t>(step.generation), simulations = static_cast<int64_t>(step.simulations);
  f.field("generation", generation)
      .about("that were spent so far")
      .field("simulations", simulations)
      .about("mean completion over that of `learned`, less 1, in the mean over the simulations of validation")
      .field("change", step.change, kAnyNumber);
}

void describeReport(JsonFields &f, ActorReport &report) {
  TrainedActor &actor = report.actor;
  int64_t generation = static_cast<int64_t>(actor.generation), generations = static_cast<int64_t>(actor.generations),
          simulations = static_cast<int64_t>(actor.simulations);
  f.constant("command", "jobs --train", "expected jobs --train")
      .computed("version", [] { return std::string(kVersion); })
      .about("the file that was written")
      .field("file", report.file)
      .field("trained_on", report.trainedOn)
      .field("generations", generations)
      .field("simulations", simulations)
      .about("of which the actor is; 0: the initial one, which weighs all jobs alike")
      .field("generation", generation)
      .about(
          "its mean completion over that of `learned`, less 1, over the simulations by which it was chosen; with the "
          "bootstrap interval of 95 %")
      .field("validation", actor.validation,
             [](JsonFields &g, MeanInterval &interval) {
               g.field("mean", interval.mean, kAnyNumber)
                   .field("low", interval.low, kAnyNumber)
                   .field("high", interval.high, kAnyNumber);
             })
      .about("each validation")
      .field("steps", actor.steps, describeStep);
}

std::string percent(double share) { return fmt::format("{:+.2f} %", 100 * share); }

} // namespace

llvm::json::Value actorJson(const ActorReport &report) { return toDocument(report, describeReport); }

llvm::json::Value actorSchema() { return schemaOf<ActorReport>(describeReport); }

std::string actorText(const ActorReport &report, const TextStyle &style) {
  TextTable table("rrr", {"generation", "simulations", "mean against learned"});
  for (const TrainingStep &step : report.actor.steps)
    table.row({std::to_string(step.generation), std::to_string(step.simulations), percent(step.change)});
  const MeanInterval &kept = report.actor.validation;
  return "trained on " + report.trainedOn + "\n" + table.text(style) +
         fmt::format("{}: generation {}, {} ({} .. {}) on the simulations by which it was chosen\n", report.file,
                     report.actor.generation, percent(kept.mean), percent(kept.low), percent(kept.high));
}

std::map<std::string, std::string> actorMetadata(const ActorReport &report, const TrainingOptions &options) {
  const TrainedActor &actor = report.actor;
  return {{"accord_version", std::string(kVersion)},
          {"trained_on", report.trainedOn},
          {"method", fmt::format("evolution strategies, {} antithetic pairs, {} simulations each, sigma {}, Adam at {}",
                                 options.pairs, options.traces, options.sigma, options.rate)},
          {"seed", std::to_string(options.seed)},
          {"simulations", std::to_string(actor.simulations)},
          {"generation", fmt::format("{} of {}", actor.generation, actor.generations)},
          {"validation", fmt::format("mean completion against 'learned' {} ({} .. {}) over {} simulations, by which it "
                                     "was chosen",
                                     percent(actor.validation.mean), percent(actor.validation.low),
                                     percent(actor.validation.high), options.validations)},
          {"job_features", fmt::format("{}", fmt::join(jobFeatureNames(), ","))},
          {"cluster_features", fmt::format("{}", fmt::join(clusterFeatureNames(), ","))},
          {"output", fmt::format("log of the weight of each job, clamped to +-{}", kMaxLogWeight)}};
}

} // namespace accord::jobs
