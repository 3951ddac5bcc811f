#include "lib/service/http/HttpMessage.h"
#include "llvm/Support/ConvertUTF.h"
#include <algorithm>
#include <charconv>
#include <ctime>
#include <fmt/format.h>

namespace accord::service {
namespace {

bool isTokenByte(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
    return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool isToken(std::string_view text) { return !text.empty() && std::ranges::all_of(text, isTokenByte); }

/// Visible characters, blanks between them, and bytes above 127.
bool isFieldValue(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c == '\t' || (c >= ' ' && c != 127); });
}

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char &c : low)
    if (c >= 'A' && c <= 'Z')
      c += 'a' - 'A';
  return low;
}

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

int hexOf(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Digits alone, without a sign.
template <typename T> bool parseDigits(std::string_view text, int base, T &value) {
  if (text.empty() || hexOf(text[0]) < 0)
    return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Fields that say how a request is read or who asks: twice is an attempt to be understood in two ways.
bool isSingle(std::string_view name) {
  static constexpr std::string_view kNames[] = {"authorization", "content-length", "content-type",     "expect",
                                                "host",          "last-event-id",  "transfer-encoding"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

std::string_view reasonOf(int status) {
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  };
  for (const auto &[number, reason] : kReasons)
    if (number == status)
      return reason;
  return "Unknown";
}

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), whatever the locale.
std::string dateNow() {
  static constexpr const char *kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char *kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

} // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto &[key, value] : headers)
    if (key == name)
      return value;
  return {};
}

std::string responseHead(const HttpResponse &response, int64_t length, const std::string &requestId, bool closes) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nConnection: {}\r\n", response.status,
                                 reasonOf(response.status), dateNow(), closes ? "close" : "keep-alive");
  if (!requestId.empty())
    head += fmt::format("X-Request-Id: {}\r\n", requestId);
  if (!response.type.empty())
    head += fmt::format("Content-Type: {}\r\n", response.type);
  if (length >= 0 && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", length);
  for (const auto &[name, value] : response.headers)
    head += fmt::format("{}: {}\r\n", name, value);
  return head + "\r\n";
}

bool decodePercent(std::string_view text, bool isQuery, std::string &out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hexOf(text[i + 1]) < 0 || hexOf(text[i + 2]) < 0)
        return false;
      c = hexOf(text[i + 1]) * 16 + hexOf(text[i + 2]);
      i += 2;
    } else if (c == '+' && isQuery)
      c = ' ';
    if (c < ' ' || c == 127)
      return false;
    out += static_cast<char>(c);
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(out.data());
  return llvm::isLegalUTF8String(&begin, begin + out.size());
}

RequestParser::State RequestParser::refuse(int status, std::string message) {
  refusal_ = {status, std::move(message)};
  buffer_.clear();
  return state_ = State::Refused;
}

RequestParser::State RequestParser::feed(std::string_view bytes) {
  if (state_ == State::Refused)
    return state_;
  buffer_ += bytes;
  return state_ == State::Done ? state_ : advance();
}

void RequestParser::drop() {
  buffer_ = {};
  request_.body = {};
}

HttpRequest RequestParser::take() {
  HttpRequest done = std::move(request_);
  request_ = {};
  chunk_ = Chunk::None;
  left_ = trailerBytes_ = scanned_ = 0;
  state_ = State::Head;
  advance();
  return done;
}

