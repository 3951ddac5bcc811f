// `ensemble` blocks and tables of votes as plain data, and what is wrong with its place.
#include "lib/language/requests/Ensembles.h"
#include "lib/language/syntax/Parser.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

struct Read {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  std::optional<EnsembleRequest> request;

  explicit Read(const std::string &body, const std::string &votes = "") {
    sources.add("d/v.csv", votes);
    file = parse(diags, sources.add("d/t.dnn", "ensemble e of t {\n" + body + "\n}\n"));
    if (file->complete)
      request =
          ensembleRequest(file->declarations.at(0), diags, [](llvm::StringRef, SourceRange) { return std::nullopt; });
  }
  std::string errors() const {
    std::string all;
    for (const Diagnostic &d : diags.sorted()) {
      Position at = sources.position(d.range);
      all += fmt::format("{}{}@{}:{}", all.empty() ? "" : " ", entryOf(d.code).number.str(), at.line, at.column);
    }
    return all;
  }
};

Rational rate(const char *text) { return *Rational::parse(text); }

} // namespace

TEST(EnsembleRequest, EveryKey) {
  Read read(R"(member wide = gpt(hidden = 6144)  error = 0.08 samples 10000
  joint_error { wide wide = 0.03, thin wide = 0.027 samples 5000, wide thin thin = 0.01
                thin thin thin thin = 1/128 }
  member thin = gpt(hidden = 3072)  error = 1/3
  member odd = gpt
  votes from "v.csv"
  independent = true
  size = 1..7, voting = majority, device_failures = 1
  devices = {a100_80g: 2, h100: 1}
  require error <= 0.09 confidence 0.99
  minimize price)");
  ASSERT_TRUE(read.request) << read.diags.text();
  const EnsembleRequest &r = *read.request;
  EXPECT_EQ(r.name, "e");
  EXPECT_EQ(r.train, "t");
  ASSERT_EQ(r.kinds.size(), 3u);
  EXPECT_EQ(r.kinds[0].name, "wide");
  EXPECT_EQ(r.kinds[0].call, "gpt(hidden = 6144)");
  EXPECT_EQ(r.kinds[0].error, (ErrorRate{rate("0.08"), 10000}));
  EXPECT_EQ(r.kinds[1].error, (ErrorRate{Rational(1) / Rational(3), 0})); // exact, no double
  EXPECT_FALSE(r.kinds[2].error);
  ASSERT_EQ(r.joint.size(), 4u);
  EXPECT_EQ(r.joint[0].kinds, (std::vector<unsigned>{0, 0}));
  EXPECT_EQ(r.joint[1].kinds, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(r.joint[1].rate, (ErrorRate{rate("0.027"), 5000}));
  EXPECT_EQ(r.joint[2].kinds, (std::vector<unsigned>{0, 1, 1}));
  EXPECT_EQ(r.joint[2].rate.rate, rate("0.01"));
  EXPECT_EQ(r.joint[3].kinds, (std::vector<unsigned>{1, 1, 1, 1}));
  EXPECT_EQ(r.joint[3].location.line, 4u);
  EXPECT_EQ(r.votesFile, "d/v.csv");
  EXPECT_TRUE(r.independent);
  EXPECT_EQ(r.min, 1);
  EXPECT_EQ(r.max, 7);
  EXPECT_EQ(r.deviceFailures, 1);
  ASSERT_EQ(r.devices.size(), 2u);
  EXPECT_EQ(r.devices[0].machine, "a100_80g");
  EXPECT_EQ(r.devices[0].count, 2);
  ASSERT_TRUE(r.error);
  EXPECT_EQ(r.error->max, rate("0.09"));
  EXPECT_EQ(r.error->confidence, 0.99);
  EXPECT_EQ(r.objective, "price");
}

TEST(EnsembleRequest, BlocksThatAreWrong) {
  const std::string members = "member a = m() error = 0.1 samples 1000, member b = m(2)\n";
  EXPECT_TRUE(Read(members).request);
  for (const char *body : {"", "size = 3", "member = m()", "member a", "member a = m() { }", "member a[2] = m()",
                           "member a = m() error = 0.1 samples 0"})
    EXPECT_FALSE(Read(body).request) << body;
  for (const char *entry : {"member a = m()",
                            "member c = m() error = 1.1",
                            "member c = m() error = -0.1",
                            "member c = m() error = 0.12345 samples 100",
                            "member c = m() samples 100",
                            "member c = m() error = 0.1 s",
                            "member c = m() error = many",
                            "member c = m() error = 1e-90",
                            "joint_error { a = 0.1 }",
                            "joint_error { a c = 0.1 }",
                            "joint_error { a b }",
                            "joint_error { a b = 2 }",
                            "joint_error { a b = 0.1, b a = 0.2 }",
                            "joint_error { a a b = 0.1, a b a = 0.1 }",
                            "joint_error { a b = 0.015 samples 100 }",
                            "joint_error { a b = 0.1 }\njoint_error { a a = 0.1 }",
                            "joint_error = 3",
                            "joint_error { a(b) = 0.1 }",
                            "votes = 3",
                            "votes from \"\"",
                            "votes from \"v.csv\"\nvotes from \"w.csv\"",
                            "independent = 1",
                            "independent",
                            "size = 0",
                            "size = 64",
                            "size = {1, 3}",
                            "size = 1..7 step 2",
                            "size = 7..1",
                            "size = 3\nsize = 5",
                            "size = big",
                            "voting = plurality",
                            "device_failures = -1",
                            "device_failures = 1..2",
                            "devices = {a100: 0}",
                            "devices = 3",
                            "devices = {a100, h100}",
                            "devices = {a100: 1.5}",
                            "devices = {a100: 1, a100: 2}",
                            "require error >= 0.1",
                            "require eror <= 0.1",
                            "require error <= 1.5",
                            "require error <= 0.1\nrequire error <= 0.2",
                            "require error <= 0.1 confidence 0",
                            "minimize speed",
                            "maximize step_time",
                            "minimize price\nminimize energy",
                            "prefer error <= 0.1 weight 1",
                            "sizes = 3",
                            "size = 3 confidence 0.5",
                            "wide a b = 3",
                            "path a -> b"}) {
    Read read(members + entry);
    EXPECT_NE(read.errors(), "") << entry;
    EXPECT_FALSE(read.request) << entry;
  }
}

TEST(EnsembleRequest, VotesAgainstACountOfThem) {
  std::mt19937 random(5);
  const std::string members = "member wide = m(), member thin = m(2), votes from \"v.csv\"\n";
  for (int round = 0; round < 40; ++round) {
    // Columns in any order: two of wide, one of thin.
    std::vector<std::string> columns{"wide", "wide.2", "thin"};
    std::vector<size_t> order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    bool words = round % 2;
    std::string text;
    for (size_t i = 0; i < 3; ++i)
      text += (i ? "," : "") + columns[order[i]];
    text += "\n";
    std::map<uint64_t, int64_t> expected;
    int lines = 1 + static_cast<int>(random() % 40);
    for (int line = 0; line < lines; ++line) {
      bool wrong[3] = {random() % 3 == 0, random() % 2 == 0, random() % 4 == 0};
      ++expected[wrong[0] | wrong[1] << 1 | wrong[2] << 2];
      for (size_t i = 0; i < 3; ++i)
        text += std::string(i ? "," : "") + (words             ? (wrong[order[i]] ? "wrong" : "right")
                                             : wrong[order[i]] ? "0"
                                                               : "1");
      text += "\n";
    }
    Read read(members, text);
    ASSERT_TRUE(read.request) << read.diags.text();
    auto votes = readVotes(*read.request, read.diags);
    ASSERT_TRUE(votes) << read.diags.text();
    EXPECT_EQ(votes->kinds, (std::vector<unsigned>{0, 0, 1}));
    EXPECT_EQ(votes->votes, expected);
    EXPECT_EQ(votes->samples, lines);
  }
  Read counted(members, "thin,wide,count\n1,1,90\n0,1,7\n0,0,3\n1,0,0\n");
  auto votes = readVotes(*counted.request, counted.diags);
  ASSERT_TRUE(votes) << counted.diags.text();
  EXPECT_EQ(votes->samples, 100);
  EXPECT_EQ(votes->votes, (std::map<uint64_t, int64_t>{{0, 90}, {2, 7}, {3, 3}}));
}

TEST(EnsembleRequest, VotesThatAreWrong) {
  const std::string members = "member wide = m(), member thin = m(2), votes from \"v.csv\"\n";
  std::string many = "wide";
  for (int i = 2; i <= 64; ++i)
    many += fmt::format(",wide.{}", i);
  for (std::string text : {std::string(),
                           std::string("\n"),
                           std::string("wide\n"),
                           std::string("wide,thick\n1,1\n"),
                           std::string("wide,wide\n1,1\n"),
                           std::string("wide,wide.1\n1,1\n"),
                           std::string("wide,wide.3\n1,1\n"),
                           std::string("wide.2\n1\n"),
                           std::string("wide.0\n1\n"),
                           std::string("wide.x\n1\n"),
                           std::string("count\n1\n"),
                           std::string("wide,thin\n1\n"),
                           std::string("wide,thin\n1,2\n"),
                           std::string("wide,thin\n1,\n"),
                           std::string("wide,count\n1,-1\n"),
                           std::string("wide,count\n1,1e3\n"),
                           std::string("wide,count\n1,2\n1,3\n"),
                           std::string("wide,count\n1,0\n"),
                           std::string("wide,count\n1,99999999999999999999\n"),
                           std::string("wide,count\n1,9007199254740992\n0,9007199254740992\n"),
                           std::string("wide\n\"1\n"),

                           many + "\n"}) {
    Read read(members, text);
    ASSERT_TRUE(read.request) << read.diags.text();
    EXPECT_FALSE(readVotes(*read.request, read.diags)) << text;
    EXPECT_EQ(read.errors().substr(0, 5), "A1009") << text << read.errors();
  }
}

TEST(EnsembleRequest, FilesThatAreNoText) {
  Read read("member wide = m(), votes from \"v.csv\"", std::string("wide\n\0\n", 7));
  ASSERT_TRUE(read.request);
  EXPECT_FALSE(readVotes(*read.request, read.diags));
  EXPECT_EQ(read.errors(), "A0006@2:26");
}
