#include "lib/service/http/ApiServer.h"
#include "FakeScheduler.h"
#include "RawHttp.h"
#include "lib/service/http/OpenApi.h"
#include "lib/service/http/RateLimit.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/SourcePath.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace accord;
using namespace accord::service;
namespace json = llvm::json;

namespace {

const std::string kJob = R"({"name": "lm", "command": ["train"], "samples": 1000})";

class ApiServerTest : public ::testing::Test {
protected:
  void begin(ApiOptions options = {}) {
    auto started = ApiServer::start(scheduler, std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  RawAnswer ask(const std::string &method, const std::string &target, const std::string &token = "",
                const std::string &body = "", const std::string &more = "") {
    return askRaw(server->port(), requestText(method, target, token, body, more));
  }
  static json::Value jsonOf(const RawAnswer &answer) {
    auto value = readJsonText(answer.body);
    return value ? *value : json::Value(nullptr);
  }
  static std::string codeOf(const RawAnswer &answer) {
    json::Value value = jsonOf(answer);
    const json::Object *object = value.getAsObject();
    const json::Array *errors = object ? object->getArray("errors") : nullptr;
    if (!errors || errors->empty())
      return "";
    return errors->front().getAsObject()->getString("code")->str();
  }
  /// Numbers of the events in a stream, and the ids that it states.
  static std::vector<int64_t> numbersOf(const std::string &stream) {
    std::vector<int64_t> numbers;
    for (size_t at = stream.find("\ndata: "); at != std::string::npos; at = stream.find("\ndata: ", at + 1)) {
      auto value = readJsonText(stream.substr(at + 7, stream.find('\n', at + 7) - at - 7));
      numbers.push_back(value ? *value->getAsObject()->getInteger("number") : -1);
    }
    return numbers;
  }

  FakeScheduler scheduler;
  std::unique_ptr<ApiServer> server;
};

TEST_F(ApiServerTest, LimitsStrangersWhateverTheySend) {
  ApiOptions options;
  options.strangersPerSecond = 1e-6, options.strangerBurst = 2;
  begin(std::move(options));
  for (int status : {401, 401, 429})
    EXPECT_EQ(ask("GET", "/v1/cluster", "", "", "Authorization: Basic eDp5\r\n").status, status);
  EXPECT_EQ(ask("GET", "/v1/cluster", "alice-token").status, 200);
}

TEST_F(ApiServerTest, AnswersEveryRoute) {
  begin();
  RawAnswer made = ask("POST", "/v1/jobs", "alice-token", kJob);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.headers["location"], "/v1/jobs/1");
  EXPECT_EQ(made.body, "{\"id\":1,\"is_new\":true}\n");
  EXPECT_EQ(ask("GET", "/v1/jobs?limit=1&phase=queued,running&newest=true", "alice-token").status, 200);
  EXPECT_EQ(ask("GET", "/v1/jobs/1", "alice-token").status, 200);
  EXPECT_EQ(ask("GET", "/v1/jobs/1/explain", "alice-token").status, 200);
  EXPECT_EQ(ask("GET", "/v1/runs?from_s=0&until_s=2e9", "alice-token").status, 200);
  EXPECT_EQ(ask("GET", "/v1/cluster", "viewer-token").status, 200);
  EXPECT_EQ(ask("GET", "/v1/events?after=0", "viewer-token").status, 200);
  EXPECT_EQ(ask("POST", "/v1/nodes/node1/drain", "root-token", R"({"reason": "fan"})").status, 204);
  EXPECT_EQ(scheduler.drainReason, "fan");
  EXPECT_EQ(ask("POST", "/v1/nodes/node1/resume", "root-token").status, 204);
  EXPECT_FALSE(scheduler.isDrained);
  RawAnswer token = ask("POST", "/v1/tokens", "root-token", R"({"name": "carol", "tenant": "a", "role": "viewer"})");
  EXPECT_EQ(token.body, "{\"token\":\"made-1\"}\n");
  EXPECT_EQ(ask("GET", "/v1/cluster", "made-1").status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/tokens/carol", "root-token").status, 204);
  EXPECT_EQ(ask("GET", "/v1/cluster", "made-1").status, 401);
  EXPECT_EQ(ask("POST", "/v1/progress", "task-token", R"({"samples": 51200, "loss": -0.5})").status, 204);
  EXPECT_EQ(scheduler.reports.at(0).samples, 51200);
  EXPECT_EQ(scheduler.reports.at(0).saved, -1);
  EXPECT_EQ(ask("DELETE", "/v1/jobs/1", "alice-token").status, 204);
  EXPECT_EQ(ask("DELETE", "/v1/jobs/1", "alice-token").status, 409);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/v1/openapi.json").status, 200);
  EXPECT_NE(ask("GET", "/metrics", "viewer-token").body.find("\naccord_http_requests_total "), std::string::npos);
}

TEST_F(ApiServerTest, RefusesWithStatusCodeAndKey) {
  begin();
  ask("POST", "/v1/jobs", "alice-token", kJob);
  RawAnswer none = ask("GET", "/v1/cluster");
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.headers["www-authenticate"], "Bearer");
  EXPECT_EQ(codeOf(none), "A1202");
  EXPECT_EQ(ask("GET", "/v1/cluster", "wrong").status, 401);
  EXPECT_EQ(ask("POST", "/v1/progress", "wrong", R"({"samples": 1})").status, 401);
  EXPECT_EQ(ask("POST", "/v1/jobs", "viewer-token", kJob).status, 403);
  EXPECT_EQ(ask("POST", "/v1/nodes/node1/drain", "alice-token").status, 403);
  EXPECT_EQ(ask("GET", "/v1/jobs/1", "bob-token").status, 404) << "of another tenant";
  EXPECT_EQ(ask("DELETE", "/v1/jobs/1", "bob-token").status, 404);
  for (std::string id : {"2", "0", "-1", "x", "1x", "99999999999999999999", "1.0"})
    EXPECT_EQ(codeOf(ask("GET", "/v1/jobs/" + id, "alice-token")), "A1207") << id;
  RawAnswer wrong = ask("POST", "/v1/jobs", "alice-token", R"({"name": "lm", "command": ["x"], "samples": -5})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("\"key\":\"samples\""), std::string::npos) << wrong.body;
  EXPECT_EQ(ask("POST", "/v1/progress", "task-token", "{}").status, 400);
  EXPECT_EQ(codeOf(ask("POST", "/v1/progress", "task-token", R"({"samples": "many"})")), "A1208");
  EXPECT_EQ(ask("POST", "/v1/jobs", "alice-token", kJob, "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(ask("GET", "/v1/cluster", "alice-token", "{}").status, 400);
  scheduler.fails = 1;
  RawAnswer busy = ask("POST", "/v1/jobs", "alice-token", kJob);
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(codeOf(busy), "A1204");
  EXPECT_FALSE(busy.headers["retry-after"].empty());
  for (std::string query : {"limit=0", "limit=1001", "limit=x", "limit=", "after=-1", "phase=late",
                            "phase=", "newest=1", "colour=red", "after=99999999999999999999", "limit=1e2"}) {
    RawAnswer answer = ask("GET", "/v1/jobs?" + query, "alice-token");
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_NE(answer.body.find("\"key\":\"" + query.substr(0, query.find('=')) + "\""), std::string::npos);
  }
  for (std::string query : {"from_s=nan", "from_s=inf", "from_s=-1", "from_s=2&until_s=1"})
    EXPECT_EQ(ask("GET", "/v1/runs?" + query, "alice-token").status, 400) << query;
  EXPECT_EQ(scheduler.jobCount(), 1u);
}

TEST_F(ApiServerTest, KnowsMethodsPathsAndHeads) {
  begin();
  RawAnswer put = ask("PUT", "/v1/jobs", "alice-token");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.headers["allow"], "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("BREW", "/v1/jobs/1").headers["allow"], "GET, HEAD, DELETE, OPTIONS");
  RawAnswer options = ask("OPTIONS", "/v1/jobs");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers["allow"], "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "*").status, 204);
  EXPECT_EQ(ask("GET", "*").status, 400);
  for (std::string path : {"/v2", "/v1", "/v1/job", "/V1/jobs", "/v1/jobs/1/explain/2", "/page/index.html", "/"})
    EXPECT_EQ(ask("GET", path, "root-token").status, 404) << path;
  RawAnswer head = ask("HEAD", "/healthz"), get = ask("GET", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers["content-length"], get.headers["content-length"]);
  EXPECT_EQ(ask("HEAD", "/v1/events/stream", "root-token").status, 200);
  EXPECT_EQ(ask("HEAD", "/v1/events?wait_s=60", "root-token").status, 200);
}

TEST_F(ApiServerTest, KeepsConnectionsAndAnswersInOrder) {
  begin();
  RawHttp client(server->port());
  std::string one = "GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: a-1\r\n\r\n";
  client.send(one + "GET /nothing HTTP/1.1\r\nHost: h\r\nX-Request-Id: b c\r\n\r\n" + one +
              "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(client.readToEnd(5));
  RawAnswer first = takeAnswer(client.text), second = takeAnswer(client.text);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.headers["x-request-id"], "a-1");
  EXPECT_EQ(second.status, 404);
  EXPECT_NE(second.headers["x-request-id"], "b c");
  EXPECT_EQ(takeAnswer(client.text).status, 200);
  EXPECT_EQ(takeAnswer(client.text).headers["connection"], "close");
  EXPECT_TRUE(client.text.empty());
}

TEST_F(ApiServerTest, ServesThePageStrictly) {
  ApiOptions options;
  options.page["index.html"] = {"text/html; charset=utf-8", "<!doctype html>"};
  options.page["page.js"] = {"text/javascript", "1"};
  begin(std::move(options));
  RawAnswer page = ask("GET", "/");
  EXPECT_EQ(page.body, "<!doctype html>");
  EXPECT_EQ(page.headers["content-type"], "text/html; charset=utf-8");
  EXPECT_NE(page.headers["content-security-policy"].find("script-src 'self';"), std::string::npos);
  EXPECT_EQ(page.headers["content-security-policy"].find("unsafe"), std::string::npos);
  EXPECT_EQ(ask("GET", "/", "", "", "If-None-Match: " + page.headers["etag"] + "\r\n").status, 304);
  EXPECT_EQ(ask("GET", "/page/page.js").body, "1");
  EXPECT_EQ(ask("POST", "/page/page.js").status, 405);
  for (std::string path : {"/page/../page.js", "/page/%2e%2e/page.js", "/page/..%2fpage.js", "//page/page.js"})
    EXPECT_EQ(ask("GET", path).status, 400) << path;
  EXPECT_EQ(ask("GET", "/page/other.js").status, 404);
}

TEST_F(ApiServerTest, HidesSecretsOfOthers) {
  begin();
  ask("POST", "/v1/jobs", "alice-token",
      R"({"name": "lm", "command": ["x"], "samples": 1, "environment": {"API_KEY": "secret"}, "key": "k-secret"})");
  std::string body = ask("GET", "/v1/jobs/1", "viewer-token").body;
  EXPECT_NE(body.find("API_KEY"), std::string::npos);
  EXPECT_EQ(body.find("secret"), std::string::npos);
}

TEST_F(ApiServerTest, LimitsTokensAndGuesses) {
  ApiOptions options;
  options.requestsPerSecond = 0.001;
  options.requestBurst = 5;
  options.wrongTokens = 3;
  options.wrongTokensPerSecond = 0.001;
  begin(std::move(options));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ask("GET", "/v1/cluster", "alice-token").status, 200);
  RawAnswer often = ask("GET", "/v1/cluster", "alice-token");
  EXPECT_EQ(often.status, 429);
  EXPECT_FALSE(often.headers["retry-after"].empty());
  EXPECT_EQ(ask("GET", "/v1/cluster", "bob-token").status, 200) << "others are not limited by it";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask("GET", "/v1/cluster", "guess").status, 401);
  int64_t asked = scheduler.asked;
  EXPECT_EQ(ask("GET", "/v1/cluster", "guess").status, 429);
  EXPECT_EQ(ask("GET", "/v1/cluster", "root-token").status, 429) << "a right guess is not told from a wrong one";
  EXPECT_EQ(scheduler.asked, asked);
  EXPECT_EQ(ask("GET", "/v1/cluster", "bob-token").status, 200) << "was there before";
  EXPECT_EQ(ask("POST", "/v1/progress", "task-token", R"({"samples": 1})").status, 429) << "so are tokens of tasks";
  server->stop();
  std::vector<std::string> lines = scheduler.auditLines();
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("refused alice 429 to GET /v1/cluster from 127.0.0.1, request "), std::string::npos)
      << lines[0];
}

