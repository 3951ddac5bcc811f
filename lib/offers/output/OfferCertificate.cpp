#include "lib/offers/output/OfferCertificate.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>

using namespace llvm;
namespace accord::offers {
namespace {

void describeRange(JsonFields &f, Range &range) {
  f.field("value", range.value).field("low", range.low).field("high", range.high);
}

void describeOffer(JsonFields &f, InstanceOffer &offer) {
  f.field("provider", offer.provider)
      .field("instance", offer.instance)
      .field("region", offer.region)
      .field("accelerator", offer.accelerator)
      .field("devices", offer.devices)
      .about("dollars an hour; -1: not sold")
      .field("price", offer.price, kAnyNumber)
      .field("spot_price", offer.spotPrice, kAnyNumber)
      .about("instances; 0: as many as one wants")
      .field("available", offer.available);
}

void describeOption(JsonFields &f, OfferOption &option) {
  f.field("offer", option.offer)
      .field("instances", option.instances)
      .field("devices", option.devices)
      .field("spot", option.spot)
      .field("steps", option.steps)
      .about("seconds")
      .field("step", option.step)
      .about("dollars an hour of one instance")
      .field("rate", option.rate)
      .about("grams for each joule")
      .field("intensity", option.intensity)
      .field("stops", option.stops)
      .field("checkpoint_interval", option.checkpointInterval)
      .field("time", option.time, describeRange)
      .field("price", option.price, describeRange)
      .field("energy", option.energy)
      .field("carbon", option.carbon)
      .field("watts", option.watts)
      .field("plan", option.plan)
      .field("catalogue", option.catalogue);
}

void describeLimits(JsonFields &f, OfferLimits &limits) {
  f.field("deadline", limits.deadline)
      .field("budget", limits.budget)
      .field("watts", limits.watts)
      .field("sure", limits.sure);
}

void describeProblem(JsonFields &f, OfferProblem &problem) {
  f.field("objective", problem.objective,
          [](JsonVisitor &v, OfferObjective &one) {
            v.oneOf(one, {"cost", "time", "energy", "carbon"}, "unknown objective");
          })
      .field("limits", problem.limits, describeLimits)
      .field("offers", problem.offers, describeOffer)
      .field("trainings", problem.trainings, [](JsonFields &g, OfferTraining &training) {
        g.field("name", training.name).field("options", training.options, describeOption);
      });
}

void describeChoice(JsonFields &f, OfferChoice &choice) {
  f.field("status", choice.status,
          [](JsonVisitor &v, OfferStatus &one) {
            v.oneOf(one, {"optimal", "feasible", "infeasible", "unknown"}, "unknown status");
          })
      .about("of each training: index into its options")
      .field("choice", choice.choice)
      .field("value", choice.value)
      .field("bound", choice.bound, [](JsonVisitor &v, double &bound) { v.numberOrNull(bound); })
      .field("front", choice.front,
             [](JsonFields &g, OfferFrontPoint &point) {
               g.field("price", point.price).field("time", point.time).field("choice", point.choice);
             })
      .field("front_is_whole", choice.frontIsWhole)
      .field("conflict", choice.conflict)
      .field("repairs", choice.repairs, [](JsonFields &g, OfferRepair &repair) {
        g.field("text", repair.text).field("limits", repair.limits, describeLimits);
      });
}

/// Of each training, or of none.
bool hasOnlyRealOptions(const OfferProblem &problem, const std::vector<unsigned> &choice) {
  if (choice.size() != problem.trainings.size())
    return choice.empty();
  for (size_t t = 0; t < choice.size(); ++t)
    if (choice[t] >= problem.trainings[t].options.size())
      return false;
  return true;
}

void checkReferences(JsonFields &f, const OfferReport &report) {
  if (!f.reads())
    return;
  const OfferProblem &problem = report.problem;
  f.check("problem",
          all_of(problem.trainings,
                 [&](const OfferTraining &training) {
                   return all_of(training.options,
                                 [&](const OfferOption &one) { return one.offer < problem.offers.size(); });
                 }),
          "no such offer")
      .check("choice", hasOnlyRealOptions(problem, report.choice.choice), "expected an option of each training")
      .check("choice",
             all_of(report.choice.front,
                    [&](const OfferFrontPoint &one) {
                      return !one.choice.empty() && hasOnlyRealOptions(problem, one.choice);
                    }),
             "expected an option of each training")
      .check("runners_up",
             report.runnersUp.size() == report.choice.choice.size() &&
                 all_of(enumerate(report.runnersUp),
                        [&](const auto &others) {
                          return all_of(others.value(), [&](const RunnerUp &one) {
                            return one.option < problem.trainings[others.index()].options.size();
                          });
                        }),
             "no such option");
}

} // namespace

void describe(JsonFields &f, OfferReport &report) {
  f.constant("kind", "choose", "expected choose")
      .field("problem", report.problem, describeProblem)
      .field("choice", report.choice, describeChoice)
      .about("of each training, the best first")
      .field("runners_up", report.runnersUp,
             [](JsonVisitor &v, std::vector<RunnerUp> &others) {
               visitValue(v, others, [](JsonFields &g, RunnerUp &one) {
                 g.field("option", one.option).field("loss", one.loss, kAnyNumber);
               });
             })
      .field("rejected", report.leftOut,
             [](JsonFields &g, LeftOutReport &left) {
               g.field("training", left.training)
                   .field("accelerator", left.accelerator)
                   .field("reason", left.reason)
                   .field("rows", left.rows);
               describeLocation(g, left.first);
             })
      .field("offers", report.offers)
      .field("compared", report.compared)
      .field("assumptions", report.assumptions)
      .field("plan_assumptions", report.planAssumptions);
  checkReferences(f, report);
}

std::string offerCertificate(const OfferReport &report) { return jsonText(toDocument(report)) + "\n"; }

Result<OfferReport> offersFromCertificate(StringRef text, const std::string &file) {
  auto report = readJsonDocument<OfferReport>(
      text, file, "choose",
      [](const json::Value &value, OfferReport &read, json::Path at) { return readDocument(value, read, at); });
  if (!report)
    return Error{Code::WrongJobSchedule, toString(report.takeError())};
  return std::move(*report);
}

AnswerFiles filesOf(const OfferReport &report) {
  std::string certificate = offerCertificate(report);
  OfferReport stated = report;
  stated.certificate = sha256Of(certificate);
  return {{"choose.json", jsonText(offerJson(stated)) + "\n"},
          {"choose.txt", offerText(report, TextStyle())},
          {kOfferCertificate, std::move(certificate)}};
}

} // namespace accord::offers
