#include "lib/microarchitecture/search/ScheduleText.h"
#include "lib/microarchitecture/text/Tokens.h"
#include "lib/support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxNumber = int64_t(1) << 46;

int64_t chunkOf(const Schedule &schedule, Index loop) {
  if (schedule.isTiled()) {
    for (int i = 0; i < 3; ++i)
      if (schedule.tileLoops[i] == loop)
        return schedule.tile[i];
    return 1;
  }
  return loop == schedule.vectorLoop ? std::max(schedule.lanes, 1) : 1;
}
/// What the kernel makes of a block.
int64_t blockOf(const Schedule &schedule, Index loop) {
  const int64_t chunk = chunkOf(schedule, loop);
  const int64_t said = size_t(loop) < schedule.block.size() ? schedule.block[loop] : 0;
  return std::max<int64_t>(said / chunk, 1) * chunk;
}

/// One entry: `key(loops) = values`, or `key = word`.
struct Entry {
  Token key;
  std::vector<std::pair<Index, TextPlace>> loops;
  std::vector<std::pair<int64_t, TextPlace>> numbers;
  std::vector<Token> words;
};

class ScheduleParser {
public:
  ScheduleParser(StringRef text, const std::string &file, const std::string &name,
                 const std::vector<ContractionLoop> &loops)
      : file(file), name(name), loops(loops), all(tokens(text, file, false, errors)) {}

  /// Reads all entries; `isKnown` says of each key what is behind it.
  enum class Form : uint8_t { None, Names, Word, Number, LoopNumbers };
  template <class FormOf> bool read(FormOf formOf, const char *keys) {
    skipLines();
    start = token().place;
    if (!token().isWord("schedule"))
      return expected("'schedule'"), false;
    next();
    if (!sign('{', "'{'"))
      return false;
    for (;;) {
      while (token().kind == Token::Kind::Line || token().is(';'))
        next();
      if (token().is('}'))
        break;
      if (!entry(formOf, keys))
        return false;
    }
    next(), skipLines();
    if (token().kind != Token::Kind::End)
      expected("nothing behind the schedule");
    return errors.empty();
  }

  void error(TextPlace place, std::string message, Code code = Code::NotMapped, std::string suggestion = "") {
    if (errors.size() < 100)
      errors.push_back({code, std::move(message), {file, place.line, place.column}, {}, std::move(suggestion)});
  }
  const Entry *find(StringRef key, size_t number = 0) const {
    for (const Entry &entry : entries)
      if (entry.key.text == key && number-- == 0)
        return &entry;
    return nullptr;
  }

  const std::string &file, &name;
  const std::vector<ContractionLoop> &loops;
  Errors errors;
  std::vector<Entry> entries;
  TextPlace start;

private:
  const Token &token() const { return all[at]; }
  void next() { at += at + 1 < all.size(); }
  void skipLines() {
    while (token().kind == Token::Kind::Line)
      next();
  }
  void expected(const std::string &allowed) {
    error(token().place, fmt::format("found {}; allowed here: {}", found(token()), allowed), Code::SyntaxError);
  }
  bool sign(char wanted, const char *allowed) {
    if (!token().is(wanted))
      return expected(allowed), false;
    next();
    return true;
  }

  template <class FormOf> bool entry(FormOf formOf, const char *keys) {
    Entry made;
    made.key = token();
    const Form form = made.key.kind == Token::Kind::Word ? formOf(made.key.text) : Form::None;
    if (form == Form::None)
      return expected(fmt::format("{} or '}}'", keys)), false;
    next();
    if (form == Form::LoopNumbers && !loopList(made, '(', ')'))
      return false;
    if (!sign('=', "'='"))
      return false;
    const bool isRead = form == Form::Names  ? loopList(made, '[', ']')
                        : form == Form::Word ? word(made)
                                             : numbers(made, form == Form::LoopNumbers);
    if (!isRead)
      return false;
    if (token().kind != Token::Kind::Line && !token().is(';') && !token().is('}'))
      return expected("the end of the line, ';' or '}'"), false;
    for (const Entry &other : entries)
      if (other.key.text == made.key.text && sameLoops(other, made))
        error(made.key.place, fmt::format("'{}' is said twice", made.key.text), Code::DuplicateName);
    entries.push_back(std::move(made));
    return true;
  }
  /// Whether two entries of a key say something of the same.
  static bool sameLoops(const Entry &a, const Entry &b) {
    if (a.key.text != "tile" && a.key.text != "block")
      return true;
    return !a.loops.empty() && !b.loops.empty() && a.loops[0].first == b.loops[0].first;
  }

