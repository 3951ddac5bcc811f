#include "lib/service/engines/kubernetes/KubernetesClient.h"
#include "lib/service/problem/Httplib.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace accord::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kShown = 300;          ///< bytes of an answer in an error
constexpr size_t kMaxToken = 64 << 10;  ///< bytes
constexpr size_t kPage = 500;           ///< items of a list in one answer
constexpr size_t kMaxItems = 1'000'000; ///< of a list

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

/// The start of what somebody said, on one line.
std::string shown(llvm::StringRef text) {
  std::string out;
  for (char c : text.take_front(kShown))
    out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  return llvm::json::fixUTF8(out) + (text.size() > kShown ? " ..." : "");
}

double secondsUntil(Clock::time_point end) { return std::chrono::duration<double>(end - Clock::now()).count(); }

/// A file in memory alone, for what OpenSSL reads by name.
class MemoryFile {
public:
  explicit MemoryFile(const std::string &text) : descriptor(text.empty() ? -1 : memfd_create("accord", MFD_CLOEXEC)) {
    for (size_t at = 0; descriptor >= 0 && at < text.size();) {
      const ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
      if (written <= 0 && errno != EINTR)
        break;
      at += std::max<ssize_t>(written, 0);
    }
  }
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const { return descriptor < 0 ? "" : fmt::format("/proc/self/fd/{}", descriptor); }

private:
  int descriptor;
};

/// Breaks a connection at its end, whatever phase it is in: limits of a library count from byte to byte.
class Watchdog {
public:
  explicit Watchdog(Clock::time_point end) : end(end), waiter([this] { wait(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex);
      isDone = true;
    }
    changed.notify_all();
    waiter.join();
    for (int socket : sockets)
      ::close(socket);
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

  /// A duplicate is kept, so that its number means the same connection until the watch is over.
  void watch(int socket) {
    std::lock_guard lock(mutex);
    const int own = ::fcntl(socket, F_DUPFD_CLOEXEC, 3);
    if (own >= 0)
      sockets.push_back(own);
    if (hasEnded)
      ::shutdown(socket, SHUT_RDWR);
  }

  /// Whether it broke what it watched: what was read may lack its end.
  bool hasBroken() {
    std::lock_guard lock(mutex);
    return hasEnded;
  }

private:
  void wait() {
    std::unique_lock lock(mutex);
    if (changed.wait_until(lock, end, [this] { return isDone; }))
      return;
    hasEnded = true;
    for (int socket : sockets)
      ::shutdown(socket, SHUT_RDWR);
  }

  const Clock::time_point end;
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false, hasEnded = false;
  std::vector<int> sockets;
  std::thread waiter; // last: it uses the others
};

struct Url {
  std::string origin, host, prefix;
  bool isEncrypted = false;
};

Result<Url> urlOf(const std::string &text) {
  llvm::StringRef rest = text;
  Url url;
  url.isEncrypted = rest.consume_front("https://");
  if (!url.isEncrypted && !rest.consume_front("http://"))
    return failed(
        fmt::format("'{}' is no URL of a Kubernetes API server: it begins with https:// or http://", shown(text)));
  const size_t slash = std::min(rest.find('/'), rest.size());
  const llvm::StringRef place = rest.take_front(slash);
  url.prefix = rest.drop_front(slash).rtrim('/').str();
  const size_t bracket = place.find(']');
  const size_t colon = place.find(':', bracket == llvm::StringRef::npos ? 0 : bracket);
  url.host = place.take_front(colon).str();
  const llvm::StringRef port = colon == llvm::StringRef::npos ? "" : place.drop_front(colon + 1);
  unsigned number = 443;
  const bool isHost = !url.host.empty() && llvm::all_of(url.host, [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("-._[]:").contains(c);
  });
  const bool isPort =
      colon == llvm::StringRef::npos || (!port.getAsInteger(10, number) && number > 0 && number < 65536);
  if (!isHost || !isPort || llvm::any_of(url.prefix, [](char c) { return c <= 32 || c == 127 || c == '?'; }))
    return failed(fmt::format("'{}' is no URL of a Kubernetes API server", shown(text)));
  url.origin = (url.isEncrypted ? "https://" : "http://") + place.str();
  return url;
}

bool isThisMachine(const std::string &host) {
  return host == "localhost" || host == "[::1]" || llvm::StringRef(host).starts_with("127.");
}

bool isTransient(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/// Seconds to wait before the next attempt. A date as Retry-After, which no API server sends, is not read.
double pauseOf(const std::string &retryAfter, int attempt) {
  int64_t seconds = 0;
  if (!retryAfter.empty() && !llvm::StringRef(retryAfter).trim().getAsInteger(10, seconds) && seconds >= 0)
    return static_cast<double>(seconds);
  return 0.1 * static_cast<double>(int64_t(1) << std::min(attempt, 5));
}

} // namespace

/// What became of one attempt.
struct KubernetesClient::Attempt {
  int status = 0; ///< 0: no answer
  std::string body, retryAfter;
  std::string trouble; ///< why there is no answer, or none that is taken
  bool isTooLong = false;
};

std::string KubernetesAnswer::message() const {
  const llvm::json::Object *object = body.getAsObject();
  return object ? shown(object->getString("message").value_or("")) : "";
}

std::string urlWord(const std::string &text) {
  std::string out;
  for (char c : text)
    out += llvm::isAlnum(c) || llvm::StringRef("-._~").contains(c)
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

Result<std::string> KubernetesClient::bearer() const {
  if (server.tokenFile.empty())
    return server.token;
  std::ifstream file(server.tokenFile, std::ios::binary);
  std::string text(kMaxToken, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  std::string token = llvm::StringRef(text).trim().str();
  if (token.empty() || llvm::any_of(token, [](char c) { return c <= 32 || c == 127; }))
    return failed(fmt::format("'{}' has no token for the Kubernetes API server", server.tokenFile));
  return token;
}

Result<KubernetesAnswer> KubernetesClient::read(const std::string &what, const Attempt &attempt) const {
  KubernetesAnswer answer;
  answer.status = attempt.status;
  auto value = readJsonText(attempt.body);
  if (value && value->getAsObject())
    answer.body = std::move(*value);
  else if (answer.isDone())
    return failed(fmt::format("{}: answer {} is no object of JSON: '{}'", what, attempt.status, shown(attempt.body)));
  static constexpr int kTaken[] = {404, 409, 410, 422};
  if (answer.isDone() || std::ranges::find(kTaken, answer.status) != std::end(kTaken))
    return answer;
  const std::string said = answer.message();
  return failed(fmt::format("{}: answer {}: '{}'", what, answer.status, said.empty() ? shown(attempt.body) : said));
}

Result<KubernetesAnswer> KubernetesClient::call(const std::string &method, const std::string &path,
                                                const llvm::json::Value *body) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.call));
  ACCORD_TRY(url, urlOf(server.url));
  ACCORD_TRY(token, bearer());
  if (!token.empty() && !url.isEncrypted && !isThisMachine(url.host))
    return failed(fmt::format("a token is not sent to '{}' without encryption", url.origin));
  const std::string what = fmt::format("{} {}{}", method, url.origin, path);
  const MemoryFile authority(server.authority), certificate(server.certificate), key(server.key);
  httplib::Request request;
  request.method = method, request.path = url.prefix + path;
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "accord"}};
  if (!token.empty())
    request.headers.emplace("Authorization", "Bearer " + token);
  if (body) {
    request.body = fmt::format("{}", llvm::formatv("{0}", *body).str());
    request.headers.emplace("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
  }
  auto once = [&] {
    Attempt attempt;
    request.content_receiver = [&](const char *data, size_t size, uint64_t, uint64_t) {
      attempt.isTooLong = size > limits.bytes - attempt.body.size();
      if (!attempt.isTooLong)
        attempt.body.append(data, size);
      return !attempt.isTooLong;
    };
    try {
      Watchdog watchdog(end);
      httplib::Client client(url.origin, certificate.path(), key.path());
      auto duration = [&](double seconds) {
        return std::chrono::microseconds(std::llround(1e6 * std::clamp(secondsUntil(end), 0.001, seconds)));
      };
      client.set_connection_timeout(duration(limits.connect));
      client.set_read_timeout(duration(limits.read));
      client.set_write_timeout(duration(limits.read));
      client.set_socket_options([&](socket_t socket) { watchdog.watch(socket); });
      if (!server.authority.empty())
        client.set_ca_cert_path(authority.path());
      const httplib::Result result = client.send(request);
      if (attempt.isTooLong)
        attempt.trouble = fmt::format("the answer has more than {} bytes", limits.bytes);
      else if (watchdog.hasBroken())
        attempt.trouble = fmt::format("no answer within {} s", limits.call);
      else if (!result)
        attempt.trouble = httplib::to_string(result.error());
      else
        attempt.status = result->status, attempt.retryAfter = result->get_header_value("Retry-After");
    } catch (const std::exception &error) { // of the library
      attempt.trouble = error.what();
    }
    return attempt;
  };
  for (int i = 1;; ++i) {
    Attempt attempt = once();
    const bool isUnanswered = attempt.status == 0;
    const double pause = pauseOf(attempt.retryAfter, i - 1);
    const bool again = !attempt.isTooLong && (isUnanswered || isTransient(attempt.status)) && i < limits.attempts &&
                       pause < secondsUntil(end);
    if (again) {
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      continue;
    }
    if (isUnanswered)
      return failed(fmt::format("{}: {} ({} attempts)", what, shown(attempt.trouble), i));
    return read(what, attempt);
  }
}

