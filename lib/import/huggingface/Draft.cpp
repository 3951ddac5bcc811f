#include "lib/import/huggingface/Draft.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

/// Tokens of a sample where the configuration only says how many positions the model could tell apart.
constexpr int64_t kLength = 8192;

const std::vector<llvm::StringRef> kGelu = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"};

void Draft::size(const std::string &name, int64_t value, const std::string &from) {
  sizes.push_back({name, std::to_string(value), from});
}

int64_t Draft::take(Config &c, const char *name, llvm::ArrayRef<llvm::StringRef> keys) {
  int64_t value = c.integer(keys);
  size(name, value, keys.front().str());
  return value;
}

int64_t Draft::length(Config &c, const char *name, int64_t positions, const std::string &from, bool learned) {
  lengths.push_back(name);
  auto given = options.sizes.find(name);
  if (given != options.sizes.end()) {
    if (learned && given->second > positions)
      c.unsupported(from, fmt::format("{} = {} is more than the {} positions that the model has a row for", name,
                                      given->second, positions));
    size(name, given->second, "as asked for");
    return given->second;
  }
  int64_t length = std::min(positions, kLength);
  size(name, length, length == positions ? from : fmt::format("at most {}", from));
  if (length < positions)
    note(fmt::format("'{}' is how many positions the model can tell apart, {}, and no length of training: {} = {}, "
                     "unless --size {}=N says another one",
                     from, positions, name, length, name));
  return length;
}

void Draft::note(const std::string &text) {
  if (!llvm::is_contained(said, text))
    said.push_back(text);
}

void Draft::checkLengths(Config &c) const {
  for (const auto &[name, value] : options.sizes)
    if (!llvm::is_contained(lengths, name))
      c.unsupported("model_type", fmt::format("--size {}={}: the model has no length of this name, {}", name, value,
                                              lengths.empty() ? "and none to choose"
                                                              : fmt::format("only '{}'", fmt::join(lengths, "', '"))));
}

