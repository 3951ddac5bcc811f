#include "lib/support/documents/Yaml.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace accord {
namespace {

constexpr size_t kMaxBytes = size_t(4) << 20;
constexpr int kMaxDepth = 50;

class Reader {
public:
  Reader(std::string_view text, const std::string &file, Code code) : text(text), file(file), code(code) {
    for (size_t at = 0; at < text.size(); ++at)
      if (text[at] == '\n')
        lines.push_back(at + 1);
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic &said, void *self) {
          auto &reader = *static_cast<Reader *>(self);
          if (!reader.problem)
            reader.problem = Error{
                reader.code,
                "the file is no YAML: " + said.getMessage().str(),
                {reader.file, unsigned(std::max(said.getLineNo(), 1)), unsigned(std::max(said.getColumnNo(), 0)) + 1}};
        },
        this);
  }

  Result<YamlNode> read() {
    llvm::yaml::Stream stream(llvm::StringRef(text.data(), text.size()), sources, false);
    YamlNode root;
    if (auto document = stream.begin(); document != stream.end())
      fill(document->getRoot(), 0, root);
    if (problem)
      return *problem;
    if (stream.failed())
      return Error{code, "the file is no YAML", {file, 1, 1}};
    return root;
  }

private:
  SourceLocation placeOf(const char *at) const {
    size_t offset = at >= text.data() && at <= text.data() + text.size() ? size_t(at - text.data()) : 0;
    auto line = std::upper_bound(lines.begin(), lines.end(), offset);
    return {file, unsigned(line - lines.begin()), unsigned(offset - *std::prev(line)) + 1};
  }

  void fail(const llvm::yaml::Node *node, std::string message) {
    if (!problem)
      problem = Error{code, std::move(message),
                      node ? placeOf(node->getSourceRange().Start.getPointer()) : SourceLocation{file, 1, 1}};
  }

  void fillMap(llvm::yaml::MappingNode *map, int depth, YamlNode &into) {
    std::set<std::string, std::less<>> seen;
    for (llvm::yaml::KeyValueNode &member : *map) {
      if (problem)
        return;
      llvm::SmallString<64> storage;
      auto *key = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(member.getKey());
      if (!key)
        return fail(map, "a key is a text");
      std::string name = key->getValue(storage).str();
      if (!seen.insert(name).second)
        return fail(key, fmt::format("'{}' stands twice", name));
      lastKey = placeOf(key->getSourceRange().Start.getPointer());
      into.keys.push_back({name, lastKey});
      fill(member.getValue(), depth + 1, into.items.emplace_back());
    }
  }

  void fill(llvm::yaml::Node *node, int depth, YamlNode &into) {
    if (problem)
      return;
    if (!node || llvm::isa<llvm::yaml::NullNode>(node)) {
      into.location = node ? placeOf(node->getSourceRange().Start.getPointer()) : SourceLocation{file, 1, 1};
      return;
    }
    into.location = placeOf(node->getSourceRange().Start.getPointer());
    if (depth > kMaxDepth)
      return fail(node, fmt::format("more than {} levels", kMaxDepth));
    llvm::SmallString<64> storage;
    if (auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(node)) {
      into.text = scalar->getValue(storage).str();
      bool plain = !scalar->getRawValue().starts_with("\"") && !scalar->getRawValue().starts_with("'");
      into.kind = plain && (into.text == "null" || into.text == "~" || into.text.empty()) ? YamlNode::Kind::Null
                                                                                          : YamlNode::Kind::Text;
    } else if (auto *block = llvm::dyn_cast<llvm::yaml::BlockScalarNode>(node)) {
      into.kind = YamlNode::Kind::Text, into.text = block->getValue().str();
    } else if (auto *list = llvm::dyn_cast<llvm::yaml::SequenceNode>(node)) {
      into.kind = YamlNode::Kind::List;
      for (llvm::yaml::Node &one : *list) {
        if (problem)
          return;
        fill(&one, depth + 1, into.items.emplace_back());
      }
    } else if (auto *map = llvm::dyn_cast<llvm::yaml::MappingNode>(node)) {
      into.kind = YamlNode::Kind::Map;
      fillMap(map, depth, into);
    } else {
      if (!problem) // LLVM places an alias behind itself
        problem = Error{code, "aliases are not followed", lastKey.line ? lastKey : into.location};
    }
  }

  std::string_view text;
  const std::string &file;
  Code code;
  llvm::SourceMgr sources;
  std::vector<size_t> lines{0};
  SourceLocation lastKey;
  std::optional<Error> problem;
};

} // namespace

const YamlNode *YamlNode::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i].first == key)
      return &items[i];
  return nullptr;
}

Result<YamlNode> readYaml(std::string_view text, const std::string &file, Code code) {
  auto refuse = [&](std::string message, size_t at) {
    auto before = text.substr(0, at);
    size_t line = size_t(std::count(before.begin(), before.end(), '\n')), start = before.rfind('\n');
    return Error{code,
                 std::move(message),
                 {file, unsigned(line) + 1, unsigned(at - (start == std::string_view::npos ? 0 : start + 1)) + 1}};
  };
  if (text.size() > kMaxBytes)
    return refuse(fmt::format("the file has more than {} bytes", kMaxBytes), 0);
  size_t bad = 0;
  if (!llvm::json::isUTF8(llvm::StringRef(text.data(), text.size()), &bad))
    return refuse("the file is no UTF-8", bad);
  for (size_t at = 0; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) < 0x20 && text[at] != '\n' && text[at] != '\t' && text[at] != '\r')
      return refuse("a control character stands in the file", at);
  return Reader(text, file, code).read();
}

} // namespace accord
