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
  std::lock_guard<std::mutex> alone(guard);
  files = std::move(copy);
  waiting.insert(paths.begin(), paths.end());
  due = std::chrono::steady_clock::now() + kPause;
  ++asked;
  changed.notify_one();
}

bool Background::outdated() const {
  std::lock_guard<std::mutex> alone(guard);
  return asked != begun;
}

void Background::work() {
  std::unique_lock<std::mutex> lock(guard);
  while (!ending) {
    changed.wait(lock, [this] { return ending || !waiting.empty(); });
    while (!ending && std::chrono::steady_clock::now() < due)
      changed.wait_until(lock, due);
    if (ending)
      return;
    begun = asked;
    const std::string path = *waiting.begin();
    std::shared_ptr<const OpenFiles> now = files;
    lock.unlock();
    Findings findings;
    bool isOpen = now->find(path) != nullptr;
    if (isOpen)
      findings = diagnose(*now, path, [this] { return outdated(); });
    if (!outdated())
      told(path, findings);
    lock.lock();
    if (asked == begun)
      waiting.erase(path);
  }
}

} // namespace accord::editor