  bool loopList(Entry &into, char open, char close) {
    if (!sign(open, open == '(' ? "'(' and the loop" : "'[' and loops"))
      return false;
    const std::string behind = fmt::format("',' or '{}'", close);
    while (!token().is(close)) {
      if (!token().isName())
        return expected("the name of a loop"), false;
      const auto loop = find_if(loops, [&](const ContractionLoop &of) { return StringRef(of.name) == token().text; });
      if (loop == loops.end()) {
        std::vector<std::string> names;
        for (const ContractionLoop &of : loops)
          names.push_back(of.name);
        error(token().place, fmt::format("'{}' has no loop '{}'", name, token().text), Code::NotMapped,
              nearest(token().text, names));
        into.loops.push_back({kNone, token().place});
      } else {
        into.loops.push_back({Index(loop - loops.begin()), token().place});
      }
      next();
      if (token().is(','))
        next();
      else if (!token().is(close))
        return expected(behind), false;
    }
    next();
    return true;
  }
  bool word(Entry &into) {
    if (!token().isName())
      return expected("a word"), false;
    into.words.push_back(token());
    next();
    return true;
  }
  bool number(Entry &into) {
    if (token().kind != Token::Kind::Number)
      return expected("a number"), false;
    if (token().value < 1 || token().value > uint64_t(kMaxNumber))
      error(token().place, fmt::format("'{}' is {}, not from 1 to 2^46", into.key.text, token().text));
    into.numbers.push_back({int64_t(std::min<uint64_t>(token().value, kMaxNumber)), token().place});
    next();
    return true;
  }
  bool numbers(Entry &into, bool mayBeList) {
    if (!mayBeList || !token().is('['))
      return number(into);
    next();
    while (!token().is(']')) {
      if (!number(into))
        return false;
      if (token().is(','))
        next();
      else if (!token().is(']'))
        return expected("',' or ']'"), false;
    }
    next();
    return true;
  }

  std::vector<Token> all;
  size_t at = 0;
};

/// `key(l) = number` of one loop.
bool isSingle(ScheduleParser &parser, const Entry &entry) {
  if (entry.loops.size() == 1 && entry.numbers.size() == 1)
    return entry.loops[0].first != kNone;
  parser.error(entry.key.place, fmt::format("'{}' is of one loop and has one number", entry.key.text));
  return false;
}

void shape(ScheduleParser &parser, Schedule &made) {
  if (const Entry *lanes = parser.find("lanes"); lanes && isSingle(parser, *lanes)) {
    if (lanes->numbers[0].first > 1 << 20)
      parser.error(lanes->numbers[0].second, fmt::format("'lanes' is {}, not from 1 to 2^20", lanes->numbers[0].first));
    made.vectorLoop = lanes->loops[0].first, made.lanes = int32_t(std::min<int64_t>(lanes->numbers[0].first, 1 << 20));
  }
  if (const Entry *product = parser.find("product")) {
    if (parser.find("lanes"))
      parser.error(product->key.place, "a schedule has 'lanes' or 'product', not both");
    if (product->loops.size() != 3 || product->numbers.size() != 3)
      return parser.error(product->key.place,
                          "'product' is of three loops, of rows, columns and what is summed, and has "
                          "three numbers");
    for (int i = 0; i < 3; ++i) {
      const auto [loop, place] = product->loops[i];
      const auto [number, where] = product->numbers[i];
      if (loop != kNone && is_contained(made.tileLoops, loop))
        parser.error(place, fmt::format("'product' names '{}' twice", parser.loops[loop].name));
      if (number > 1 << 15)
        parser.error(where, fmt::format("a tile has {} elements along '{}', not from 1 to 2^15", number,
                                        loop == kNone ? "" : parser.loops[loop].name));
      made.tileLoops[i] = loop, made.tile[i] = int32_t(std::min<int64_t>(number, 1 << 15));
    }
  }
  if (const Entry *preload = parser.find("preload")) {
    made.preloads = true;
    if (preload->words[0].text != "second")
      parser.error(preload->words[0].place, fmt::format("found {}; allowed here: 'second'", found(preload->words[0])),
                   Code::SyntaxError);
  }
  if (const Entry *ahead = parser.find("ahead")) {
    const auto [number, place] = ahead->numbers[0];
    if (number > 1 << 12)
      parser.error(place, fmt::format("'ahead' is {}, not from 1 to 2^12", number));
    made.ahead = int16_t(std::min<int64_t>(number, 1 << 12));
  }
}

