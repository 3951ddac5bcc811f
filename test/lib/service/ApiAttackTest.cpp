// What clients may do to the server: nothing to each other, and nothing to the state.
#include "FakeScheduler.h"
#include "RawHttp.h"
#include "lib/service/http/ApiServer.h"
#include "lib/support/SplitMix.h"
#include <gtest/gtest.h>
#include <thread>

using namespace accord;
using namespace accord::service;

namespace {

class ApiAttackTest : public ::testing::Test {
protected:
  void begin(ApiOptions options = {}) {
    options.strangersPerSecond = options.strangerBurst = 1e9;
    options.wrongTokensPerSecond = options.wrongTokens = 1e9;
    auto started = ApiServer::start(scheduler, std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  bool isServing() { return askRaw(server->port(), requestText("GET", "/v1/cluster", "alice-token")).status == 200; }
  RawAnswer send(const std::string &bytes, double seconds = 5) { return askRaw(server->port(), bytes, seconds); }

  FakeScheduler scheduler;
  std::unique_ptr<ApiServer> server;
};

TEST_F(ApiAttackTest, SlowRequestsEnd) {
  ApiOptions options;
  options.http.headSeconds = 0.5;
  options.http.bodySeconds = 0.5;
  options.http.idleSeconds = 0.5;
  begin(options);
  std::vector<RawHttp> slow;
  const std::string starts[] = {"", "GET /v1/cl", "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n",
                                "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "\x16\x03\x01"};
  for (int i = 0; i < 100; ++i) {
    slow.emplace_back(server->port());
    slow.back().send(starts[i % 5]);
  }
  for (int byte = 0; byte < 30; ++byte) {
    for (int i = 0; i < 100; ++i)
      if (i % 5 == 1 || i % 5 == 2)
        slow[i].send("a");
    if (byte % 5 == 0)
      EXPECT_TRUE(isServing());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(slow[i].readToEnd(5)) << i;
    if (i % 5 == 1 || i % 5 == 2)
      EXPECT_EQ(takeAnswer(slow[i].text).status, 408) << i;
  }
  EXPECT_GE(server->counters().late, 40u);
  EXPECT_EQ(scheduler.jobCount(), 0u);
}

TEST_F(ApiAttackTest, SlowReadersEnd) {
  ApiOptions options;
  options.http.writeSeconds = 0.5;
  options.http.writeBytesPerSecond = 1e8;
  for (int i = 0; i < 50000; ++i)
    scheduler.happen("node", "");
  options.page["index.html"] = {"text/html", std::string(size_t(1) << 25, 'x')};
  begin(options);
  std::vector<RawHttp> readers;
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back(server->port(), 4096);
    readers.back().send(requestText("GET", i % 2 ? "/" : "/v1/events/stream?after=0", "alice-token"));
  }
  EXPECT_TRUE(isServing());
  for (int i = 0; i < 2000 && server->counters().late < 20; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(server->counters().late, 20u);
  EXPECT_TRUE(isServing());
}

TEST_F(ApiAttackTest, OneAddressDoesNotTakeAll) {
  ApiOptions options;
  options.http.connectionsPerAddress = 20;
  begin(options);
  std::vector<RawHttp> held;
  for (int i = 0; i < 20; ++i)
    held.emplace_back(server->port());
  for (int i = 0; i < 500 && server->counters().accepted < 20; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  RawHttp more(server->port());
  ASSERT_TRUE(more.readToEnd(5));
  RawAnswer answer = takeAnswer(more.text);
  EXPECT_EQ(answer.status, 503);
  EXPECT_FALSE(answer.headers["retry-after"].empty());
  held.clear();
  bool isServed = false;
  for (int i = 0; i < 500 && !isServed; ++i) {
    isServed = isServing();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(isServed);
}

TEST_F(ApiAttackTest, LargeAndDeepBodiesAreRefused) {
  begin();
  auto post = [&](const std::string &body) { return send(requestText("POST", "/v1/jobs", "alice-token", body)); };
  EXPECT_EQ(post(std::string(100000, '[')).status, 400);
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "{\"a\":";
  EXPECT_EQ(post(deep).status, 400);
  EXPECT_EQ(post("{\"name\": \"a\", \"command\": [\"x\"], \"samples\": 1e999}").status, 400);
  EXPECT_EQ(post("{\"name\": \"a\", \"command\": [\"x\"], \"samples\": " + std::string(100000, '9') + "}").status, 400);
  EXPECT_EQ(post("{\"name\": \"a\xff\", \"command\": [\"x\"], \"samples\": 1}").status, 400);
  EXPECT_EQ(post("{\"name\": \"a\", \"name\": \"b\", \"command\": [\"x\"], \"samples\": 1}").status, 400);
  EXPECT_EQ(post(std::string("{\"name\": \"a\0b\"}", 15)).status, 400);
  EXPECT_EQ(post("{}x").status, 400);
  std::string large = "{\"name\": \"a\", \"command\": [\"" + std::string((size_t(4) << 20) + 1, 'x') + "\"]}";
  EXPECT_EQ(post(large).status, 413) << "and the answer is read although the body was not";
  EXPECT_EQ(send("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n").status, 413);
  RawHttp endless(server->port());
  endless.send("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk = "10000\r\n" + std::string(65536, 'x') + "\r\n";
  size_t chunks = 0;
  while (chunks < 1000 && endless.send(chunk))
    ++chunks;
  EXPECT_LT(chunks, 1000u);
  RawHttp headers(server->port());
  headers.send("GET / HTTP/1.1\r\nHost: h\r\n");
  size_t lines = 0;
  while (lines < 1000000 && headers.send("A: b\r\n"))
    ++lines;
  EXPECT_LT(lines, 1000000u);
  EXPECT_TRUE(isServing());
  EXPECT_EQ(scheduler.jobCount(), 0u);
}

TEST_F(ApiAttackTest, LargeBodiesHaveOnePool) {
  ApiOptions options;
  options.http.bodiesPerAddress = size_t(4) << 20;
  options.http.bodiesInAll = size_t(64) << 20;
  begin(options);
  std::vector<RawHttp> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(server->port());
    clients.back().send("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" +
                        std::string(1500000, 'x'));
  }
  for (int i = 0; i < 500 && server->counters().answers[5] < 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server->counters().answers[5], 3u) << "two have room";
  clients.clear();
  std::string body = "{\"name\": \"a\", \"command\": [\"" + std::string(1500000, 'x') + "\"], \"samples\": 1}";
  int status = 503;
  for (int i = 0; i < 50 && status == 503; ++i) {
    status = send(requestText("POST", "/v1/jobs", "alice-token", body)).status;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(status, 201);
}

TEST_F(ApiAttackTest, AsksWhetherToContinue) {
  begin();
  RawHttp client(server->port());
  std::string body = R"({"name": "a", "command": ["x"], "samples": 1})";
  std::string text = requestText("POST", "/v1/jobs", "alice-token", body, "Expect: 100-continue\r\n");
  client.send(std::string_view(text).substr(0, text.size() - body.size()));
  ASSERT_TRUE(client.readUntil(5, [&] { return client.text.ends_with("\r\n\r\n"); }));
  EXPECT_EQ(takeAnswer(client.text).status, 100);
  client.send(body);
  client.readToEnd(5);
  EXPECT_EQ(takeAnswer(client.text).status, 201);
}

TEST_F(ApiAttackTest, RefusalsAreLoggedAndNotTooManyOfThem) {
  begin();
  for (int i = 0; i < 500; ++i)
    send("GET /%0a%0dinjected HTTP/1.1\r\nHost: h\r\n\r\n");
  for (int i = 0; i < 100; ++i)
    send(requestText("GET", "/v1/cluster", "guess"));
  server->stop();
  std::vector<std::string> lines = scheduler.auditLines();
  EXPECT_GE(lines.size(), 10u);
  EXPECT_LE(lines.size(), 300u);
  for (const std::string &line : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(line.find("guess"), std::string::npos) << "a token, even a wrong one, is in no log";
  }
}

/// A request that is wrong in some way, most of the time.
std::string mutatedRequest(SplitMix &random) {
  const std::string seeds[] = {
      requestText("POST", "/v1/jobs", "viewer-token", R"({"name": "lm", "command": ["x"], "samples": 5})"),
      requestText("GET", "/v1/jobs?limit=10&after=3&phase=queued", "viewer-token"),
      requestText("DELETE", "/v1/jobs/1", "viewer-token"),
      requestText("GET", "/v1/events?after=0&limit=5", "viewer-token"),
      requestText("POST", "/v1/progress", "wrong", R"({"samples": 1e3, "loss": 0.5})"),
      requestText("POST", "/v1/nodes/node1/drain", "viewer-token", R"({"reason": "a"})"),
      requestText("POST", "/v1/tokens", "viewer-token", R"({"name": "a", "role": "operator"})"),
      requestText("GET", "/v1/runs?from_s=0&until_s=1e9", "viewer-token") + requestText("GET", "/metrics"),
      "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n"};
  const std::string parts[] = {"\r\n",
                               "\r\n\r\n",
                               ":",
                               "%00",
                               "%2e%2e/",
                               "\"",
                               "{",
                               "[[[[",
                               "1e999",
                               "-1",
                               "\xc3",
                               "Content-Length: 7\r\n",
                               "Transfer-Encoding: chunked\r\n",
                               "?",
                               "&&",
                               "//",
                               "\\u0000"};
  std::string text = seeds[random.below(9)];
  if (random.below(10) == 0) {
    text.clear();
    for (size_t i = 0, size = random.below(300); i < size; ++i)
      text += static_cast<char>(random.below(256));
  }
  for (size_t i = 0, edits = random.below(5); i < edits; ++i) {
    size_t at = random.below(text.size() + 1);
    if (uint64_t what = random.below(4); what == 0)
      text.insert(at, parts[random.below(17)]);
    else if (what == 1)
      text.erase(at, random.below(20));
    else if (what == 2 && at < text.size())
      text[at] = static_cast<char>(random.below(256));
    else
      text.insert(at, text.substr(random.below(text.size() + 1), random.below(60)));
  }
  return text;
}

TEST_F(ApiAttackTest, TwentyThousandMutatedRequestsChangeNothing) {
  ApiOptions options;
  options.requestsPerSecond = options.requestBurst = 1e9;
  begin(options);
  askRaw(server->port(),
         requestText("POST", "/v1/jobs", "alice-token", R"({"name": "a", "command": ["x"], "samples": 1})"));
  size_t events = scheduler.log.size();
  std::map<int, int> statuses;
  std::mutex mutex;
  auto attack = [&](uint64_t seed) {
    SplitMix random(seed);
    for (int i = 0; i < 5000; ++i) {
      RawHttp client(server->port());
      client.send(mutatedRequest(random));
      client.endSending();
      EXPECT_TRUE(client.readToEnd(20)) << "it hangs";
      while (!client.text.empty()) {
        RawAnswer answer = takeAnswer(client.text);
        std::scoped_lock lock(mutex);
        ++statuses[answer.status];
        if (answer.status == 0)
          break;
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    threads.emplace_back(attack, seed);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(isServing());
  EXPECT_EQ(scheduler.jobCount(), 1u);
  EXPECT_EQ(scheduler.log.size(), events);
  EXPECT_EQ(scheduler.tokens.size(), 4u);
  EXPECT_FALSE(scheduler.isDrained);
  EXPECT_EQ(statuses[0], 0) << "an answer that is none";
  EXPECT_EQ(statuses[500], 0);
  for (int status : {200, 400, 401, 403, 404})
    EXPECT_GT(statuses[status], 100) << status;
}

} // namespace
