// Work that takes longer than an editor waits: one thread, which looks at a file some time after its last change.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/Hints.h"
#include "lib/language/syntax/ParseMemory.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace accord::editor {

class Background {
public:
  using Findings = std::map<std::string, std::vector<Finding>>;
  /// What is told of a file, from the thread of this class: findings by file, of one moment of the editor.
  using Told = std::function<void(const std::string &path, const Findings &findings)>;

  explicit Background(Told told);
  /// Ends what is under way.
  ~Background();

  /// Hints of a file; nothing where an edit came first. Called from any thread, once.
  using HintsTold = std::function<void(std::optional<std::vector<Hint>> hints)>;
  using Range = std::optional<std::pair<EditorPosition, EditorPosition>>;
  void derive(const OpenFiles &open, const std::string &path, Range range, HintsTold told);

  /// Looks at these files (all that may be different) in `open`, after the pause that a person makes between two words.
  void look(const OpenFiles &open, const std::set<std::string> &paths);

private:
  struct HintQuestion {
    std::string path;
    Range range;
    HintsTold told;
  };

  void work();
  void lookAt(const std::string &path, std::unique_lock<std::mutex> &lock);
  void deriveFirst(std::unique_lock<std::mutex> &lock);
  bool outdated() const;

  Told told;
  mutable std::mutex guard;
  std::condition_variable changed;
  std::shared_ptr<const OpenFiles> files; ///< the last ones
  std::set<std::string> waiting;
  std::deque<HintQuestion> questions;
  std::chrono::steady_clock::time_point due;
  uint64_t asked = 0, begun = 0;
  bool ending = false;
  ParseMemory memory; ///< of the thread
  CheckMemory checked;
  std::thread worker;
};

} // namespace accord::editor
