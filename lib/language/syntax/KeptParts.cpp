#include "lib/language/syntax/KeptParts.h"
#include "lib/language/syntax/ParseMemory.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <utility>

namespace accord {
namespace {
thread_local ParseMemory *inUse = nullptr;
} // namespace

void ParseMemory::keep(llvm::StringRef path, llvm::StringRef text, std::unique_ptr<ast::File> file) {
  byPath[path.str()] = {text.str(), std::move(file)};
}

std::optional<ParseMemory::Kept> ParseMemory::take(llvm::StringRef path) {
  auto found = byPath.find(path);
  if (found == byPath.end())
    return std::nullopt;
  Kept kept = std::move(found->second);
  byPath.erase(found);
  return kept;
}

ParseMemory *ParseMemory::current() { return inUse; }

ParseMemory::Use::Use(ParseMemory &memory) : before(std::exchange(inUse, &memory)) {}
ParseMemory::Use::~Use() { inUse = before; }

} // namespace accord

namespace accord::syntax {
namespace {

/// Fewer than these are parsed again.
constexpr size_t kMinRun = 3;

template <class List> auto findPart(List &list, uint32_t byte) {
  return std::lower_bound(list.begin(), list.end(), byte,
                          [](const auto &part, uint32_t at) { return part.range.begin < at; });
}

} // namespace

KeptParts::KeptParts(llvm::StringRef oldText, ast::File &old, llvm::StringRef text, FileId file, const TokenList &list)
    : old(old), file(file), list(list) {
  findCommon(oldText, text);
  auto end = static_cast<uint32_t>(oldText.size());
  findRuns(old.declarations, Part::Declarations, 0, end);
  // Of those that are parsed again, the parts of the largest lists.
  size_t next = 0;
  std::vector<Run> whole = runs;
  for (size_t i = 0; i < old.declarations.size(); ++i) {
    while (next < whole.size() && whole[next].end <= i)
      ++next;
    if (next < whole.size() && whole[next].begin <= i)
      continue;
    const ast::Declaration &one = old.declarations[i];
    if (llvm::binary_search(old.errorOffsets, one.range.begin))
      continue;
    findRuns(one.body, Part::Statements, i, one.range.end);
    findRuns(one.entries, Part::Entries, i, one.range.end);
  }
  llvm::sort(runs, [](const Run &a, const Run &b) { return a.tokens.begin < b.tokens.begin; });
  findIntervals();
}

void KeptParts::findIntervals() {
  intervals.clear();
  for (const Run &run : runs)
    intervals.push_back(run.tokens);
}

bool KeptParts::dropMoved() {
  bool dropped = std::erase_if(runs, [](const Run &run) { return run.isMoved; }) > 0;
  findIntervals();
  return dropped && !runs.empty();
}

void KeptParts::findCommon(llvm::StringRef oldText, llvm::StringRef text) {
  size_t limit = std::min(oldText.size(), text.size());
  size_t front = std::mismatch(oldText.begin(), oldText.begin() + limit, text.begin()).first - oldText.begin();
  size_t back =
      std::mismatch(oldText.rbegin(), oldText.rbegin() + (limit - front), text.rbegin()).first - oldText.rbegin();
  shift = static_cast<int64_t>(text.size()) - static_cast<int64_t>(oldText.size());
  const auto &before = old.layout.tokens;
  const auto &now = list.tokens;
  size_t count = std::min(before.size(), now.size());
  auto equal = [&](const ast::Layout::Token &a, const Token &b, int64_t by) {
    return a.type == b.type && a.range.begin + by == b.begin && a.range.end + by == b.end;
  };
  while (sameBefore < count && now[sameBefore].end <= front && equal(before[sameBefore], now[sameBefore], 0))
    ++sameBefore;
  while (sameBehind < count - sameBefore) {
    const ast::Layout::Token &a = before[before.size() - 1 - sameBehind];
    if (a.range.begin < oldText.size() - back || !equal(a, now[now.size() - 1 - sameBehind], shift))
      break;
    ++sameBehind;
  }
}

bool KeptParts::isSound(uint32_t begin, uint32_t end) const {
  auto error = llvm::lower_bound(old.errorOffsets, begin);
  return error == old.errorOffsets.end() || *error >= end;
}

size_t KeptParts::oldTokenAt(uint32_t byte) const {
  const auto &tokens = old.layout.tokens;
  size_t at = llvm::lower_bound(tokens, byte,
                                [](const ast::Layout::Token &token, uint32_t to) { return token.range.begin < to; }) -
              tokens.begin();
  // A bracket that was forgotten and added belongs to what stands before it.
  while (at < tokens.size() && tokens[at].range.begin == tokens[at].range.end)
    ++at;
  return at;
}

/// Parts from one whose neighbours are both known and right, in one of the two ends that the texts have in common.
template <class List> void KeptParts::findRuns(const List &list, Part part, size_t declaration, uint32_t end) {
  size_t count = list.size(), tokens = old.layout.tokens.size();
  if (count < kMinRun + 2)
    return;
  // Token and end of each part; what is between two of them counts as the first one's.
  std::vector<size_t> first(count + 1, tokens);
  for (size_t i = 0; i < count; ++i)
    first[i] = oldTokenAt(list[i].range.begin);
  first[count] = oldTokenAt(end);
  auto endOf = [&](size_t i) { return i + 1 < count ? list[i + 1].range.begin : end; };
  auto isInner = [&](size_t i, bool behind) {
    if (i == 0 || i + 1 >= count || first[i] >= first[i + 1])
      return false;
    bool same = behind ? first[i - 1] >= tokens - sameBehind : first[i + 2] <= sameBefore;
    return same && isSound(list[i - 1].range.begin, endOf(i + 1));
  };
  for (bool behind : {false, true})
    for (size_t i = 1; i + 1 < count; ++i) {
      if (!isInner(i, behind))
        continue;
      size_t begin = i;
      while (i + 1 < count && isInner(i, behind))
        ++i;
      if (i - begin >= kMinRun)
        addRun(list, {part, declaration, begin, i, {}, 0, 0, 0, 0, behind});
    }
}

template <class List> void KeptParts::addRun(const List &list, Run run) {
  run.oldBegin = list[run.begin].range.begin;
  run.oldEnd = list[run.end].range.begin;
  size_t tokens = old.layout.tokens.size(), now = this->list.tokens.size();
  auto newToken = [&](size_t token) { return run.isMoved ? token + now - tokens : token; };
  run.tokens = {newToken(oldTokenAt(run.oldBegin)), newToken(oldTokenAt(run.oldEnd))};
  auto by = run.isMoved ? shift : 0;
  run.left = static_cast<uint32_t>(list[run.begin - 1].range.begin + by);
  run.right = static_cast<uint32_t>(run.oldEnd + by);
  runs.push_back(run);
}

template <class List>
bool KeptParts::fits(const List &list, const Run &run, const std::vector<uint32_t> &errorOffsets) const {
  auto left = findPart(list, run.left);
  if (left == list.end() || left->range.begin != run.left || std::next(left) == list.end() ||
      std::next(left)->range.begin != run.right)
    return false;
  return llvm::none_of(errorOffsets, [&](uint32_t at) { return at >= run.left && at <= run.right; });
}

template <class List> void KeptParts::move(List &to, List &from, const Run &run) {
  int64_t by = run.isMoved ? shift : 0;
  if (by != 0 || old.id != file)
    for (size_t i = run.begin; i < run.end; ++i)
      relocate(from[i], file, by);
  to.insert(std::next(findPart(to, run.left)), std::make_move_iterator(from.begin() + run.begin),
            std::make_move_iterator(from.begin() + run.end));
}

ast::Declaration *KeptParts::declarationAround(ast::File &file, uint32_t byte) const {
  auto behind = std::upper_bound(file.declarations.begin(), file.declarations.end(), byte,
                                 [](uint32_t at, const ast::Declaration &one) { return at < one.range.begin; });
  return behind == file.declarations.begin() ? nullptr : &*std::prev(behind);
}

template <class Visit> bool KeptParts::visitLists(ast::File &file, const Run &run, Visit visit) {
  if (run.part == Part::Declarations)
    return visit(file.declarations, old.declarations);
  ast::Declaration *now = declarationAround(file, run.left);
  ast::Declaration &before = old.declarations[run.declaration];
  if (!now || now->kind != before.kind)
    return false;
  return run.part == Part::Statements ? visit(now->body, before.body) : visit(now->entries, before.entries);
}

bool KeptParts::insert(ast::File &file) {
  for (const Run &run : runs)
    if (!visitLists(file, run, [&](auto &to, auto &) { return fits(to, run, file.errorOffsets); }))
      return false;
  for (Part part : {Part::Statements, Part::Entries, Part::Declarations})
    for (const Run &run : runs)
      if (run.part == part)
        visitLists(file, run, [&](auto &to, auto &from) {
          move(to, from, run);
          return true;
        });
  auto take = [](const std::vector<uint32_t> &from, std::vector<uint32_t> &to, const Run &run, int64_t by) {
    for (auto at = llvm::lower_bound(from, run.oldBegin); at != from.end() && *at < run.oldEnd; ++at)
      to.push_back(static_cast<uint32_t>(*at + by));
  };
  for (const Run &run : runs) {
    int64_t by = run.isMoved ? shift : 0;
    take(old.layout.starts, file.layout.starts, run, by);
    take(old.layout.blocks, file.layout.blocks, run, by);
  }
  return true;
}

} // namespace accord::syntax
