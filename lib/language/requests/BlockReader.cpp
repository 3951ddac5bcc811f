#include "lib/language/requests/BlockReader.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {

namespace {
constexpr unsigned kMaxBits = 128; ///< of a share that a file states
constexpr int64_t kMaxSamples = int64_t(1) << 53;
} // namespace

Constants membersOf(const Constant &value) {
  auto *choice = value.as<Choice>();
  return choice && choice->kind == Choice::Kind::Set ? *choice->members : Constants{value};
}

SourceLocation BlockReader::place(SourceRange range) const { return diags.sources().location(range); }

std::string BlockReader::beside(llvm::StringRef path, SourceRange at) const {
  if (llvm::sys::path::is_absolute(path))
    return path.str();
  llvm::SmallString<256> full(llvm::sys::path::parent_path(diags.sources().path(at.file)));
  llvm::sys::path::append(full, path);
  return full.str().str();
}

bool BlockReader::once(const ast::Name &key) {
  auto [it, isNew] = seen.try_emplace(key.text, key.range);
  if (!isNew)
    diags.error(Code::DuplicateKey, key.range, fmt::format("'{}' is given twice", key.text))
        .note(it->second, "the first time");
  return isNew;
}

void BlockReader::unknown(const ast::Name &key, const std::vector<std::string> &known, bool pair) {
  if (llvm::is_contained(known, key.text)) {
    diags.error(Code::WrongType, key.range,
                pair ? fmt::format("'{}' is not given with '='", key.text)
                     : fmt::format("'{}' is given as '{} = …'", key.text, key.text));
    return;
  }
  diags.error(Code::UnknownKey, key.range, fmt::format("{} has no '{}'", what, key.text))
      .suggest(nearest(key.text, known))
      .help(fmt::format("{} has {}", what, fmt::join(known, ", ")));
}

void BlockReader::read(const ast::KeyValue &pair, const ast::Entry &entry, const KeyReaders &readers) {
  clauses(entry, kNoClause);
  if (!once(pair.key))
    return;
  Constant read = value(*pair.value);
  if (!read.failed())
    readers.at(pair.key.text)(read);
}

void BlockReader::clauses(const ast::Entry &entry, unsigned allowed) {
  const ast::Clauses &given = entry.clauses();
  auto check = [&](const char *word, bool there, unsigned bit, SourceRange at) {
    if (there && !(allowed & bit))
      diags.error(Code::UnexpectedClause, at, fmt::format("no '{}' belongs here", word));
  };
  auto rangeOf = [&](const ast::ExprPtr &expr) { return expr ? expr->range : entry.range; };
  check("from", given.from.has_value(), kFrom, given.fromRange);
  check("samples", given.samples != nullptr, kSamples, rangeOf(given.samples));
  check("confidence", given.confidence != nullptr, kConfidence, rangeOf(given.confidence));
  check("error", given.error != nullptr, kError, rangeOf(given.error));
  check("transposable", given.transposable, kTransposable, entry.range);
  check("source", given.source.has_value(), 0, given.sourceRange);
  check("per", given.per != nullptr, 0, rangeOf(given.per));
  check("weight", given.weight != nullptr, 0, rangeOf(given.weight));
}

std::optional<Rational> BlockReader::number(const Constant &value, llvm::StringRef name, const Rational &min,
                                            const Rational &max, bool open) {
  if (value.failed())
    return std::nullopt;
  auto *number = value.as<Quantity>();
  if (!number) {
    diags.error(Code::WrongType, value.range, fmt::format("'{}' is a number, not {}", name.str(), value.describe()));
    return std::nullopt;
  }
  if (!number->dimensionless()) {
    diags.error(Code::UnexpectedUnit, value.range,
                fmt::format("'{}' is a plain number, but this is a {}", name.str(), describe(number->dimension)));
    return std::nullopt;
  }
  const Rational &v = number->value;
  if (v < min || max < v || (open && (v == min || v == max))) {
    diags.error(
        Code::OutOfRange, value.range,
        open ? fmt::format("'{}' is above {} and below {}, but this is {}", name.str(), min.print(), max.print(),
                           number->print())
             : fmt::format("'{}' is {} to {}, but this is {}", name.str(), min.print(), max.print(), number->print()));
    return std::nullopt;
  }
  if (v.bits() > kMaxBits) {
    diags.error(Code::OutOfRange, value.range,
                fmt::format("'{}' has more digits than can be computed with: at most {} bits", name.str(), kMaxBits));
    return std::nullopt;
  }
  return v;
}

