#include "lib/import/jobs/GavelThroughputs.h"
#include "lib/support/documents/JsonParse.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace accord::jobs {
namespace {

namespace json = llvm::json;
using Key = std::pair<std::string, unsigned>;

/// "('application', gang)"; nothing if it is none.
std::optional<Key> keyFrom(llvm::StringRef text) {
  if (!text.consume_front("('") || !text.consume_back(")"))
    return std::nullopt;
  const auto [application, count] = text.rsplit("', ");
  unsigned gang = 0;
  if (application.empty() || count.getAsInteger(10, gang) || gang == 0)
    return std::nullopt;
  return Key{application.str(), gang};
}

bool readRate(const json::Value &value, double &rate, json::Path at) {
  const std::optional<double> number = value.getAsNumber();
  if (!number || !std::isfinite(*number) || *number < 0) {
    at.report("expected 0 or more steps a second");
    return false;
  }
  rate = *number;
  return true;
}

/// The rates of one application on one type.
bool readRates(const json::Value &value, double &alone, json::Path at) {
  const json::Object *rates = value.getAsObject();
  if (!rates || !rates->get("null")) {
    at.report("expected an object with the rate alone, 'null'");
    return false;
  }
  for (const auto &[name, rate] : *rates) {
    const llvm::StringRef runner(name);
    if (runner == "null") {
      if (!readRate(rate, alone, at.field(runner)))
        return false;
      continue;
    }
    const json::Array *pair = rate.getAsArray();
    if (!keyFrom(runner) || !pair || pair->size() != 2) {
      at.field(runner).report("expected \"('application', devices)\" with a list of two rates");
      return false;
    }
    double ignored = 0;
    for (unsigned i = 0; i < 2; ++i)
      if (!readRate((*pair)[i], ignored, at.field(runner).index(i)))
        return false;
  }
  return true;
}

bool readTable(const json::Value &value, ThroughputTable &table, json::Path at) {
  const json::Object *types = value.getAsObject();
  if (!types || types->empty()) {
    at.report("expected an object of device types");
    return false;
  }
  for (const auto &entry : *types)
    table.types.push_back(entry.first.str());
  std::sort(table.types.begin(), table.types.end());
  for (const auto &[typeName, content] : *types) {
    const llvm::StringRef type(typeName);
    const json::Object *applications = content.getAsObject();
    if (!applications) {
      at.field(type).report("expected an object of applications");
      return false;
    }
    for (const auto &[name, rates] : *applications) {
      const std::optional<Key> key = keyFrom(name);
      if (!key) {
        at.field(type).field(name).report("expected a key \"('application', devices)\"");
        return false;
      }
      double alone = 0;
      if (!readRates(rates, alone, at.field(type).field(name)))
        return false;
      auto &row = table.rates.try_emplace(*key, table.types.size(), 0.0).first->second;
      row[table.typeOf(type.str())] = alone;
    }
  }
  return true;
}

/// An error "path:line:column: message" with its place apart from its message.
Error errorFrom(const std::string &full, const std::string &path) {
  Error error{Code::WrongJobsFile, full, {path, 0, 0}};
  llvm::StringRef rest(full);
  unsigned line = 0, column = 0;
  if (rest.consume_front(path) && rest.consume_front(":") && !rest.consumeInteger(10, line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, column) && rest.consume_front(": ")) {
    error.message = rest.str();
    error.location = {path, line, column};
  }
  return error;
}

} // namespace

Result<ThroughputTable> readGavelThroughputs(std::string_view text, const std::string &path) {
  auto table = readJsonDocument<ThroughputTable>(text, path, "throughputs", readTable);
  if (!table)
    return errorFrom(llvm::toString(table.takeError()), path);
  return std::move(*table);
}

} // namespace accord::jobs
