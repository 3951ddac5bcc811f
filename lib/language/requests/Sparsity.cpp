#include "lib/language/requests/Sparsity.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/language/requests/SparsityPatterns.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/NamePattern.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// Layers of a training, at most; a limit above says nothing.
constexpr int64_t kMaxLayers = 1'000'000;
constexpr int64_t kMaxPeriod = 1'000'000'000;

const std::vector<std::string> kOperands{"weights", "activations", "gradients"};

class SparsityReader {
public:
  SparsityReader(Diagnostics &diags, const Lookup &lookup) : reader(diags, lookup, "a sparsity"), diags(diags) {}
  SparsityRequest out;

  void read(const ast::Declaration &block) {
    const std::vector<std::string> &keys = requestKeyNames("sparsity");
    out.train = block.target.text;
    out.location = reader.place(block.kindRange);
    for (const ast::Entry &entry : block.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      if (auto *rule = entry.as<ast::Rule>())
        readRule(*rule, entry);
      else if (pair)
        readPair(*pair, entry, keys);
      else if (node && llvm::is_contained(kOperands, node->kind.text))
        patterns(*node, entry);
      else if (node && (node->kind.text == "accuracy" || node->kind.text == "sensitivity"))
        measurements(*node, entry);
      else if (node && node->kind.text == "kernels")
        kernels(*node, entry);
      else if (node)
        reader.unknown(node->kind, keys, /*pair=*/false);
      else
        diags.error(Code::UnknownEntryKind, entry.range, "a sparsity has no paths");
    }
    applyRecipe();
    if (!stated)
      diags.error(Code::MissingKey, block.kindRange, fmt::format("sparsity for '{}' says nothing of zeros", out.train))
          .help("for example: weights of * = {nm(2, 4), unstructured(density = 0.5)}");
  }

private:
  void readPair(const ast::KeyValue &pair, const ast::Entry &entry, const std::vector<std::string> &keys) {
    const std::string &key = pair.key.text;
    if (llvm::is_contained(kOperands, key)) {
      stated = true;
      diags.error(Code::MissingArgument, pair.key.range, fmt::format("'{}' does not say of which operations", key))
          .help(fmt::format("'{} of * = …' means all of them", key));
      return;
    }
    if (!llvm::is_contained({"margin", "confidence", "format", "phases", "recipe", "dense_layers", "distribution"},
                            key)) {
      reader.unknown(pair.key, keys, /*pair=*/true);
      return;
    }
    reader.read(
        pair, entry,
        {{"margin",
          [&](const Constant &value) {
            if (auto number = reader.number(value, key, 1, 1000))
              out.margin = number->toDouble();
          }},
         {"confidence",
          [&](const Constant &value) {
            if (auto number = reader.number(value, key, 0, 1, /*open=*/true))
              out.confidence = number->toDouble();
          }},
         {"format", [&](const Constant &value) { out.formats = readFormats(value, reader); }},
         {"recipe", [&](const Constant &value) { recipe(value); }},
         {"dense_layers", [&](const Constant &value) { denseLayers(value); }},
         {"distribution",
          [&](const Constant &value) { out.isErdosRenyi = reader.word(value, key, {"uniform", "erk"}) == "erk"; }},
         {"phases", [&](const Constant &value) {
            out.forwardOnly = reader.word(value, key, {"forward", "training"}) == "forward";
          }}});
  }

  /// `static`, `dynamic` or `dynamic(every = 100)`.
  void recipe(const Constant &value) {
    const std::vector<std::string> known{"static", "dynamic"};
    auto *call = value.as<CallValue>();
    if (!call) {
      const std::string word = reader.word(value, "recipe", known);
      if (!word.empty())
        out.movesMasks = word == "dynamic";
      return;
    }
    if (call->name != "dynamic") {
      diags
          .error(Code::UnknownChoice, value.range,
                 fmt::format("a recipe is static, dynamic or dynamic(every = 100), not {}", value.describe()))
          .suggest(nearest(call->name, known));
      return;
    }
    CallArguments arguments(reader, *call, value.range, {"every"}, {});
    const Constant *every = arguments.good() ? arguments.get("every") : nullptr;
    if (auto steps = every ? reader.integer(*every, "every", 1, kMaxPeriod) : std::nullopt) {
      out.movesMasks = true;
      out.maskPeriod = *steps;
    }
  }

