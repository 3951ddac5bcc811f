// What an editor may do by itself: replace a misspelt word, remove an import, relax a limit, format.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/Snapshot.h"

namespace accord::editor {

/// Bytes of the main file that get another text.
struct TextEdit {
  uint32_t begin = 0, end = 0;
  std::string text;
};

struct Action {
  std::string title;
  std::vector<TextEdit> edits;
  Finding finding; ///< that it resolves
  bool preferred = false;
};

/// What resolves findings that touch the bytes from `begin` to `end`.
std::vector<Action> actionsAt(Snapshot &snapshot, uint32_t begin, uint32_t end, llvm::ArrayRef<Finding> findings);

/// The one edit that brings the file into canonical layout; nothing where it has that already, or has syntax errors.
/// Line ends stay as they are.
std::optional<TextEdit> formatted(const Snapshot &snapshot);

/// The edits of that which lie between two bytes: of blanks, line ends and commas, each between two words or comments.
/// In the order of their places.
std::vector<TextEdit> formattedBetween(const Snapshot &snapshot, uint32_t begin, uint32_t end);

/// A line over a declaration that a click runs.
struct Lens {
  SourceRange at;
  std::string title, training;
};
std::vector<Lens> lenses(const Snapshot &snapshot);

/// What `accord compile --json` wrote of a training without a plan that holds: a finding for each constraint that
/// conflicts, with what it needed. `path`: where constraints without a place are told.
std::vector<Finding> conflictsOf(llvm::StringRef document, const std::string &path);

/// "500 ms" of a limit `step_time <= 500 ms` and "3.5174 s" that is needed -> "3.52 s": a limit that is just kept.
std::string relaxedLimit(llvm::StringRef needed, bool above);

} // namespace accord::editor
