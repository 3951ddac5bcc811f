#include "lib/editor/Blocks.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::editor {
namespace {

/// The words before a brace: "train", "t", "=", …
struct Head {
  std::vector<llvm::StringRef> pieces;
  llvm::StringRef word() const { return pieces.empty() ? "" : pieces[0]; }
  /// The piece behind one of these signs or words, outside of brackets; empty if there is none.
  std::string behind(llvm::StringRef sign) const {
    int depth = 0;
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      if (pieces[i] == "(" || pieces[i] == "[")
        ++depth;
      else if (pieces[i] == ")" || pieces[i] == "]")
        --depth;
      else if (depth == 0 && i > 0 && pieces[i] == sign)
        return pieces[i + 1].str();
    }
    return "";
  }
};

bool isRequest(llvm::StringRef word) {
  return llvm::is_contained({"train", "infer", "sparsity", "ensemble", "jobs", "tuning"}, word);
}

void intoMachine(Block &block, llvm::StringRef word, const std::string &subtype) {
  block.kind = Block::Kind::Machine;
  block.word = word.str();
  block.subtype = subtype;
  bool micro = block.outermost == "microarchitecture" && word != "microarchitecture";
  if (micro)
    block.schema = accel::findSchema("part", word);
  else if (word == "sparse")
    block.schema = accel::findSchema("sparse", subtype);
  else
    block.schema = accel::findSchema(word, subtype);
}

} // namespace

Block blockAt(const Around &place) {
  Block block;
  for (const OpenBracket &one : place.open) {
    if (one.bracket != '{' || one.head.ends_with("="))
      continue;
    Head head{piecesOf(one.head)};
    llvm::StringRef word = head.word();
    std::string subtype = head.behind(":");
    if (word == "sparse" && head.pieces.size() > 1)
      subtype = head.pieces[1].str();
    if (block.kind == Block::Kind::File) {
      block.outermost = word.str();
      block.target = head.behind("on");
      if (block.target.empty())
        block.target = head.behind("of");
    }
    if (block.kind == Block::Kind::Body || llvm::is_contained({"module", "model", "operation"}, word)) {
      block.kind = Block::Kind::Body;
      block.word = word.str();
    } else if (block.kind == Block::Kind::File ? isRequest(word) : block.kind == Block::Kind::Request) {
      block.kind = Block::Kind::Request;
      block.word = word.str();
    } else {
      intoMachine(block, word, subtype);
    }
  }
  return block;
}

std::vector<std::pair<std::string, std::string>> entryWords(const Block &block) {
  using Words = std::vector<std::pair<std::string, std::string>>;
  if (block.kind == Block::Kind::Body) {
    if (block.outermost == "operation")
      return {{"gradient", "gradient ${1:x} = $0"}, {"surrogate", "surrogate ${1:x} = $0"}};
    return {{"let", "let ${1:name} = $0"},
            {"var", "var ${1:name} = $0"},
            {"input", "input ${1:name} : ${2:int32}[${3:seq}]"},
            {"repeat", "repeat ${1:layers} as ${2:block} {\n  $0\n}"},
            {"scan", "scan ${1:x} as ${2:xt} -> ${3:y} {\n  $0\n}"},
            {"for", "for ${1:i} in ${2:0..3} {\n  $0\n}"},
            {"if", "if ${1:condition} {\n  $0\n}"},
            {"loss", "loss $0"}};
  }
  if (block.kind == Block::Kind::Request) {
    if (block.word == "tuning")
      return {{"maximize", ""}, {"minimize", ""}};
    if (isRequest(block.word))
      return {{"require", ""}, {"maximize", ""}, {"minimize", ""}};
    return {};
  }
  if (block.word == "accelerator")
    return Words{{"memory", "memory ${1:name} : ${2:dram} { capacity = ${3:16 GiB}, bandwidth = ${4:1 TB/s} }"},
                 {"core", "core ${1:name} : ${2:tensor} { $0 }"},
                 {"path", "path ${1:hbm} -> ${2:core}"},
                 {"power", "power { $0 }"},
                 {"area", "area { $0 }"},
                 {"efficiency", "efficiency from \"$0\""},
                 {"table", "table from \"$0\""},
                 {"price", "price = ${1:1 USD/h}"},
                 {"require", ""},
                 {"maximize", ""},
                 {"minimize", ""}};
  if (block.word == "cluster" || block.word == "server") {
    Words words{{"device", "device ${1:gpu}[${2:8}] : ${3:a100_80g}"},
                {"host", "host { $0 }"},
                {"network", "network ${1:name} : ${2:switch} { connects = $3, bandwidth = ${4:100 GB/s} }"},
                {"price", "price = ${1:1 USD/h}"},
                {"require", ""}};
    if (block.word == "cluster")
      words.insert(words.begin(), {"server", "server ${1:node}[${2:8}] {\n  $0\n}"});
    return words;
  }
  if (block.word == "microarchitecture") {
    Words words{{"template", "template ${1:name} {\n  $0\n}"}, {"array", ""}};
    for (llvm::StringRef part : accel::subtypesOf("part"))
      if (part != "operation")
        words.push_back({part.str(), ""});
    return words;
  }
  if (block.word == "power")
    return {{"level", "level ${1:name} { clock = ${2:0.8}, power = ${3:0.6} }"}};
  if (block.word == "core")
    return {{"sparse", "sparse nm(2, 4) { rate = ${1:2} }"}, {"microarchitecture", ""}};
  if (block.word == "unit")
    return {{"operation", "operation ${1:name} { latency = ${2:1} }"}};
  return {};
}

std::string describeKey(const accel::KeySchema &key) {
  using accel::Range;
  std::string text = accel::expected(key);
  switch (key.range) {
  case Range::Any:
    break;
  case Range::Positive:
    text += ", above 0";
    break;
  case Range::NonNegative:
    text += ", 0 or more";
    break;
  case Range::Fraction:
    text += ", above 0 and at most 1";
    break;
  case Range::AtLeastOne:
    text += ", at least 1";
    break;
  }
  return text + (key.required ? "; required" : "");
}

} // namespace accord::editor
