#include "lib/editor/Actions.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/Number.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::editor {
namespace {
constexpr llvm::StringRef kNotBelow = " is not <= ", kNotAbove = " is not >= ";

bool continuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The line of an import, with its end.
TextEdit wholeLine(llvm::StringRef text, uint32_t offset) {
  size_t begin = text.rfind('\n', offset), end = text.find('\n', offset);
  begin = begin == llvm::StringRef::npos ? 0 : begin + 1;
  end = end == llvm::StringRef::npos ? text.size() : end + 1;
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end), ""};
}

/// The limit of a `require NAME <= LIMIT` that begins in a range, as bytes; nothing where there is none.
std::optional<std::pair<uint32_t, uint32_t>> limitIn(const ast::File &file, uint32_t begin, uint32_t end) {
  for (const ast::Declaration &declaration : file.declarations)
    for (const ast::Entry &entry : declaration.entries) {
      auto *rule = entry.as<ast::Rule>();
      if (!rule || !rule->expr || entry.range.begin < begin || entry.range.begin > end)
        continue;
      auto *chain = rule->expr->as<ast::Chain>();
      if (chain && chain->rest.size() == 1 && chain->rest[0].operand)
        return std::pair(chain->rest[0].operand->range.begin, chain->rest[0].operand->range.end);
    }
  return std::nullopt;
}

std::optional<Action> actionOf(Snapshot &snapshot, const Finding &finding, uint32_t begin, uint32_t end) {
  llvm::StringRef text = snapshot.text();
  if (!finding.suggestion.empty())
    return Action{fmt::format("Change to '{}'", finding.suggestion), {{begin, end, finding.suggestion}}, finding, true};
  if (finding.code == "A0013" || finding.code == "A0012")
    return Action{"Remove the import", {wholeLine(text, begin)}, finding, true};
  for (llvm::StringRef sign : {kNotBelow, kNotAbove}) {
    auto [needed, limit] = llvm::StringRef(finding.message).split(sign);
    if (limit.empty())
      continue;
    // "hurry: 3.5174 s is not <= 500 ms"
    std::string relaxed = relaxedLimit(needed.rsplit(": ").second, sign == kNotBelow);
    auto place = limitIn(*snapshot.tree(), begin, end);
    if (!relaxed.empty() && place)
      return Action{fmt::format("Relax the limit to {}", relaxed), {{place->first, place->second, relaxed}}, finding};
  }
  return std::nullopt;
}

/// The text of a complete file in canonical layout, with its own line ends.
std::string canonicalText(const Snapshot &snapshot) {
  std::string after = format(snapshot.sources(), *snapshot.tree());
  if (!snapshot.text().contains("\r\n"))
    return after;
  std::string lines;
  for (char c : after)
    lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return lines;
}

/// Words, signs and comments of a tree without its commas, in the order of their places.
std::vector<SourceRange> piecesIn(const ast::File &file, llvm::StringRef text) {
  std::vector<SourceRange> all;
  for (const ast::Layout::Token &token : file.layout.tokens)
    if (text.slice(token.range.begin, token.range.end) != ",")
      all.push_back(token.range);
  for (const ast::Comment &comment : file.comments)
    all.push_back(comment.range);
  llvm::sort(all, [](const SourceRange &a, const SourceRange &b) { return a.begin < b.begin; });
  return all;
}

} // namespace

std::vector<Action> actionsAt(Snapshot &snapshot, uint32_t begin, uint32_t end, llvm::ArrayRef<Finding> findings) {
  std::vector<Action> actions;
  if (!snapshot.main())
    return actions;
  const LineTable &lines = snapshot.lines(snapshot.tree()->id);
  for (const Finding &finding : findings) {
    uint32_t from = lines.offset(finding.at.begin), to = lines.offset(finding.at.end);
    if (to < begin || from > end)
      continue;
    if (auto action = actionOf(snapshot, finding, from, to))
      actions.push_back(std::move(*action));
  }
  return actions;
}

