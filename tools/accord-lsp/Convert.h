// Answers of lib/editor as JSON of the language server protocol, and its parameters as what lib/editor asks for.
#pragma once
#include "lib/editor/Complete.h"
#include "lib/editor/Diagnose.h"
#include "llvm/Support/JSON.h"

namespace accord::editor {

/// The path of a "file:" URI; nothing for another scheme or no URI.
std::optional<std::string> pathOfUri(llvm::StringRef uri);
std::string uriOfPath(llvm::StringRef path);

std::optional<EditorPosition> positionOf(const llvm::json::Value *value);
std::optional<std::pair<EditorPosition, EditorPosition>> rangeOf(const llvm::json::Value *value);
/// Of textDocument/didChange; nothing where one of them is none.
std::optional<std::vector<TextChange>> changesOf(const llvm::json::Array &list);

llvm::json::Value toJson(EditorPosition position);
llvm::json::Value toJson(const LineTable &lines, uint32_t begin, uint32_t end);
llvm::json::Value toJson(const FilePlace &place); ///< a Location
llvm::json::Value toJson(const Finding &finding);
llvm::json::Value toMarkdown(const std::string &text);
/// Writes a CompletionItem. `range` is what it replaces, as JSON. `text` is that of the file, in which an import may
/// have to be added. `snippets`: whether the editor fills them in.
void write(llvm::json::OStream &out, const Proposal &proposal, size_t order, llvm::StringRef range,
           llvm::StringRef text, const LineTable &lines, bool snippets);
/// A TextEdit.
llvm::json::Value editOf(llvm::json::Value range, const std::string &text);

} // namespace accord::editor
