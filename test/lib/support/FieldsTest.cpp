// One description writes, reads and explains a document.
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include <gtest/gtest.h>

using namespace accord;
namespace json = llvm::json;

namespace {

enum class Colour : uint8_t { Red, Green };
const char *name(Colour colour) { return colour == Colour::Red ? "red" : "green"; }

struct Part {
  std::string label;
  double weight = 0;
  std::pair<int64_t, int64_t> range;
};
struct Whole {
  uint32_t id = 0;
  int64_t level = 0;
  bool closed = false;
  Colour colour = Colour::Red;
  double bound = 0;
  std::optional<int64_t> stage;
  std::optional<Part> best;
  std::vector<Part> parts;
  std::map<std::string, int64_t> sizes;
  Seconds time;
};

void describe(JsonFields &f, Part &part) {
  f.field("label", part.label).maybe("weight", part.weight).field("range", part.range, [](JsonVisitor &v, auto &range) {
    v.tuple("expected [min, max]", range.first, range.second);
  });
}
void describe(JsonVisitor &v, Colour &colour) { v.oneOf(colour, {Colour::Red, Colour::Green}, "expected a colour"); }
void describe(JsonFields &f, Whole &whole) {
  f.constant("kind", "whole", "expected whole")
      .field("id", whole.id)
      .about("0 to 3")
      .field("level", whole.level, IntegerRange{0, 3})
      .maybe("closed", whole.closed)
      .field("colour", whole.colour)
      .field("bound", whole.bound, [](JsonVisitor &v, double &bound) { v.numberOrNull(bound); })
      .maybe("stage", whole.stage)
      .field("best", whole.best)
      .maybe("parts", whole.parts)
      .check("parts", whole.parts.size() < 3, "expected at most two")
      .maybe("sizes", whole.sizes)
      .field("time_s", whole.time)
      .computed("count", [&] { return whole.parts.size(); });
}

Whole sample() {
  Whole whole;
  whole.id = 7, whole.level = 3, whole.colour = Colour::Green;
  whole.bound = std::numeric_limits<double>::infinity();
  whole.stage = 0;
  whole.parts = {{"a", 0.5, {1, 2}}, {"b", 0, {3, 4}}};
  whole.sizes = {{"depth", 12}};
  whole.time = Seconds(1.5);
  return whole;
}

const std::string kSample =
    R"({"id":7,"kind":"whole","count":2,"bound":null,"time_s":1.5,"best":null,"colour":"green","level":3,)"
    R"("parts":[{"label":"a","range":[1,2],"weight":0.5},{"label":"b","range":[3,4]}],)"
    R"("sizes":{"depth":12},"stage":0})";

/// What is refused where, after `change` of the sample; "" if nothing is.
std::string errorAfter(llvm::function_ref<void(json::Object &)> change) {
  json::Value value = toDocument(sample());
  change(*value.getAsObject());
  json::Path::Root root("whole");
  Whole read;
  return readDocument(value, read, root) ? "" : llvm::toString(root.getError());
}

} // namespace

TEST(Fields, writes) { EXPECT_EQ(jsonLine(toDocument(sample())), kSample); }

TEST(Fields, readsWhatItWrites) {
  json::Path::Root root("whole");
  Whole read;
  ASSERT_TRUE(readDocument(toDocument(sample()), read, root));
  EXPECT_EQ(jsonLine(toDocument(read)), kSample);
}

TEST(Fields, refusesWithThePlace) {
  EXPECT_EQ(errorAfter([](json::Object &o) { o["more"] = 1; }), "unknown key at whole.more");
  EXPECT_EQ(errorAfter([](json::Object &o) { o.erase("id"); }), "missing value at whole.id");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["part"] = 1, o.erase("parts"); }),
            "unknown key (did you mean 'parts'?) at whole.part");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["kidn"] = "whole", o.erase("kind"); }),
            "unknown key (did you mean 'kind'?) at whole.kidn");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["more"] = 1, o.erase("id"); }), "missing value at whole.id");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["kind"] = "part"; }), "expected whole at whole.kind");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["id"] = "7"; }), "expected integer at whole.id");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["level"] = 4; }), "integer out of range at whole.level");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["colour"] = "blue"; }), "expected a colour at whole.colour");
  EXPECT_EQ(errorAfter([](json::Object &o) { o["bound"] = -1; }),
            "expected a finite number that is not negative at whole.bound");
  EXPECT_EQ(errorAfter([](json::Object &o) { (*(*o.getArray("parts"))[1].getAsObject())["label"] = 1; }),
            "expected string at whole.parts[1].label");
  EXPECT_EQ(errorAfter([](json::Object &o) { (*(*o.getArray("parts"))[0].getAsObject())["range"] = json::Array{1}; }),
            "expected [min, max] at whole.parts[0].range");
  EXPECT_EQ(errorAfter([](json::Object &o) { o.getArray("parts")->push_back((*o.getArray("parts"))[0]); }),
            "expected at most two at whole.parts");
}

