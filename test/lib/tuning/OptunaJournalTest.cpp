// Studies of Optuna: what is written is read back, and what Optuna 5.0 writes is understood. The lines below have the
// form that its JournalFileBackend gives them.
#include "lib/tuning/output/OptunaJournal.h"
#include <gtest/gtest.h>
#include <limits>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;

TuningReport tunedReport() {
  TuningReport report;
  report.problem.name = "spirals", report.problem.maxUnits = 3;
  report.problem.space = {{.name = "lr", .min = 1e-4, .max = 0.1, .isLog = true},
                          {.name = "width", .kind = Kind::Integer, .min = 1, .max = 8},
                          {.name = "optimizer", .kind = Kind::Choice, .choices = {"adam", "3", "true"}}};
  auto add = [&](Configuration configuration, std::vector<double> values, Trial::State state) {
    Trial trial{.state = state, .configuration = std::move(configuration)};
    for (double value : values)
      trial.reports.push_back({int64_t(trial.reports.size()) + 1, value, double(trial.reports.size()) + 1});
    report.result.segments.push_back({.trial = unsigned(report.result.trials.size()), .start = 0.5, .end = 2});
    report.result.trials.push_back(std::move(trial));
  };
  add({0.01, 4, 2}, {0.5, 0.7, 0.6}, Trial::State::Complete);
  add({0.05, 8, 0}, {0.4}, Trial::State::Paused);
  add({0.1, 1, 1}, {std::numeric_limits<double>::infinity()}, Trial::State::Diverged);
  add({0.002, 2, 1}, {}, Trial::State::Failed);
  return report;
}

TEST(OptunaJournal, IsReadAsItWasWritten) {
  const TuningReport report = tunedReport();
  const std::string text = optunaJournal(report);
  EXPECT_TRUE(isOptunaJournal(text));
  EXPECT_FALSE(isOptunaJournal("{\n  \"command\": \"tune\"\n}"));
  auto again = tuningFromOptuna(text, "optuna.log", report.problem.space, "spirals");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->problem.maximizes);
  ASSERT_EQ(again->problem.space.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const HyperParameter &one = again->problem.space[i], &other = report.problem.space[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.kind, other.kind);
    EXPECT_EQ(one.choices, other.choices);
    if (other.kind != Kind::Choice) {
      EXPECT_EQ(one.min, other.min);
      EXPECT_EQ(one.max, other.max);
      EXPECT_EQ(one.isLog, other.isLog);
    }
  }
  ASSERT_EQ(again->result.trials.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(again->result.trials[i].configuration, report.result.trials[i].configuration);
  const auto &reports = again->result.trials[0].reports;
  ASSERT_EQ(reports.size(), 4u); // each unit, and the best
  EXPECT_EQ(reports[1].value, 0.7);
  EXPECT_EQ(reports[3].value, 0.7);
  EXPECT_TRUE(again->result.trials[2].reports.empty());
  EXPECT_NE(text.find(R"("datetime_start":"1970-01-01T00:00:00.500000+00:00")"), std::string::npos);
}

