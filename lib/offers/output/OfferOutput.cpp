#include "lib/offers/output/OfferOutput.h"
#include "lib/offers/output/OfferText.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::offers {

const char *name(OfferStatus status) {
  static constexpr const char *kNames[] = {"optimal", "feasible", "infeasible", "unknown"};
  return kNames[static_cast<size_t>(status)];
}
const char *name(OfferObjective objective) {
  static constexpr const char *kNames[] = {"cost", "time", "energy", "carbon"};
  return kNames[static_cast<size_t>(objective)];
}

std::string durationText(double seconds) {
  if (seconds >= 3 * 86400)
    return fmt::format("{:.2f} d", seconds / 86400);
  if (seconds >= 7200)
    return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 600)
    return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} s", seconds);
}

std::string dollarsText(double dollars) {
  std::string digits = fmt::format("{:.2f}", dollars);
  for (size_t at = digits.find('.'); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits + " USD";
}

std::string energyText(double joules) {
  const double kilowattHours = joules / 3.6e6;
  return kilowattHours >= 1000 ? fmt::format("{:.2f} MWh", kilowattHours / 1000)
                               : fmt::format("{:.3g} kWh", kilowattHours);
}

std::string carbonText(double grams) {
  return grams >= 1e6 ? fmt::format("{:.2f} t", grams / 1e6) : fmt::format("{:.3g} kg", grams / 1000);
}

std::string valueText(OfferObjective objective, double value) {
  switch (objective) {
  case OfferObjective::Price:
    return dollarsText(value);
  case OfferObjective::Time:
    return durationText(value);
  case OfferObjective::Energy:
    return energyText(value);
  case OfferObjective::Carbon:
    return carbonText(value);
  }
  return "";
}

std::string offerName(const InstanceOffer &offer) {
  std::string text = offer.provider;
  for (const std::string *part : {&offer.instance, &offer.region})
    if (!part->empty())
      text += " " + *part;
  return text;
}

namespace {

/// The interval of time and price, which is that of time: "-14 % +28 %".
std::string spread(const Range &range) {
  if (!(range.value > 0))
    return "";
  return fmt::format("-{:.0f} % +{:.0f} %", 100 * (1 - range.low / range.value), 100 * (range.high / range.value - 1));
}

/// "may be late" where the upper end of the interval misses the deadline.
bool mayBeLate(const OfferLimits &limits, const OfferOption &option) {
  return limits.deadline > 0 && option.time.high > limits.deadline;
}

class OfferTable {
public:
  explicit OfferTable(const OfferReport &report) : report(report) {
    for (const OfferTraining &training : report.problem.trainings)
      for (const OfferOption &option : training.options)
        hasCarbon |= option.carbon > 0;
  }
  void row(const OfferOption &option, const std::string &rank, const std::string &loss) {
    const InstanceOffer &offer = report.problem.offers[option.offer];
    std::vector<std::string> cells = {fmt::format("{} {}{}{}", rank, offer.provider,
                                                  offer.region.empty() ? "" : " " + offer.region,
                                                  option.spot ? ", spot" : ""),
                                      fmt::format("{} x {:.4g} {}", option.instances, offer.devices, offer.accelerator),
                                      durationText(option.time.value),
                                      dollarsText(option.price.value),
                                      spread(option.time),
                                      energyText(option.energy)};
    if (hasCarbon)
      cells.push_back(option.carbon > 0 ? carbonText(option.carbon) : "");
    cells.push_back(loss);
    rows.push_back(std::move(cells));
  }
  std::string text(const TextStyle &style) {
    std::vector<std::string> heading = {"offer", "devices", "time", "price", "90 %", "energy"};
    if (hasCarbon)
      heading.push_back("carbon");
    heading.push_back("loses");
    TextTable made(hasCarbon ? "lrrrrrrr" : "lrrrrrr", heading);
    for (std::vector<std::string> &row : rows)
      made.row(std::move(row));
    return made.text(style);
  }

private:
  const OfferReport &report;
  bool hasCarbon = false;
  std::vector<std::vector<std::string>> rows;
};

std::string limitsText(const OfferLimits &limits) {
  std::string text;
  if (limits.deadline > 0)
    text += fmt::format(", within {}{}", durationText(limits.deadline), limits.sure ? " at 95 %" : "");
  if (limits.budget > 0)
    text += fmt::format(", at most {}", dollarsText(limits.budget));
  if (limits.watts > 0)
    text += fmt::format(", at most {:.4g} kW", limits.watts / 1000);
  return text;
}

std::string numbered(int64_t count, const char *one, const char *several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// What is added to the objective; to the price where options are equally fast.
std::string lossText(OfferObjective objective, double loss, const OfferOption &other, const OfferOption &chosen) {
  if (objective == OfferObjective::Time && loss == 0)
    objective = OfferObjective::Price, loss = other.price.value - chosen.price.value;
  return fmt::format("{}{}", loss < 0 ? "-" : "+", valueText(objective, std::abs(loss)));
}

void addTraining(const OfferReport &report, unsigned t, SummaryLines &lines, const TextStyle &style) {
  const OfferTraining &training = report.problem.trainings[t];
  const OfferOption &chosen = training.options[report.choice.choice[t]];
  lines.text += fmt::format("{}\n", inked(style, Ink::Bold, training.name));
  OfferTable table(report);
  table.row(chosen, "1.", "");
  unsigned rank = 2;
  if (t < report.runnersUp.size())
    for (const RunnerUp &one : report.runnersUp[t]) {
      const OfferOption &other = training.options[one.option];
      table.row(other, fmt::format("{}.", rank++), lossText(report.problem.objective, one.loss, other, chosen));
    }
  lines.text += table.text(style);
  lines.add("instances", fmt::format("{} x {}", chosen.instances, offerName(report.problem.offers[chosen.offer])));
  lines.add("takes",
            fmt::format("{} to {}, {} to {}, {:.3g} kW", durationText(chosen.time.low), durationText(chosen.time.high),
                        dollarsText(chosen.price.low), dollarsText(chosen.price.high), chosen.watts / 1000));
  lines.add("plan", fmt::format("{} ({:.0f} steps of {:.3g} s, as on {})", chosen.plan, chosen.steps, chosen.step,
                                chosen.catalogue));
  if (chosen.stops >= 0.05)
    lines.add("stops", fmt::format("{:.2g} failures and interruptions, a checkpoint every {}", chosen.stops,
                                   durationText(chosen.checkpointInterval)));
  if (mayBeLate(report.problem.limits, chosen))
    lines.add("may be late", fmt::format("the upper end of its time is {}; --sure keeps the deadline with it",
                                         durationText(chosen.time.high)));
}

/// The cheapest, the fastest and at most six points between them.
void addFront(const OfferReport &report, SummaryLines &lines, const TextStyle &style) {
  const std::vector<OfferFrontPoint> &front = report.choice.front;
  if (front.size() < 2)
    return;
  constexpr size_t kShown = 8;
  TextTable table("rrl", {"price", "time", "choice"});
  const size_t shown = std::min(front.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    const OfferFrontPoint &point = front[shown == front.size() ? i : i * (front.size() - 1) / (shown - 1)];
    std::string text;
    for (size_t t = 0; t < point.choice.size(); ++t) {
      const OfferOption &option = report.problem.trainings[t].options[point.choice[t]];
      const InstanceOffer &offer = report.problem.offers[option.offer];
      text += fmt::format("{}{} x {} {}{}", t ? "; " : "", option.instances, offer.provider,
                          offer.instance.empty() ? offer.accelerator : offer.instance, option.spot ? " (spot)" : "");
    }
    table.row({dollarsText(point.price), durationText(point.time), text});
  }
  lines.text += fmt::format("{} points where nothing is both cheaper and faster{}{}\n", front.size(),
                            shown < front.size() ? fmt::format(", {} of them", shown) : "",
                            report.choice.frontIsWhole ? "" : "; there may be more");
  lines.text += table.text(style);
}

} // namespace

std::string offerText(const OfferReport &report, const TextStyle &style) {
  const OfferProblem &problem = report.problem;
  const OfferChoice &choice = report.choice;
  SummaryLines lines(style);
  lines.text = fmt::format("{} for {}: minimum {}{}\n", numbered(report.offers, "offer", "offers"),
                           problem.trainings.size() == 1 ? "'" + problem.trainings.front().name + "'"
                                                         : fmt::format("{} trainings", problem.trainings.size()),
                           name(problem.objective), limitsText(problem.limits));
  if (choice.choice.empty()) {
    lines.add(name(choice.status), choice.conflict.empty() ? "the search ended before there was a choice; --effort "
                                                             "makes it longer"
                                                           : choice.conflict);
    for (const OfferRepair &repair : choice.repairs)
      lines.add("would suffice", repair.text);
  } else {
    for (unsigned t = 0; t < problem.trainings.size(); ++t)
      addTraining(report, t, lines, style);
    const double gap = choice.value > 0 ? (choice.value - choice.bound) / choice.value : 0;
    lines.add(name(problem.objective),
              fmt::format("{}, {}", valueText(problem.objective, choice.value),
                          choice.status == OfferStatus::Optimal ? "proven minimal among these offers and plans"
                                                                : fmt::format("relative gap {:.2g} %", 100 * gap)));
    addFront(report, lines, style);
  }
  for (const LeftOutReport &left : report.leftOut)
    lines.add("left out",
              fmt::format("{} of {}{}: {}", numbered(left.rows, "offer", "offers"), left.accelerator,
                          left.training.empty() ? "" : fmt::format(" for '{}'", left.training), left.reason));
  for (const std::string &assumption : report.assumptions)
    lines.add("assumed", assumption);
  if (!report.planAssumptions.empty())
    lines.add("assumed",
              fmt::format("for plans and their step times: {} that --json lists",
                          numbered(static_cast<int64_t>(report.planAssumptions.size()), "default", "defaults")));
  for (const std::string &claim : report.searchAlone)
    lines.add("by search", claim);
  return lines.text;
}

// ------------------------------------------------------------- SkyPilot

/// In double quotes, with JSON's escapes, which YAML reads too.
static std::string quoted(const std::string &text) { return jsonLine(llvm::json::Value(llvm::json::fixUTF8(text))); }

std::optional<std::string> skyTask(const OfferReport &report, unsigned training) {
  const OfferTraining &of = report.problem.trainings[training];
  const OfferOption &option = of.options[report.choice.choice[training]];
  const InstanceOffer &offer = report.problem.offers[option.offer];
  if (offer.provider == kOwnProvider)
    return std::nullopt;
  std::string text = fmt::format("# {}: {} in {}, {} ({})\n", of.name, dollarsText(option.price.value),
                                 durationText(option.time.value), option.plan, option.catalogue);
  if (option.spot)
    text += "# Spot instances: 'sky jobs launch' starts the training again after an interruption.\n";
  text += fmt::format("name: {}\nnum_nodes: {}\nresources:\n", quoted(of.name), option.instances);
  std::string infra = offer.provider;
  std::ranges::transform(infra, infra.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!offer.region.empty())
    infra += "/" + offer.region;
  text += fmt::format("  infra: {}\n", quoted(infra));
  text += fmt::format("  accelerators: {}\n", quoted(fmt::format("{}:{}", offer.accelerator, offer.devices)));
  if (!offer.instance.empty())
    text += fmt::format("  instance_type: {}\n", quoted(offer.instance));
  text += fmt::format("  use_spot: {}\n", option.spot);
  text += "run: |\n"
          "  # train.py stands for your script; it writes and reads checkpoints.\n"
          "  torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE \\\n"
          "    --node_rank=$SKYPILOT_NODE_RANK --master_port=8008 \\\n"
          "    --master_addr=$(echo \"$SKYPILOT_NODE_IPS\" | head -n1) train.py\n";
  return text;
}

} // namespace accord::offers