std::optional<Rational> BlockReader::time(const Constant &value, llvm::StringRef name, int64_t hours) {
  if (value.failed())
    return std::nullopt;
  auto *number = value.as<Quantity>();
  if (!number || number->dimension != Dimension::of(Base::Second)) {
    diags
        .error(!number                   ? Code::WrongType
               : number->dimensionless() ? Code::MissingUnit
                                         : Code::WrongDimension,
               value.range, fmt::format("'{}' is a time, not {}", name.str(), value.describe()))
        .help("for example 50 ms");
    return std::nullopt;
  }
  constexpr int64_t kHour = 3600;
  if (number->value.sign() < 0 || number->value > Rational(hours * kHour)) {
    diags.error(Code::OutOfRange, value.range,
                fmt::format("'{}' is 0 to {} h, but this is {}", name.str(), hours, number->print()));
    return std::nullopt;
  }
  return number->value;
}

std::optional<int64_t> BlockReader::integer(const Constant &value, llvm::StringRef name, int64_t min, int64_t max) {
  if (value.failed())
    return std::nullopt;
  if (value.as<Choice>()) {
    diags.error(Code::ChoiceNotAllowed, value.range, fmt::format("'{}' is one number, no choice", name.str()));
    return std::nullopt;
  }
  auto list = integersOf(value, diags, name, min);
  if (!list)
    return std::nullopt;
  if (list->front() > max) {
    diags.error(Code::OutOfRange, value.range,
                fmt::format("'{}' is at most {}, but this is {}", name.str(), max, list->front()));
    return std::nullopt;
  }
  return list->front();
}

std::string BlockReader::word(const Constant &value, llvm::StringRef name, const std::vector<std::string> &known) {
  if (value.failed())
    return "";
  auto *word = value.as<Word>();
  if (word && llvm::is_contained(known, word->text))
    return word->text;
  diags
      .error(Code::UnknownChoice, value.range,
             fmt::format("'{}' is one of {}, not {}", name.str(), fmt::join(known, ", "), value.describe()))
      .suggest(nearest(word ? word->text : "", known));
  return "";
}

std::optional<std::string> BlockReader::text(const Constant &value, llvm::StringRef name) {
  if (auto *text = value.as<ast::Text>(); text && !text->value.empty())
    return text->value;
  if (!value.failed())
    diags
        .error(Code::WrongType, value.range,
               value.as<ast::Text>() ? fmt::format("'{}' names no file", name.str())
                                     : fmt::format("'{}' is the name of a file, not {}", name.str(), value.describe()))
        .help("for example \"measured.csv\"");
  return std::nullopt;
}

int64_t BlockReader::samples(const ast::Entry &entry) {
  const ast::ExprPtr &stated = entry.clauses().samples;
  return stated ? integer(value(*stated), "samples", 1, kMaxSamples).value_or(0) : 0;
}

double BlockReader::confidence(const ast::Entry &entry) {
  const ast::ExprPtr &stated = entry.clauses().confidence;
  if (!stated)
    return 0;
  auto share = number(value(*stated), "confidence", 0, 1, /*open=*/true);
  return share ? share->toDouble() : 0;
}

void BlockReader::rule(const ast::Entry &entry, const ast::Rule &rule, const std::vector<RequirementSpec> &specs,
                       llvm::function_ref<void(const Limit &)> require,
                       llvm::function_ref<void(bool maximize)> objective) {
  if (rule.kind == ast::RuleKind::Prefer) {
    diags.error(Code::NotSupported, entry.range, "not supported yet: 'prefer' in " + what)
        .help("use 'require' or an objective");
  } else if (rule.kind == ast::RuleKind::Require) {
    clauses(entry, kConfidence);
    double stated = confidence(entry);
    if (auto asked = limit(entry, rule, specs))
      require({asked->first, asked->second, stated});
  } else {
    clauses(entry, kNoClause);
    if (objectiveAt.valid()) {
      diags.error(Code::SeveralObjectives, entry.range, what + " has one objective")
          .note(objectiveAt, "the first is here");
      return;
    }
    objectiveAt = entry.range;
    objective(rule.kind == ast::RuleKind::Maximize);
  }
}

