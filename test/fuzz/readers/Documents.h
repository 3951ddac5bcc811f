// Documents that Accord writes and reads again: a reader, and what it wrote.
#pragma once
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "test/fuzz/readers/Reader.h"

namespace accord::fuzz {

/// Reads the input by `read(text, path)`, an Expected. What is accepted is written and read again without a change;
/// what is refused has its place.
template <typename Read, typename Write> void readAndWrite(std::string_view input, Read read, Write write) {
  auto document = read(llvm::StringRef(input), "fuzz");
  if (!document)
    return expectPlace(llvm::toString(document.takeError()));
  std::string text = jsonText(write(*document));
  auto again = read(llvm::StringRef(text), "fuzz");
  if (!again)
    broken("what was written cannot be read: " + llvm::toString(again.takeError()));
  if (jsonText(write(*again)) != text)
    broken("a document changes when it is written and read again");
}

} // namespace accord::fuzz
