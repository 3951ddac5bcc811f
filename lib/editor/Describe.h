// Words of the languages and what they mean, in a sentence or as Markdown: for completion and explanations.
#pragma once
#include "lib/editor/Names.h"
#include "lib/language/models/OperationTable.h"

namespace accord::editor {

/// A word that begins a declaration.
struct DeclarationWord {
  std::string word, about, snippet;
  bool onlyDnn = false;
};
const std::vector<DeclarationWord> &declarationWords();

/// What a word of the language means where it is no name: "repeat", "require"; empty for other words.
std::string keywordAbout(llvm::StringRef word);
/// What a function of expressions computes; empty if it is none.
std::string functionAbout(llvm::StringRef name);

/// linear(x, out, bias?, weight?): what may be left out has a question mark.
std::string signatureOf(const OperationSpec &operation);
/// One line: "a whole number, 1 or more; required".
std::string describeAttribute(const AttributeSpec &attribute);
/// What an operation computes, as its dialect says it.
std::string operationAbout(const OperationSpec &operation);

/// A model of the catalogue.
struct ShippedModel {
  std::string name, import, about;
};
const std::vector<ShippedModel> &shippedModels(const std::string &catalog);

} // namespace accord::editor
