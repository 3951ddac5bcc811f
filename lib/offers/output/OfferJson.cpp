#include "lib/offers/output/OfferOutput.h"
#include "lib/offers/output/OfferText.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Fields.h"

namespace accord::offers {
namespace {

const char *unitOf(OfferObjective objective) {
  static constexpr const char *kUnits[] = {"USD", "s", "J", "g"};
  return kUnits[static_cast<size_t>(objective)];
}

void describeRange(JsonFields &f, Range &range) {
  f.field("value", range.value).field("low", range.low).field("high", range.high);
}

struct OptionView {
  OfferOption option;
  InstanceOffer offer;
  OfferLimits limits;
  double loss = 0;
};

void describeOption(JsonFields &f, OptionView &view) {
  OfferOption &option = view.option;
  InstanceOffer &offer = view.offer;
  double late = option.time.high - view.limits.deadline;
  bool mayBeLate = view.limits.deadline > 0 && late > 0;
  f.field("provider", offer.provider)
      .field("instance", offer.instance)
      .field("region", offer.region)
      .about("as the list names it")
      .field("accelerator", offer.accelerator)
      .about("of the catalogue or the inventory, which describes it")
      .field("cluster", option.catalogue)
      .field("instances", option.instances)
      .about("of all instances")
      .field("devices", option.devices)
      .field("spot", option.spot)
      .about("of one instance")
      .field("price_per_hour", option.rate)
      .field("plan", option.plan)
      .field("steps", option.steps)
      .about("of one step without failures")
      .field("step_time_s", option.step)
      .about("mean number of failures and interruptions")
      .field("stops", option.stops)
      .about("of training between two checkpoints")
      .field("checkpoint_interval_s", option.checkpointInterval)
      .about("of the whole training, with failures: mean, 5 % and 95 % quantile")
      .field("time_s", option.time, describeRange)
      .about("in dollars, of all instances")
      .field("price", option.price, describeRange)
      .field("energy_J", option.energy)
      .about("0: no intensity is stated")
      .field("carbon_g", option.carbon)
      .about("average of devices and hosts")
      .field("power_W", option.watts)
      .about("the upper end of the interval of time is after the deadline")
      .field("may_be_late", mayBeLate);
}

struct TrainingView {
  std::string name;
  OptionView chosen;
  std::vector<OptionView> others;
};

void describeTraining(JsonFields &f, TrainingView &view) {
  f.field("name", view.name)
      .field("chosen", view.chosen, describeOption)
      .about("the best options on other offers, all other trainings as they are")
      .field("runners_up", view.others, [](JsonFields &g, OptionView &other) {
        describeOption(g, other);
        g.about("what is added to the objective, in its unit").field("loss", other.loss, kAnyNumber);
      });
}

std::vector<TrainingView> viewsOf(const OfferReport &report) {
  std::vector<TrainingView> views;
  auto viewOf = [&](const OfferOption &option, double loss) {
    return OptionView{option, report.problem.offers[option.offer], report.problem.limits, loss};
  };
  for (size_t t = 0; t < report.choice.choice.size(); ++t) {
    const OfferTraining &training = report.problem.trainings[t];
    TrainingView &view = views.emplace_back();
    view.name = training.name;
    view.chosen = viewOf(training.options[report.choice.choice[t]], 0);
    if (t < report.runnersUp.size())
      for (const RunnerUp &other : report.runnersUp[t])
        view.others.push_back(viewOf(training.options[other.option], other.loss));
  }
  return views;
}

void describeLimits(JsonFields &f, OfferLimits &limits) {
  f.maybe("deadline_s", limits.deadline)
      .about("in dollars, of all trainings")
      .maybe("budget", limits.budget)
      .about("of all that run together")
      .maybe("power_W", limits.watts)
      .about("the upper end of each interval of time keeps the deadline")
      .maybe("sure", limits.sure);
}

void describePoint(JsonFields &f, OfferFrontPoint &point, const OfferReport &report) {
  struct Part {
    std::string training, offer;
    int64_t instances = 1;
    bool spot = false;
  };
  std::vector<Part> parts;
  for (size_t t = 0; t < point.choice.size(); ++t) {
    const OfferOption &option = report.problem.trainings[t].options[point.choice[t]];
    parts.push_back({report.problem.trainings[t].name, offerName(report.problem.offers[option.offer]), option.instances,
                     option.spot});
  }
  f.about("in dollars").field("price", point.price).about("the largest").field("time_s", point.time);
  f.field("choice", parts, [](JsonFields &g, Part &part) {
    g.field("training", part.training)
        .field("offer", part.offer)
        .field("instances", part.instances)
        .field("spot", part.spot);
  });
}

void describeChoice(JsonFields &f, OfferReport &report) {
  OfferChoice &choice = report.choice;
  const bool found = !choice.choice.empty();
  struct Value {
    std::string name, unit, proof;
    double value = 0;
  };
  Value value{name(report.problem.objective), unitOf(report.problem.objective), "", choice.value};
  Value bound{"", value.unit, "search of all choices, with prices for what trainings share", choice.bound};
  double gap = found && choice.value > 0 ? (choice.value - choice.bound) / choice.value : 0;
  f.maybeIf(
       found, "objective", value,
       [](JsonFields &g, Value &one) { g.field("name", one.name).field("value", one.value).field("unit", one.unit); })
      .maybeIf(found, "bound", bound,
               [](JsonFields &g, Value &one) {
                 g.field("value", one.value)
                     .field("unit", one.unit)
                     .about("what the bound follows from")
                     .field("proof", one.proof);
               })
      .about("distance to the bound as a share")
      .maybeIf(found, "gap", gap);
}

void describeReport(JsonFields &f, OfferReport &report) {
  std::string status = name(report.choice.status);
  f.head("choose", status, {"optimal", "feasible", "infeasible", "unknown"});
  describeChoice(f, report);
  struct Conflict {
    std::string constraint;
  };
  std::vector<Conflict> conflict;
  if (!report.choice.conflict.empty())
    conflict.push_back({report.choice.conflict});
  std::vector<TrainingView> trainings = viewsOf(report);
  f.about("why there is no choice")
      .maybe("conflict", conflict, [](JsonFields &g, Conflict &one) { g.field("constraint", one.constraint); })
      .about("limits with which there is a choice, each by itself")
      .maybe("repairs", report.choice.repairs,
             [](JsonFields &g, OfferRepair &repair) {
               g.field("text", repair.text).field("limits", repair.limits, describeLimits);
             })
      .field("limits", report.problem.limits, describeLimits)
      .about("of lists and inventory")
      .field("offers", report.offers)
      .about("of them in options; the rest is dominated by them, or left out")
      .field("offers_compared", report.compared)
      .field("trainings", trainings, describeTraining)
      .about("where nothing is both cheaper and faster, by price")
      .field("front", report.choice.front,
             [&](JsonFields &g, OfferFrontPoint &point) { describePoint(g, point, report); })
      .about("false: there may be more points")
      .field("front_is_whole", report.choice.frontIsWhole)
      .about("offers of which nothing can be said, or on which a training does not fit")
      .field("rejected", report.leftOut,
             [](JsonFields &g, LeftOutReport &left) {
               g.field("accelerator", left.accelerator)
                   .maybe("training", left.training)
                   .field("offers", left.rows)
                   .field("reason", left.reason);
               describeLocation(g, left.first);
             })
      .field("assumptions", report.assumptions)
      .about("of the plans of the trainings")
      .field("plan_assumptions", report.planAssumptions)
      .about("of certificate/choose.json, from which this follows; in an answer's folder")
      .maybe("certificate_sha256", report.certificate)
      .about("what was proved again")
      .field("checked", report.checked)
      .about("what follows from the search alone, because proving it again takes too long")
      .maybe("search_alone", report.searchAlone);
}

} // namespace

llvm::json::Value offerJson(const OfferReport &report) { return toDocument(report, describeReport); }
llvm::json::Value offerSchema() { return schemaOf<OfferReport>(describeReport); }

} // namespace accord::offers
