#include "lib/service/progress/Metrics.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <netdb.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace accord::service {
namespace {

using llvm::StringRef;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPage = size_t(4) << 20;

Error wrong(std::string why) { return {Code::WrongProgress, std::move(why)}; }

struct Series {
  std::string name;
  std::map<std::string, std::string> labels;
};

bool isNameChar(char c) { return llvm::isAlnum(c) || c == '_' || c == ':'; }

/// A name, and labels if there are some, from the start of a text, which keeps what follows.
std::optional<Series> takeSeries(StringRef &text) {
  Series made;
  const StringRef name = text.take_while(isNameChar);
  if (name.empty() || llvm::isDigit(name[0]))
    return std::nullopt;
  made.name = name.str(), text = text.drop_front(name.size()).ltrim(" \t");
  if (!text.consume_front("{"))
    return made;
  while (!(text = text.ltrim(" \t,")).consume_front("}")) {
    const StringRef key = text.take_while(isNameChar);
    text = text.drop_front(key.size()).ltrim(" \t");
    if (key.empty() || !text.consume_front("="))
      return std::nullopt;
    text = text.ltrim(" \t");
    if (!text.consume_front("\""))
      return std::nullopt;
    std::string value;
    for (; !text.empty() && text[0] != '"'; text = text.drop_front()) {
      if (text[0] == '\\' && text.size() > 1)
        text = text.drop_front(), value += text[0] == 'n' ? '\n' : text[0];
      else
        value += text[0];
    }
    if (!text.consume_front("\""))
      return std::nullopt;
    made.labels[key.str()] = std::move(value);
  }
  return made;
}

std::optional<Series> readSelector(StringRef text) {
  text = text.trim();
  auto made = takeSeries(text);
  return made && text.trim().empty() ? made : std::nullopt;
}

class File {
public:
  explicit File(int file) : file(file) {}
  ~File() {
    if (file >= 0)
      ::close(file);
  }
  File(const File &) = delete;
  const int file;
};

bool waitFor(int file, int16_t what, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd one{file, what, 0};
  return left > 0 && ::poll(&one, 1, static_cast<int>(left)) == 1;
}

/// Why an address is not asked; empty: it may be.
std::string refusalOf(const sockaddr &address) {
  if (address.sa_family == AF_INET) {
    const uint32_t ip = ntohl(reinterpret_cast<const sockaddr_in &>(address).sin_addr.s_addr);
    return (ip >> 16) == 0xA9FE ? "link-local" : (ip >> 28) >= 14 ? "multicast" : (ip >> 24) == 0 ? "none" : "";
  }
  if (address.sa_family != AF_INET6)
    return "of another kind";
  const in6_addr &ip = reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&ip) || IN6_IS_ADDR_V4COMPAT(&ip)) {
    sockaddr_in inner{};
    inner.sin_family = AF_INET;
    std::copy_n(ip.s6_addr + 12, 4, reinterpret_cast<uint8_t *>(&inner.sin_addr));
    if (!IN6_IS_ADDR_LOOPBACK(&ip))
      return refusalOf(reinterpret_cast<const sockaddr &>(inner));
  }
  return IN6_IS_ADDR_LINKLOCAL(&ip) ? "link-local" : IN6_IS_ADDR_MULTICAST(&ip) ? "multicast" : "";
}

/// What a server answers on a connection, whole.
Result<std::string> exchange(int file, const MetricsPlace &place, Clock::time_point until) {
  std::string request =
      fmt::format("GET {} HTTP/1.0\r\nHost: {}:{}\r\nAccept: text/plain;version=0.0.4\r\nConnection: close\r\n\r\n",
                  place.path, place.host, place.port);
  while (!request.empty()) {
    if (!waitFor(file, POLLOUT, until))
      return wrong("it takes no request in time");
    const ssize_t sent = ::send(file, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return wrong("nobody listens there");
    request.erase(0, static_cast<size_t>(sent));
  }
  std::string answer;
  for (char piece[16384];;) {
    if (!waitFor(file, POLLIN, until))
      return wrong("its answer is not whole in time");
    const ssize_t got = ::recv(file, piece, sizeof piece, 0);
    if (got < 0)
      return wrong("the connection ended before its answer was whole");
    if (got == 0)
      return answer;
    answer.append(piece, static_cast<size_t>(got));
    if (answer.size() > kMaxPage)
      return wrong(fmt::format("its answer has more than {} bytes", kMaxPage));
  }
}

Result<std::string> bodyOf(std::string answer) {
  StringRef rest(answer);
  const auto [head, body] = rest.split("\r\n\r\n");
  const StringRef status = head.split(' ').second.take_front(3);
  if (!head.starts_with("HTTP/1.") || head.size() == rest.size())
    return wrong("it does not speak HTTP");
  if (status != "200")
    return wrong(fmt::format("it answers with status {}", llvm::all_of(status, llvm::isDigit) ? status.str() : "?"));
  if (head.lower().find("transfer-encoding:") != std::string::npos)
    return wrong("it answers in pieces, which HTTP/1.0 does not have");
  return body.str();
}

} // namespace

