#include "lib/support/documents/PageLinks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <optional>

using namespace llvm;
namespace accord {
namespace {

constexpr StringLiteral kLabel = "<meta name=\"accord-page\" content=\"", kBegin = "<nav class=\"pages\"",
                        kEnd = "</nav>";
constexpr size_t kMaxLinks = 12;

/// What needs no escape in a link, in a text, or in an attribute.
bool isPlain(StringRef text) {
  return !text.empty() && all_of(text, [](char c) { return isAlnum(c) || StringRef("-_./").contains(c); });
}

/// Where the links of a page stand: behind the tag of its first `nav`, up to the end of it. What a user names is
/// behind.
std::optional<std::pair<size_t, size_t>> linksOf(StringRef page) {
  size_t tag = page.find(kBegin), begin = page.find('>', tag);
  size_t end = begin == StringRef::npos ? begin : page.find(kEnd, begin);
  if (tag == StringRef::npos || end == StringRef::npos || labelOfPage(page.take_front(tag)).empty())
    return std::nullopt;
  return std::pair(begin + 1, end);
}

/// Whether these are links as `withPageLinks` writes them, to pages of the same folder tree.
bool areLinks(StringRef text) {
  while (!text.empty()) {
    if (!text.consume_front("<a href=\""))
      return false;
    auto [href, rest] = text.split("\">");
    auto [label, next] = rest.split("</a>");
    if (!isPlain(href) || href.starts_with("/") || !href.ends_with(".html") ||
        !all_of(label, [](char c) { return c == ' ' || isPlain(StringRef(&c, 1)); }) || rest.size() == label.size())
      return false;
    text = next;
  }
  return true;
}

std::optional<std::string> textOf(const std::string &file) {
  auto text = MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return text ? std::optional((*text)->getBuffer().str()) : std::nullopt;
}

std::string hrefFrom(StringRef own, StringRef to) {
  StringRef folder = sys::path::parent_path(own, sys::path::Style::posix);
  std::string up;
  for (; !folder.empty() && !to.starts_with((folder + "/").str());
       folder = sys::path::parent_path(folder, sys::path::Style::posix))
    up += "../";
  return up + to.drop_front(folder.empty() ? 0 : folder.size() + 1).str();
}

} // namespace

std::string labelOfPage(StringRef page) {
  size_t at = page.find(kLabel);
  StringRef label = at == StringRef::npos ? "" : page.drop_front(at + kLabel.size()).split('"').first;
  return isPlain(label) ? label.str() : "";
}

std::vector<FolderPage> pagesAmong(const std::string &folder, const std::vector<std::string> &names) {
  std::vector<FolderPage> pages;
  for (const std::string &name : names)
    if (auto text = StringRef(name).ends_with(".html") ? textOf(folder + "/" + name) : std::nullopt)
      if (std::string label = labelOfPage(*text); !label.empty())
        pages.push_back({name, label});
  sort(pages, [](const FolderPage &a, const FolderPage &b) { return a.path < b.path; });
  return pages;
}

AnswerFiles linkedPages(const std::string &folder, const std::vector<std::string> &names,
                        const std::vector<FolderPage> &more) {
  const std::vector<FolderPage> there = pagesAmong(folder, names);
  std::vector<FolderPage> all = there;
  append_range(all, more);
  sort(all, [](const FolderPage &a, const FolderPage &b) { return a.path < b.path; });
  AnswerFiles files;
  for (const FolderPage &page : there)
    if (auto text = textOf(folder + "/" + page.path))
      files.push_back({page.path, withPageLinks(*text, page.path, all)});
  return files;
}

std::string withPageLinks(StringRef page, StringRef own, ArrayRef<FolderPage> pages) {
  auto at = linksOf(page);
  if (!at)
    return page.str();
  const std::string label = labelOfPage(page);
  std::string links;
  size_t count = 0;
  for (const FolderPage &other : pages) {
    if (other.path == own || !isPlain(other.path) || count == kMaxLinks)
      continue;
    StringRef folder = sys::path::parent_path(other.path), stem = sys::path::stem(other.path);
    bool isAlone = label != other.label && count_if(pages, [&](const FolderPage &one) {
                                             return one.label == other.label && one.path != own;
                                           }) < 2;
    links += "<a href=\"" + hrefFrom(own, other.path) + "\">" + other.label +
             (isAlone ? "" : (" " + (folder.empty() ? stem : folder)).str()) + "</a>";
    ++count;
  }
  return (page.take_front(at->first) + links + page.drop_front(at->second)).str();
}

std::string withoutPageLinks(StringRef page) {
  auto at = linksOf(page);
  if (!at || !areLinks(page.slice(at->first, at->second)))
    return page.str();
  return (page.take_front(at->first) + page.drop_front(at->second)).str();
}

} // namespace accord
