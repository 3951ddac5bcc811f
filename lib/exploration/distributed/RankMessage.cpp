#include "lib/exploration/distributed/RankMessage.h"
#include <bit>

namespace accord {
namespace {

/// Numbers of eight bytes, least byte first; lists and texts after their length.
struct Writer {
  std::string text;

  void put(uint64_t number) {
    for (int i = 0; i < 8; ++i)
      text += static_cast<char>(number >> (8 * i));
  }
  void put(double number) { put(std::bit_cast<uint64_t>(number)); }
  void put(const std::string &words) {
    put(uint64_t(words.size()));
    text += words;
  }
  void put(const Design &design) {
    put(uint64_t(design.size()));
    for (uint32_t choice : design)
      for (int i = 0; i < 4; ++i)
        text += static_cast<char>(choice >> (8 * i));
  }
};

struct Reader {
  std::string_view text;
  bool good = true;

  uint64_t bytes(size_t count) {
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
  uint64_t number() { return bytes(8); }
  double real() { return std::bit_cast<double>(number()); }
  /// Of things that take at least `least` bytes each.
  size_t length(size_t min) {
    uint64_t length = number();
    if (length > text.size() / min)
      good = false;
    return good ? length : 0;
  }
  std::string words() {
    size_t size = length(1);
    std::string words(text.substr(0, size));
    text.remove_prefix(size);
    return words;
  }
  Design design() {
    Design design(length(4));
    for (uint32_t &choice : design)
      choice = static_cast<uint32_t>(bytes(4));
    return design;
  }
};

void putResult(Writer &out, const MiningResult &result) {
  out.put(uint64_t(result.refused));
  out.put(uint64_t(result.isOptimal));
  out.put(uint64_t(result.best.has_value()));
  out.put(result.best.value_or(Design()));
  out.put(result.value);
  out.put(result.bound);
  out.put(result.evaluations);
  out.put(result.bounds);
  out.put(result.strategy);
  out.put(result.proof);
  out.put(result.error);
}

MiningResult resultFrom(Reader &in) {
  MiningResult result;
  result.refused = in.number() != 0;
  result.isOptimal = in.number() != 0;
  bool best = in.number() != 0;
  Design design = in.design();
  if (best)
    result.best = std::move(design);
  result.value = in.real();
  result.bound = in.real();
  result.evaluations = in.number();
  result.bounds = in.number();
  result.strategy = in.words();
  result.proof = in.words();
  result.error = in.words();
  return result;
}

} // namespace

std::string encoded(const RankMessage &message) {
  using Kind = RankMessage::Kind;
  Writer out;
  out.put(uint64_t(message.kind));
  out.put(message.number);
  switch (message.kind) {
  case Kind::Hello:
    out.put(uint64_t(message.threads));
    out.put(message.process);
    [[fallthrough]];
  case Kind::Begin:
  case Kind::Ready:
  case Kind::Failed:
    out.put(message.text);
    break;
  case Kind::Work:
    out.put(message.chunk);
    out.put(uint64_t(message.task.query));
    out.put(uint64_t(message.task.level));
    out.put(message.task.below);
    out.put(uint64_t(message.boxes.size()));
    for (const DesignBox &box : message.boxes) {
      out.put(box.low);
      out.put(box.high);
    }
    break;
  case Kind::Answer:
    out.put(message.chunk);
    out.put(uint64_t(message.results.size()));
    for (const DesignEvaluation &answer : message.results) {
      out.put(answer.value);
      out.put(answer.lowerBound);
    }
    break;
  case Kind::End:
    putResult(out, message.result);
    break;
  case Kind::Bye:
    break;
  }
  return std::move(out.text);
}

std::optional<RankMessage> decoded(std::string_view text) {
  using Kind = RankMessage::Kind;
  Reader in{text};
  RankMessage message;
  uint64_t kind = in.number();
  if (kind > uint64_t(Kind::Bye))
    return std::nullopt;
  message.kind = static_cast<Kind>(kind);
  message.number = in.number();
  switch (message.kind) {
  case Kind::Hello:
    message.threads = static_cast<uint32_t>(in.number());
    message.process = in.number();
    [[fallthrough]];
  case Kind::Begin:
  case Kind::Ready:
  case Kind::Failed:
    message.text = in.words();
    break;
  case Kind::Work: {
    message.chunk = in.number();
    uint64_t query = in.number();
    in.good &= query < kNumEvaluationQueries;
    message.task.query = static_cast<EvaluationTask::Query>(query % kNumEvaluationQueries);
    message.task.level = in.number();
    message.task.below = in.real();
    message.boxes.resize(in.length(16));
    for (DesignBox &box : message.boxes) {
      box.low = in.design();
      box.high = in.design();
    }
    break;
  }
  case Kind::Answer:
    message.chunk = in.number();
    message.results.resize(in.length(16));
    for (DesignEvaluation &answer : message.results) {
      answer.value = in.real();
      answer.lowerBound = in.real();
    }
    break;
  case Kind::End:
    message.result = resultFrom(in);
    break;
  case Kind::Bye:
    break;
  }
  if (!in.good || !in.text.empty())
    return std::nullopt;
  return message;
}

} // namespace accord