Result<MetricsPlace> metricsPlace(std::string_view url, std::string_view node) {
  auto refuse = [&](const char *why) { return wrong(fmt::format("'{}' {}", url, why)); };
  std::string text(url);
  for (size_t at = 0; (at = text.find("{node}", at)) != std::string::npos; at += node.size())
    text.replace(at, 6, node);
  StringRef rest(text);
  if (!rest.consume_front("http://"))
    return refuse("does not begin with 'http://'");
  if (rest.size() > 1000 || llvm::any_of(rest, [](char c) { return c <= ' ' || c >= 127; }))
    return refuse("is longer than 1000 characters, or has other than those of a URL");
  MetricsPlace made;
  const StringRef where = rest.take_until([](char c) { return c == '/' || c == '?' || c == '#'; });
  made.path = rest.drop_front(where.size()).split('#').first.str();
  if (!llvm::StringRef(made.path).starts_with("/"))
    made.path = (made.path.empty() ? "/metrics" : "/" + made.path);
  if (where.contains('@'))
    return refuse("has a user");
  StringRef host = where, port = "80";
  if (where.starts_with("[")) {
    std::tie(host, port) = where.drop_front().split(']');
    if (!where.contains(']') || (!port.empty() && !port.consume_front(":")))
      return refuse("has no port behind its address");
    port = port.empty() ? "80" : port;
  } else if (where.contains(':')) {
    std::tie(host, port) = where.rsplit(':');
  }
  unsigned number = 0;
  if (host.empty() || port.getAsInteger(10, number) || number == 0 || number > 65535)
    return refuse("has no host, or a port that is none");
  made.host = host.str(), made.port = port.str();
  return made;
}

Result<std::string> fetchMetrics(const MetricsPlace &place, double seconds) {
  auto failed = [&](const std::string &why) {
    return wrong(fmt::format("the metrics at '{}:{}' cannot be read: {}", place.host, place.port, why));
  };
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) != 0 || !found)
    return failed("there is no such host");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  const auto until = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  std::string why = "nobody listens there";
  for (const addrinfo *one = found; one; one = one->ai_next) {
    if (const std::string kind = refusalOf(*one->ai_addr); !kind.empty()) {
      why = fmt::format("its address is {}, which is refused", kind);
      continue;
    }
    const File file(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (file.file < 0)
      continue;
    if (::connect(file.file, one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS)
      continue;
    if (!waitFor(file.file, POLLOUT, until)) {
      why = "it does not answer in time";
      continue;
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(file.file, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      continue;
    auto answer = exchange(file.file, place, until);
    auto body = answer ? bodyOf(std::move(*answer)) : std::move(answer);
    return body ? std::move(body) : failed(body.error().message);
  }
  return failed(why);
}

Result<void> checkMetric(std::string_view metric) {
  if (!readSelector(StringRef(metric.data(), metric.size())))
    return wrong(fmt::format(
        "'{}' is not the name of a metric, or a name with labels as in samples_total{{rank=\"0\"}}", metric));
  return {};
}

Result<MetricValue> readMetric(std::string_view page, std::string_view metric) {
  const auto wanted = readSelector(StringRef(metric.data(), metric.size()));
  if (!wanted)
    return checkMetric(metric).takeError();
  std::string type;
  std::optional<double> value;
  for (StringRef rest(page.data(), page.size()), line; !rest.empty();) {
    std::tie(line, rest) = rest.split('\n');
    line = line.trim();
    if (line.consume_front("# TYPE ")) {
      const auto [name, said] = line.trim().split(' ');
      if (name == wanted->name)
        type = said.trim().str();
      continue;
    }
    if (!line.starts_with(wanted->name))
      continue;
    auto series = takeSeries(line);
    if (!series || series->name != wanted->name || !llvm::all_of(wanted->labels, [&](const auto &label) {
          const auto own = series->labels.find(label.first);
          return own != series->labels.end() && own->second == label.second;
        }))
      continue;
    double number = 0;
    if (line.trim().split(' ').first.getAsDouble(number) || !std::isfinite(number) || number < 0)
      return wrong(fmt::format("the value of '{}' is not a number of at least 0", metric));
    if (value)
      return wrong(fmt::format("there are several series '{}': state a label that one alone has", metric));
    value = number;
  }
  if (!value)
    return wrong(fmt::format("there is no metric '{}'", metric));
  return MetricValue{*value, type.empty() || type == "untyped" ? wanted->name.ends_with("_total") : type == "counter"};
}

} // namespace accord::service
