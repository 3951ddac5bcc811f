// A voting server and its members in one process: what is answered, counted, and answered without a quorum.
#include "lib/voting/server/VotingServer.h"
#include "lib/service/call/HttpCall.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/voting/client/LoadGenerator.h"
#include "lib/voting/server/MemberServer.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::voting;

namespace {

const char *const kTable =
    "count,a,b,c\n6,right,right,right\n2,wrong,right,right\n1,wrong,wrong,right\n1,wrong,wrong,wrong\n";

/// Three members on a table, and a server.
class Ensemble {
public:
  explicit Ensemble(VoteRule rule = VoteRule::Majority, int64_t quorum = 2, double timeout = 200) {
    config.name = "e", config.classes = 4, config.rule = rule, config.quorum = quorum, config.timeout = timeout;
    for (const char *name : {"a", "b", "c"})
      config.members.push_back({.name = name, .url = ""});
  }
  void member(size_t i, StubOptions stub = {}) {
    stub.classes = config.classes;
    auto rows = readVoteRows(kTable, "v.csv");
    auto made = MemberServer::start({.name = config.members[i].name, .address = "127.0.0.1", .port = ports[i]},
                                    makeStubEngine(std::move(*rows), i, stub));
    ASSERT_TRUE(made);
    ports[i] = (*made)->port();
    members[i] = std::move(*made);
  }
  void start() {
    for (size_t i = 0; i < 3; ++i)
      config.members[i].url = "http://127.0.0.1:" + std::to_string(ports[i] ? ports[i] : 1);
    auto made = VotingServer::start(config, {});
    ASSERT_TRUE(made);
    server = std::move(*made);
  }
  service::HttpUrl url() const { return {false, "127.0.0.1", std::to_string(server->port()), ""}; }
  service::HttpAnswer post(const std::string &body) const {
    auto answer = service::callHttp(url(), {.method = "POST", .path = "/answer", .body = body});
    EXPECT_TRUE(answer);
    return answer ? *answer : service::HttpAnswer{};
  }
  AskReport ask(int64_t requests, size_t connections = 8) const {
    const std::atomic<bool> stop = false;
    auto report = generateLoad(
        {.url = url(), .requests = requests, .connections = connections},
        [&](int64_t id) -> AskedInput { return {std::to_string(id % 10), trueLabel(id % 10, config.classes)}; }, stop);
    EXPECT_TRUE(report);
    evaluate(*report, config);
    return *report;
  }

  VotingConfig config;
  std::unique_ptr<MemberServer> members[3];
  int ports[3] = {0, 0, 0};
  std::unique_ptr<VotingServer> server; // ended first
};

TEST(VotingServer, AnswersWhatTheTableGives) {
  for (VoteRule rule : {VoteRule::Majority, VoteRule::Weighted, VoteRule::Soft}) {
    Ensemble ensemble(rule);
    for (size_t i = 0; i < 3; ++i)
      ensemble.member(i);
    ensemble.start();
    const AskReport report = ensemble.ask(500);
    EXPECT_EQ(report.answered, 500);
    EXPECT_EQ(report.failed, 0);
    EXPECT_EQ(report.none.number, 0);
    EXPECT_EQ(report.known, 500);
    EXPECT_EQ(report.wrong.number, 100); // 2 of 10 samples
    const VotingStatistics seen = ensemble.server->statistics();
    EXPECT_EQ(seen.requests, 500);
    EXPECT_EQ(seen.answered, 500);
    EXPECT_EQ(seen.wrong, 100);
    EXPECT_EQ(seen.open, 0);
    for (const MemberTally &member : seen.members) {
      EXPECT_EQ(member.asked, 500);
      EXPECT_EQ(member.inTime + member.unneeded, 500);
    }
  }
}

TEST(VotingServer, NoAnswerWithoutQuorumAndWhy) {
  Ensemble ensemble(VoteRule::Majority, 2, 60);
  ensemble.member(0);
  ensemble.member(1, {.time = {.constant = 5000}}); // late; nobody is where c should be
  ensemble.start();
  const service::HttpAnswer answer = ensemble.post(R"({"id": 7, "input": 3})");
  EXPECT_EQ(answer.status, 503);
  auto document = readJsonText(answer.body);
  ASSERT_TRUE(document);
  const llvm::json::Object &object = *document->getAsObject();
  EXPECT_EQ(object.getInteger("id"), 7);
  EXPECT_EQ(object.getString("error"), "no quorum");
  EXPECT_EQ(object.getInteger("weight"), 1);
  const llvm::json::Array &missing = *object.getArray("missing");
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].getAsObject()->getString("member"), "b");
  EXPECT_EQ(missing[0].getAsObject()->getString("reason"), "late");
  EXPECT_EQ(missing[1].getAsObject()->getString("reason"), "refused");
  EXPECT_GE(*object.getNumber("latency_ms"), 60);
}

TEST(VotingServer, AsksAMemberAgainThatComesBack) {
  Ensemble ensemble(VoteRule::Majority, 3, 500);
  for (size_t i = 0; i < 3; ++i)
    ensemble.member(i);
  ensemble.start();
  EXPECT_EQ(ensemble.ask(50).answered, 50);
  ensemble.members[2].reset();
  const AskReport without = ensemble.ask(50);
  EXPECT_EQ(without.none.number, 50);
  EXPECT_EQ(without.failed, 0);
  ensemble.member(2); // on the same port
  int64_t answered = 0;
  for (int i = 0; i < 30 && answered == 0; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(100)))
    answered = ensemble.ask(1).answered;
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(ensemble.ask(50).answered, 50);
}

TEST(VotingServer, RefusesWhatIsNoRequest) {
  Ensemble ensemble;
  for (size_t i = 0; i < 3; ++i)
    ensemble.member(i);
  ensemble.start();
  for (const char *body :
       {"", "[]", "{}", R"({"id": 1})", R"({"id": "1", "input": 1})", R"({"id": 1, "input": 1, "more": 1})",
        R"({"id": 1, "input": 1, "truth": 4})", R"({"id": 1, "input": 1, "truth": -1})"})
    EXPECT_EQ(ensemble.post(body).status, 400) << body;
  EXPECT_EQ(ensemble.post(R"({"id": 1, "input": "no sample"})").status, 503); // the members refuse it
  EXPECT_EQ(ensemble.ask(10).answered, 10);
}

TEST(ProcessEngine, AsksAProgram) {
  // A shell that says label 1 of every input, and dies of the fifth.
  const std::string program =
      R"(n=0; while read -r line; do n=$((n + 1)); [ $n = 5 ] && exit; echo "{\"id\": $n, \"label\": 1}"; done)";
  auto engine = makeProcessEngine({"sh", "-c", program});
  ASSERT_TRUE(engine);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<EngineVote> votes;
  auto vote = [&] {
    const size_t before = votes.size();
    (*engine)->vote(3, 1, [&](EngineVote made) {
      std::scoped_lock lock(mutex);
      votes.push_back(std::move(made));
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return votes.size() > before; });
  };
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(vote());
    EXPECT_EQ(votes.back().error, "");
    EXPECT_EQ(votes.back().vote.label, 1);
  }
  ASSERT_TRUE(vote());
  EXPECT_EQ(votes.back().error, "the engine has ended");
  EXPECT_FALSE(makeProcessEngine({"/no/such/program"}));
}

} // namespace