std::optional<std::pair<std::string, Rational>> BlockReader::limit(const ast::Entry &entry, const ast::Rule &rule,
                                                                   const std::vector<RequirementSpec> &specs) {
  Constant condition = value(*rule.expr);
  if (condition.failed())
    return std::nullopt;
  auto exampleOf = [](const RequirementSpec &form) {
    return fmt::format("for example: require {} {} {}", form.name, form.atLeast ? ">=" : "<=", form.example);
  };
  auto *call = condition.as<CallValue>();
  const Constant *left = nullptr, *right = nullptr;
  bool below = false, above = false;
  if (call && call->arguments.size() == 2) {
    left = call->arguments[0].second.get();
    right = call->arguments[1].second.get();
    below = call->name == "<=" || call->name == "<";
    above = call->name == ">=" || call->name == ">";
  }
  if (!below && !above) {
    diags
        .error(Code::NotAConstraint, condition.range,
               fmt::format("a constraint compares two values, but this is {}", condition.describe()))
        .help(exampleOf(specs.front()));
    return std::nullopt;
  }
  if (!left->as<Word>() && right->as<Word>()) {
    std::swap(left, right);
    std::swap(below, above);
  }
  auto *word = left->as<Word>();
  std::vector<std::string> names, quoted;
  for (const RequirementSpec &form : specs) {
    names.push_back(form.name);
    quoted.push_back("'" + form.name + "'");
  }
  auto form = llvm::find_if(specs, [&](const RequirementSpec &one) { return word && one.name == word->text; });
  if (form == specs.end()) {
    diags
        .error(Code::UnknownName, left->range,
               fmt::format("{} requires {}{}, not {}", what, fmt::join(quoted, " or "),
                           specs.size() == 1 ? " alone" : "", left->describe()))
        .suggest(nearest(word ? word->text : "", names))
        .help(exampleOf(specs.front()));
    return std::nullopt;
  }
  if (above != form->atLeast || call->name == "<" || call->name == ">") {
    diags
        .error(Code::NotAConstraint, condition.range,
               fmt::format("'{}' is required to be {} a value", form->name, form->atLeast ? "at least" : "at most"))
        .help(exampleOf(*form));
    return std::nullopt;
  }
  if (auto [first, isNew] = required.try_emplace(form->name, entry.range); !isNew) {
    diags.error(Code::DuplicateKey, entry.range, fmt::format("{} requires '{}' once", what, form->name))
        .note(first->second, "the first is here");
    return std::nullopt;
  }
  std::optional<Rational> limit;
  if (form->isTime)
    limit = time(*right, form->name);
  else if (form->max == 0)
    limit = number(*right, form->name, 0, 1);
  else if (auto whole = integer(*right, form->name, 0, form->max))
    limit = Rational(*whole);
  return limit ? std::optional(std::pair(form->name, *limit)) : std::nullopt;
}

CallArguments::CallArguments(BlockReader &reader, const CallValue &call, SourceRange at, std::vector<std::string> names,
                             std::vector<std::string> flags)
    : reader(reader), function(call.name), at(at) {
  size_t place = 0;
  bool named = false;
  auto report = [&](Code code, SourceRange range, std::string message) {
    isGood = false;
    return reader.diags.error(code, range, std::move(message));
  };
  for (const auto &[name, argument] : call.arguments) {
    auto *word = argument->as<Word>();
    if (name.empty() && word && llvm::is_contained(flags, word->text)) {
      if (!flagged.try_emplace(word->text, argument.get()).second)
        report(Code::DuplicateArgument, argument->range, fmt::format("'{}' is given twice", word->text));
      continue;
    }
    std::string key = name;
    if (name.empty()) {
      if (named || place >= names.size()) {
        auto error =
            report(named ? Code::ArgumentOrder : Code::TooManyArguments, argument->range,
                   named ? fmt::format("this argument of '{}' stands by place after one by name", function)
                         : fmt::format("'{}' has no further argument, but this is {}", function, argument->describe()));
        error.suggest(nearest(word ? word->text : "", flags));
        continue;
      }
      key = names[place++];
    } else {
      named = true;
      if (!llvm::is_contained(names, name)) {
        report(Code::UnknownArgument, argument->range, fmt::format("'{}' has no argument '{}'", function, name))
            .suggest(nearest(name, names));
        continue;
      }
    }
    if (!given.try_emplace(key, argument.get()).second)
      report(Code::DuplicateArgument, argument->range, fmt::format("'{}' is given twice", key));
  }
}

const Constant *CallArguments::get(llvm::StringRef name, bool required) {
  auto found = given.find(name.str());
  if (found != given.end())
    return found->second;
  if (required && isGood) {
    reader.diags.error(Code::MissingArgument, at, fmt::format("'{}' needs '{}'", function, name.str()));
    isGood = false;
  }
  return nullptr;
}

const Constant *CallArguments::flag(llvm::StringRef name) const {
  auto found = flagged.find(name.str());
  return found == flagged.end() ? nullptr : found->second;
}

} // namespace accord