TEST(Fields, takesWhatMayBeAbsent) {
  for (const char *key : {"parts", "sizes", "stage", "closed"})
    EXPECT_EQ(errorAfter([&](json::Object &o) { o.erase(key); }), "") << key;
}

TEST(Fields, passesOverUnknownKeysOfAnOpenDocument) {
  json::Value value = toDocument(sample());
  (*value.getAsObject())["more"] = 1;
  json::Path::Root root("whole");
  Whole read;
  EXPECT_TRUE(readJson(value, root, [&](JsonVisitor &v) { visitValue(v, read); }, JsonRule::Open));
}

TEST(Fields, describes) {
  json::Value schema = schemaOf<Part>();
  EXPECT_EQ(
      jsonLine(schema),
      R"({"additionalProperties":false,"properties":{"label":{"type":"string"},)"
      R"("range":{"items":{"maximum":2305843009213693952,"minimum":0,"type":"integer"},"maxItems":2,"minItems":2,"type":"array"},)"
      R"("weight":{"exclusiveMinimum":0,"type":"number"}},"required":["label","range"],"type":"object"})");
  const json::Value whole = schemaOf<Whole>();
  const json::Object &properties = *whole.getAsObject()->getObject("properties");
  EXPECT_EQ(jsonLine(*properties.get("level")), R"({"description":"0 to 3","maximum":3,"minimum":0,"type":"integer"})");
  EXPECT_EQ(jsonLine(*properties.get("colour")), R"({"enum":["red","green"]})");
  EXPECT_EQ(jsonLine(*properties.get("kind")), R"({"const":"whole"})");
  EXPECT_EQ(jsonLine(*properties.get("bound")), R"({"minimum":0,"type":["number","null"]})");
  // What occurs twice is described once.
  EXPECT_EQ(jsonLine(*properties.get("best")), R"({"anyOf":[{"$ref":"#/$defs/part"},{"type":"null"}]})");
  EXPECT_EQ(jsonLine(*properties.get("parts")), R"({"items":{"$ref":"#/$defs/part"},"minItems":1,"type":"array"})");
  EXPECT_EQ(jsonLine(*whole.getAsObject()->getObject("$defs")->get("part")), jsonLine(schema));
}

namespace {
struct Tree {
  std::string label;
  std::vector<Tree> below;
};
void describe(JsonFields &f, Tree &tree) { f.field("label", tree.label).maybe("below", tree.below); }

struct Shape {
  int64_t radius = 0, width = 0, height = 0;
};
/// A circle, or a rectangle.
void describe(JsonFields &f, Shape &shape) {
  if (f.has("radius"))
    f.field("radius", shape.radius);
  else
    f.field("sides", shape, [](JsonVisitor &v, Shape &s) {
      v.tuple("expected [width, height]", s.width, [&](JsonVisitor &w) { w.integerOrNull(s.height, 0, {1, 9}); });
    });
}
} // namespace

TEST(Fields, describesATypeWithinItself) {
  EXPECT_EQ(schemaText(schemaOf<Tree>()),
            R"({
  "$ref": "#/$defs/tree",
  "$defs": {
    "tree": {
      "type": "object",
      "properties": {
        "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 1},
        "label": {"type": "string"}
      },
      "required": ["label"],
      "additionalProperties": false
    }
  }
})");
}

TEST(Fields, describesEachFormOfAnObject) {
  EXPECT_EQ(
      jsonLine(schemaOf<Shape>()),
      R"({"anyOf":[{"additionalProperties":false,"properties":{"radius":{"maximum":2305843009213693952,"minimum":0,"type":"integer"}},)"
      R"("required":["radius"],"type":"object"},)"
      R"({"additionalProperties":false,"properties":{"sides":{"maxItems":2,"minItems":2,)"
      R"("prefixItems":[{"maximum":2305843009213693952,"minimum":0,"type":"integer"},{"maximum":9,"minimum":1,"type":["integer","null"]}],)"
      R"("type":"array"}},"required":["sides"],"type":"object"}]})");
}

TEST(Fields, describesTheAnswerOfACommand) {
  json::Value schema = describeJson([](JsonVisitor &v) {
    v.object([](JsonFields &f) {
      std::string code;
      double bias = 0;
      f.head("count", "done", {"done", "error"})
          .about("of an error", {{"pattern", "^A"}})
          .maybe("code", code)
          .maybe("bias", bias, kAnyNumber)
          .when("status", "done", {"bias"})
          .when("status", "error", {"code"});
    });
  });
  EXPECT_EQ(schemaText(schema), R"({
  "type": "object",
  "properties": {
    "command": {"const": "count"},
    "version": {"type": "string", "description": "version of accord that wrote this"},
    "status": {"enum": ["done", "error"]},
    "bias": {"type": "number"},
    "code": {"type": "string", "description": "of an error", "pattern": "^A"}
  },
  "required": ["command", "version", "status"],
  "additionalProperties": false,
  "anyOf": [
    {"properties": {"status": {"const": "done"}}, "required": ["bias"]},
    {"properties": {"status": {"const": "error"}}, "required": ["code"]}
  ]
})");
}
