#include "lib/exploration/distributed/RankMessage.h"
#include "lib/exploration/solve/Checkpoint.h"
#include <bit>

namespace accord {
namespace {

/// Writes to a text or reads it: numbers of eight bytes, the least first; lists and texts after their length.
class Stream {
public:
  std::string out;
  std::string_view in;
  bool reads = false, good = true;

  template <class Number>
    requires std::is_integral_v<Number>
  void operator()(Number &number) {
    number = raw(number, 8);
  }
  void operator()(RankMessage::Kind &kind) {
    kind = RankMessage::Kind(below(uint64_t(kind), uint64_t(RankMessage::Kind::Bye) + 1));
  }
  void operator()(EvaluationTask::Query &query) {
    query = EvaluationTask::Query(below(uint64_t(query), kNumEvaluationQueries));
  }
  void operator()(double &number) { number = std::bit_cast<double>(raw(std::bit_cast<uint64_t>(number), 8)); }
  void operator()(std::string &words) {
    size_t size = length(words.size(), 1);
    if (!reads) {
      out += words;
      return;
    }
    words = in.substr(0, size);
    in.remove_prefix(size);
  }
  void operator()(Design &design) {
    design.resize(length(design.size(), 4));
    for (uint32_t &choice : design)
      choice = raw(choice, 4);
  }
  void operator()(std::optional<Design> &design) {
    bool known = design.has_value();
    Design choices = design.value_or(Design());
    (*this)(known);
    (*this)(choices);
    design = known ? std::optional(std::move(choices)) : std::nullopt;
  }
  void operator()(DesignBox &box) { (*this)(box.low), (*this)(box.high); }
  void operator()(DesignEvaluation &answer) {
    (*this)(answer.value), (*this)(answer.lowerBound), (*this)(answer.steps);
  }
  void operator()(EvaluatedStep &step) { (*this)(step.seconds), (*this)(step.joules); }
  template <class One> void operator()(std::vector<One> &all) {
    all.resize(length(all.size(), 16));
    for (One &one : all)
      (*this)(one);
  }

private:
  /// What is written, or what is read instead.
  uint64_t raw(uint64_t number, size_t bytes) {
    if (!reads) {
      for (size_t i = 0; i < bytes; ++i)
        out += char(number >> (8 * i));
      return number;
    }
    if (in.size() < bytes) {
      good = false;
      in = {};
      return 0;
    }
    number = 0;
    for (size_t i = 0; i < bytes; ++i)
      number |= uint64_t(uint8_t(in[i])) << (8 * i);
    in.remove_prefix(bytes);
    return number;
  }
  uint64_t below(uint64_t number, uint64_t end) {
    number = raw(number, 8);
    good &= number < end;
    return number % end;
  }
  /// Of things that take at least `min` bytes each.
  size_t length(uint64_t length, size_t min) {
    length = raw(length, 8);
    good &= !reads || length <= in.size() / min;
    return good ? length : 0;
  }
};

/// Writes or reads all that a message of its kind has.
void transfer(Stream &stream, RankMessage &message) {
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
    MiningResult &result = message.result;
    all(result.refused, result.isOptimal, result.best, result.value, result.bound, result.evaluations, result.bounds,
        result.strategy, result.proof, result.error);
    break;
  }
  case Kind::Bye:
    break;
  }
}

} // namespace

std::string sharedDigest(MiningProblem &problem) {
  constexpr unsigned kProtocol = 3;
  return std::to_string(kProtocol) + ' ' + digestOf(problem);
}

std::string encoded(RankMessage message) {
  Stream stream;
  transfer(stream, message);
  return std::move(stream.out);
}

std::optional<RankMessage> decoded(std::string_view text) {
  Stream stream;
  stream.in = text, stream.reads = true;
  RankMessage message;
  transfer(stream, message);
  return stream.good && stream.in.empty() ? std::optional(std::move(message)) : std::nullopt;
}

} // namespace accord
