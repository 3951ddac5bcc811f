// JSON that anybody may have written: what is refused, and where.
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/Fields.h"
#include <gtest/gtest.h>

using namespace accord;

static std::string error(llvm::StringRef text) {
  auto value = parseJson(text, "f");
  return value ? "accepted" : llvm::toString(value.takeError());
}

TEST(JsonParse, RefusesKeysThatAreThereTwice) {
  EXPECT_EQ(error("{\"a\": 1,\n \"a\": 2}"), "f:2:2: the key 'a' is there twice; the first one is at f:1:2");
  EXPECT_EQ(error(R"({"a": {"b": 1}, "b": {"a": 1}})"), "accepted"); // each in an object of its own
  EXPECT_EQ(error(R"([{"a": 1}, {"a": 1}])"), "accepted");
  EXPECT_EQ(error(R"({"x": [{"y": [1, {"k": 0, "j": 1, "k": 0}]}]})"),
            "f:1:35: the key 'k' is there twice; the first one is at f:1:19");
  // The same key, written in another way; and a value that looks like a key.
  EXPECT_EQ(error(R"({"ab": 1, "\u0061b": 2})"), "f:1:11: the key 'ab' is there twice; the first one is at f:1:2");
  EXPECT_EQ(error(R"({"a": "a", "b": "\"a\": 1, \"a\""})"), "accepted");
  // A column counts characters.
  EXPECT_EQ(error("{\"\xC3\xA9\": 1, \"a\": 1, \"a\": 2}"),
            "f:1:18: the key 'a' is there twice; the first one is at f:1:10");
  // Of three the second is named, and the first error of a document.
  EXPECT_EQ(error(R"({"a": {"c": 1, "c": 2}, "b": 1, "b": 2, "b": 3})"),
            "f:1:16: the key 'c' is there twice; the first one is at f:1:8");
}

TEST(JsonParse, RefusesNumbersThatNoDoubleIsNear) {
  EXPECT_EQ(error("[1,\n1e400]"), "f:2:1: the number '1e400' is too large; the largest is 1.8e308");
  EXPECT_EQ(error("{\"a\": -1E400}"), "f:1:7: the number '-1E400' is too large; the largest is 1.8e308");
  EXPECT_EQ(error("{\"a\": 1e-400}"), "f:1:7: the number '1e-400' is too small; the smallest above 0 is 4.9e-324");
  std::string digits(400, '9');
  EXPECT_TRUE(llvm::StringRef(error("[" + digits + "]")).starts_with("f:1:2: the number '999"));
  EXPECT_NE(error("[0." + std::string(400, '0') + "1]"), "accepted");
  EXPECT_EQ(error("[0e-400, 1e308, 4.9e-324, 18446744073709551615]"), "accepted");
}

TEST(JsonParse, SaysWhereATextIsNoJson) {
  EXPECT_EQ(error("{\"a\": }").substr(0, 23), "f:1:8: this is no JSON:");
  EXPECT_EQ(error("").substr(0, 23), "f:1:1: this is no JSON:");
  EXPECT_EQ(error(std::string(201, '[')), "f:1:201: JSON nested deeper than 200 levels");
}

namespace {
struct Inner {
  int64_t count = 0;
};
struct Outer {
  std::vector<Inner> parts;
  std::string name;
};
} // namespace
namespace accord {
void describe(JsonFields &f, Inner &inner) { f.field("count", inner.count); }
void describe(JsonFields &f, Outer &outer) { f.field("the.parts", outer.parts).field("name", outer.name); }
} // namespace accord

TEST(JsonParse, ErrorsOfDocumentsSayWhereTheValueIs) {
  auto read = [](llvm::StringRef text) {
    auto outer = readJsonDocument<Outer>(
        text, "f", "outer",
        [](const llvm::json::Value &value, Outer &out, llvm::json::Path at) { return readDocument(value, out, at); });
    return outer ? "accepted" : llvm::toString(outer.takeError());
  };
  EXPECT_EQ(read(R"({"the.parts": [{"count": 1}], "name": "n"})"), "accepted");
  // A key with a dot, the second element of a list.
  EXPECT_EQ(read("{\"name\": \"n\", \"the.parts\": [{\"count\": 1},\n  {\"count\": \"x\"}]}"),
            "f:2:13: expected integer at outer.the.parts[1].count");
  EXPECT_EQ(read("{\"the.parts\": [],\n \"name\": 3}"), "f:2:10: expected string at outer.name");
  // What is missing has no place: that of the object that lacks it.
  EXPECT_EQ(read("{\"name\": \"n\", \"the.parts\": [\n{}]}"), "f:2:1: missing value at outer.the.parts[0].count");
  EXPECT_EQ(read("{\"the.parts\": [],\n \"name\": \"n\", \"more\": 3}"), "f:2:23: unknown key at outer.more");
  EXPECT_EQ(read(" []"), "f:1:2: expected object when parsing outer");
}
