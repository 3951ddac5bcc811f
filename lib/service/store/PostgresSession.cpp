#include "lib/service/store/PostgresSession.h"
#include "lib/service/store/OpenDatabase.h"
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <pqxx/except>
#include <pqxx/prepared_statement>
#include <pqxx/result>
#include <unistd.h>

namespace accord::service {
namespace {

constexpr size_t kMaxPrepared = 256;

/// Numbers of types in pg_type.
enum TypeNumber : unsigned {
  Bool = 16,
  Int8 = 20,
  Int2 = 21,
  Int4 = 23,
  Oid = 26,
  Float4 = 700,
  Float8 = 701,
  Numeric = 1700
};

/// Without the line breaks that servers send.
std::string oneLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  for (char &c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  return text;
}

std::string textOf(const Cell &cell) {
  if (const auto *number = std::get_if<int64_t>(&cell))
    return fmt::format("{}", *number);
  if (const auto *real = std::get_if<double>(&cell))
    return *real == std::numeric_limits<double>::infinity()    ? "Infinity"
           : *real == -std::numeric_limits<double>::infinity() ? "-Infinity"
                                                               : fmt::format("{}", *real);
  return std::get<std::string>(cell);
}

Cell cellOf(const pqxx::field &field) {
  if (field.is_null())
    return std::monostate();
  std::string_view text(field.c_str(), field.size());
  switch (field.type()) {
  case Bool:
    return int64_t(text == "t");
  case Int2:
  case Int4:
  case Int8:
  case Oid:
  case Numeric: {
    int64_t whole = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (problem == std::errc() && end == text.data() + text.size())
      return whole;
    return std::strtod(field.c_str(), nullptr);
  }
  case Float4:
  case Float8:
    return std::strtod(field.c_str(), nullptr);
  default:
    return std::string(text);
  }
}

} // namespace

std::string numberedParameters(const std::string &statement, const Row &parameters, size_t &found) {
  std::string out;
  found = 0;
  char quote = 0;
  for (char c : statement) {
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '?') {
      const Cell *cell = found < parameters.size() ? &parameters[found] : nullptr;
      out += fmt::format("${}", ++found);
      if (cell && !std::holds_alternative<std::monostate>(*cell))
        out += std::holds_alternative<int64_t>(*cell)  ? "::bigint"
               : std::holds_alternative<double>(*cell) ? "::double precision"
                                                       : "::text";
      continue;
    }
    out += c;
  }
  return out;
}

PostgresAddress postgresAddress(const std::string &url) {
  PostgresAddress address{url, url.substr(0, url.find('?')), ""};
  for (const char *option : {"connect_timeout=10", "keepalives_idle=30", "keepalives_interval=10", "keepalives_count=3",
                             "tcp_user_timeout=60000"}) {
    std::string name(option, strcspn(option, "="));
    if (url.find(name + "=") == std::string::npos)
      address.url += (address.url.find('?') == std::string::npos ? "?" : "&") + std::string(option);
  }
  size_t host = address.shown.find("://") + 3, at = address.shown.rfind('@');
  size_t colon = address.shown.find(':', host);
  if (at != std::string::npos && colon < at)
    address.shown.erase(colon, at - colon);
  char node[64] = {};
  if (gethostname(node, sizeof(node) - 1) != 0)
    node[0] = '?';
  // PostgreSQL keeps 63 bytes of a name; the time tells a process from an earlier one of its number.
  auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::string head = fmt::format("process {} on ", getpid());
  address.process = fmt::format("{}{:.24} ({:x})", head, node, static_cast<uint64_t>(now) & 0xffffffffff).substr(0, 63);
  return address;
}

Result<std::unique_ptr<PostgresSession>> PostgresSession::open(const PostgresAddress &address) {
  auto session = std::make_unique<PostgresSession>();
  try {
    session->link = std::make_unique<pqxx::connection>(address.url);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    session->link->inhibit_reactivation(true);
#pragma clang diagnostic pop
    session->link->set_client_encoding("UTF8");
    session->work = std::make_unique<pqxx::nontransaction>(*session->link);
  } catch (const std::exception &problem) {
    return stateError(fmt::format("cannot open '{}': {}", address.shown, oneLine(problem.what())));
  }
  std::string name = "set application_name to '";
  for (char c : address.process)
    name += c == '\'' || c == '\\' ? '_' : c;
  for (const std::string &statement :
       {name + "'", std::string("set synchronous_commit to on"), std::string("set statement_timeout to '120s'"),
        std::string("set extra_float_digits to 3"), std::string("set standard_conforming_strings to on"),
        std::string("set client_min_messages to warning")})
    if (auto done = session->run(statement, {}); !done)
      return done.takeError();
  auto encoding = session->query("select current_setting('server_encoding')", {});
  if (!encoding)
    return encoding.takeError();
  std::string kind = valueOf<std::string>((*encoding)[0][0]);
  if (kind != "UTF8" && kind != "SQL_ASCII")
    return stateError(fmt::format("'{}' keeps text as {}, allowed is UTF8", address.shown, kind));
  return session;
}

Result<std::vector<Row>> PostgresSession::execute(const std::string &statement, const Row &parameters) {
  pqxx::result result;
  if (parameters.empty()) {
    result = work->exec(statement);
  } else {
    size_t found = 0;
    std::string numbered = numberedParameters(statement, parameters, found);
    if (found != parameters.size())
      return statementError(fmt::format("{} parameters where {} are needed", parameters.size(), found), statement);
    std::vector<std::string> texts(parameters.size());
    std::vector<const char *> values(parameters.size(), nullptr);
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!std::holds_alternative<std::monostate>(parameters[i])) {
        texts[i] = textOf(parameters[i]);
        values[i] = texts[i].c_str();
      }
    auto all = pqxx::prepare::make_dynamic_params(values.begin(), values.end());
    auto known = prepared.find(numbered);
    if (known == prepared.end() && prepared.size() < kMaxPrepared) {
      known = prepared.emplace(numbered, fmt::format("s{}", prepared.size())).first;
      link->prepare(known->second, numbered);
    }
    result = known == prepared.end() ? work->exec_params(numbered, all) : work->exec_prepared(known->second, all);
  }
  std::vector<Row> rows(result.size());
  for (size_t r = 0; r < rows.size(); ++r)
    for (const pqxx::field &field : result[int(r)])
      rows[r].push_back(cellOf(field));
  return rows;
}

Result<std::vector<Row>> PostgresSession::query(const std::string &statement, const Row &parameters) {
  if (auto sound = checkParameters(statement, parameters); !sound)
    return sound.takeError();
  try {
    return execute(statement, parameters);
  } catch (const pqxx::sql_error &problem) {
    const std::string &state = problem.sqlstate();
    isConflict = state == "40001" || state == "40P01" || state == "55P03";
    isLost = isLost || !link->is_open() || state.starts_with("57P") || state.starts_with("08");
    return statementError(oneLine(problem.what()), statement);
  } catch (const std::exception &problem) {
    isLost = isLost || !link->is_open() || dynamic_cast<const pqxx::broken_connection *>(&problem);
    return statementError(oneLine(problem.what()), statement);
  }
}

} // namespace accord::service
