#include "lib/support/documents/JsonText.h"
#include "test/fuzz/readers/Mutation.h"

namespace json = llvm::json;

namespace accord::fuzz {

namespace {

class JsonMutation {
public:
  JsonMutation(Random &random, const Corpus &material, json::Value &document)
      : random(random), material(material), document(document) {}

  void change() {
    json::Value &value = somewhere();
    if (random.percent(30)) {
      value = replacement();
    } else if (json::Object *object = value.getAsObject()) {
      changeObject(*object);
    } else if (json::Array *array = value.getAsArray()) {
      changeArray(*array);
    } else if (auto flag = value.getAsBoolean()) {
      value = !*flag;
    } else if (auto integer = value.getAsInteger()) {
      bool near = std::abs(double(*integer)) < 0x1p62 && random.percent(40);
      value = near ? *integer + (random.percent(50) ? 1 : -1) : number();
    } else if (value.kind() == json::Value::Number) {
      value = random.percent(40) ? *value.getAsNumber() * double(random.below(5)) / 2 : number();
    } else {
      value = word();
    }
  }

private:
  static constexpr size_t kMaxElements = 64; // that a list grows to

  /// Each level is met alike, so that a long list hides no field beside it.
  json::Value &somewhere() {
    json::Value *at = &document;
    while (!random.percent(12)) {
      if (json::Object *object = at->getAsObject(); object && !object->empty())
        at = &someKey(*object)->second;
      else if (json::Array *array = at->getAsArray(); array && !array->empty())
        at = &(*array)[random.below(array->size())];
      else
        break;
    }
    return *at;
  }
  json::Object::iterator someKey(json::Object &object) {
    // The order of a hash table is its own; that of the keys is the same everywhere.
    std::vector<llvm::StringRef> keys;
    for (const auto &[key, value] : object)
      keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    return object.find(random.pick(keys));
  }

  std::string word() {
    std::string_view word = random.pick(material.words);
    return std::string(word.starts_with('"') ? word.substr(1, word.size() - 2) : word);
  }
  json::Value number() {
    static const std::vector<json::Value> edges = {0,
                                                   1,
                                                   -1,
                                                   2,
                                                   3,
                                                   0.5,
                                                   -0.5,
                                                   1.5,
                                                   7,
                                                   8,
                                                   64,
                                                   1e-9,
                                                   1e300,
                                                   -1e300,
                                                   int64_t(1) << 31,
                                                   int64_t(1) << 32,
                                                   int64_t(1) << 53,
                                                   int64_t(1) << 61,
                                                   (int64_t(1) << 61) + 1,
                                                   std::numeric_limits<int64_t>::max(),
                                                   std::numeric_limits<int64_t>::min()};
    return random.pick(edges);
  }
  json::Value replacement() {
    switch (random.below(8)) {
    case 0:
      return nullptr;
    case 1:
      return random.percent(50);
    case 2:
      return json::Array();
    case 3:
      return json::Object();
    case 4:
      return word();
    case 5:
      return number();
    default:
      return json::Value(somewhere());
    }
  }

  void changeObject(json::Object &object) {
    size_t what = random.below(5);
    if (what < 2 || object.empty()) {
      object[word()] = replacement();
      return;
    }
    auto at = someKey(object);
    if (what == 2) {
      object.erase(at);
    } else if (what == 3) {
      json::Value value = std::move(at->second);
      object.erase(at);
      object[word()] = std::move(value);
    } else if (auto other = someKey(object); other != at) {
      std::swap(at->second, other->second);
    }
  }

  void changeArray(json::Array &array) {
    size_t what = random.below(5), at = random.below(array.size());
    if (array.empty() || (what == 0 && array.size() < kMaxElements)) {
      array.push_back(replacement());
    } else if (what == 1 && array.size() < kMaxElements) {
      json::Value copy = array[at];
      array.insert(array.begin() + at, std::move(copy));
    } else if (what == 2) {
      std::swap(array[at], array[random.below(array.size())]);
    } else if (what == 3 && random.percent(20)) {
      array.clear();
    } else {
      array.erase(array.begin() + at);
    }
  }

  Random &random;
  const Corpus &material;
  json::Value &document;
};

} // namespace

std::string mutateJson(Random &random, const Corpus &material, std::string_view input) {
  auto document = json::parse(input);
  if (!document) {
    llvm::consumeError(document.takeError());
    return "";
  }
  JsonMutation mutation(random, material, *document);
  for (size_t changes = 1 + random.below(4); changes--;)
    mutation.change();
  return jsonLine(*document);
}

} // namespace accord::fuzz
