#include "lib/service/http/HttpMessage.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::service;
using State = RequestParser::State;

namespace {

const HttpLimits kLimits;

int refusedWith(const std::string &text, const HttpLimits &limits = kLimits) {
  RequestParser parser(limits);
  return parser.feed(text) == State::Refused ? parser.refusal().status : 0;
}

TEST(HttpMessage, ReadsARequestWholeAndByteByByte) {
  std::string text =
      "POST /v1/jobs/a%20b?limit=5&name=x+y%2B HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A:  b c \r\n\r\nhello";
  for (size_t step : {text.size(), size_t(1), size_t(7)}) {
    RequestParser parser(kLimits);
    for (size_t at = 0; at < text.size(); at += step)
      parser.feed(std::string_view(text).substr(at, step));
    ASSERT_EQ(parser.state(), State::Done);
    HttpRequest request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.segments, (std::vector<std::string>{"v1", "jobs", "a b"}));
    EXPECT_EQ(request.query.at("limit"), "5");
    EXPECT_EQ(request.query.at("name"), "x y+");
    EXPECT_EQ(request.header("x-a"), "b c");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(request.keepsAlive);
    EXPECT_TRUE(parser.isFresh());
  }
}

TEST(HttpMessage, ReadsChunksAndWhatComesBehindThem) {
  RequestParser parser(kLimits);
  parser.feed(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=value\r\nhello\r\nA\r\n, chunked!\r\n0\r\nX-Trailer: 1\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(parser.state(), State::Done);
  EXPECT_EQ(parser.take().body, "hello, chunked!");
  ASSERT_EQ(parser.state(), State::Done);
  EXPECT_EQ(parser.take().segments, std::vector<std::string>{"b"});
}

TEST(HttpMessage, RefusesWhatIsUnclear) {
  auto get = [](const std::string &target, const std::string &more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n";
  };
  EXPECT_EQ(refusedWith(get("/")), 0);
  EXPECT_EQ(refusedWith(get("http://h/a")), 0);
  for (std::string target :
       {"/a/../b",  "/%2e%2e/a", "/..",  "//a",  "/a//b",       "/a/",        "/a%2Fb",
        "/a%5Cb",   "/a%00b",    "/%zz", "/%4",  "/%ff",        "/a?b=1&b=2", "/a?=1",
        "/a?b=%00", "/\x01",     "a",    "/a#b", "/a?b=%c3%28", "/.",         "/%0d%0aSet-Cookie:x"})
    EXPECT_EQ(refusedWith(get(target)), 400) << target;
  for (std::string more : {"A : b\r\n", " A: b\r\n", "A\r\n", "A: b\r\n c\r\n", "Host: i\r\n", "A: \x01\r\n",
                           "Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: -1\r\n",
                           "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n", "Content-Length:\r\n",
                           "Content-Length: 0x1\r\n", "Authorization: a\r\nAuthorization: b\r\n", ": b\r\n",
                           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "A: b\nC: d\r\n"})
    EXPECT_EQ(refusedWith(get("/", more)), 400) << more;
  EXPECT_EQ(refusedWith(get("/", "Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(refusedWith(get("/", "Expect: tea\r\n")), 417);
  EXPECT_EQ(refusedWith("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusedWith("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(refusedWith("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(refusedWith("GET /\r\n\r\n"), 400);
  EXPECT_EQ(refusedWith("GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(refusedWith(std::string("\x16\x03\x01\x02\x00", 5)), 400);
}

TEST(HttpMessage, HoldsItsLimits) {
  std::string host = " HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(refusedWith("GET /" + std::string(9000, 'a')), 414);
  EXPECT_EQ(refusedWith("GET /" + std::string(9000, 'a') + host + "\r\n"), 414);
  EXPECT_EQ(refusedWith("GET /" + host + "A: " + std::string(40000, 'a')), 431);
  std::string many = "GET /" + host;
  for (int i = 0; i < 101; ++i)
    many += "A: b\r\n";
  EXPECT_EQ(refusedWith(many + "\r\n"), 431);
  EXPECT_EQ(refusedWith("POST /" + host + "Content-Length: 4194305\r\n\r\n"), 413);
  EXPECT_EQ(refusedWith("POST /" + host + "Content-Length: 99999999999999999999999\r\n\r\n"), 413);
  std::string chunked = "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(refusedWith(chunked + "400001\r\n"), 413);
  EXPECT_EQ(refusedWith(chunked + "fffffffffffffffffffff\r\n"), 400);
  EXPECT_EQ(refusedWith(chunked + "-1\r\n"), 400);
  EXPECT_EQ(refusedWith(chunked + "1\r\nab\r\n"), 400);
  EXPECT_EQ(refusedWith(chunked + std::string(2000, '1')), 400);
  std::string path;
  for (int i = 0; i < 17; ++i)
    path += "/a";
  EXPECT_EQ(refusedWith("GET " + path + host + "\r\n"), 400);
}

TEST(HttpMessage, EndlessChunksAndTrailersEnd) {
  RequestParser parser(kLimits);
  parser.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  size_t bytes = 0, held = 0;
  std::string chunk = "1;" + std::string(1000, 'x') + "\r\na\r\n"; // more around a byte than in it
  while (parser.state() == State::Body && bytes < size_t(1) << 30) {
    parser.feed(chunk);
    bytes += chunk.size();
    held = std::max(held, parser.held());
  }
  EXPECT_EQ(parser.refusal().status, 413);
  EXPECT_LT(bytes, size_t(1) << 20);
  RequestParser trailers(kLimits);
  trailers.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
  for (bytes = 0; trailers.state() == State::Body && bytes < size_t(1) << 30; bytes += 5)
    trailers.feed("A: b\r\n");
  EXPECT_EQ(trailers.refusal().status, 413);
  EXPECT_LT(held, size_t(1) << 16);
}

/// What came out of a text that was fed in pieces: everything that was read, and how it ended.
std::string outcomeOf(const std::string &text, const std::vector<size_t> &cuts) {
  RequestParser parser(kLimits);
  std::string outcome;
  auto collect = [&] {
    while (parser.state() == State::Done) {
      HttpRequest request = parser.take();
      outcome += request.method + " " + request.path + " " + request.body + "\n";
      for (const auto &[name, value] : request.headers)
        outcome += name + "=" + value + "\n";
    }
  };
  size_t at = 0;
  for (size_t cut : cuts) {
    parser.feed(std::string_view(text).substr(at, cut - at));
    collect();
    at = cut;
  }
  parser.feed(std::string_view(text).substr(at));
  collect();
  if (parser.state() == State::Refused)
    outcome += "refused";
  return outcome;
}

TEST(HttpMessage, MutatedRequestsReadTheSameInAnyPieces) {
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
                               "\0",
                               "\xff",
                               "Content-Length: 3\r\n",
                               "Transfer-Encoding: chunked\r\n",
                               "ffffffff",
                               "HTTP/1.1",
                               "//",
                               "\n"};
  SplitMix random(7);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
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
      if (text.empty())
        text = " ";
    }
    std::vector<size_t> cuts;
    for (size_t i = 0, count = random.below(6); i < count; ++i)
      cuts.push_back(random.below(text.size() + 1));
    std::ranges::sort(cuts);
    std::string whole = outcomeOf(text, {}), pieces = outcomeOf(text, cuts);
    ASSERT_EQ(whole, pieces) << text;
    refused += whole.ends_with("refused");
  }
  EXPECT_GT(refused, 5000u);
  EXPECT_LT(refused, 18000u);
}

} // namespace
