#include "lib/service/store/OpenDatabase.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace accord::service {

Error stateError(std::string message) { return {Code::StateFailed, std::move(message)}; }

Error statementError(const std::string &message, const std::string &statement) {
  constexpr size_t kMaxShown = 120;
  std::string shown = statement.substr(0, kMaxShown);
  if (statement.size() > kMaxShown)
    shown += "…";
  return stateError(fmt::format("{} in '{}'", message, shown));
}

Result<void> checkParameters(const std::string &statement, const Row &parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *number = std::get_if<double>(&parameters[i]);
    const auto *text = std::get_if<std::string>(&parameters[i]);
    if (number && std::isnan(*number))
      return statementError(fmt::format("parameter {} is no number", i + 1), statement);
    if (text && text->find('\0') != std::string::npos)
      return statementError(fmt::format("parameter {} is a text with NUL", i + 1), statement);
    if (text && !llvm::json::isUTF8(*text))
      return statementError(fmt::format("parameter {} is a text that is not UTF-8", i + 1), statement);
  }
  return {};
}

void waitBeforeRetry(int attempt) { std::this_thread::sleep_for(std::chrono::milliseconds(20 << (2 * attempt))); }

Result<std::unique_ptr<Database>> openDatabase(const std::string &url) {
  bool isPostgres = url.starts_with("postgresql://") || url.starts_with("postgres://");
  return isPostgres ? openPostgres(url) : openSqlite(url);
}

} // namespace accord::service
