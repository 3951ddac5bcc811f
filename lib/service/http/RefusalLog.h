// Writes what was refused to the audit log, a few lines a second whatever comes, and without holding up those who
// answer.
#pragma once
#include "lib/service/control/Scheduler.h"
#include "lib/service/http/RateLimit.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace accord::service {

class RefusalLog {
public:
  explicit RefusalLog(Scheduler &scheduler) : scheduler_(scheduler) {}
  ~RefusalLog() { stop(); }
  void start();
  /// Writes what is there, and ends.
  void stop();
  /// `who`: the name of the token; empty: not known. Lines above the limit are counted, and their number is written.
  void note(std::string who, std::string_view text, double now);

private:
  void loop();

  Scheduler &scheduler_;
  RateLimit limit_{10, 50};
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> lines_;
  size_t left_ = 0; ///< lines that were not written since the last one
  bool ends_ = false;
};

/// Text for a line of a log: valid UTF-8 without line breaks and other control characters, at most `size` bytes.
std::string logText(std::string_view text, size_t size = 300);

} // namespace accord::service
