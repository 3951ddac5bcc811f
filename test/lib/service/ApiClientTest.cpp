#include "lib/service/client/ApiClient.h"
#include "FakeScheduler.h"
#include "RawHttp.h"
#include "lib/service/http/ApiServer.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace accord;
using namespace accord::service;

namespace {

Submission submissionOf(const std::string &name, const std::string &key = "") {
  Submission submission;
  submission.name = name;
  submission.command = {"python3", "train.py", "ä ö"};
  submission.samples = 1e6;
  submission.environment["A"] = "line\n\"quoted\"";
  submission.key = key;
  return submission;
}

class ApiClientTest : public ::testing::Test {
protected:
  void begin(ApiOptions options = {}) {
    auto started = ApiServer::start(scheduler, std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  ApiClient clientOf(const std::string &token, const std::string &scheme = "http", const std::string &authority = "") {
    auto client = ApiClient::open({.server = fmt::format("{}://localhost:{}", scheme, server->port()),
                                   .token = token,
                                   .authority = authority,
                                   .tries = 3});
    EXPECT_TRUE(client);
    return *client;
  }
  FakeScheduler scheduler;
  std::unique_ptr<ApiServer> server;
};

TEST_F(ApiClientTest, CallsEveryRoute) {
  begin();
  ApiClient alice = clientOf("alice-token"), root = clientOf("root-token"), task = clientOf("task-token");
  auto made = alice.submit(submissionOf("lm", "k1"));
  ASSERT_TRUE(made) << made.error().front().message;
  EXPECT_EQ(made->id, 1);
  EXPECT_TRUE(made->isNew);
  EXPECT_FALSE(alice.submit(submissionOf("lm", "k1"))->isNew);
  EXPECT_EQ(scheduler.all.at(0).submission.command, submissionOf("lm").command);
  EXPECT_EQ(scheduler.all.at(0).submission.environment, submissionOf("lm").environment);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(root.submit(submissionOf("b")));
  JobFilter filter;
  filter.limit = 1;
  auto page = alice.jobs(filter);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->jobs.size(), 1u);
  EXPECT_EQ(page->next, 1);
  filter = {{JobPhase::Queued}, "", "b", "", 5, 100, true};
  auto some = root.jobs(filter);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->jobs.size(), 3u);
  filter = {{}, "", "", "l", 0, 100};
  EXPECT_EQ(root.jobs(filter)->jobs.size(), 1u);
  EXPECT_EQ(alice.caller()->tenant, "vision");
  auto job = alice.job(1);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->job.submission.name, "lm");
  EXPECT_EQ(job->timeLeft, 3600);
  EXPECT_EQ(job->deviation, -0.1);
  EXPECT_EQ(job->wait, "It waits for devices.");
  EXPECT_EQ(alice.explain(1)->size(), 2u);
  EXPECT_EQ(root.runs({.limit = 10})->size(), 6u);
  EXPECT_EQ(root.runs({.job = 2})->size(), 1u);
  auto cluster = alice.cluster();
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->nodes.at(0).jobs, std::vector<int64_t>{1});
  EXPECT_EQ(cluster->phases.at("queued"), 6);
  EXPECT_EQ(alice.events(0, 10, 0)->size(), 6u);
  EXPECT_EQ(root.events(4, 10, 0)->size(), 2u);
  EXPECT_TRUE(root.drain("node1", "a \"fan\""));
  EXPECT_EQ(root.cluster()->nodes.at(0).reason, "a \"fan\"");
  EXPECT_TRUE(root.resume("node1"));
  auto token = root.makeToken({.name = "carol", .tenant = "vision", .role = Role::Viewer}, 0);
  ASSERT_TRUE(token);
  EXPECT_TRUE(clientOf(*token).cluster());
  EXPECT_TRUE(root.revokeToken("carol"));
  EXPECT_EQ(clientOf(*token).cluster().error().code, Code::NotAllowed);
  EXPECT_TRUE(task.report({.samples = 5, .saved = 3}));
  EXPECT_EQ(scheduler.reports.at(0).saved, 3);
  EXPECT_TRUE(alice.cancel(1, "the \"paper\" is due"));
  EXPECT_EQ(alice.job(1)->job.phase, JobPhase::Cancelled);
  EXPECT_EQ(alice.job(1)->job.reason, "the \"paper\" is due");
  auto kept = alice.keepTuning({.name = "spirals", .tenant = {}, .user = {}, .document = "{\"a\": \"\n\"}"});
  ASSERT_TRUE(kept);
  EXPECT_EQ(root.tunings("spirals", 5)->at(0).user, "alice");
  EXPECT_TRUE(root.tunings("other", 5)->empty());
  EXPECT_EQ(root.tuning(*kept)->document, "{\"a\": \"\n\"}");
  EXPECT_EQ(root.tuning(9).error().code, Code::NotServed);
  EXPECT_EQ(alice.health()->status, "ok");
  EXPECT_NE(alice.metrics()->find("accord_jobs 1"), std::string::npos);
  EXPECT_NE(alice.description()->find("3.1.0"), std::string::npos);
}