TEST_F(ApiServerTest, WithoutTokensAsksOnlyForItself) {
  scheduler.isOpen = true;
  ApiOptions options;
  options.hosts = {"lab.example"};
  begin(std::move(options));
  auto status = [&](const std::string &host, const std::string &more = "", const std::string &token = "") {
    std::string text = requestText("POST", "/v1/nodes/node1/resume", token, "", more);
    text.replace(text.find("localhost"), 9, host);
    return askRaw(server->port(), text).status;
  };
  for (std::string host : {"localhost", "127.0.0.1:8421", "[::1]:8421", "lab", "LAB.example:80", "a.localhost"})
    EXPECT_EQ(status(host), 204) << host;
  EXPECT_EQ(status("evil.example"), 403) << "a name that leads here";
  EXPECT_EQ(status("1.2.3.4.evil.example"), 403);
  EXPECT_EQ(status("localhost", "Origin: https://evil.example\r\n"), 403) << "a page of others";
  EXPECT_EQ(status("localhost", "Origin: null\r\n"), 403);
  EXPECT_EQ(status("localhost", "Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(status("localhost", "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"), 204);
  EXPECT_EQ(status("evil.example", "", "root-token"), 204) << "who has a token is asked no more";
  EXPECT_EQ(status("localhost", "", "wrong"), 401) << "a wrong token is wrong";
  EXPECT_EQ(ask("POST", "/v1/progress", "", R"({"samples": 1})").status, 401);
}

TEST_F(ApiServerTest, OpensMetricsByOption) {
  begin();
  EXPECT_EQ(ask("GET", "/metrics").status, 401);
  server->stop();
  ApiOptions options;
  options.hasOpenMetrics = true;
  begin(std::move(options));
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
}

TEST_F(ApiServerTest, WaitsForAnEvent) {
  begin();
  scheduler.happen("node", "");
  RawHttp waiting(server->port()), other(server->port());
  waiting.send(requestText("GET", "/v1/events?after=1&wait_s=30", "alice-token"));
  other.send(requestText("GET", "/v1/events?after=1&wait_s=1", "bob-token"));
  EXPECT_FALSE(waiting.readToEnd(0.3));
  scheduler.happen("started", "vision");
  ASSERT_TRUE(waiting.readToEnd(5));
  EXPECT_NE(takeAnswer(waiting.text).body.find("\"number\":2"), std::string::npos);
  ASSERT_TRUE(other.readToEnd(5));
  EXPECT_EQ(takeAnswer(other.text).body, "{\"events\":[]}\n") << "of another tenant, until its time is over";
}

TEST_F(ApiServerTest, StreamsEachEventOnce) {
  begin();
  for (int i = 0; i < 1500; ++i)
    scheduler.happen("node", i % 3 == 0 ? "vision" : i % 3 == 1 ? "speech" : "");
  std::vector<RawHttp> watchers;
  const std::string tokens[] = {"root-token", "alice-token", "bob-token"};
  for (int i = 0; i < 60; ++i) {
    watchers.emplace_back(server->port());
    std::string more = i % 2 ? "Last-Event-ID: " + std::to_string(i * 25) + "\r\n" : "";
    watchers.back().send(
        requestText("GET", i % 2 ? "/v1/events/stream" : "/v1/events/stream?after=0", tokens[i % 3], "", more));
  }
  for (int i = 0; i < 500; ++i) {
    scheduler.happen("node", i % 3 == 0 ? "vision" : i % 3 == 1 ? "speech" : "");
    if (i % 50 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  scheduler.happen("last", "");
  for (int i = 0; i < 60; ++i) {
    watchers[i].readUntil(20, [&] {
      return watchers[i].text.ends_with("\n\n") && watchers[i].text.find("\"kind\":\"last\"") != std::string::npos;
    });
    std::vector<int64_t> expected;
    for (int64_t number = (i % 2 ? i * 25 : 0) + 1; number <= 2001; ++number) {
      int64_t kind = number == 2001 ? 2 : (number <= 1500 ? number - 1 : number - 1501) % 3;
      if (kind == 2 || i % 3 == 0 || (kind == 0) == (i % 3 == 1))
        expected.push_back(number);
    }
    EXPECT_EQ(numbersOf(watchers[i].text), expected) << i;
  }
}

TEST_F(ApiServerTest, StreamsFromNowOnWhereverTheLogBegins) {
  scheduler.pruned = 123456;
  for (int i = 0; i < 10; ++i)
    scheduler.happen("node", "");
  begin();
  RawHttp watcher(server->port());
  watcher.send(requestText("GET", "/v1/events/stream", "alice-token"));
  ASSERT_TRUE(watcher.readUntil(5, [&] { return watcher.text.find("\nid: ") != std::string::npos; }));
  EXPECT_NE(watcher.text.find("\nid: 123466\n\n"), std::string::npos) << watcher.text;
  scheduler.happen("node", "");
  watcher.readUntil(5, [&] { return !numbersOf(watcher.text).empty(); });
  EXPECT_EQ(numbersOf(watcher.text), std::vector<int64_t>{123467});
}

TEST_F(ApiServerTest, EndsAStreamWhoseTokenIsRevoked) {
  ApiOptions options;
  options.heartbeatSeconds = 0.2;
  begin(std::move(options));
  RawHttp watcher(server->port()), waiting(server->port());
  watcher.send(requestText("GET", "/v1/events/stream", "alice-token"));
  waiting.send(requestText("GET", "/v1/events?wait_s=60", "alice-token"));
  auto hasTwoBeats = [&] {
    size_t first = watcher.text.find("\nid: 0\n\n"), second = watcher.text.find("\nid: 0\n\n", first + 1);
    return first != std::string::npos && second != std::string::npos;
  };
  ASSERT_TRUE(watcher.readUntil(10, hasTwoBeats));
  EXPECT_FALSE(watcher.hasEnded);
  ask("DELETE", "/v1/tokens/alice", "root-token");
  EXPECT_TRUE(watcher.readToEnd(5));
  EXPECT_TRUE(waiting.readToEnd(5));
}

TEST_F(ApiServerTest, StopsWithWatchersOpen) {
  begin();
  std::vector<RawHttp> clients;
  for (int i = 0; i < 50; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(i % 3 == 0   ? requestText("GET", "/v1/events/stream", "alice-token")
                        : i % 3 == 1 ? requestText("GET", "/v1/events?wait_s=60", "alice-token")
                                     : "GET /half");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  auto before = std::chrono::steady_clock::now();
  server->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5)); // a hang, not a measure
  for (RawHttp &client : clients)
    EXPECT_TRUE(client.readToEnd(5));
  server->stop();
}

TEST(ApiServer, SaysWhyItCannotListen) {
  FakeScheduler scheduler;
  auto first = ApiServer::start(scheduler, {});
  ASSERT_TRUE(first);
  ApiOptions options;
  options.http.port = (*first)->port();
  auto second = ApiServer::start(scheduler, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::BadCommandLine);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
  options.http.port = 70000;
  EXPECT_FALSE(ApiServer::start(scheduler, options));
  options.http.port = 0;
  options.http.certificate = "/nonexistent";
  EXPECT_FALSE(ApiServer::start(scheduler, options));
}

TEST(RateLimit, FillsWithTimeAndForgets) {
  RateLimit limit(2, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limit.take("a", 10));
  EXPECT_FALSE(limit.take("a", 10));
  EXPECT_TRUE(limit.take("b", 10));
  EXPECT_FALSE(limit.has("a", 10.4));
  EXPECT_TRUE(limit.take("a", 10.5));
  EXPECT_FALSE(limit.take("a", 10.5));
  EXPECT_EQ(limit.secondsUntil("a", 10.5), 1);
  EXPECT_FALSE(limit.take("a", 5)) << "a clock that goes back gives nothing";
  RateLimit many(0.001, 1);
  for (int i = 0; i < 100000; ++i)
    EXPECT_TRUE(many.take("address " + std::to_string(i), i * 1e-3));
  EXPECT_FALSE(many.take("address 99999", 100)) << "the newest are kept";
}

/// The schemas of the description against what is answered, by a validator that knows nothing of this program.
class DescriptionTest : public ApiServerTest {
protected:
  void SetUp() override {
    if (std::system("python3 -c '' >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "no python3";
    folder = std::filesystem::temp_directory_path() / ("accord-description-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    if (!folder.empty())
      std::filesystem::remove_all(folder);
  }
  void write(const std::string &name, const std::string &text) { std::ofstream(folder / name) << text; }

  /// A schema of the description as one of its own.
  static std::string standalone(const json::Object &document, json::Value schema) {
    json::Object whole = *schema.getAsObject();
    whole["$defs"] = json::Value(json::Object(*document.getObject("components")->getObject("schemas")));
    std::string text = jsonLine(std::move(whole));
    const std::string from = "#/components/schemas/";
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
      text.replace(at, from.size(), "#/$defs/");
    return text;
  }
  /// To be held against a schema, all at once: a start of Python takes longer than all of them.
  void expect(const std::string &what, const std::string &schema, const std::string &body) {
    checks += jsonLine(json::Array{what, schema, body}) + "\n";
  }
  bool allHold() {
    write("checks", checks);
    write("run.py", R"(
import json, sys
sys.path.insert(0, sys.argv[1])
import check_schema
bad = 0
for line in open(sys.argv[2], encoding="utf-8"):
    what, schema, body = json.loads(line)
    errors = []
    check_schema.check(json.loads(body), json.loads(schema), json.loads(schema), "$", errors)
    for error in errors:
        print(what, error)
    bad += len(errors)
sys.exit(bad > 0)
)");
    std::string tools = accord::sourcePath("test/tools");
    return std::system(
               fmt::format("python3 -B {} {} {} >&2", (folder / "run.py").string(), tools, (folder / "checks").string())
                   .c_str()) == 0;
  }
  std::string checks;
  std::filesystem::path folder;
};

TEST_F(DescriptionTest, DescribesEveryAnswer) {
  begin();
  ask("POST", "/v1/jobs", "alice-token", kJob);
  json::Value value = jsonOf(ask("GET", "/v1/openapi.json"));
  ASSERT_TRUE(value.getAsObject());
  const json::Object &document = *value.getAsObject();
  EXPECT_EQ(document.getString("openapi"), llvm::StringRef("3.1.0"));
  struct Case {
    std::string method, path, target, token, body;
  };
  const Case cases[] = {
      {"POST", "/v1/jobs", "/v1/jobs", "alice-token", R"({"name": "b", "command": ["x"], "samples": 1, "key": "k"})"},
      {"POST", "/v1/jobs", "/v1/jobs", "alice-token", R"({"name": "b", "command": ["x"], "samples": 1, "key": "k"})"},
      {"GET", "/v1/jobs", "/v1/jobs?limit=1", "alice-token", ""},
      {"GET", "/v1/jobs/{id}", "/v1/jobs/1", "alice-token", ""},
      {"GET", "/v1/jobs/{id}/explain", "/v1/jobs/1/explain", "alice-token", ""},
      {"POST", "/v1/progress", "/v1/progress", "task-token", R"({"samples": 1})"},
      {"GET", "/v1/runs", "/v1/runs", "alice-token", ""},
      {"GET", "/v1/cluster", "/v1/cluster", "alice-token", ""},
      {"GET", "/v1/caller", "/v1/caller", "alice-token", ""},
      {"GET", "/v1/events", "/v1/events", "alice-token", ""},
      {"GET", "/v1/events/stream", "", "", ""},
      {"POST", "/v1/nodes/{name}/drain", "/v1/nodes/node1/drain", "root-token", R"({"reason": "fan"})"},
      {"POST", "/v1/nodes/{name}/resume", "/v1/nodes/node1/resume", "root-token", ""},
      {"POST", "/v1/tokens", "/v1/tokens", "root-token", R"({"name": "carol", "role": "operator"})"},
      {"DELETE", "/v1/tokens/{name}", "/v1/tokens/carol", "root-token", ""},
      {"DELETE", "/v1/jobs/{id}", "/v1/jobs/1", "alice-token", ""},
      {"POST", "/v1/tunings", "/v1/tunings", "alice-token", R"({"name": "spirals", "document": "{}"})"},
      {"GET", "/v1/tunings", "/v1/tunings?name=spirals", "alice-token", ""},
      {"GET", "/v1/tunings/{id}", "/v1/tunings/1", "alice-token", ""},
      {"GET", "/v1/openapi.json", "/v1/openapi.json", "", ""},
      {"GET", "/healthz", "/healthz", "", ""},
      {"GET", "/metrics", "/metrics", "root-token", ""},
  };
  std::set<std::string> seen;
  for (const Case &one : cases) {
    SCOPED_TRACE(one.method + " " + one.path);
    const json::Object *path = document.getObject("paths")->getObject(one.path);
    ASSERT_TRUE(path);
    const json::Object *operation = path->getObject(llvm::StringRef(one.method).lower());
    ASSERT_TRUE(operation);
    seen.insert(one.method + " " + one.path);
    if (one.target.empty())
      continue;
    RawAnswer answer = ask(one.method, one.target, one.token, one.body);
    const json::Object *described = operation->getObject("responses")->getObject(std::to_string(answer.status));
    ASSERT_TRUE(described) << answer.status << answer.body;
    const json::Object *content = described->getObject("content");
    const json::Object *asJson = content ? content->getObject("application/json") : nullptr;
    EXPECT_EQ(asJson != nullptr, answer.headers["content-type"] == "application/json");
    if (asJson)
      expect(one.path, standalone(document, *asJson->get("schema")), answer.body);
    if (const json::Object *request = operation->getObject("requestBody"); request && !one.body.empty())
      expect(one.path,
             standalone(document, *request->getObject("content")->getObject("application/json")->get("schema")),
             one.body);
  }
  std::set<std::string> all;
  for (const auto &[path, operations] : *document.getObject("paths"))
    for (const auto &[method, operation] : *operations.getAsObject())
      all.insert(llvm::StringRef(method).upper() + " " + llvm::StringRef(path).str());
  EXPECT_EQ(seen, all);
  RawAnswer refused = ask("GET", "/v1/jobs?limit=0", "alice-token");
  std::string errorList = standalone(document, json::Object{{"$ref", "#/components/schemas/error_list"}});
  expect("errors", errorList, refused.body);
  EXPECT_TRUE(allHold());
  expect("a wrong one, for the validator itself:", errorList, "{}");
  EXPECT_FALSE(allHold());
}

} // namespace