RequestParser::State RequestParser::advance() {
  if (state_ == State::Head) {
    if (scanned_ == 0 && buffer_.starts_with("\r\n")) // RFC 9112, section 2.2: one empty line before a request
      buffer_.erase(0, 2);
    size_t end = buffer_.find("\r\n\r\n", scanned_);
    size_t length = std::min(end, buffer_.size());
    if (buffer_.size() > limits_->targetBytes + 64 && buffer_.find("\r\n") == std::string::npos)
      return refuse(414, fmt::format("the first line of a request has more than {} bytes", limits_->targetBytes));
    if (length > limits_->headerBytes)
      return refuse(431, fmt::format("headers have more than {} bytes", limits_->headerBytes));
    if (end == std::string::npos) {
      // A head that cannot become one is refused before its end comes.
      for (size_t i = scanned_; i < buffer_.size(); ++i)
        if (unsigned char c = buffer_[i]; (c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 127 ||
                                          (c == '\n' && (i == 0 || buffer_[i - 1] != '\r')))
          return refuse(400, "a head has a control character or a line feed without a carriage return");
      scanned_ = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
      return state_;
    }
    return readHead(end);
  }
  return readBody();
}

RequestParser::State RequestParser::readHead(size_t end) {
  std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  scanned_ = 0;
  bool isFirst = true;
  for (size_t at = 0; at < head.size();) {
    size_t line = head.find("\r\n", at);
    std::string_view text(head.data() + at, line - at);
    if (!(isFirst ? readRequestLine(text) : readField(text)))
      return state_;
    isFirst = false;
    at = line + 2;
  }
  return readFraming() ? readBody() : state_;
}

bool RequestParser::readRequestLine(std::string_view line) {
  auto wrong = [&](int status, std::string message) { return refuse(status, std::move(message)), false; };
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return wrong(400, "the first line of a request is 'METHOD TARGET HTTP/1.1'");
  std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                   version = line.substr(last + 1);
  if (!isToken(method) || method.size() > 32)
    return wrong(400, "a method is a word");
  if (!version.starts_with("HTTP/") || version.size() != 8)
    return wrong(400, "the first line of a request ends with its version, 'HTTP/1.1'");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return wrong(505, "this server speaks HTTP/1.1");
  request_.method = method;
  request_.keepsAlive = version == "HTTP/1.1";
  if (target.size() > limits_->targetBytes)
    return wrong(414, fmt::format("a target has {} bytes, {} are allowed", target.size(), limits_->targetBytes));
  return readTarget(target);
}

bool RequestParser::readTarget(std::string_view target) {
  auto wrong = [&](std::string message) { return refuse(400, std::move(message)), false; };
  if (!std::ranges::all_of(target, [](unsigned char c) { return c > ' ' && c < 127 && c != '#'; }))
    return wrong("a target is visible ASCII without '#'");
  for (std::string_view scheme : {"http://", "https://"})
    if (lowered(target.substr(0, scheme.size())) == scheme) { // an absolute one, as to a proxy
      size_t slash = target.find('/', scheme.size());
      target = slash == std::string_view::npos ? "/" : target.substr(slash);
    }
  if (target == "*" && request_.method == "OPTIONS") {
    request_.path = "*";
    return true;
  }
  if (!target.starts_with('/'))
    return wrong("a target begins with '/'");
  size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  std::string_view path(request_.path);
  for (size_t at = 1; at < path.size();) {
    size_t slash = std::min(path.find('/', at), path.size());
    std::string segment;
    if (!decodePercent(path.substr(at, slash - at), false, segment))
      return wrong("a path has a wrong escape, a control character or bytes that are no UTF-8");
    if (segment.empty() || segment == "." || segment == ".." || segment.find_first_of("/\\") != std::string::npos)
      return wrong("a part of a path is empty, '.', '..', or has a slash");
    request_.segments.push_back(std::move(segment));
    if (request_.segments.size() > limits_->pathSegments)
      return wrong(fmt::format("a path has more than {} parts", limits_->pathSegments));
    at = slash + 1;
    if (at == path.size())
      return wrong("a path ends with '/'");
  }
  std::string_view query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view field = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    size_t equals = std::min(field.find('='), field.size());
    std::string name, value;
    if (!decodePercent(field.substr(0, equals), true, name) ||
        !decodePercent(field.substr(std::min(equals + 1, field.size())), true, value) || name.empty())
      return wrong(
          "a query has a field without a name, a wrong escape, a control character or bytes that are no UTF-8");
    if (!request_.query.emplace(name, value).second)
      return wrong(fmt::format("a query has '{}' twice", name));
    if (request_.query.size() > limits_->queryFields)
      return wrong(fmt::format("a query has more than {} fields", limits_->queryFields));
  }
  return true;
}

bool RequestParser::readField(std::string_view line) {
  auto wrong = [&](int status, std::string message) { return refuse(status, std::move(message)), false; };
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || !isToken(line.substr(0, colon)))
    return wrong(400, "a line of the headers is 'Name: value', without a blank before the colon");
  if (request_.headers.size() >= limits_->headerFields)
    return wrong(431, fmt::format("a request has more than {} headers", limits_->headerFields));
  std::string name = lowered(line.substr(0, colon));
  std::string_view value = trimmed(line.substr(colon + 1));
  if (!isFieldValue(value))
    return wrong(400, fmt::format("header '{}' has a control character", name));
  if (isSingle(name) &&
      std::ranges::find(request_.headers, name, &std::pair<std::string, std::string>::first) != request_.headers.end())
    return wrong(400, fmt::format("header '{}' is there twice", name));
  request_.headers.emplace_back(std::move(name), value);
  return true;
}

