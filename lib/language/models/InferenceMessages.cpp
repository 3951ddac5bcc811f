#include "lib/language/models/InferenceMessages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace accord {

std::string asWritten(llvm::StringRef message) {
  static const std::pair<const char *, const char *> kTypes[] = {
      {"'bf16'", "bf16"}, {"'f16'", "fp16"}, {"'f32'", "fp32"},  {"'f64'", "fp64"},
      {"'tf32'", "tf32"}, {"'i8'", "int8"},  {"'i32'", "int32"}, {"'i64'", "int64"}};
  std::string out;
  llvm::StringRef rest = message;
  auto digits = [](llvm::StringRef text) { return text.take_while(llvm::isDigit).size(); };
  while (!rest.empty()) {
    auto type = llvm::find_if(kTypes, [&](auto &pair) { return rest.starts_with(pair.first); });
    if (type != std::end(kTypes)) {
      out += type->second;
      rest = rest.drop_front(llvm::StringRef(type->first).size());
      continue;
    }
    bool inWord = !out.empty() && (llvm::isAlnum(out.back()) || out.back() == '_');
    bool batch = rest.front() == '?';
    if (inWord || (!batch && !llvm::isDigit(rest.front()))) {
      out += rest.front();
      rest = rest.drop_front();
      continue;
    }
    llvm::SmallVector<llvm::StringRef> extents;
    size_t length = batch ? 1 : digits(rest);
    if (!batch)
      extents.push_back(rest.take_front(length));
    while (length < rest.size() && rest[length] == 'x') {
      size_t more = digits(rest.drop_front(length + 1));
      if (more == 0)
        break;
      extents.push_back(rest.substr(length + 1, more));
      length += more + 1;
    }
    bool shape = batch || extents.size() > 1;
    out += shape ? "[" + llvm::join(extents, ", ") + "]" : extents[0].str();
    rest = rest.drop_front(length);
  }
  return out;
}

} // namespace accord
