// What tools on a node call a device type: lib/catalog/products.csv.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// A name of a device type; several of one type are alternatives.
struct Product {
  std::string device;        ///< the accelerator of the catalogue
  std::string tool;          ///< "nvidia-smi": what says the name
  std::string name;          ///< whole words of what it says, "A100-SXM4-80GB"
  int64_t memory = 0;        ///< bytes that it reports of one of its devices, at least; 0: it reports none
  double devicesPerUnit = 1; ///< devices of a plan in one device of the tool
};

/// All rows of the table, in their order.
const std::vector<Product> &allProducts();
/// Those of a device type; empty: the catalogue does not have it.
std::vector<Product> productsOf(const std::string &device);

/// Names for a device type without a row, which whoever wrote the machine chose: without a size of memory at its end
/// (`_80g`), as it is and with a word and its number apart ("rtx3090", "rtx 3090").
std::vector<std::string> guessedProducts(const std::string &device);

/// Lower case words of letters and digits with a blank between: how names are compared.
std::string wordsOf(const std::string &name);

} // namespace accord