std::optional<TextEdit> formatted(const Snapshot &snapshot) {
  if (!snapshot.tree() || !snapshot.tree()->complete)
    return std::nullopt;
  llvm::StringRef before = snapshot.text();
  std::string after = canonicalText(snapshot);
  if (before == after)
    return std::nullopt;
  // What is equal at both ends stays, so that the place of the person stays, too.
  size_t same = std::min(before.size(), after.size()), front = 0, back = 0;
  while (front < same && before[front] == after[front])
    ++front;
  while (front > 0 && (front == before.size() || continuesCharacter(before[front])))
    --front;
  while (back < same - front && before[before.size() - back - 1] == after[after.size() - back - 1])
    ++back;
  while (back > 0 && continuesCharacter(before[before.size() - back]))
    --back;
  return TextEdit{static_cast<uint32_t>(front), static_cast<uint32_t>(before.size() - back),
                  after.substr(front, after.size() - front - back)};
}

std::vector<TextEdit> formattedBetween(const Snapshot &snapshot, uint32_t begin, uint32_t end) {
  if (!snapshot.tree() || !snapshot.tree()->complete)
    return {};
  llvm::StringRef before = snapshot.text();
  SourceManager sources;
  Diagnostics unheard(sources);
  FileId id = sources.add(snapshot.tree()->language == ast::Language::Dnn ? "after.dnn" : "after.accel",
                          canonicalText(snapshot));
  llvm::StringRef after = sources.text(id);
  auto tree = parse(unheard, id);
  std::vector<SourceRange> old = piecesIn(*snapshot.tree(), before), now = piecesIn(*tree, after);
  if (old.size() != now.size())
    return {};
  std::vector<TextEdit> edits;
  for (size_t i = 0; i <= old.size(); ++i) {
    uint32_t from = i == 0 ? 0 : old[i - 1].end, to = i == old.size() ? before.size() : old[i].begin;
    llvm::StringRef gap = before.slice(from, to),
                    wanted = after.slice(i == 0 ? 0 : now[i - 1].end, i == old.size() ? after.size() : now[i].begin);
    if (gap != wanted && begin <= to && from <= end)
      edits.push_back({from, to, wanted.str()});
  }
  return edits;
}

std::vector<Lens> lenses(const Snapshot &snapshot) {
  std::vector<Lens> found;
  if (snapshot.tree())
    for (const ast::Declaration &one : snapshot.tree()->declarations)
      if (ast::runsModel(one.kind) && !one.name.empty())
        found.push_back({one.name.range, "plan this", one.name.text});
  return found;
}

std::vector<Finding> conflictsOf(llvm::StringRef document, const std::string &path) {
  auto json = llvm::json::parse(document);
  if (!json) {
    llvm::consumeError(json.takeError());
    return {};
  }
  std::vector<Finding> found;
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Array *conflicts = object ? object->getArray("conflict") : nullptr;
  std::string relaxations;
  if (const llvm::json::Array *all = object ? object->getArray("relaxations") : nullptr)
    for (const llvm::json::Value &one : *all)
      if (auto text = one.getAsString())
        relaxations += "\n" + text->str();
  for (size_t i = 0; conflicts && i < conflicts->size(); ++i) {
    const llvm::json::Object *one = (*conflicts)[i].getAsObject();
    if (!one)
      continue;
    auto line = static_cast<uint32_t>(std::max<int64_t>(one->getInteger("line").value_or(1), 1) - 1);
    std::string file = one->getString("file").value_or("").str();
    bool here = file == path;
    FilePlace place{path, {here ? line : 0, 0}, {here ? line : 0, here ? UINT32_MAX : 0}};
    found.push_back({place,
                     false,
                     "",
                     fmt::format("no plan: {}: {}{}", one->getString("constraint").value_or("").str(),
                                 one->getString("detail").value_or("").str(), relaxations),
                     "",
                     {}});
  }
  return found;
}

std::string relaxedLimit(llvm::StringRef needed, bool above) {
  llvm::StringRef number = leadingNumber(needed.trim()), unit = needed.trim().drop_front(number.size()).trim();
  auto value = parseReal(number);
  if (!value || *value <= 0)
    return "";
  // Three digits, rounded to the side on which the limit is kept.
  double step = std::pow(10.0, std::floor(std::log10(*value)) - 2);
  double limit = above ? std::ceil(*value / step * (1 + 1e-12)) * step : std::floor(*value / step * (1 - 1e-12)) * step;
  return fmt::format("{:.6g}{}{}", limit, unit.empty() ? "" : " ", unit.str());
}

} // namespace accord::editor
