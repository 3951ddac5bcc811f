// Interruptions and effective training time of published runs, beside what their stated numbers give. With
// ACCORD_GOODPUT_PAGE set, docs/goodput.md is written there (scripts/goodput.sh).
#include "lib/run/problem/RunPriors.h"
#include "lib/run/solve/RunEstimator.h"
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <vector>

using namespace accord;

namespace {

constexpr double kDay = 86400;

/// Failures of one device in a day, by publication.
struct PublishedRate {
  const char *source, *stated;
  double perDeviceDay;
};
const char *const kLlama = "Llama 3 (arXiv 2407.21783)", *const kRsc = "Kokolis et al. (HPCA 2025)",
                  *const kBloom = "BLOOM (tr11-176B chronicles)", *const kOpt = "OPT-175B (metaseq chronicles)",
                  *const kTpu = "Zu et al. (NSDI 2024)", *const kLablup = "Lablup (arXiv 2605.09370)",
                  *const kAcme = "Acme, Hu et al. (NSDI 2024)", *const kHsdp = "FT-HSDP (arXiv 2602.00277)",
                  *const kByteRobust = "ByteRobust (SOSP 2025)";
const std::vector<PublishedRate> &publishedRates() {
  static const std::vector<PublishedRate> rates{
      {kLlama, "419 interruptions of 16,384 H100 in 54 days", 419 / (54 * 16384.0)},
      {kRsc, "RSC-1: 6.5 failures per 1,000 node-days of 8 A100", 6.5e-3 / 8},
      {kRsc, "RSC-2: 2.34 failures per 1,000 node-days of 8 A100", 2.34e-3 / 8},
      {kBloom, "about one of 384 A100 a week", 1 / (7 * 384.0)},
      {kOpt, "about 2 machines a day, of 992 A100", 2 / 992.0},
      {kTpu, "TPU v4: 0.08 % of machines of 4 chips a day", 0.08e-2 / 4},
      {kLablup, "10 failures of 504 B200 in 55 days", 10 / (55 * 504.0)},
      {kAcme, "281 infrastructure failures of 4,704 A100 in 180 days", 281 / (180 * 4704.0)},
      {kHsdp, "2.3 interruptions per 1,000 servers of 8 a day", 2.3e-3 / 8}};
  return rates;
}

/// Geometric mean of `values`, and the 90 % interval of Student's t for one more (`ofNext`), or for their mean.
RunInput intervalOf(const std::vector<double> &values, bool ofNext) {
  double n = static_cast<double>(values.size()), mean = 0, square = 0;
  for (double value : values)
    mean += std::log(value) / n;
  for (double value : values)
    square += (std::log(value) - mean) * (std::log(value) - mean) / (n - 1);
  double t = boost::math::quantile(boost::math::students_t(n - 1), 0.95);
  double reach = t * std::sqrt(square * (1 / n + (ofNext ? 1 : 0)));
  return {std::exp(mean), std::exp(mean - reach), std::exp(mean + reach)};
}
RunInput perSecond(const RunInput &perDay) { return {perDay.value / kDay, perDay.low / kDay, perDay.high / kDay}; }

/// The prior without the publication: of a row that does not state its rate apart from what is predicted.
RunInput ratesBut(const char *source) {
  std::vector<double> others;
  for (const PublishedRate &one : publishedRates())
    if (source != one.source)
      others.push_back(one.perDeviceDay);
  return perSecond(intervalOf(others, true));
}

/// Hours lost in the three failures of BLOOM of which its authors say how long it took to clear them by hand.
RunInput outageByHand() {
  RunInput hours = intervalOf({6, 11, 18}, false);
  return {hours.value * 3600, hours.low * 3600, hours.high * 3600};
}

struct PublishedRow {
  std::string run, source, given; ///< given: what of the row goes into the prediction
  int64_t devices = 8;
  double days = 30;
  double published = 0;  ///< interruptions, or a share
  bool atLeast = false;  ///< the source states a lower limit
  RunInput rate = {};    ///< failures of one device in a second
  std::string miss = {}; ///< why the row is outside of its interval, where it is
  RunInput detection = kDetectionTime, restart = kRestartTime;
  double checkpointBytes = 0, bandwidth = 0, interval = 0; ///< 0: the prior, and the best interval
  bool asynchronous = false;
};

/// As many steps as fill the published days.
RunEstimate predicted(const PublishedRow &row) {
  RunProblem p;
  p.devices = row.devices, p.servers = row.devices / 8;
  p.step = RunInput::exact(10);
  p.failureRate = row.rate;
  p.detection = row.detection, p.restart = row.restart;
  double servers = static_cast<double>(p.servers);
  const RunInput &each = kServerCheckpointBandwidth;
  p.checkpointBytes = row.checkpointBytes;
  p.checkpointBandwidth = row.bandwidth > 0 ? RunInput::exact(row.bandwidth)
                                            : RunInput{each.value * servers, each.low * servers, each.high * servers};
  p.interval = row.interval, p.asynchronous = row.asynchronous;
  p.blocking = {0.02, 0.01, 0.04}; // ByteRobust's
  p.steps = row.days * kDay / 10;
  RunEstimate made;
  for (int i = 0; i < 4; ++i) {
    made = estimateRun(p);
    p.steps *= row.days * kDay / made.time.value;
  }
  return made;
}

const char *const kOwnRate = "about 2 machines a day (1.5 to 2.5)";
RunInput optRate() { return {2 / 992.0 / kDay, 1.5 / 992.0 / kDay, 2.5 / 992.0 / kDay}; }
/// Failures come in calendar time, so outages do not change how many come in the published days.
std::vector<PublishedRow> interruptionRows() {
  auto row = [](const char *run, const char *source, int64_t devices, double days, double count) {
    PublishedRow made{run, source, "devices, days"};
    made.devices = devices, made.days = days, made.published = count, made.rate = ratesBut(source);
    made.detection = made.restart = RunInput::exact(0);
    return made;
  };
  auto opt = [&](const char *run, double days, double count) {
    PublishedRow made = row(run, kOpt, 992, days, count);
    made.rate = optRate(), made.given += std::string(", ") + kOwnRate;
    made.miss = "restarts after diverging losses are counted, too";
    return made;
  };
  PublishedRow weeks = opt("OPT-175B, November 17 to December 3: 40 restarts or more", 16, 40);
  weeks.atLeast = true;
  return {row("Llama 3 405B, unexpected interruptions", kLlama, 16384, 54, 419),
          row("BLOOM-176B, about one GPU a week", kBloom, 384, 118, 118 / 7.0),
          opt("OPT-175B, experiments 12.xx: about 90 restarts", 56, 90),
          weeks,
          row("504 B200, failures identified by XID", kLablup, 504, 55, 10),
          row("Acme, infrastructure failures", kAcme, 4704, 180, 281),
          row("RSC-1, 16,000 GPUs", kRsc, 16000, 330, 6.5e-3 * 2000 * 330),
          row("RSC-2, 8,000 GPUs", kRsc, 8000, 330, 2.34e-3 * 1000 * 330),
          row("TPU v4 pod, machines, 30 days taken", kTpu, 4096, 30, 0.08e-2 * 1024 * 30),
          row("32,768 GPUs of FT-HSDP, 30 days taken", kHsdp, 32768, 30, 2.3e-3 * 4096 * 30)};
}

std::vector<PublishedRow> goodputRows() {
  PublishedRow llama{"Llama 3 405B", kLlama, "devices, days, 419 failures, storage of 2 TB/s"};
  llama.devices = 16384, llama.days = 54, llama.published = 0.9, llama.atLeast = true;
  double rate = 419 / (54 * 16384.0) / kDay, reach = 1.645 / std::sqrt(419.0);
  llama.rate = {rate, rate * (1 - reach), rate * (1 + reach)};
  llama.checkpointBytes = 14 * 405e9, llama.bandwidth = 2e12;

  PublishedRow rsc{"RSC-1, runs of more than 1,024 GPUs (2,048 and 1 TB taken)", kRsc, "failure rate"};
  rsc.devices = 2048, rsc.published = 0.9, rsc.rate = RunInput::exact(6.5e-3 / 8 / kDay);
  rsc.checkpointBytes = 1e12, rsc.interval = 3600;

  PublishedRow bytes{"ByteRobust, dense run", kByteRobust, "devices, days, a checkpoint in memory at each step"};
  bytes.devices = 9600, bytes.days = 90, bytes.published = 0.97, bytes.rate = ratesBut(kByteRobust);
  bytes.asynchronous = true;

  PublishedRow hsdp{"Synchronous training on about 100,000 GPUs", kHsdp,
                    "a failure in 18 min, which stops the training for 10 min"};
  hsdp.devices = 100000, hsdp.published = 0.44;
  hsdp.rate = {1 / (18 * 60.0) / 1e5, 1 / (18.5 * 60) / 1e5, 1 / (17.5 * 60) / 1e5};
  hsdp.detection = RunInput::exact(0), hsdp.restart = RunInput::exact(600);
  hsdp.miss =
      "size and interval of checkpoints, and what is lost with each failure, are not stated and taken as nothing";

  PublishedRow opt{"OPT-175B, 33 days on 1,024 devices took 56 on 992", kOpt,
                   std::string("devices, ") + kOwnRate + ", 1.6 TB; cleared by hand"};
  opt.devices = 992, opt.days = 56, opt.published = 33 * 1024 / (56 * 992.0), opt.rate = optRate();
  opt.detection = RunInput::exact(0), opt.restart = outageByHand(), opt.checkpointBytes = 1.6e12;
  opt.miss = "a deleted cluster, a holiday and diverging losses are in it, too";
  return {llama, rsc, bytes, hsdp, opt};
}

struct Compared {
  bool inside;
  std::string line;
};
Compared compare(const PublishedRow &row, const RunValue &value, double unit, const char *suffix) {
  bool inside = row.atLeast ? value.high >= row.published : row.published >= value.low && row.published <= value.high;
  return {inside, fmt::format("| {} | {}{:.4g}{} | {:.3g}{} | {:.3g} to {:.3g} | {} | {} | {} |\n", row.run,
                              row.atLeast ? "≥ " : "", row.published * unit, suffix, value.value * unit, suffix,
                              value.low * unit, value.high * unit, inside ? "yes" : "**no**: " + row.miss, row.given,
                              row.source)};
}

/// Rows whose published number is outside of the interval come first.
std::string table(const std::vector<Compared> &rows) {
  std::string text = "| run | published | mean | 90 % interval | inside | given | source |\n"
                     "|---|--:|--:|--:|---|---|---|\n";
  for (bool inside : {false, true})
    for (const Compared &one : rows)
      if (one.inside == inside)
        text += one.line;
  return text;
}

std::string rateTable() {
  std::string text = "| source | stated | failures of a device in a day |\n|---|---|--:|\n";
  for (const PublishedRate &one : publishedRates())
    text += fmt::format("| {} | {} | {:.2g} |\n", one.source, one.stated, one.perDeviceDay);
  return text;
}

const char *const kIntroduction =
    R"(# Goodput of published runs

You want to know whether the `run` of a plan can be believed. This page holds its intervals against published runs.
`scripts/goodput.sh` writes it. Rows outside of their interval stand first, with the reason as far as it is known.

A row that states its failure rate apart from what is predicted is predicted from that rate. Any other row takes the
prior of [failure rates](#failure-rates) without its own publication. What else a row does not state is the prior of
`accord compile`: restarts in 16 min (4 to 68), detection in 2 min (0.2 to 30), 1 GB/s per server for checkpoints
(0.4 to 2.5), the best interval of checkpoints. Where people cleared failures by hand, an outage takes what three such
failures of BLOOM took (6, 11 and 18 hours). OPT-175B's restarts and days are those of its experiments 12.xx, from
November 11 to January 6: what came before was given up.

Steps of `accord compile` have a 90 % interval of their own where times are calibrated. The run takes it as one more
uncertain input, independent of failures and log-normal on either side of the planned step. Days, device hours and
price follow it. In energy, devices idle for what a step takes beyond the planned one. The rows below state their steps.

)";
const char *const kLimits = R"(
## What this does not show

- Eight of ten counts are held against the wide prior: they show that it is wide enough, not that it is sharp.
- OPT-175B counts restarts after diverging losses, too, and its share holds a deleted cluster and a holiday. It was cleared
  by hand at first and by software at the end, and BLOOM's three failures are those that were worth telling: the
  interval is wide, and the row is weak evidence.
- Llama 3 states a lower limit, and such a row is inside where the interval reaches the limit. Its mean is below it: the
  prior of outages reaches to those of other clusters, and Meta's software restarted all but three times.
- RSC and ByteRobust do not state all that the formula needs. What is taken instead stands in the row.
- No row tests bursts of failures or a number of spare servers.
- Accelerator-hours of whole runs (LLaMA, Pythia, MPT) are not used: they do not say which part of them counted. BLOOM's
  118 days are not: its batch grew, so the speed of its last steps is not that of the run.
- Reports of ranges (2,000 to 5,000 GPU-days between interruptions) are not used: they are hearsay.
)";

} // namespace