std::string readable(const std::vector<std::string> &keys) {
  std::vector<std::string> all;
  llvm::transform(keys, std::back_inserter(all), shown);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string Draft::text(const std::string &type, const std::string &unread) const {
  std::string out = fmt::format("/// {}: {}\n/// Imported from a config.json of Hugging Face "
                                "transformers with model_type \"{}\"; its sizes are\n",
                                options.name, sentence, type);
  std::vector<std::string> parameters, origins;
  for (const auto &[key, value, from] : sizes) {
    parameters.push_back(key + " = " + value);
    origins.push_back(key == from ? key : key + " = " + from);
  }
  std::string line = "///";
  for (const std::string &origin : origins) {
    if (line.size() + origin.size() > 96) {
      out += line + "\n";
      line = "///";
    }
    line += " " + origin + (&origin == &origins.back() ? "." : ",");
  }
  out += line + "\n";
  for (const std::string &one : said)
    out += fmt::format("// Note: {}.\n", one);
  if (!unread.empty())
    out += fmt::format("// Not understood and left out: {}.\n", unread);
  out += fmt::format("import \"{}\"\n\n", imported);
  std::string lines = body;
  for (const auto &[key, value] : llvm::reverse(replaced)) // longer names first
    for (size_t at; (at = lines.find("$" + key)) != std::string::npos;)
      lines.replace(at, key.size() + 1, value);
  return out + fmt::format("model {}({}) {{\n{}}}\n", options.name, fmt::join(parameters, ", "), lines);
}

void ignoreUsual(Config &c) {
  c.ignore({"_name_or_path", "architectures",       "bos_token_id", "eos_token_id",
            "pad_token_id",  "torch_dtype",         "dtype",        "transformers_version",
            "use_cache",     "initializer_range",   "id2label",     "label2id",
            "output_past",   "tokenizer_class",     "model_type",   "tie_word_embeddings",
            "problem_type",  "word_embed_proj_dim", "auto_map",     "is_encoder_decoder",
            "sep_token_id"});
}

void noteUnread(Draft &d, Config &inner, llvm::StringRef key) {
  ignoreUsual(inner);
  if (std::vector<std::string> unread = inner.unread(); !unread.empty())
    d.note(fmt::format("not understood in '{}' and left out: {}", key.str(), readable(unread)));
}

void addTokens(Draft &d) { d.add("input tokens : int32[seq]\ninput labels : int32[seq]"); }

void embed(Draft &d, bool tied, const std::string &factor) {
  std::string rows = tied ? "embedding(tokens, rows = vocab, dim = hidden, table = word_embeddings)"
                          : "embedding(tokens, rows = vocab, dim = hidden)";
  if (tied)
    d.add("let word_embeddings = parameter([vocab, hidden])");
  d.add(fmt::format("var x = {}", factor.empty() ? rows : fmt::format("scale({}, factor = {})", rows, factor)));
}

void head(Draft &d, const std::string &last, bool tied, const std::string &cap) {
  std::string logits =
      fmt::format("linear({}, out = vocab, bias = false{})", last, tied ? ", weight = word_embeddings" : "");
  if (!cap.empty())
    logits = fmt::format("scale(tanh(scale({}, factor = 1 / {})), factor = {})", logits, cap, cap);
  d.add(fmt::format("loss cross_entropy({}, labels)", logits));
}

std::string learnedPositions(int64_t positions, int64_t length, int64_t skipped, const char *name) {
  if (length == positions && skipped == 0)
    return fmt::format("parameter([{}, hidden])", name);
  return fmt::format("slice(parameter([{}, hidden]), axis = 0, start = {}, size = {})", positions + skipped, skipped,
                     name);
}

void refuseActivation(Config &c, llvm::StringRef key, llvm::StringRef missing, llvm::ArrayRef<llvm::StringRef> known) {
  std::string activation = c.text(key, missing);
  if (!llvm::is_contained(known, activation))
    c.unsupported(key, fmt::format("the activation '{}' is not supported, expected '{}'", activation,
                                   fmt::join(known, "' or '")));
}

void takeHeads(Config &c, Draft &d, llvm::ArrayRef<llvm::StringRef> keys, llvm::ArrayRef<llvm::StringRef> widths,
               const char *name) {
  int64_t heads = d.take(c, name, keys);
  auto stated = [&](llvm::ArrayRef<llvm::StringRef> all) {
    const llvm::StringRef *found = llvm::find_if(all, [&](llvm::StringRef key) { return c.has(key); });
    return (found == all.end() ? all.front() : *found).str();
  };
  int64_t width = c.integer(widths);
  c.expect(width % heads == 0, stated(keys), fmt::format("a divisor of '{}', {}", stated(widths), width));
}

void blockSizes(Config &c, Draft &d, const char *inner) {
  d.take(c, "layers", {"num_hidden_layers"});
  d.take(c, "hidden", {"hidden_size"});
  takeHeads(c, d, {"num_attention_heads"}, {"hidden_size"});
  d.take(c, "inner", {inner});
}

std::string attentionModule(Config &c, Draft &d, llvm::StringRef dropout) {
  for (llvm::StringRef key : {"attn_implementation", "_attn_implementation"}) {
    std::string kind = c.text(key, "sdpa");
    if (kind == "eager")
      return "attention";
    if (!llvm::StringRef(kind).starts_with("sdpa") && !llvm::StringRef(kind).contains("flash") &&
        kind != "flex_attention")
      c.unsupported(key,
                    fmt::format("the attention '{}' is not known, expected 'eager', 'sdpa', 'flash_attention_2' or "
                                "'flex_attention'",
                                kind));
  }
  if (std::string rate = c.rate(dropout, 0); rate != "0")
    d.note(fmt::format("'{}', {}, is left out: attention in one kernel keeps no scores that the text could drop; "
                       "\"attn_implementation\": \"eager\" keeps them",
                       dropout.str(), rate));
  return "fused_attention";
}

std::string dropOf(const std::string &module) { return module == "attention" ? ", drop = $drop" : ""; }

std::string rotaryBase(Config &c, Draft &d, llvm::StringRef key, double missing) {
  const llvm::json::Object *parameters = c.object("rope_parameters"), *scaling = c.object("rope_scaling");
  std::string kind;
  std::vector<const llvm::json::Object *> all = {parameters, scaling};
  for (llvm::StringRef name : {"full_attention", "sliding_attention"}) // each with its own
    all.push_back(parameters ? parameters->getObject(name) : nullptr);
  for (const llvm::json::Object *one : all)
    for (llvm::StringRef name : {"rope_type", "type"})
      if (auto text = one ? one->getString(name) : std::nullopt; text && *text != "default")
        kind = shown(text->str());
  if (!kind.empty())
    d.note(fmt::format("rotary positions are scaled ('{}'), which changes their angles and no cost: left out", kind));
  std::string base = parameters && parameters->get(key) ? c.numberIn(parameters, key, missing) : c.number(key, missing);
  double value = 0;
  if (llvm::StringRef(base).getAsDouble(value) || value <= 1)
    c.unsupported(key, fmt::format("rotary positions need a base above 1, found {}", base));
  return base;
}

} // namespace accord::import
