// Links among the pages of a folder, in the head of each: a line of the page that says nothing of its document.
#pragma once
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace accord {

/// A page in a folder: its path there ("placement/report.html"), and what it says it is ("placement").
struct FolderPage {
  std::string path, label;
};

/// What a page says it is: "plan", "schedule"; empty of any other text.
std::string labelOfPage(llvm::StringRef page);

/// Those of the files of a folder that are pages, by path.
std::vector<FolderPage> pagesAmong(const std::string &folder, const std::vector<std::string> &names);

/// The pages among the files of a folder, with links to each other, and to `more`, which are not there yet.
AnswerFiles linkedPages(const std::string &folder, const std::vector<std::string> &names,
                        const std::vector<FolderPage> &more = {});

/// The page at the path `own` of the folder with links to the others of `pages`, at most 12, instead of those that it
/// has. Pages of one label are told apart by their folder or file. A text that is no page stays as it is.
std::string withPageLinks(llvm::StringRef page, llvm::StringRef own, llvm::ArrayRef<FolderPage> pages);

/// The page without links that `withPageLinks` could have put there; all else stays.
std::string withoutPageLinks(llvm::StringRef page);

} // namespace accord
