// Numbers that follow from a file, beside what they follow from: peaks of cores, work of operations, parameters of a
// model, the step time of a training.
#pragma once
#include "lib/editor/OpenFiles.h"
#include <functional>

namespace accord::editor {

struct Hint {
  EditorPosition at;
  std::string text;    ///< "312 TFLOP/s bf16"
  std::string tooltip; ///< what it is, and what was assumed for it
};

/// Hints of the file, in the order of their places. Steps are priced as `accord estimate` prices them: with the
/// smallest micro-batch, and nothing is searched. What has errors has no hints. `stop` is asked between the parts of
/// the work; where it is true, the answer is not complete. `range`: accelerators outside of it are left out, as editors
/// ask for what they show; nothing: the whole file.
std::vector<Hint> hints(const OpenFiles &open, const std::string &path, const std::function<bool()> &stop,
                        std::optional<std::pair<EditorPosition, EditorPosition>> range = std::nullopt);

} // namespace accord::editor
