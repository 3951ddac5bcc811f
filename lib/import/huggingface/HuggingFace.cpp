#include "lib/import/huggingface/HuggingFace.h"
#include "lib/import/huggingface/Draft.h"
#include "lib/import/huggingface/Families.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {
using import::Config, import::Draft;

struct Family {
  const char *type;
  import::WriteFamily *write;
};
const Family kFamilies[] = {
    {"bert", import::bert},
    {"bloom", import::bloom},
    {"camembert", import::roberta},
    {"clip", import::clip},
    {"deepseek_v3", import::deepSeek},
    {"falcon", import::falcon},
    {"gemma", import::gemma},
    {"gemma2", import::gemma2},
    {"gemma3", import::gemma3WithImages},
    {"gemma3_text", import::gemma3},
    {"gpt2", import::gpt2},
    {"gpt_neox", import::gptNeoX},
    {"gpt_oss", import::gptOss},
    {"llama", import::llama},
    {"mamba", import::mamba},
    {"mistral", import::llama},
    {"mixtral", import::mixtral},
    {"opt", import::opt},
    {"phi3", import::phi3},
    {"qwen2", import::qwen2},
    {"qwen3", import::qwen3},
    {"qwen3_moe", import::qwen3Experts},
    {"roberta", import::roberta},
    {"t5", import::t5},
    {"vit", import::vit},
    {"whisper", import::whisper},
    {"xlm-roberta", import::roberta},
};

} // namespace

std::vector<std::string> huggingFaceFamilies() {
  std::vector<std::string> names;
  for (const Family &family : kFamilies)
    names.push_back(family.type);
  return names;
}

std::optional<ImportedModel> importHuggingFace(Diagnostics &diags, FileId file, const HuggingFaceOptions &options) {
  size_t before = diags.errors();
  Config config(diags, file);
  if (!config.valid())
    return std::nullopt;
  std::string type = config.text("model_type", "");
  const Family *family = llvm::find_if(kFamilies, [&](const Family &f) { return f.type == type; });
  if (family == std::end(kFamilies)) {
    std::vector<std::string> known = huggingFaceFamilies();
    config.unsupported("model_type", type.empty() ? "the configuration says no 'model_type'"
                                                  : fmt::format("the model_type '{}' cannot be imported yet, "
                                                                "only '{}'",
                                                                type, fmt::join(known, "', '")));
    return std::nullopt;
  }
  Draft draft({import::nameFrom(options.name, "model"), options.sizes});
  family->write(config, draft);
  draft.checkLengths(config);
  import::ignoreUsual(config);
  if (diags.errors() != before)
    return std::nullopt;
  std::vector<std::string> unread = config.unread(), notes = draft.notes();
  auto text = import::formatted(diags, file, draft.text(type, import::readable(unread)));
  if (!text)
    return std::nullopt;
  if (!unread.empty())
    notes.push_back(fmt::format("not understood and left out: {}", import::readable(unread)));
  return ImportedModel{std::move(*text), std::move(notes)};
}

} // namespace accord