const std::string kLog =
    R"({"op_code":0,"worker_id":"w-1","study_name":"other","directions":[1,2]}
{"op_code":0,"worker_id":"w-1","study_name":"mine","directions":[1]}
{"op_code":3,"worker_id":"w-1","study_id":1,"system_attr":{"a":{"b":1}}}
{"op_code":4,"worker_id":"w-1","study_id":1,"datetime_start":"2026-12-01T00:53:57.061868+00:00"}
{"op_code":5,"worker_id":"w-1","trial_id":0,"param_name":"lr","param_value_internal":0.002,"distribution":"{\"name\": \"FloatDistribution\", \"attributes\": {\"step\": null, \"low\": 0.0001, \"high\": 0.1, \"log\": true}}"}
{"op_code":5,"worker_id":"w-1","trial_id":0,"param_name":"opt","param_value_internal":1,"distribution":"{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [\"adam\", \"sgd\", null]}}"}
{"op_code":7,"worker_id":"w-1","trial_id":0,"step":1,"intermediate_value":NaN}
{"op_code":7,"worker_id":"w-1","trial_id":0,"step":2,"intermediate_value":0.25}
{"op_code":6,"worker_id":"w-1","trial_id":0,"state":2,"values":[0.25],"datetime_complete":"2026-12-01T00:53:58.061868+00:00"}
{"op_code":4,"worker_id":"w-1","study_id":1,"datetime_start":null,"state":4,"value":null,"values":null,"distributions":{},"params":{},"user_attrs":{},"system_attrs":{"fixed_params":{"lr":0.01}},"intermediate_values":{}}
{"op_code":4,"worker_id":"w-1","study_id":1,"datetime_start":"2026-12-01T00:54:37.338408+00:00","state":1,"value":3.0,"values":null,"datetime_complete":"2026-12-01T00:54:37.338408+00:00","distributions":{"lr":"{\"name\": \"FloatDistribution\", \"attributes\": {\"step\": null, \"low\": 0.0001, \"high\": 0.1, \"log\": true}}"},"params":{"lr":0.02},"user_attrs":{},"system_attrs":{},"intermediate_values":{"1":4.0}}
{"op_code":4,"worker_id":"w-1","study_id":1,"datetime_sta)";

TEST(OptunaJournal, ReadsWhatOptunaWrites) {
  const SearchSpace space{{.name = "lr", .min = 1e-5, .max = 1}};
  auto read = tuningFromOptuna(kLog, "study.log", space, "mine");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->problem.maximizes);
  ASSERT_EQ(read->result.trials.size(), 2u); // the one that waits has no value of lr
  EXPECT_EQ(read->result.trials[0].configuration, Configuration{0.002});
  ASSERT_EQ(read->result.trials[0].reports.size(), 2u);
  EXPECT_EQ(read->result.trials[0].reports[0].unit, 2);
  EXPECT_EQ(read->result.trials[0].reports[0].value, 0.25);
  EXPECT_EQ(read->result.trials[1].reports.back().value, 3);
  // Of two hyper-parameters one trial has both.
  read = tuningFromOptuna(kLog, "study.log", {space[0], {.name = "opt", .kind = Kind::Choice}}, "mine");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->result.trials.size(), 1u);
  EXPECT_EQ(read->problem.space[1].choices, (std::vector<std::string>{"adam", "sgd", "null"}));
}

TEST(OptunaJournal, SaysWhatIsWrong) {
  const SearchSpace space{{.name = "lr"}};
  auto messageOf = [&](const std::string &text, const std::string &name = "mine") {
    auto read = tuningFromOptuna(text, "study.log", space, name);
    return read ? "none" : read.error().message;
  };
  EXPECT_EQ(messageOf(kLog, "neither"),
            "study.log: none of its studies 'other', 'mine' is called 'neither', as the tuning is");
  EXPECT_EQ(messageOf(kLog, "other"), "study.log: study 'other' has 2 objectives, and a tuning has one");
  EXPECT_EQ(messageOf(""), "study.log: it has no study");
  EXPECT_EQ(messageOf("{\"op_code\":99}\n"), "study.log:1: no operation of Optuna's journal");
  EXPECT_EQ(messageOf("{\"op_code\":4,\"study_id\":7}\n"), "study.log:1: there is no such study");
  EXPECT_EQ(messageOf("{\"op_code\":1,\"study_id\":-1}\n"), "study.log:1: there is no such study");
  EXPECT_EQ(messageOf("{\"op_code\":6,\"trial_id\":0}\n"), "study.log:1: there is no such trial");
  EXPECT_NE(messageOf("{\"op_code\":0}\nnonsense\n").find("study.log:2: no JSON: "), std::string::npos);
  const std::string begin =
      "{\"op_code\":0,\"study_name\":\"mine\",\"directions\":[1]}\n{\"op_code\":4,\"study_id\":0}\n";
  const std::string parameter = R"({"op_code":5,"trial_id":0,"param_name":"lr","param_value_internal":)";
  EXPECT_NE(messageOf(begin + parameter + "1,\"distribution\":\"{\"}\n").find("study.log:3: no distribution: "),
            std::string::npos);
  EXPECT_EQ(messageOf(begin + parameter + "1,\"distribution\":\"{}\"}\n"),
            "study.log:3: the value or the distribution of 'lr' is none");
  EXPECT_EQ(
      messageOf(begin + parameter +
                R"(2,"distribution":"{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [1]}}"})" +
                "\n"),
      "study.log:3: 'lr' has no choice 2");
}

} // namespace