TEST_F(ApiClientTest, SaysWhatTheServerSaid) {
  begin();
  ApiClient alice = clientOf("alice-token"), viewer = clientOf("viewer-token");
  auto refused = viewer.submit(submissionOf("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, Code::NotAllowed);
  EXPECT_EQ(refused.error().front().message, "this needs the role 'submitter'");
  EXPECT_EQ(alice.job(7).error().code, Code::NotServed);
  EXPECT_EQ(alice.job(7).error().message, "there is no job '7'");
  auto wrong = alice.submit(Submission());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().code, Code::WrongServiceRequest);
  EXPECT_GT(wrong.error().size(), 1u) << "all that is wrong, at once";
  EXPECT_EQ(alice.drain("node1", "").error().code, Code::NotAllowed);
  EXPECT_EQ(clientOf("root-token").drain("a/../b?c", "").error().code, Code::WrongServiceRequest);
}

TEST_F(ApiClientTest, SaysWhereItLooked) {
  begin();
  int port = server->port();
  server->stop();
  auto client = ApiClient::open({.server = fmt::format("http://localhost:{}/", port), .token = "a", .tries = 2});
  ASSERT_TRUE(client);
  Error error = client->cluster().takeError();
  EXPECT_EQ(error.code, Code::SchedulerUnreachable);
  EXPECT_EQ(error.message, fmt::format("the scheduler at 'http://localhost:{}' (from --server) does not answer: nobody "
                                       "listens there; start one with 'accord serve', or name it with --server or "
                                       "ACCORD_SERVER",
                                       port));
  for (std::string url : {"localhost", "ftp://a", "http://", "http://a:b", "http://a:0", "http://a:70000", "http://a/b",
                          "http://a b", "http://a@b:1", "http://[::1"})
    EXPECT_EQ(ApiClient::open({.server = url}).error().code, Code::SchedulerUnreachable) << url;
  for (std::string url : {"http://a", "https://a.b:1", "http://[::1]:80", "http://[::1]"})
    EXPECT_TRUE(ApiClient::open({.server = url})) << url;
  EXPECT_FALSE(ApiClient::open({.server = "http://a", .token = "a\r\nX: b"}));
}

TEST_F(ApiClientTest, FindsServerAndToken) {
  begin();
  std::filesystem::path home = std::filesystem::temp_directory_path() / ("accord-client-" + std::to_string(getpid()));
  std::filesystem::create_directories(home / ".config/accord");
  std::ofstream(home / ".config/accord/token") << "  alice-token \nmore\n";
  std::string before = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("HOME", home.c_str(), 1);
  setenv("ACCORD_SERVER", fmt::format("http://127.0.0.1:{}", server->port()).c_str(), 1);
  auto byFile = ApiClient::open({});
  ASSERT_TRUE(byFile) << byFile.error().message;
  EXPECT_EQ(byFile->place().token, "alice-token");
  EXPECT_EQ(byFile->place().origin, "ACCORD_SERVER");
  EXPECT_TRUE(byFile->cluster());
  setenv("ACCORD_TOKEN", "bob-token", 1);
  EXPECT_EQ(ApiClient::open({})->place().token, "bob-token");
  EXPECT_EQ(ApiClient::open({.token = "c"})->place().token, "c");
  unsetenv("ACCORD_TOKEN");
  unsetenv("ACCORD_SERVER");
  EXPECT_EQ(ApiClient::open({})->place().url, "http://localhost:8421");
  setenv("HOME", before.c_str(), 1);
  std::filesystem::remove_all(home);
}

TEST_F(ApiClientTest, AsksABusyServerAgain) {
  begin();
  ApiClient alice = clientOf("alice-token");
  scheduler.fails = 1;
  auto made = alice.submit(submissionOf("a", "k"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->isNew);
  scheduler.fails = 1;
  auto once = alice.submit(submissionOf("b"));
  ASSERT_FALSE(once) << "without a key a second one might be a second job";
  EXPECT_EQ(once.error().front().message, "the disk is full");
  EXPECT_EQ(scheduler.jobCount(), 1u);
}

/// Listens where a test wants, and does to each connection what it says.
class StubServer {
public:
  explicit StubServer(std::function<void(int fd, int number)> serve) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    listen(fd_, 16);
    socklen_t size = sizeof(address);
    getsockname(fd_, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this, serve] {
      for (int number = 0;; ++number) {
        int one = accept(fd_, nullptr, nullptr);
        if (one < 0)
          return;
        char buffer[65536];
        if (recv(one, buffer, sizeof(buffer), 0) > 0)
          serve(one, number);
        close(one);
      }
    });
  }
  ~StubServer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  int port = 0;

private:
  int fd_ = -1;
  std::thread thread_;
};

