#include "lib/exploration/distributed/RankMessage.h"
#include <bit>

namespace accord {
namespace {

/// Numbers of eight bytes, least byte first; lists and texts after their length.
class Writer {
public:
  std::string text;

  template <class Number>
    requires(std::is_integral_v<Number> || std::is_enum_v<Number>)
  void operator()(Number number) {
    put(static_cast<uint64_t>(number), 8);
  }
  void operator()(double number) { (*this)(std::bit_cast<uint64_t>(number)); }
  void operator()(const std::string &words) {
    (*this)(words.size());
    text += words;
  }
  void operator()(const Design &design) {
    (*this)(design.size());
    for (uint32_t choice : design)
      put(choice, 4);
  }
  void operator()(const std::optional<Design> &design) {
    (*this)(design.has_value());
    (*this)(design.value_or(Design()));
  }
  void operator()(const DesignBox &box) { (*this)(box.low), (*this)(box.high); }
  void operator()(const DesignEvaluation &answer) { (*this)(answer.value), (*this)(answer.lowerBound); }
  template <class One> void operator()(const std::vector<One> &all) {
    (*this)(all.size());
    for (const One &one : all)
      (*this)(one);
  }

private:
  void put(uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i)
      text += static_cast<char>(number >> (8 * i));
  }
};

class Reader {
public:
  std::string_view text;
  bool good = true;

  template <class Number>
    requires std::is_integral_v<Number>
  void operator()(Number &number) {
    number = static_cast<Number>(take(8));
  }
  void operator()(RankMessage::Kind &kind) { kind = RankMessage::Kind(below(uint64_t(RankMessage::Kind::Bye) + 1)); }
  void operator()(EvaluationTask::Query &query) { query = EvaluationTask::Query(below(kNumEvaluationQueries)); }
  void operator()(double &number) { number = std::bit_cast<double>(take(8)); }
  void operator()(std::string &words) {
    words = text.substr(0, length(1));
    text.remove_prefix(words.size());
  }
  void operator()(Design &design) {
    design.resize(length(4));
    for (uint32_t &choice : design)
      choice = static_cast<uint32_t>(take(4));
  }
  void operator()(std::optional<Design> &design) {
    bool known = take(8) != 0;
    (*this)(design.emplace());
    if (!known)
      design.reset();
  }
  void operator()(DesignBox &box) { (*this)(box.low), (*this)(box.high); }
  void operator()(DesignEvaluation &answer) { (*this)(answer.value), (*this)(answer.lowerBound); }
  template <class One> void operator()(std::vector<One> &all) {
    all.resize(length(16));
    for (One &one : all)
      (*this)(one);
  }

private:
  uint64_t take(size_t count) {
    if (text.size() < count) {
      good = false;
      text = {};
      return 0;
    }
    uint64_t number = 0;
    for (size_t i = 0; i < count; ++i)
      number |= uint64_t(static_cast<unsigned char>(text[i])) << (8 * i);
    text.remove_prefix(count);
    return number;
  }
  uint64_t below(uint64_t end) {
    uint64_t number = take(8);
    good &= number < end;
    return number % end;
  }
  /// Of things that take at least `min` bytes each.
  size_t length(size_t min) {
    uint64_t length = take(8);
    good &= length <= text.size() / min;
    return good ? length : 0;
  }
};

/// Writes or reads all that a message of its kind has.
template <class Stream, class Message> void transfer(Stream &stream, Message &message) {
  using Kind = RankMessage::Kind;
  auto all = [&](auto &...fields) { (stream(fields), ...); };
  all(message.kind, message.number);
  switch (message.kind) {
  case Kind::Hello:
    all(message.threads, message.process);
    [[fallthrough]];
  case Kind::Begin:
  case Kind::Ready:
  case Kind::Failed:
    all(message.text);
    break;
  case Kind::Work:
    all(message.chunk, message.task.query, message.task.level, message.task.below, message.boxes);
    break;
  case Kind::Answer:
    all(message.chunk, message.results);
    break;
  case Kind::End: {
    auto &result = message.result;
    all(result.refused, result.isOptimal, result.best, result.value, result.bound, result.evaluations, result.bounds,
        result.strategy, result.proof, result.error);
    break;
  }
  case Kind::Bye:
    break;
  }
}

} // namespace

std::string encoded(const RankMessage &message) {
  Writer out;
  transfer(out, message);
  return std::move(out.text);
}

std::optional<RankMessage> decoded(std::string_view text) {
  Reader in{text};
  RankMessage message;
  transfer(in, message);
  return in.good && in.text.empty() ? std::optional(std::move(message)) : std::nullopt;
}

} // namespace accord