void multipleOf(ScheduleParser &parser, const Schedule &made, const char *what, Index loop, int64_t number,
                TextPlace place) {
  if (const int64_t chunk = chunkOf(made, loop); chunk > 0 && number % chunk != 0)
    parser.error(place, fmt::format("{} of {} of '{}' is no multiple of the {} that one instruction covers", what,
                                    number, parser.loops[loop].name, chunk));
}

void levels(ScheduleParser &parser, Schedule &made) {
  for (size_t i = 0; const Entry *block = parser.find("block", i); ++i)
    if (isSingle(parser, *block)) {
      made.block.resize(parser.loops.size(), 0);
      const Index loop = block->loops[0].first;
      made.block[loop] = block->numbers[0].first;
      multipleOf(parser, made, "a block", loop, made.block[loop], block->numbers[0].second);
    }
  std::map<Index, std::pair<const Entry *, size_t>> steps; // and how many of them are taken
  for (size_t i = 0; const Entry *tile = parser.find("tile", i); ++i) {
    if (tile->loops.size() != 1 || tile->numbers.empty())
      parser.error(tile->key.place, "'tile' is of one loop and has a number for each of its levels");
    else if (tile->loops[0].first != kNone)
      steps[tile->loops[0].first] = {tile, 0};
  }
  std::map<Index, int64_t> last;
  if (const Entry *order = parser.find("order"))
    for (auto [loop, place] : order->loops) {
      if (loop == kNone)
        continue;
      int64_t step = blockOf(made, loop);
      if (auto of = steps.find(loop); of != steps.end() && of->second.second < of->second.first->numbers.size()) {
        std::tie(step, place) = of->second.first->numbers[of->second.second++];
        multipleOf(parser, made, "a step", loop, step, place);
      }
      if (auto before = last.find(loop); before != last.end() && before->second <= step)
        parser.error(place,
                     fmt::format("a level of '{}' has a step of {}, which is not below the {} of the one outside",
                                 parser.loops[loop].name, step, before->second));
      last[loop] = step;
      made.levels.push_back({loop, step});
    }
  for (const auto &[loop, of] : steps)
    if (of.second < of.first->numbers.size())
      parser.error(of.first->numbers[of.second].second,
                   fmt::format("'order' has {} levels of '{}', and 'tile' says {} steps", of.second,
                               parser.loops[loop].name, of.first->numbers.size()));
}

std::string numbersText(const std::vector<int64_t> &numbers) {
  return numbers.size() == 1 ? std::to_string(numbers[0]) : fmt::format("[{}]", fmt::join(numbers, ", "));
}

} // namespace

Result<Schedule, Errors> parseSchedule(StringRef text, const std::string &file, const Contraction &of) {
  using Form = ScheduleParser::Form;
  ScheduleParser parser(text, file, of.name, of.loops);
  auto form = [](StringRef key) {
    return key == "order"                                                          ? Form::Names
           : key == "preload"                                                      ? Form::Word
           : key == "ahead"                                                        ? Form::Number
           : key == "tile" || key == "block" || key == "lanes" || key == "product" ? Form::LoopNumbers
                                                                                   : Form::None;
  };
  Schedule made;
  if (parser.read(form, "'order', 'tile', 'block', 'lanes', 'product', 'preload', 'ahead'"))
    shape(parser, made);
  if (parser.errors.empty())
    levels(parser, made);
  if (parser.errors.empty())
    if (auto kernel = contractionKernel(of, made); !kernel) {
      Error refused = kernel.takeError();
      refused.location = {file, parser.start.line, parser.start.column};
      parser.errors.push_back(std::move(refused));
    }
  if (!parser.errors.empty())
    return std::move(parser.errors);
  return made;
}

