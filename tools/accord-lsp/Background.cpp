#include "tools/accord-lsp/Background.h"

namespace accord::editor {
namespace {

constexpr std::chrono::milliseconds kPause{150};

} // namespace

Background::Background(Told told) : told(std::move(told)), worker([this] { work(); }) {}

Background::~Background() {
  {
    std::lock_guard<std::mutex> alone(guard);
    ending = true;
    ++asked;
  }
  changed.notify_one();
  worker.join();
}

void Background::look(const OpenFiles &open, const std::set<std::string> &paths) {
  auto copy = std::make_shared<const OpenFiles>(open);
  std::deque<HintQuestion> withdrawn;
  {
    std::lock_guard<std::mutex> alone(guard);
    files = std::move(copy);
    waiting.insert(paths.begin(), paths.end());
    due = std::chrono::steady_clock::now() + kPause;
    withdrawn.swap(questions);
    ++asked;
  }
  changed.notify_one();
  for (const HintQuestion &one : withdrawn)
    one.told(std::nullopt);
}

void Background::derive(const OpenFiles &open, const std::string &path, Range range, HintsTold told) {
  auto copy = std::make_shared<const OpenFiles>(open);
  std::lock_guard<std::mutex> alone(guard);
  files = std::move(copy);
  questions.push_back({path, range, std::move(told)});
  changed.notify_one();
}

bool Background::outdated() const {
  std::lock_guard<std::mutex> alone(guard);
  return asked != begun;
}

void Background::lookAt(const std::string &path, std::unique_lock<std::mutex> &lock) {
  begun = asked;
  std::shared_ptr<const OpenFiles> now = files;
  lock.unlock();
  Findings findings;
  if (now->find(path))
    findings = diagnose(*now, path, [this] { return outdated(); }, &checked);
  else {
    memory.forget(path);
    checked.forget(path);
  }
  if (!outdated())
    told(path, findings);
  lock.lock();
  if (asked == begun)
    waiting.erase(path);
}

void Background::deriveFirst(std::unique_lock<std::mutex> &lock) {
  HintQuestion question = std::move(questions.front());
  questions.pop_front();
  begun = asked;
  std::shared_ptr<const OpenFiles> now = files;
  lock.unlock();
  std::vector<Hint> found = hints(*now, question.path, [this] { return outdated(); }, question.range);
  question.told(outdated() ? std::nullopt : std::optional(std::move(found)));
  lock.lock();
}

void Background::work() {
  ParseMemory::Use use(memory);
  std::unique_lock<std::mutex> lock(guard);
  while (!ending) {
    changed.wait(lock, [this] { return ending || !waiting.empty() || !questions.empty(); });
    while (!ending && !waiting.empty() && std::chrono::steady_clock::now() < due)
      changed.wait_until(lock, due);
    if (ending)
      break;
    if (!waiting.empty())
      lookAt(std::string(*waiting.begin()), lock);
    else if (!questions.empty())
      deriveFirst(lock);
  }
  for (const HintQuestion &one : questions)
    one.told(std::nullopt);
}

} // namespace accord::editor