TEST(PublishedGoodput, PriorIsThatOfThePublishedRates) {
  std::vector<double> rates;
  for (const PublishedRate &one : publishedRates())
    rates.push_back(one.perDeviceDay);
  RunInput prior = intervalOf(rates, true);
  EXPECT_NEAR(kFailuresPerDay.value / prior.value, 1, 0.03);
  EXPECT_NEAR(kFailuresPerDay.low / prior.low, 1, 0.03);
  EXPECT_NEAR(kFailuresPerDay.high / prior.high, 1, 0.03);
}

/// So many rows are inside of their interval today.
constexpr int kInsideCounts = 10, kInsideShares = 4;

TEST(PublishedGoodput, IsInsideOfTheIntervals) {
  std::vector<Compared> counts, shares;
  for (const PublishedRow &row : interruptionRows())
    counts.push_back(compare(row, predicted(row).interruptions, 1, ""));
  for (const PublishedRow &row : goodputRows())
    shares.push_back(compare(row, predicted(row).goodput, 100, " %"));
  auto inside = [](const std::vector<Compared> &of) { return std::ranges::count_if(of, &Compared::inside); };
  EXPECT_GE(inside(counts), kInsideCounts) << table(counts);
  EXPECT_GE(inside(shares), kInsideShares) << table(shares);
  std::string page = kIntroduction;
  page += fmt::format("## Interruptions\n\n{} of {} are inside.\n\n{}\n", inside(counts), counts.size(), table(counts));
  page += fmt::format("## Effective training time\n\n{} of {} are inside.\n\n{}\n", inside(shares), shares.size(),
                      table(shares));
  page += fmt::format("## Failure rates\n\nThe prior is the geometric mean and the 90 % interval of one more cluster: "
                      "{:.2g} ({:.2g} to {:.2g}).\n\n{}",
                      kFailuresPerDay.value, kFailuresPerDay.low, kFailuresPerDay.high, rateTable());
  page += kLimits;
  if (const char *path = std::getenv("ACCORD_GOODPUT_PAGE"))
    std::ofstream(path) << page;
}
