// What the server takes for a request, whatever pieces it arrives in, and what it refuses.
#include "lib/service/http/HttpServer.h"
#include "RawHttp.h"
#include "lib/support/SplitMix.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/tcp.h>
#include <thread>

using namespace accord;
using namespace accord::service;

namespace {

/// Answers with what was read.
std::string textOf(const HttpRequest &request) {
  std::string text = request.method + " " + request.path + "\n";
  for (const std::string &segment : request.segments)
    text += "/" + segment + "\n";
  for (const auto &[name, value] : request.query)
    text += "?" + name + "=" + value + "\n";
  for (const auto &[name, value] : request.headers)
    text += name + ": " + value + "\n";
  return text + "\n" + request.body;
}

class HttpServerTest : public ::testing::Test {
protected:
  void begin(HttpServerOptions options = {}) {
    auto started = HttpServer::start(std::move(options),
                                     {.answer = [this](const HttpRequest &request) { return answer(request); },
                                      .refuse =
                                          [](const HttpRequest &, const HttpRefusal &refusal) {
                                            return HttpResponse{.status = refusal.status,
                                                                .body = std::make_shared<std::string>(refusal.message)};
                                          }});
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  HttpReply answer(const HttpRequest &request) {
    if (request.path != "/wait")
      return HttpResponse{.body = std::make_shared<std::string>(textOf(request))};
    return HttpOpen{.opened = [this](std::shared_ptr<HttpStream> stream) {
      std::scoped_lock lock(mutex);
      waiting.push_back(std::move(stream));
    }};
  }
  RawAnswer send(const std::string &bytes) {
    RawHttp client(server->port());
    client.send(bytes);
    client.endSending();
    EXPECT_TRUE(client.readToEnd(10)) << bytes;
    return takeAnswer(client.text);
  }
  int statusOf(const std::string &bytes) { return send(bytes).status; }
  /// All that is answered to bytes that are sent in pieces.
  std::string outcomeOf(const std::string &bytes, const std::vector<size_t> &cuts) {
    RawHttp client(server->port());
    int on = 1;
    setsockopt(client.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); // without waiting for more to send together
    size_t at = 0;
    for (size_t cut : cuts) {
      client.send(std::string_view(bytes).substr(at, cut - at));
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      at = cut;
    }
    client.send(std::string_view(bytes).substr(at));
    client.endSending();
    EXPECT_TRUE(client.readToEnd(20)) << bytes;
    std::string outcome;
    while (!client.text.empty()) {
      RawAnswer one = takeAnswer(client.text);
      if (one.status == 0)
        return "no answer of HTTP";
      // Where an error is seen first, and so which of two, depends on the pieces.
      outcome += one.status < 400 ? fmt::format("{} {}\n", one.status, one.body) : "refused\n";
    }
    return outcome;
  }

  std::mutex mutex;
  std::vector<std::shared_ptr<HttpStream>> waiting;
  std::unique_ptr<HttpServer> server;
};

TEST_F(HttpServerTest, ReadsARequestInAnyPieces) {
  begin();
  std::string text =
      "POST /v1/jobs/a%20b?limit=5&name=x+y%2B HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A:  b c \r\n\r\nhello";
  for (size_t step : {text.size(), size_t(1), size_t(7)}) {
    std::vector<size_t> cuts;
    for (size_t at = step; at < text.size(); at += step)
      cuts.push_back(at);
    EXPECT_EQ(outcomeOf(text, cuts), "200 POST /v1/jobs/a%20b\n/v1\n/jobs\n/a b\n?limit=5\n?name=x y+\n"
                                     "host: h\ncontent-length: 5\nx-a: b c\n\nhello\n");
  }
}

TEST_F(HttpServerTest, ReadsChunksInAnyPiecesAndWhatComesBehindThem) {
  begin();
  std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
              next = "GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
  for (std::string chunks : {"5;name=value\r\nhello\r\nA\r\n, chunked!\r\n0\r\nX-Trailer: 1\r\n\r\n", "0\r\n\r\n"}) {
    std::string text = head + chunks + next, expected = "200 POST /\nhost: h\ntransfer-encoding: chunked\n\n";
    expected += chunks.size() > 10 ? "hello, chunked!" : "";
    std::vector<size_t> cuts;
    for (size_t at = 1; at < text.size(); ++at)
      cuts.push_back(at);
    for (const auto &some : {std::vector<size_t>{}, cuts})
      EXPECT_EQ(outcomeOf(text, some), expected + "\n200 GET /b\n/b\nhost: h\n\n\n") << "no trailer is a header";
  }
}

TEST_F(HttpServerTest, RefusesWhatIsUnclear) {
  begin();
  auto get = [](const std::string &target, const std::string &more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n";
  };
  EXPECT_EQ(statusOf(get("/")), 200);
  EXPECT_EQ(statusOf(get("http://h/a")), 200);
  EXPECT_EQ(statusOf("\r\n" + get("/")), 200);
  for (std::string target :
       {"/a/../b",  "/%2e%2e/a", "/..",  "//a",  "/a//b",       "/a/",        "/a%2Fb",
        "/a%5Cb",   "/a%00b",    "/%zz", "/%4",  "/%ff",        "/a?b=1&b=2", "/a?=1",
        "/a?b=%00", "/\x01",     "a",    "/a#b", "/a?b=%c3%28", "/.",         "/%0d%0aSet-Cookie:x"})
    EXPECT_EQ(statusOf(get(target)), 400) << target;
  for (std::string more :
       {"A : b\r\n", " A: b\r\n", "A\r\n", "Host: i\r\n", "A: \x01\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: -1\r\n", "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n", "Content-Length:\r\n",
        "Content-Length: 0x1\r\n", "Content-Length: 99999999999999999999999\r\n",
        "Authorization: a\r\nAuthorization: b\r\n", ": b\r\n", "A: b\nC: d\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"})
    EXPECT_EQ(statusOf(get("/", more)), 400) << more;
  for (std::string coding : {"gzip, chunked", "chunked, gzip", "gzip", "gzip\r\nTransfer-Encoding: chunked",
                             "chunked, chunked", "\013chunked"})
    EXPECT_GE(statusOf(get("/", "Transfer-Encoding: " + coding + "\r\n")), 400) << coding;
  EXPECT_EQ(statusOf(get("/", "Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(statusOf(get("/", "Expect: tea\r\n")), 417);
  EXPECT_EQ(statusOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(statusOf("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(statusOf("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(statusOf("GET /\r\n\r\n"), 400);
  EXPECT_EQ(statusOf("GET / HTTP/1.1\nHost: h\n\n"), 505);
  EXPECT_EQ(statusOf(std::string("\x16\x03\x01\x02\x00", 5)), 400);
  EXPECT_NE(send(get("/", "A: b\r\n c\r\n")).body.find("a: b c\n"), std::string::npos) << "a line that is folded";
}

TEST_F(HttpServerTest, HoldsItsLimits) {
  begin();
  std::string host = " HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(statusOf("GET /" + std::string(40000, 'a')), 414);
  EXPECT_EQ(statusOf("GET /" + std::string(9000, 'a') + host + "\r\n"), 414);
  EXPECT_EQ(statusOf("GET /" + host + "A: " + std::string(40000, 'a')), 431);
  std::string many = "GET /" + host;
  for (int i = 0; i < 101; ++i)
    many += "A: b\r\n";
  EXPECT_EQ(statusOf(many + "\r\n"), 431);
  EXPECT_EQ(statusOf("POST /" + host + "Content-Length: 4194305\r\n\r\n"), 413);
  EXPECT_EQ(statusOf("POST /" + host + "Content-Length: 4194304\r\n\r\n" + std::string(4194304, 'x')), 200);
  std::string chunked = "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(statusOf(chunked + "400001\r\n"), 413);
  EXPECT_EQ(statusOf(chunked + "fffffffffffffffffffff\r\n"), 400);
  EXPECT_EQ(statusOf(chunked + "-1\r\n"), 400);
  EXPECT_EQ(statusOf(chunked + "1\r\nab\r\n"), 400);
  EXPECT_EQ(statusOf(chunked + std::string(50000, '1')), 413);
  EXPECT_EQ(statusOf(chunked + "1;a=\"" + std::string(50000, '1')), 413);
  std::string path;
  for (int i = 0; i < 17; ++i)
    path += "/a";
  EXPECT_EQ(statusOf("GET " + path + host + "\r\n"), 400);
}

TEST_F(HttpServerTest, EndlessChunksAndTrailersEnd) {
  begin();
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  struct Case {
    std::string begin, part;
  };
  for (const Case &one : {Case{"", "1;" + std::string(1000, 'x') + "\r\na\r\n"}, Case{"0\r\n", "A: b\r\n"}}) {
    RawHttp client(server->port());
    client.send(head + one.begin);
    size_t bytes = 0;
    while (bytes < size_t(1) << 28 && client.send(one.part))
      bytes += one.part.size();
    EXPECT_LT(bytes, size_t(1) << 25) << one.part;
  }
  RawHttp client(server->port());
  std::string some;
  for (int i = 0; i < 40; ++i)
    some += "1;" + std::string(1000, 'x') + "\r\na\r\n";
  client.send(head + some);
  EXPECT_TRUE(client.readToEnd(5));
  EXPECT_EQ(takeAnswer(client.text).status, 413);
}

TEST_F(HttpServerTest, AnswersWhatIsBehindARequestThatWaits) {
  begin();
  RawHttp together(server->port()), later(server->port());
  std::string wait = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", next = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  together.send(wait + next);
  later.send(wait);
  auto count = [&] {
    std::scoped_lock lock(mutex);
    return waiting.size();
  };
  for (int i = 0; i < 500 && count() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(count(), 2u);
  later.send(next + next);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const auto &stream : waiting)
    server->finish(stream, HttpResponse{.status = 201});
  for (RawHttp *client : {&together, &later}) {
    ASSERT_TRUE(client->readUntil(5, [&] { return client->text.find("GET /a") != std::string::npos; }));
    EXPECT_EQ(takeAnswer(client->text).status, 201);
    EXPECT_EQ(takeAnswer(client->text).status, 200);
  }
}

TEST_F(HttpServerTest, SeesThatAWaitingClientHasGone) {
  begin();
  {
    RawHttp client(server->port());
    client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 500 && server->counters().streams == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(server->counters().streams, 1u);
  }
  for (int i = 0; i < 500 && server->counters().open > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server->counters().open, 0u);
  EXPECT_TRUE(waiting.at(0)->isClosed);
  server->finish(waiting.at(0), HttpResponse{});
}

/// A request with a few errors in it.
std::string mutatedText(SplitMix &random) {
  const std::string seeds[] = {"POST /v1/jobs?limit=5&name=a%20b HTTP/1.1\r\nHost: h\r\nContent-Length: "
                               "5\r\nAuthorization: Bearer x\r\n\r\nhello",
                               "GET /v1/jobs/17/explain HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.0\r\n\r\n",
                               "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                               "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nDELETE /a HTTP/1.1\r\nHost: h\r\n\r\n"};
  const std::string parts[] = {"\r\n",
                               "\r\n\r\n",
                               ":",
                               " ",
                               "%",
                               "%2e",
                               std::string(1, '\0'),
                               "\xff",
                               "Content-Length: 3\r\n",
                               "Transfer-Encoding: chunked\r\n",
                               "ffffffff",
                               "HTTP/1.1",
                               "//",
                               "\n"};
  std::string text = seeds[random.below(3)];
  for (size_t i = 0, edits = random.below(4); i < edits; ++i) {
    size_t at = random.below(text.size() + 1);
    if (uint64_t what = random.below(4); what == 0)
      text.insert(at, parts[random.below(14)]);
    else if (what == 1)
      text.erase(at, random.below(8));
    else if (what == 2 && at < text.size())
      text[at] = static_cast<char>(random.below(256));
    else
      text.insert(at, text.substr(random.below(text.size() + 1), random.below(40)));
  }
  return text;
}

TEST_F(HttpServerTest, MutatedRequestsReadTheSameInAnyPieces) {
  begin();
  std::atomic<size_t> good = 0, refused = 0;
  auto compare = [&](uint64_t seed) {
    SplitMix random(seed);
    for (int round = 0; round < 1500; ++round) {
      std::string text = mutatedText(random);
      std::vector<size_t> cuts;
      for (size_t i = 0, count = random.below(6); i < count; ++i)
        cuts.push_back(random.below(text.size() + 1));
      std::ranges::sort(cuts);
      std::string whole = outcomeOf(text, {});
      ASSERT_EQ(whole, outcomeOf(text, cuts)) << text;
      good += whole.starts_with("200");
      refused += whole.ends_with("refused\n");
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    threads.emplace_back(compare, seed);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(good, 1000u);
  EXPECT_GT(refused, 1000u);
}

} // namespace
