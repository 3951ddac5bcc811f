// Which keys each block of `.accel` has, of which type, dimension and range: one table for the
// front end, the dialect's verifiers, the editor and the documentation.
#pragma once
#include "lib/support/Dimension.h"
#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::accel {

/// What a key's value is, and the attribute that carries it.
enum class ValueKind : uint8_t {
  Quantity,    ///< QuantityAttr of one of `dimensions` (dimensionless: a plain number such as 0.85)
  Integer,     ///< IntegerAttr i64
  Boolean,     ///< BoolAttr
  Word,        ///< StringAttr, one of `words`
  WordSet,     ///< ArrayAttr of StringAttr, each one of `words`
  String,      ///< StringAttr
  Shape,       ///< ArrayAttr of i64 or choices: [128, 128]
  QuantityMap, ///< DictionaryAttr from one of `words`, without any from positive integers, to
               ///< QuantityAttr of one of `dimensions`
  Reference,   ///< FlatSymbolRefAttr of something declared in the same or an enclosing block
  References,  ///< ArrayAttr of FlatSymbolRefAttr
  Cycles,      ///< of an instruction: QuantityAttr of cycles or a plain number, or ApplyAttr over these and
               ///< ReferenceAttr `bytes`, `imm0`, `imm1`, …, and of values of the machine by their paths
  Block        ///< DictionaryAttr with the schema (`name of the key`, its entry "pattern")
};
/// Which numbers of a key make a machine that is at least as fast, at most as large and as hungry with all else equal.
/// The bounds of exploration rest on it: of a key with `Neither` no bound is known, so a design cannot choose its
/// number. A part of a microarchitecture may delay a program although it has more of something (another instruction
/// comes first, and older ones wait no longer); bounds of programs rest on amounts of work alone, of which this holds.
enum class Better : uint8_t { Less, More, Neither };
/// What stands for several words of a key in a machine that is at least as fast as with any of them. Only of such a key
/// may a design choose the word.
enum class BestWord : uint8_t {
  Unstated,      ///< the key is left out
  Any,           ///< "any"
  True,          ///< true
  AllTypes,      ///< all of them, as `types`
  FarthestMemory ///< the first in the order of the path
};
enum class Range : uint8_t { Any, Positive, NonNegative, Fraction /* 0 < x <= 1 */, AtLeastOne };

struct KeySchema {
  llvm::StringRef name;
  ValueKind kind;
  std::vector<Dimension> dimensions;  ///< allowed ones, the usual first
  std::vector<llvm::StringRef> words; ///< of a reference: kinds of parts that it may name, any if empty
  bool required = false;
  Range range = Range::Any;
  unsigned minRank = 0, maxRank = 0;     ///< of a Shape
  llvm::StringRef documentation;         ///< one sentence
  std::optional<Better> better = {};     ///< of a key that holds numbers, and of no other
  std::optional<BestWord> bestWord = {}; ///< of a word that a design may choose
  /// Says how much a part of a microarchitecture holds at once: it is missing or not positive with A1301.
  bool capacity = false;
};
/// Whether values of the kind are numbers, so that the key says what is better.
bool holdsNumbers(ValueKind kind);

struct BlockSchema {
  llvm::StringRef kind, subtype; ///< "memory", "dram"; subtype empty where the block has none
  llvm::StringRef documentation;
  std::vector<KeySchema> keys;
  const KeySchema *findKey(llvm::StringRef name) const;
  std::vector<llvm::StringRef> keyNames() const;
};

/// Of the count in brackets, which blocks of several kinds have.
const KeySchema &countKey();

/// All blocks, in the order of the documentation.
llvm::ArrayRef<BlockSchema> allSchemas();
/// Null when there is no such block. ("network", "") has what all topologies share.
const BlockSchema *findSchema(llvm::StringRef kind, llvm::StringRef subtype = "");
/// "dram scratchpad cache register_file" for "memory"; empty for a block without subtypes or an
/// unknown one.
std::vector<llvm::StringRef> subtypesOf(llvm::StringRef kind);

/// Whether a text is a positive integer as a key of a map is written: "8", at most nine digits.
bool isCount(llvm::StringRef text);
/// Whether a name is an immediate of an instruction: "imm0", "imm12".
bool isImmediate(llvm::StringRef name);
/// The full word for an alias (`os` -> `output_stationary`), else the word itself.
llvm::StringRef canonicalWord(llvm::StringRef word);
/// The candidate with the fewest changed letters if that is close enough to be meant, else empty.
llvm::StringRef nearestName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);
/// "'capacity' is not a key of a dram memory, did you mean …": the one sentence for an unknown key.
std::string unknownKey(const BlockSchema &, llvm::StringRef name);
/// "a dram memory", "an accelerator".
std::string describe(const BlockSchema &);
/// "time", "memory or bandwidth": for messages and documentation.
std::string expected(const KeySchema &);

/// Why `value` is no value of this key, in words after "'key' "; empty when it is one. Choices,
/// references and expressions over other values are accepted for every key and looked into.
std::string valueError(const KeySchema &, mlir::Attribute value);

} // namespace accord::accel
