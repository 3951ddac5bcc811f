#include "lib/service/http/RefusalLog.h"
#include "lib/support/ThreadRole.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>

namespace accord::service {

std::string logText(std::string_view text, size_t size) {
  std::string out;
  for (unsigned char c : text.substr(0, size))
    out += c < ' ' || c == 127 ? '?' : static_cast<char>(c);
  return llvm::json::fixUTF8(out);
}

void RefusalLog::start() {
  thread_ = std::thread([this] { loop(); });
}

void RefusalLog::stop() {
  {
    std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void RefusalLog::note(std::string who, std::string_view text, double now) {
  bool may = limit_.take("", now);
  {
    std::scoped_lock lock(mutex_);
    if (!may || lines_.size() >= 256) {
      ++left_;
      return;
    }
    std::string line = logText(text);
    if (left_ > 0)
      line += fmt::format(" (and {} more before it)", left_);
    left_ = 0;
    lines_.emplace_back(std::move(who), std::move(line));
  }
  changed_.notify_one();
}

void RefusalLog::loop() {
  blockSignals();
  nameThread("refusals");
  for (;;) {
    std::pair<std::string, std::string> line;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !lines_.empty(); });
      if (lines_.empty())
        return;
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    scheduler_.audit("refused", line.first, line.second);
  }
}

} // namespace accord::service
