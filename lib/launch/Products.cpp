#include "lib/launch/Products.h"
#include "lib/machine/energy/NodeScaling.h"
#include "lib/machine/energy/Table.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace accord {
namespace {

std::vector<Product> readProducts() {
  std::vector<Product> products;
  auto table = Table::parse(shippedTable("products"), "catalog/products.csv",
                            {"device", "tool", "name", "memory_mib", "devices_per_unit", "source"});
  if (!table)
    return products;
  for (const TableRow &row : table->rows()) {
    Product product{table->text(row, "device"), table->text(row, "tool"), table->text(row, "name")};
    int64_t mebibytes = 0;
    llvm::StringRef(table->text(row, "memory_mib")).getAsInteger(10, mebibytes);
    product.memory = mebibytes * 1048576;
    llvm::StringRef(table->text(row, "devices_per_unit")).getAsDouble(product.devicesPerUnit);
    products.push_back(std::move(product));
  }
  return products;
}

/// "a100" of "a100_80g", "a100_80gb" and "a100_80gib".
llvm::StringRef withoutMemory(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_back_insensitive("gib") && !rest.consume_back_insensitive("gb") &&
      !rest.consume_back_insensitive("g"))
    return name;
  llvm::StringRef digits = rest.rtrim("0123456789");
  const bool isSize =
      digits.size() < rest.size() && digits.size() > 1 && (digits.back() == '_' || digits.back() == '-');
  return isSize ? digits.drop_back() : name;
}

} // namespace

const std::vector<Product> &allProducts() {
  static const std::vector<Product> products = readProducts();
  return products;
}

std::vector<Product> productsOf(const std::string &device) {
  std::vector<Product> found;
  for (const Product &product : allProducts())
    if (product.device == device)
      found.push_back(product);
  return found;
}

std::string wordsOf(const std::string &name) {
  std::string words;
  for (char c : name)
    if (llvm::isAlnum(c))
      words += llvm::toLower(c);
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  return llvm::StringRef(words).rtrim(' ').str();
}

std::vector<std::string> guessedProducts(const std::string &device) {
  const std::string name = withoutMemory(device).str();
  std::string apart;
  size_t letters = 0; // in a row
  for (char c : name) {
    if (llvm::isDigit(c) && letters >= 3)
      apart += ' ';
    letters = llvm::isAlpha(c) ? letters + 1 : 0;
    apart += c == '_' ? ' ' : c;
  }
  std::vector<std::string> names{name};
  if (wordsOf(apart) != wordsOf(name))
    names.push_back(apart);
  return names;
}

} // namespace accord