bool RequestParser::readFraming() {
  auto wrong = [&](int status, std::string message) { return refuse(status, std::move(message)), false; };
  bool hasLength = false, hasChunks = false, hasHost = false;
  for (const auto &[name, value] : request_.headers) {
    if (name == "host")
      hasHost = !value.empty();
    else if (name == "content-length") {
      hasLength = true;
      if (std::ranges::any_of(value, [](char c) { return c < '0' || c > '9'; }) || value.empty())
        return wrong(400, "header 'content-length' is not a number of bytes");
      if (!parseDigits(value, 10, left_) || left_ > limits_->bodyBytes)
        return wrong(413, fmt::format("a body has more than {} bytes", limits_->bodyBytes));
    } else if (name == "transfer-encoding") {
      hasChunks = true;
      if (lowered(value) != "chunked")
        return wrong(501, "header 'transfer-encoding' may be 'chunked'");
    } else if (name == "expect") {
      if (lowered(value) != "100-continue")
        return wrong(417, "header 'expect' may be '100-continue'");
      request_.expectsContinue = true;
    } else if (name == "connection") {
      std::string low = lowered(value);
      if (low.find("close") != std::string::npos)
        request_.keepsAlive = false;
    }
  }
  bool isOld = !request_.keepsAlive && request_.header("connection").empty(); // HTTP/1.0 knows neither
  if (!hasHost && !isOld)
    return wrong(400, "header 'host' is not there");
  if (hasLength && hasChunks)
    return wrong(400, "headers 'content-length' and 'transfer-encoding' are both there");
  if (hasChunks)
    chunk_ = Chunk::Size;
  state_ = State::Body;
  return true;
}

RequestParser::State RequestParser::readBody() {
  if (chunk_ != Chunk::None)
    return readChunks();
  size_t some = std::min(left_, buffer_.size());
  request_.body.append(buffer_, 0, some);
  buffer_.erase(0, some);
  left_ -= some;
  return state_ = left_ == 0 ? State::Done : State::Body;
}

RequestParser::State RequestParser::readChunks() {
  size_t at = 0;
  auto keep = [&](State state) { return buffer_.erase(0, at), state_ = state; };
  for (;;) {
    if (chunk_ == Chunk::Data) {
      size_t some = std::min(left_, buffer_.size() - at);
      request_.body.append(buffer_, at, some);
      at += some;
      if (left_ -= some; left_ > 0)
        return keep(State::Body);
      chunk_ = Chunk::DataEnd;
    }
    size_t end = buffer_.find("\r\n", at);
    bool isLong = (end == std::string::npos ? buffer_.size() : end) - at > 1024;
    if (isLong || (chunk_ == Chunk::DataEnd && buffer_.size() - at >= 2 && end != at))
      return refuse(400, "a chunk of a body does not end where it should");
    if (end == std::string::npos)
      return keep(State::Body);
    std::string_view line = std::string_view(buffer_).substr(at, end - at);
    trailerBytes_ += line.size() + 2;
    at = end + 2;
    if (chunk_ == Chunk::DataEnd) {
      chunk_ = Chunk::Size;
    } else if (chunk_ == Chunk::Trailer) {
      if (line.empty())
        return keep(State::Done);
    } else {
      if (!parseDigits(trimmed(line.substr(0, line.find(';'))), 16, left_) || !isFieldValue(line))
        return refuse(400, "the size of a chunk is not a hexadecimal number");
      if (left_ > limits_->bodyBytes - request_.body.size())
        return refuse(413, fmt::format("a body has more than {} bytes", limits_->bodyBytes));
      chunk_ = left_ == 0 ? Chunk::Trailer : Chunk::Data;
    }
    // Chunks of a byte would make a body of lines.
    if (trailerBytes_ > limits_->headerBytes + 2 * limits_->bodyBytes / 64 + 16 * request_.body.size())
      return refuse(413, "a body has more bytes around its chunks than in them");
  }
}

} // namespace accord::service