  void denseLayers(const Constant &value) {
    const Constants ends = membersOf(value);
    for (const Constant &one : ends) {
      const std::string word = reader.word(one, "dense_layers", {"none", "first", "last"});
      out.keepsFirstDense |= word == "first", out.keepsLastDense |= word == "last";
      if (word == "none" && ends.size() > 1)
        diags.error(Code::DuplicateArgument, one.range, "'none' stands alone").help("for example: {first, last}");
    }
  }

  /// Masks of weights are as the recipe says; a pattern may not say another thing.
  void applyRecipe() {
    if (!out.movesMasks)
      return;
    const char *other = *out.movesMasks ? "static" : "dynamic";
    for (SparsityRequest::Rule &rule : out.rules) {
      if (rule.of != GemmOperand::Weights)
        continue;
      for (size_t i = 0; i < rule.choices.size(); ++i) {
        if (llvm::StringRef(rule.texts[i]).contains(other))
          diags
              .error(Code::DuplicateArgument, rangeOf(rule.location, diags),
                     fmt::format("{}, and the recipe says {} masks", rule.texts[i],
                                 *out.movesMasks ? "dynamic" : "static"))
              .help("leave it to one of them");
        rule.choices[i].dynamic = *out.movesMasks;
      }
    }
  }

  void kernels(const ast::Node &node, const ast::Entry &entry) {
    reader.clauses(entry, kFrom);
    if (!entry.clauses().from || entry.clauses().from->value.empty() || node.value || node.hasBlock ||
        node.hasArguments || node.count || !node.type.empty()) {
      diags
          .error(Code::MissingArgument, node.kind.range,
                 "'kernels' are read from a file of accord calibrate --operations")
          .help("for example: kernels \"NVIDIA H200\" from \"gpu.operations\"");
      return;
    }
    if (out.kernels) {
      diags.error(Code::DuplicateKey, node.kind.range, "'kernels' are given twice");
      return;
    }
    out.kernels = {node.label ? node.label->value : "",
                   reader.beside(entry.clauses().from->value, entry.clauses().fromRange), reader.place(entry.range)};
  }

  void patterns(const ast::Node &node, const ast::Entry &entry) {
    stated = true;
    reader.clauses(entry, kTransposable);
    if (node.pattern.empty() || !node.value || node.hasBlock || node.hasArguments || node.count || !node.type.empty() ||
        !node.name.empty()) {
      diags
          .error(Code::SyntaxError, node.kind.range,
                 fmt::format("'{}' says of which operations, and how zeros are", node.kind.text))
          .help(fmt::format("for example: {} of block.* = nm(2, 4)", node.kind.text));
      return;
    }
    SparsityRequest::Rule rule;
    rule.of = node.kind.text == "weights"       ? GemmOperand::Weights
              : node.kind.text == "activations" ? GemmOperand::Activations
                                                : GemmOperand::Gradients;
    for (char c : node.pattern.text)
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
        rule.names += c;
    rule.location = reader.place(node.pattern.range);
    readPatterns(reader.value(*node.value), entry.clauses().transposable, rule, reader);
    out.rules.push_back(std::move(rule));
  }

