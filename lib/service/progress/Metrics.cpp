#include "lib/service/progress/Metrics.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace accord::service {
namespace {

using llvm::StringRef;

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

} // namespace

Result<MetricsPlace> metricsPlace(std::string_view url, std::string_view node) {
  std::string text(url);
  for (size_t at = 0; (at = text.find("{node}", at)) != std::string::npos; at += node.size())
    text.replace(at, 6, node);
  constexpr StringRef kProtocol = "://";
  const StringRef whole = StringRef(text).split('#').first;
  const size_t protocol = whole.find(kProtocol);
  const size_t end = protocol == StringRef::npos ? protocol : whole.find_first_of("/?", protocol + kProtocol.size());
  const StringRef path = end == StringRef::npos ? "" : whole.drop_front(end);
  auto server = httpUrlOf(std::string_view(whole.take_front(end)));
  if (!server || path.size() > 1000 || llvm::any_of(path, [](char c) { return c <= ' ' || c >= 127; }))
    return wrong(fmt::format("'{}' is not like 'http://HOST:PORT/PATH' without a user", url));
  return MetricsPlace{*server, path.empty() ? "/metrics" : path.starts_with("/") ? path.str() : "/" + path.str()};
}

Result<std::string> fetchMetrics(const MetricsPlace &place, double seconds) {
  auto failed = [&](const std::string &why) {
    return wrong(fmt::format("the metrics at '{}:{}' cannot be read: {}", place.server.host, place.server.port, why));
  };
  HttpCallLimits limits;
  limits.connect = limits.pause = limits.call = seconds, limits.bytes = size_t(4) << 20, limits.isForeign = true;
  auto answer = callHttp(place.server, {"GET", place.path, {{"Accept", "text/plain;version=0.0.4"}}}, limits);
  if (!answer)
    return failed(answer.error().message);
  if (answer->status != 200)
    return failed(fmt::format("it answers with status {}", answer->status));
  return std::move(answer->body);
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
