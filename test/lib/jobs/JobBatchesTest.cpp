// Batches, choices and learning rates of jobs: numbers from the papers, and schedules against trying everything.
#include "lib/jobs/problem/JobBatches.h"
#include "lib/jobs/problem/Goodput.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

JobsRequest::Batches inRange(int64_t min, int64_t max) {
  JobsRequest::Batches batches;
  batches.min = min, batches.max = max;
  return batches;
}

/// Rows of a training with the batch 64 on 1 to 4 devices of one server: a step takes 50 ms, 0.5 ms a sample and
/// device, and 5 ms for each doubling of devices.
std::vector<TableRow> rowsOfBatches(unsigned family = 0, double factor = 1) {
  std::vector<TableRow> rows;
  for (int64_t devices : {1, 2, 4})
    for (int64_t batch : {64, 128, 256, 512}) {
      TableRow row;
      row.devices = devices, row.batch = batch, row.ownBatch = 64, row.family = family;
      row.choice = family > 0 ? "small" : "";
      row.step = 0.05 + 0.0005 * double(batch) / double(devices) + 0.005 * std::log2(double(devices));
      row.rate = factor * double(batch) / row.step;
      rows.push_back(row);
    }
  return rows;
}

JobsRequest requestOf(size_t jobs) {
  JobsRequest request;
  request.name = "joint", request.cluster = "pool", request.slot = 300, request.horizon = 6 * 300;
  for (size_t j = 0; j < jobs; ++j) {
    JobsRequest::Job job;
    job.name = std::string(1, char('a' + j)), job.restart = 30, job.elasticity = Elasticity::Moldable;
    request.jobs.push_back(job);
  }
  return request;
}

/// Where each phase of each job runs, one after the other: the smallest sum of the jobs' completions, by trying each
/// row and begin; -1: there is none.
double tryAll(const JobsRequest &request, const std::vector<JobTable> &tables, const std::vector<Steps> &noises,
              size_t job, size_t phase, int64_t from, std::vector<int64_t> &left) {
  if (job == request.jobs.size())
    return 0;
  const Steps &noise = noises[job];
  const double until = phase + 1 < noise.size() ? noise[phase + 1].first : 1;
  const double samples = (until - noise[phase].first) * tables[job].samples, n = noise[phase].second;
  double best = -1;
  for (const TableRow &row : tables[job].rows)
    for (auto begin = from; begin < int64_t(left.size()); ++begin) {
      // Steps of B samples to the same loss are as 1 + n / B, so samples as (1 + n / B) * B.
      const double gain = (1 + n / 64) * 64 / ((1 + n / double(row.batch)) * double(row.batch));
      const double completion = double(begin) * request.slot + request.jobs[job].restart + samples / (row.rate * gain);
      const auto end = int64_t(std::ceil(completion / request.slot));
      if (end > int64_t(left.size()))
        continue;
      bool fits = true;
      for (int64_t slot = begin; slot < end; ++slot)
        fits &= (left[slot] -= row.devices) >= 0;
      const bool isLast = phase + 1 == noise.size();
      if (const double rest = !fits    ? -1
                              : isLast ? tryAll(request, tables, noises, job + 1, 0, 0, left)
                                       : tryAll(request, tables, noises, job, phase + 1, end, left);
          rest >= 0 && (best < 0 || rest + (isLast ? completion : 0) < best))
        best = rest + (isLast ? completion : 0);
      for (int64_t slot = begin; slot < end; ++slot)
        left[slot] += row.devices;
    }
  return best;
}

} // namespace