Result<std::vector<llvm::json::Value>> KubernetesClient::list(const std::string &path, const std::string &query) {
  constexpr int kReadings = 3;
  for (int reading = 0; reading < kReadings; ++reading) {
    std::vector<llvm::json::Value> items;
    std::string next;
    do {
      std::string words = fmt::format("limit={}", kPage);
      if (!query.empty())
        words += "&" + query;
      if (!next.empty())
        words += "&continue=" + urlWord(next);
      ACCORD_TRY(answer, call("GET", path + "?" + words));
      if (answer.status == 410 && !next.empty())
        break;
      const llvm::json::Object *object = answer.body.getAsObject();
      const llvm::json::Array *page = object ? object->getArray("items") : nullptr;
      if (!answer.isDone() || !page)
        return failed(
            fmt::format("GET {}{}: answer {} is no list: '{}'", server.url, path, answer.status, answer.message()));
      items.insert(items.end(), page->begin(), page->end());
      if (items.size() > kMaxItems)
        return failed(fmt::format("GET {}{}: more than {} items", server.url, path, kMaxItems));
      const llvm::json::Object *metadata = object->getObject("metadata");
      const std::string following = metadata ? metadata->getString("continue").value_or("").str() : "";
      if (!following.empty() && following == next)
        return failed(fmt::format("GET {}{}: a page follows itself", server.url, path));
      next = following;
      if (next.empty())
        return items;
    } while (true);
  }
  return failed(fmt::format("GET {}{}: the list changes faster than it can be read", server.url, path));
}

} // namespace accord::service