void say(int fd, const std::string &text) {
  [[maybe_unused]] ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

TEST(ServerCall, RepeatsOnlyWhatMayBeRepeated) {
  std::atomic<int> connections = 0;
  StubServer stub([&](int fd, int) {
    if (++connections % 3 == 0)
      say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  }); // else it closes without an answer
  auto call = ServerCall::open({.url = fmt::format("http://127.0.0.1:{}", stub.port), .tries = 3});
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->call("DELETE", "/a", "", Repeat::Ends)) << "what was deleted at the first try is not there";
  EXPECT_EQ(connections, 3);
  auto once = call->call("POST", "/a", "{}", Repeat::Unreceived);
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error().front().code, Code::SchedulerUnreachable);
  EXPECT_EQ(connections, 4);
}

TEST(ServerCall, ReadsWhateverComes) {
  const std::string answers[] = {"",
                                 "garbage\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
                                 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"a\":",
                                 "HTTP/1.1 200 OK\r\n\r\n[[[[[[[[[",
                                 "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}",
                                 "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                 std::string("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\0\xff\xfe", 42)};
  for (const std::string &answer : answers) {
    StubServer stub([&](int fd, int) { say(fd, answer); });
    auto client = ApiClient::open({.server = fmt::format("http://127.0.0.1:{}", stub.port), .token = "a", .tries = 1});
    auto cluster = client->cluster();
    ASSERT_FALSE(cluster) << answer;
    EXPECT_EQ(cluster.error().code, Code::SchedulerUnreachable) << answer;
  }
}

TEST_F(ApiClientTest, WatchesAcrossRestartsOfTheServer) {
  begin();
  int port = server->port();
  ApiClient alice = clientOf("alice-token");
  std::vector<int64_t> numbers;
  std::atomic<size_t> seen = 0;
  std::thread watcher([&] {
    auto ended = alice.watch(0, [&](const ServiceEvent &event) {
      numbers.push_back(event.number);
      seen = numbers.size();
      return event.kind != "last";
    });
    EXPECT_TRUE(ended);
  });
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 50; ++i)
      scheduler.happen("node", i % 2 ? "speech" : "vision");
    for (int i = 0; i < 500 && seen < static_cast<size_t>(round) * 25 + (round % 2 ? 25 : 1); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    server->stop();
    ApiOptions options;
    options.http.port = port;
    begin(std::move(options));
  }
  scheduler.happen("last", "");
  watcher.join();
  std::vector<int64_t> expected;
  for (int64_t number = 1; number <= 200; number += 2)
    expected.push_back(number);
  expected.push_back(201);
  EXPECT_EQ(numbers, expected);
}