TEST(JobBatches, EfficiencyIsThatOfThePapers) {
  EXPECT_EQ(sampleEfficiency(1000, 250, 250), 1);
  EXPECT_DOUBLE_EQ(sampleEfficiency(1000, 250, 1500), 0.5); // (1000 + 250) / (1000 + 1500)
  EXPECT_DOUBLE_EQ(sampleEfficiency(900, 100, 4900), 1000.0 / 5800);
  EXPECT_DOUBLE_EQ(sampleEfficiency(1000, 500, 250), 1.2);
  SplitMix random(3);
  for (int round = 0; round < 500; ++round) {
    const double noise = 1 + 1e5 * random.unit();
    const auto own = int64_t(1 + random.below(1000)), batch = int64_t(own + random.below(100'000));
    // McCandlish et al., section 2.2: a step at B gains 1 / (1 + N / B) of what one with the whole gradient does.
    const auto samples = [&](int64_t b) { return double(b) * (1 + noise / double(b)); };
    EXPECT_NEAR(sampleEfficiency(noise, own, batch), samples(own) / samples(batch), 1e-12);
    GoodputModel pollux;
    pollux.noise = {1, noise / double(own)}, pollux.initialBatch = own;
    EXPECT_NEAR(sampleEfficiency(noise, own, batch), efficiency(pollux, batch), 1e-12);
  }
}

TEST(JobBatches, RangesHavePowersOfTwoTimesTheBatchOfTheTraining) {
  EXPECT_EQ(batchesOf({}, 96), std::vector<int64_t>{96});
  EXPECT_EQ(batchesOf(inRange(128, 4096), 256), (std::vector<int64_t>{128, 256, 512, 1024, 2048, 4096}));
  EXPECT_EQ(batchesOf(inRange(100, 1000), 96), (std::vector<int64_t>{192, 384, 768}));
  EXPECT_EQ(batchesOf(inRange(10, 50), 96), (std::vector<int64_t>{12, 24, 48}));
  EXPECT_EQ(batchesOf(inRange(1, 4), 3), std::vector<int64_t>{3});
  EXPECT_TRUE(batchesOf(inRange(4, 5), 3).empty());
  EXPECT_TRUE(batchesOf(inRange(1, 2), 3).empty());
  EXPECT_EQ(batchesOf(inRange(1, int64_t(1) << 40), 1).size(), 41u);
  EXPECT_TRUE(batchesOf(inRange(8, 8), int64_t(1) << 62 | 1).empty());
  JobsRequest::Batches set;
  set.of = {100, 300};
  EXPECT_EQ(batchesOf(set, 256), set.of);
}

TEST(JobBatches, LearningRatesFollowTheRuleOfTheOptimizer) {
  JobsRequest::Batches stated;
  const auto ruleOf = [&](const char *word, const char *name) {
    stated.learningRate = word;
    auto rule = learningRateRuleOf(stated, name);
    return rule ? std::string(nameOf(*rule)) : rule.error().message;
  };
  EXPECT_EQ(ruleOf("", "momentum"), "ada-scale");
  EXPECT_EQ(ruleOf("", "adam"), "ada-scale-root");
  EXPECT_EQ(ruleOf("adascale", "adamw"), "ada-scale-root");
  EXPECT_EQ(ruleOf("linear", "sgd"), "linear");
  EXPECT_EQ(ruleOf("sqrt", "adam"), "square-root");
  EXPECT_EQ(ruleOf("legw", "momentum"), "legw");
  EXPECT_EQ(ruleOf("linear", "adam"),
            "learning-rate rule 'linear' was not derived for optimizer 'adam', but for 'sgd', 'momentum'");
  EXPECT_EQ(ruleOf("legw", "adamw"),
            "learning-rate rule 'legw' was not derived for optimizer 'adamw', but for 'momentum', 'lars'");
  EXPECT_EQ(ruleOf("", "rowwise"), "no learning-rate rule is known for optimizer 'rowwise'");
  // 8 times the batch at a noise of 7 times the batch: a sample is gain 8 / 15, the gain is 64 / 15.
  EXPECT_DOUBLE_EQ(learningRateAt(LearningRateRule::AdaScale, 700, 100, 800).rate, 64.0 / 15);
  EXPECT_DOUBLE_EQ(learningRateAt(LearningRateRule::AdaScaleRoot, 700, 100, 800).rate, std::sqrt(64.0 / 15));
  EXPECT_DOUBLE_EQ(learningRateAt(LearningRateRule::Linear, 700, 100, 800).rate, 8);
  EXPECT_DOUBLE_EQ(learningRateAt(LearningRateRule::SquareRoot, 700, 100, 800).rate, std::sqrt(8));
  EXPECT_DOUBLE_EQ(learningRateAt(LearningRateRule::Legw, 700, 100, 800).warmup, 8);
}

TEST(JobBatches, PhasesHaveTheStepsOfSpeedAndNoise) {
  JobsRequest::Job job;
  EXPECT_EQ(phasesOf(job).size(), 1u);
  job.phases = {{0, 1}, {0.5, 2}}, job.batches.noise = {{0, 800}, {0.3, 2400}, {0.5, 9000}};
  const std::vector<JobPhase> phases = phasesOf(job);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[1].from, 0.3);
  EXPECT_EQ(phases[1].factor, 1);
  EXPECT_EQ(phases[1].noise, 2400);
  EXPECT_EQ(phases[2].factor, 2);
  EXPECT_EQ(phases[2].noise, 9000);
}

/// Where a larger batch is never slower, no batch is left out that is the best in some phase.
TEST(JobBatches, NoBatchThatWinsIsLeftOut) {
  SplitMix random(8);
  size_t skipped = 0;
  for (int round = 0; round < 2000; ++round) {
    JobsRequest::Job job;
    job.batches.min = 64, job.batches.max = 4096;
    double share = 0;
    for (size_t phase = 0; phase <= random.below(3); ++phase, share += 0.2)
      job.batches.noise.push_back({share, std::exp(4 + 8 * random.unit())});
    const double sync = 0.01 + random.unit(), sample = 0.001 * random.unit();
    BatchBounds bounds;
    std::vector<double> best(job.batches.noise.size(), 0), kept = best;
    for (int64_t batch = 64 << 6; batch >= 64; batch /= 2) {
      const double rate = double(batch) / (sync + sample * double(batch));
      const bool may = bounds.mayWin(job, 64, batch);
      skipped += !may;
      for (size_t phase = 0; phase < best.size(); ++phase) {
        const double goodput = rate * sampleEfficiency(job.batches.noise[phase].second, 64, batch);
        best[phase] = std::max(best[phase], goodput);
        if (may)
          kept[phase] = std::max(kept[phase], goodput);
      }
      if (may)
        bounds.add(batch, rate);
    }
    EXPECT_EQ(best, kept) << round;
  }
  EXPECT_GT(skipped, 1000u);
}

TEST(JobBatches, TheBatchGrowsWithTheNoise) {
  JobsRequest request = requestOf(1);
  request.jobs[0].batches = inRange(64, 512);
  request.jobs[0].batches.noise = {{0, 5}, {0.2, 100}, {0.5, 20'000}};
  const std::vector<JobTable> tables{{400'000, rowsOfBatches(), ""}};
  const auto built = buildJobSchedule(request, {{"gpu"}, {{0, 4}}}, tables);
  ASSERT_TRUE(built);
  ASSERT_EQ(built->parts.size(), 3u);
  int64_t before = 0;
  for (const ScheduledPart &part : built->parts) {
    const TableRow *best = nullptr;
    for (unsigned i : part.rows)
      if (const TableRow &row = tables[0].rows[i];
          row.devices == 4 && (!best || row.rate * sampleEfficiency(part.noise, 64, row.batch) >
                                            best->rate * sampleEfficiency(part.noise, 64, best->batch)))
        best = &row;
    ASSERT_TRUE(best);
    EXPECT_GT(best->batch, before);
    before = best->batch;
    for (size_t k = 0; k < part.rows.size(); ++k) { // without price and power, one batch is left of each
      const TableRow &row = tables[0].rows[part.rows[k]];
      EXPECT_EQ(built->problem.jobs[part.phase].configurations[k].name,
                row.batch == 64 ? std::to_string(row.devices) + " gpu"
                                : std::to_string(row.devices) + " gpu at batch " + std::to_string(row.batch));
    }
  }
}

TEST(JobBatches, JointChoiceEqualsTryingAllTablesAndBatches) {
  SplitMix random(11);
  for (int round = 0; round < 12; ++round) {
    JobsRequest request = requestOf(2);
    std::vector<JobTable> tables;
    std::vector<Steps> noises;
    for (JobsRequest::Job &job : request.jobs) {
      job.batches = inRange(64, 512);
      job.batches.noise = {{0, std::exp(3 + 4 * random.unit())}};
      if (random.below(2))
        job.batches.noise.push_back({0.25 + 0.5 * random.unit(), std::exp(6 + 4 * random.unit())});
      noises.push_back(job.batches.noise);
      tables.push_back({50'000 + 400'000 * random.unit(), rowsOfBatches(), ""});
    }
    const auto built = buildJobSchedule(request, {{"gpu"}, {{0, 4}}}, tables);
    ASSERT_TRUE(built);
    const JobSchedule found = solveJobSchedule(built->problem, {});
    std::vector<int64_t> left(6, 4);
    const double best = tryAll(request, tables, noises, 0, 0, 0, left);
    if (best < 0) {
      EXPECT_EQ(found.status, AllocationStatus::Infeasible) << round;
      continue;
    }
    ASSERT_EQ(found.status, AllocationStatus::Optimal) << round;
    EXPECT_TRUE(verifyJobSchedule(built->problem, found));
    EXPECT_NEAR(double(found.values[0]), best, 2.5) << round; // whole seconds, up
  }
}

TEST(JobBatches, AChoiceKeepsTheFloorOfQualityAndStays) {
  JobsRequest request = requestOf(1);
  request.jobs[0].elasticity = Elasticity::Malleable;
  request.jobs[0].minQuality = 0.75;
  std::vector<JobTable> tables{{400'000, rowsOfBatches(), ""}};
  for (TableRow &row : tables[0].rows)
    row.quality = 0.76;
  for (TableRow row : rowsOfBatches(1, 1.5)) { // faster everywhere
    row.quality = 0.752;
    tables[0].rows.push_back(row);
  }
  const Cluster cluster{{"gpu"}, {{0, 4}}};
  const auto familiesOf = [&] {
    const auto built = buildJobSchedule(request, cluster, tables);
    std::set<unsigned> families;
    for (size_t k = 0; built && k < built->problem.jobs[0].configurations.size(); ++k) {
      const TableRow &row = tables[0].rows[built->parts[0].rows[k]];
      EXPECT_EQ(built->problem.jobs[0].configurations[k].family, row.family);
      EXPECT_EQ(built->problem.jobs[0].configurations[k].name.find("as small") != std::string::npos, row.family == 1);
      families.insert(row.family);
    }
    return families;
  };
  EXPECT_EQ(familiesOf(), (std::set<unsigned>{0, 1})); // a malleable job may need a slow one of its family
  request.jobs[0].elasticity = Elasticity::Moldable;
  EXPECT_EQ(familiesOf(), std::set<unsigned>{1});
  request.jobs[0].minQuality = 0.755;
  EXPECT_EQ(familiesOf(), std::set<unsigned>{0});
  request.jobs[0].minQuality = 0.77;
  const auto none = buildJobSchedule(request, cluster, tables);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().message,
            "job 'a' has no configuration: none is within its devices, types and quality");
}