Result<RowSchedule, Errors> parseRowSchedule(StringRef text, const std::string &file, const RowOperation &of) {
  using Form = ScheduleParser::Form;
  ScheduleParser parser(text, file, of.name, of.loops);
  auto form = [](StringRef key) {
    return key == "lanes" ? Form::LoopNumbers : key == "unroll" ? Form::Number : Form::None;
  };
  RowSchedule made;
  if (parser.read(form, "'lanes', 'unroll'")) {
    Schedule lanes;
    shape(parser, lanes);
    made.vectorLoop = lanes.vectorLoop, made.lanes = lanes.lanes;
    if (const Entry *unroll = parser.find("unroll")) {
      made.unroll = unroll->numbers[0].first;
      if (made.unroll > 1 << 12)
        parser.error(unroll->numbers[0].second, fmt::format("'unroll' is {}, not from 1 to 2^12", made.unroll));
    }
  }
  if (parser.errors.empty())
    if (auto kernel = rowKernel(of, made); !kernel) {
      Error refused = kernel.takeError();
      refused.location = {file, parser.start.line, parser.start.column};
      parser.errors.push_back(std::move(refused));
    }
  if (!parser.errors.empty())
    return std::move(parser.errors);
  return made;
}

std::string printSchedule(const Schedule &schedule, const Contraction &of) {
  std::string text = "schedule {\n";
  auto nameOf = [&](Index loop) { return nameText(of.loops[loop].name); };
  std::map<Index, std::vector<int64_t>> steps;
  std::vector<std::string> order;
  const size_t pieces = schedule.staged[0].storage == kNone ? 0 : size_t(schedule.staged[0].level);
  for (size_t i = pieces; i < schedule.levels.size(); ++i) {
    const Schedule::Level &level = schedule.levels[i];
    order.push_back(nameOf(level.loop)), steps[level.loop].push_back(level.step);
  }
  if (!order.empty())
    text += fmt::format("  order = [{}]\n", fmt::join(order, ", "));
  for (auto &[loop, of] : steps) {
    while (!of.empty() && of.back() == blockOf(schedule, loop))
      of.pop_back();
    if (!of.empty())
      text += fmt::format("  tile({}) = {}\n", nameOf(loop), numbersText(of));
  }
  for (size_t l = 0; l < schedule.block.size(); ++l)
    if (schedule.block[l] > 0)
      text += fmt::format("  block({}) = {}\n", nameOf(Index(l)), schedule.block[l]);
  if (schedule.isTiled())
    text += fmt::format("  product({}, {}, {}) = [{}]\n", nameOf(schedule.tileLoops[0]), nameOf(schedule.tileLoops[1]),
                        nameOf(schedule.tileLoops[2]), fmt::join(schedule.tile, ", "));
  else if (schedule.vectorLoop != kNone)
    text += fmt::format("  lanes({}) = {}\n", nameOf(schedule.vectorLoop), schedule.lanes);
  if (schedule.preloads)
    text += "  preload = second\n";
  if (schedule.ahead > 0)
    text += fmt::format("  ahead = {}\n", schedule.ahead);
  return text + "}\n";
}

std::string printSchedule(const RowSchedule &schedule, const RowOperation &of) {
  std::string text = "schedule {\n";
  if (schedule.vectorLoop != kNone)
    text += fmt::format("  lanes({}) = {}\n", nameText(of.loops[schedule.vectorLoop].name), schedule.lanes);
  if (schedule.unroll > 1)
    text += fmt::format("  unroll = {}\n", schedule.unroll);
  return text + "}\n";
}

} // namespace accord::microarchitecture
