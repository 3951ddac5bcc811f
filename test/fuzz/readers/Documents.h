// Documents that Accord writes and reads again: a reader, and what it wrote.
#pragma once
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "test/fuzz/readers/Reader.h"
#include <optional>

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

/// An answer and the certificate from which it follows: {"certificate": …, "answer": …}.
struct AnswerWithCertificate {
  std::string certificate, answer;
};

inline std::optional<AnswerWithCertificate> answerWithCertificate(std::string_view input) {
  llvm::Expected<llvm::json::Value> both = llvm::json::parse(input);
  if (!both) {
    llvm::consumeError(both.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = both->getAsObject();
  const llvm::json::Value *certificate = object ? object->get("certificate") : nullptr;
  const llvm::json::Value *answer = object ? object->get("answer") : nullptr;
  if (!certificate || !answer)
    return std::nullopt;
  return AnswerWithCertificate{jsonText(*certificate), jsonText(*answer)};
}

/// Where an answer does not follow from its certificate, a message says so.
inline void expectMessage(llvm::Error error) {
  if (error && llvm::toString(std::move(error)).empty())
    broken("it is refused and nothing says why");
}

} // namespace accord::fuzz