  void measurements(const ast::Node &node, const ast::Entry &entry) {
    bool sensitivity = node.kind.text == "sensitivity";
    reader.clauses(entry, sensitivity ? kFrom : kFrom | kSamples);
    const char *form = sensitivity ? "for example: sensitivity from \"layers.csv\""
                                   : "for example: accuracy \"top1\" from \"measured.csv\" "
                                     "samples 50000";
    if (!entry.clauses().from || entry.clauses().from->value.empty() || (!sensitivity && !node.label) || node.value ||
        node.hasBlock || node.hasArguments || node.count) {
      diags
          .error(Code::MissingArgument, node.kind.range,
                 sensitivity ? "'sensitivity' is read from a file"
                             : "'accuracy' says what was measured, and the file of it")
          .help(form);
      return;
    }
    SparsityRequest::AccuracyMeasurements one;
    one.metric = node.label ? node.label->value : "";
    one.file = reader.beside(entry.clauses().from->value, entry.clauses().fromRange);
    one.location = reader.place(entry.range);
    one.samples = reader.samples(entry);
    if (sensitivity)
      one.kind = SparsityRequest::AccuracyMeasurements::Kind::Sensitivity;
    if (!node.type.empty()) {
      const std::vector<std::string> known =
          sensitivity ? std::vector<std::string>{} : std::vector<std::string>{"measured", "published"};
      if (!llvm::is_contained(known, node.type.text))
        diags
            .error(Code::UnknownChoice, node.type.range,
                   fmt::format("'{}' is no kind of {}", node.type.text, node.kind.text))
            .suggest(nearest(node.type.text, known))
            .help(form);
      else if (node.type.text == "published")
        one.kind = SparsityRequest::AccuracyMeasurements::Kind::Published;
    }
    for (const SparsityRequest::AccuracyMeasurements &earlier : out.measurements)
      if (earlier.file == one.file && earlier.metric == one.metric) {
        diags.error(Code::DuplicateKey, entry.clauses().fromRange, "this file is given twice");
        return;
      }
    out.measurements.push_back(std::move(one));
  }

  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    auto require = [&](const BlockReader::Limit &limit) {
      if (limit.name == "accuracy") {
        out.accuracy = {limit.value, limit.confidence, reader.place(entry.range)};
        return;
      }
      reader.clauses(entry, kNoClause);
      out.sparseLayers = {limit.value.toInt64().value(), reader.place(entry.range)};
    };
    auto objective = [&](bool max) {
      std::vector<std::string> known =
          max ? std::vector<std::string>{"throughput"} : std::vector<std::string>{"step_time", "energy", "memory"};
      std::string word = reader.word(reader.value(*rule.expr), max ? "maximize" : "minimize", known);
      if (!word.empty())
        out.objective = word;
    };
    reader.rule(entry, rule, {{"accuracy", true, "0.74 confidence 0.95"}, {"sparse_layers", false, "6", kMaxLayers}},
                require, objective);
  }

  BlockReader reader;
  Diagnostics &diags;
  bool stated = false;
};
} // namespace

std::optional<SparsityRequest> sparsityRequest(const ast::Declaration &block, Diagnostics &diags,
                                               const Lookup &lookup) {
  size_t before = diags.errors();
  SparsityReader reader(diags, lookup);
  reader.read(block);
  return diags.errors() == before ? std::optional(std::move(reader.out)) : std::nullopt;
}

bool checkRuleNames(const SparsityRequest &request, const std::map<GemmOperand, std::vector<std::string>> &known,
                    Diagnostics &diags) {
  size_t before = diags.errors();
  for (const SparsityRequest::Rule &rule : request.rules) {
    auto names = known.find(rule.of);
    static const std::vector<std::string> none;
    const std::vector<std::string> &all = names == known.end() ? none : names->second;
    if (llvm::any_of(all, [&](const std::string &name) { return matchesPattern(rule.names, name); }))
      continue;
    diags
        .error(Code::UnknownName, rangeOf(rule.location, diags),
               fmt::format("'{}' means no operation whose {} may have zeros", rule.names,
                           kOperands[static_cast<size_t>(rule.of)]))
        .suggest(nearest(rule.names, all));
  }
  return diags.errors() == before;
}

} // namespace accord
