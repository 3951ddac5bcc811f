// What a client does with servers that keep to no protocol.
#include "lib/service/call/HttpCall.h"
#include "RawServer.h"
#include "gmock/gmock.h"

using namespace accord;
using namespace accord::service;
using testing::HasSubstr;

namespace {

using Kind = HttpFailure::Kind;

/// Reads a request up to its empty line.
void readHead(int socket) {
  std::string text;
  for (char byte = 0; text.find("\r\n\r\n") == std::string::npos && recv(socket, &byte, 1, 0) == 1;)
    text += byte;
}

/// What a call makes of an answer, which is sent in pieces of so many bytes; then the connection ends.
Result<HttpAnswer, HttpFailure> answerTo(const std::string &text, size_t pieces = 1 << 20, HttpCallLimits limits = {},
                                         const TakePiece &take = nullptr) {
  RawServer server([&](int socket, const std::atomic<bool> &isOver) {
    readHead(socket);
    for (size_t at = 0; at < text.size() && !isOver; at += pieces)
      if (send(socket, text.data() + at, std::min(pieces, text.size() - at), MSG_NOSIGNAL) <= 0)
        return;
  });
  return callHttp(*httpUrlOf(server.url()), {.method = "GET", .path = "/x"}, limits, {}, take);
}

std::string failureOf(const Result<HttpAnswer, HttpFailure> &answer, Kind kind = Kind::Unanswered) {
  if (answer)
    return "no failure: " + std::to_string(answer->status);
  EXPECT_EQ(int(answer.error().kind), int(kind)) << answer.error().message;
  return answer.error().message;
}

} // namespace

TEST(HttpCall, ReadsWhatAnAnswerMayBe) {
  auto plain = answerTo("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nRetry-After: 7\r\n\r\nabc");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->status, 404);
  EXPECT_EQ(plain->body, "abc");
  EXPECT_EQ(plain->retryAfter, "7");
  auto chunks =
      answerTo("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n", 1);
  ASSERT_TRUE(chunks) << chunks.error().message;
  EXPECT_EQ(chunks->body, "abcde");
  auto interim = answerTo("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_EQ(interim->status, 204);
  std::string large(3'000'000, 'a');
  auto untilTheEnd = answerTo("HTTP/1.1 200 OK\r\n\r\n" + large, 100'000);
  ASSERT_TRUE(untilTheEnd) << untilTheEnd.error().message;
  EXPECT_EQ(untilTheEnd->body, large);
}

TEST(HttpCall, RefusesWhatIsNone) {
  std::string million(1'000'000, 'x');
  EXPECT_THAT(failureOf(answerTo(million)), HasSubstr("no HTTP/1.1"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 " + million)), HasSubstr("beside its body"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nA: " + million)), HasSubstr("beside its body"));
  EXPECT_THAT(failureOf(answerTo("")), HasSubstr("ended before"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nContent-")), HasSubstr("ended before"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc")), HasSubstr("ended before"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")),
              HasSubstr("ended before"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;" + million)),
              HasSubstr("beside its body"));
  EXPECT_THAT(failureOf(answerTo("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n")),
              HasSubstr("HTTP"));
  EXPECT_THAT(
      failureOf(answerTo("HTTP/1.1 200 OK\r\n\r\n" + million, million.size(), {.bytes = 999'999}), Kind::TooLong),
      HasSubstr("more than 999999 bytes"));
  std::string interims;
  for (int i = 0; i < 100; ++i)
    interims += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THAT(failureOf(answerTo(interims)), HasSubstr("about to answer"));
}

TEST(HttpCall, HandsPiecesOnAsTheyCome) {
  std::string seen;
  auto take = [&](int status, std::string_view piece) {
    EXPECT_EQ(status, 200);
    seen += piece;
    return seen.size() < 3;
  };
  auto answer = answerTo("HTTP/1.1 200 OK\r\n\r\nabcdef", 1, {}, take);
  ASSERT_TRUE(answer);
  EXPECT_GE(seen.size(), 3u);
  EXPECT_EQ(answer->body, "");
}

TEST(HttpCall, ReadsARefusalOfWhatItStillSends) {
  RawServer server([](int socket, const std::atomic<bool> &) {
    readHead(socket);
    const std::string text = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
    send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    shutdown(socket, SHUT_WR);
    char bytes[65536];
    for (size_t read = 0; read < 2'000'000;)
      if (ssize_t got = recv(socket, bytes, sizeof(bytes), 0); got > 0)
        read += got;
      else
        break;
  });
  auto answer =
      callHttp(*httpUrlOf(server.url()), {.method = "POST", .path = "/", .body = std::string(1'000'000, 'a')});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
}

TEST(HttpCall, EndsInTime) {
  RawServer silent([](int socket, const std::atomic<bool> &isOver) {
    char byte;
    while (!isOver && recv(socket, &byte, 1, MSG_DONTWAIT) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  auto ask = [&](const std::string &scheme, HttpCallLimits limits) {
    return callHttp(*httpUrlOf(silent.url(scheme)), {.method = "GET", .path = "/"}, limits);
  };
  EXPECT_THAT(failureOf(ask("http", {.pause = 0.2})), HasSubstr("nothing came"));
  EXPECT_THAT(failureOf(ask("http", {.call = 0.2})), HasSubstr("no answer within 0.2 s"));
  EXPECT_THAT(failureOf(ask("https", {.connect = 0.2}), Kind::NoTls), HasSubstr("in time"));
  RawServer drips([](int socket, const std::atomic<bool> &isOver) {
    while (!isOver && send(socket, "HTTP/1.1 200 OK\r\n\r\n", 19, MSG_NOSIGNAL) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  auto answer = callHttp(*httpUrlOf(drips.url()), {.method = "GET", .path = "/"}, {.pause = 0.2, .call = 1});
  EXPECT_THAT(failureOf(answer), HasSubstr("no answer within 1 s"));
}

TEST(HttpCall, SendsOneRequestAlone) {
  HttpUrl url = *httpUrlOf("http://127.0.0.1:1");
  EXPECT_EQ(int(callHttp(url, {.method = "GET", .path = "/"}).error().kind), int(Kind::Unreached));
  for (const char *path : {"", "x", "/a b", "/a\r\nX: y", "/\x7f"})
    EXPECT_EQ(int(callHttp(url, {.method = "GET", .path = path}).error().kind), int(Kind::Unsent)) << path;
  auto split = callHttp(url, {.method = "GET", .path = "/", .headers = {{"A", "b\r\nC: d"}}});
  EXPECT_EQ(int(split.error().kind), int(Kind::Unsent));
  EXPECT_FALSE(split.error().isUnreceived());
}

TEST(HttpCall, Urls) {
  auto url = httpUrlOf("https://a.b:8421/x/y/");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->isEncrypted);
  EXPECT_EQ(url->host + " " + url->port + " " + url->path, "a.b 8421 /x/y");
  url = httpUrlOf("http://[::1]");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host + " " + url->port + url->path, "::1 80");
  for (const char *wrong : {"", "a", "ftp://a", "http://", "http://a:", "http://a:0", "http://a:70000", "http://a:+1",
                            "http://a@b", "http://a b", "http://[::1", "http://[]", "http://[::1]x", "http://a/?b",
                            "http://a/#b", "http://a/b c", "http://a:1:2"})
    EXPECT_FALSE(httpUrlOf(wrong)) << wrong;
}
