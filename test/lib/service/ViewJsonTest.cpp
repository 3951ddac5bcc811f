#include "lib/service/http/ViewJson.h"
#include "lib/support/documents/JsonText.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::service;

namespace {

/// What a client reads of what the server writes, written again.
template <typename T> std::string again(const T &value) {
  T read{};
  llvm::json::Path::Root root("view");
  bool isRead = readJson(toDocument(value), root, [&](JsonVisitor &v) { visitValue(v, read); }, JsonRule::Open);
  return isRead ? jsonLine(toDocument(read)) : llvm::toString(root.getError());
}
template <typename T> void expectSame(const T &value, size_t keys) {
  llvm::json::Value document = toDocument(value);
  EXPECT_EQ(document.getAsObject()->size(), keys) << "a member that is not written: " << jsonLine(document);
  EXPECT_EQ(again(value), jsonLine(document));
}

JobView fullJob() {
  JobView view;
  view.job.id = 17;
  view.job.submission.name = "lm";
  view.job.submission.command = {"train"};
  view.job.phase = JobPhase::Running;
  view.job.reason = "r";
  view.job.submitted = 1, view.job.started = 2, view.job.ended = 3, view.job.samples = 4;
  view.job.runs = 5, view.job.failures = 6, view.job.user = "u";
  view.share = 0.25, view.timeLeft = 7, view.timeLeftLow = 0, view.timeLeftHigh = 9.5, view.deviation = -0.1;
  view.goodput = 10, view.deviceType = "a100", view.devices = 11, view.plan = "dp=8", view.nodes = {"n1", "n2"};
  view.plannedStart = 12, view.plannedEnd = 13, view.wait = "w", view.restarts = 14;
  view.history = {{1, 2}, {3, 4}};
  return view;
}

TEST(ViewJson, EveryMemberGoesThereAndBack) {
  expectSame(fullJob(), 27);
  RunView run{1, 2, "n", "t", "a100", "8 x a100", 8, {"n1"}, 3, 4, "lost"};
  expectSame(run, 11);
  ClusterView cluster;
  cluster.name = "lab", cluster.engine = "slurm", cluster.time = 1, cluster.isHealthy = false, cluster.health = "h";
  cluster.types = {{"a100", 8, 7, 6, -1.5}};
  cluster.nodes = {{"n1", "a100", "down", "fan", 8, 3, {1, 2}}};
  cluster.tenants = {{"vision", 2.5, 1, 2, 3, 4.5}};
  cluster.phases = {{"queued", 3}};
  cluster.watts = 2, cluster.wattsLimit = 3, cluster.planned = 4, cluster.planSeconds = 5;
  cluster.planStatus = "optimal", cluster.planGap = 0.5, cluster.objective = "o";
  expectSame(cluster, 16);
  EXPECT_EQ(toDocument(cluster.types[0]).getAsObject()->size(), 5u);
  EXPECT_EQ(toDocument(cluster.nodes[0]).getAsObject()->size(), 7u);
  EXPECT_EQ(toDocument(cluster.tenants[0]).getAsObject()->size(), 6u);
  expectSame(ProgressReport{0, 0, 1, 2, -3, -4}, 6);
  expectSame(TokenRequest{{"carol", "vision", Role::Operator}, 5}, 4);
  expectSame(SubmitAnswer{3, false}, 2);
}

TEST(ViewJson, WhatIsNotKnownStaysSo) {
  JobView read;
  llvm::json::Path::Root root("view");
  JobView plain;
  plain.job.id = 1, plain.job.submission.name = "a", plain.job.submission.command = {"x"};
  ASSERT_TRUE(readJson(toDocument(plain), root, [&](JsonVisitor &v) { visitValue(v, read); }, JsonRule::Open));
  EXPECT_EQ(read.timeLeft, -1);
  EXPECT_EQ(read.timeLeftLow, -1);
  ProgressReport report;
  EXPECT_EQ(again(report), "{}");
}

TEST(ViewJson, ReadersGetNoSecrets) {
  JobView view = fullJob();
  view.job.submission.environment = {{"KEY", "secret"}};
  view.job.submission.key = "secret";
  view.job.submission.files = {{"a.dnn", "secret"}};
  std::string text = jsonLine(toDocument(shownToReaders(view)));
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_NE(text.find("\"KEY\""), std::string::npos);
  EXPECT_NE(text.find("a.dnn"), std::string::npos);
}

} // namespace