TEST_F(ApiClientTest, WatchEndsWhereItMayNot) {
  begin();
  ApiClient stranger = clientOf("wrong");
  auto ended = stranger.watch(-1, [](const ServiceEvent &) { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::NotAllowed);
  auto gone = ApiClient::open({.server = "http://127.0.0.1:1", .token = "a", .patience = 0.2});
  EXPECT_EQ(gone->watch(-1, [](const ServiceEvent &) { return true; }).error().code, Code::SchedulerUnreachable);
}

TEST(EventReader, ReadsPiecesOfAnySize) {
  std::string stream =
      "retry: 2000\r\nid: 4\r\n\r\n: comment\nid: 5\ndata: {\"number\": 5, \"time_s\": 1, "
      "\"kind\": \"node\", \"text\": \"a\"}\n\nid: 5\ndata: {\"number\": 5, \"time_s\": 1, \"kind\": "
      "\"node\", \"text\": \"again\"}\n\nid: 9\n\nid: 12\ndata: {\"number\": 12,\ndata: \"time_s\": 1, "
      "\"kind\": \"node\", \"text\": \"b\", \"newer\": true}\n\nid: 13\ndata: {\"number\": 13";
  for (size_t step : {size_t(1), size_t(5), stream.size()}) {
    EventReader reader(-1);
    std::vector<std::string> texts;
    for (size_t at = 0; at < stream.size(); at += step)
      ASSERT_TRUE(reader.take(std::string_view(stream).substr(at, step), [&](const ServiceEvent &event) {
        texts.push_back(event.text);
        return true;
      }));
    EXPECT_EQ(texts, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(reader.last(), 12) << "what is not whole does not count";
  }
  EventReader endless(-1);
  std::string more(100000, 'x');
  int pieces = 0;
  while (pieces < 1000 && endless.take(more, [](const ServiceEvent &) { return true; }))
    ++pieces;
  EXPECT_LT(pieces, 20);
  EXPECT_TRUE(endless.isBroken());
}

class TlsTest : public ApiClientTest {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("accord-tls-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::string made = fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                                   "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {0}/key.pem -out "
                                   "{0}/cert.pem >/dev/null 2>&1",
                                   folder.string());
    if (std::system(made.c_str()) != 0)
      GTEST_SKIP() << "no openssl";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  ApiOptions options() const {
    ApiOptions all;
    all.http.certificate = folder / "cert.pem";
    all.http.key = folder / "key.pem";
    return all;
  }
  std::filesystem::path folder;
};

TEST_F(TlsTest, ServesWhoTrustsTheCertificate) {
  begin(options());
  ApiClient alice = clientOf("alice-token", "https", folder / "cert.pem");
  ASSERT_TRUE(alice.cluster()) << alice.cluster().error().message;
  Submission large = submissionOf("large");
  large.command.push_back(std::string(2000000, 'x'));
  auto made = alice.submit(large);
  ASSERT_TRUE(made) << made.error().front().message;
  EXPECT_EQ(alice.job(1)->job.submission.command.back().size(), 2000000u);
  size_t seen = 0;
  std::thread watcher(
      [&] { EXPECT_TRUE(alice.watch(0, [&](const ServiceEvent &event) { return ++seen, event.kind != "last"; })); });
  for (int i = 0; i < 2000; ++i)
    scheduler.happen("node", "");
  scheduler.happen("last", "");
  watcher.join();
  EXPECT_EQ(seen, 2002u);
}

TEST_F(TlsTest, RefusesWhoDoesNot) {
  ApiOptions soon = options();
  soon.http.headSeconds = 1.5;
  begin(std::move(soon));
  Error error = clientOf("alice-token", "https").cluster().takeError();
  EXPECT_EQ(error.code, Code::SchedulerUnreachable);
  EXPECT_NE(error.message.find("not trusted"), std::string::npos) << error.message;
  EXPECT_EQ(clientOf("alice-token", "http").cluster().error().code, Code::SchedulerUnreachable);
  EXPECT_NE(ApiClient::open({.server = "https://a", .authority = folder / "none.pem"}).error().message.find("none.pem"),
            std::string::npos);
  std::ofstream(folder / "garbage.pem") << "no certificate";
  EXPECT_NE(clientOf("a", "https", folder / "garbage.pem").cluster().error().message.find("cannot be read"),
            std::string::npos);
  RawHttp silent(server->port()), garbage(server->port());
  garbage.send(std::string(5000, '\x16'));
  EXPECT_TRUE(garbage.readToEnd(5));
  EXPECT_TRUE(silent.readToEnd(5)) << "TLS has to begin in time";
  EXPECT_TRUE(clientOf("alice-token", "https", folder / "cert.pem").cluster());
  server->stop();
  ApiOptions wrong = options();
  wrong.http.key = folder / "cert.pem";
  EXPECT_FALSE(ApiServer::start(scheduler, wrong));
}

} // namespace
