#include "lib/support/Diagnostics.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accord {

// Kept before sorting; far beyond kCap, so that what is shown is the true beginning of the list.
static constexpr size_t kKept = 10000;
static constexpr size_t kNone = ~size_t{0};

Diagnostics::Builder &Diagnostics::Builder::note(SourceRange range, std::string message) {
  if (index != kNone)
    owner->list[index].notes.push_back({range, std::move(message)});
  return *this;
}

Diagnostics::Builder &Diagnostics::Builder::suggest(llvm::StringRef text) {
  return text.empty() ? *this : help("did you mean '" + text.str() + "'?");
}

Diagnostics::Builder &Diagnostics::Builder::help(std::string message) {
  if (index == kNone)
    return *this;
  std::string &help = owner->list[index].help; // "did you mean 'x'?" stays in front of the rest
  help = help.empty() ? std::move(message) : help + " " + message;
  return *this;
}

Diagnostics::Builder Diagnostics::add(Severity severity, Code code, SourceRange range, std::string message) {
  if (list.size() >= kKept)
    return {this, kNone};
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = std::move(message);
  list.push_back(std::move(diagnostic));
  return {this, list.size() - 1};
}

Diagnostics::Builder Diagnostics::error(Code code, SourceRange range, std::string message) {
  ++errorCount;
  return add(Severity::Error, code, range, std::move(message));
}

Diagnostics::Builder Diagnostics::warning(Code code, SourceRange range, std::string message) {
  return add(Severity::Warning, code, range, std::move(message));
}

void Diagnostics::dropErrors(size_t keep) {
  size_t seen = 0;
  std::erase_if(list, [&](const Diagnostic &d) { return d.severity == Severity::Error && seen++ >= keep; });
  errorCount = std::min(errorCount, keep);
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  // No place (the command line) comes first: ~0 + 1 wraps to 0.
  auto key = [](const Diagnostic &d) { return std::tuple(d.range.file.index + 1u, d.range.begin, d.range.end); };
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tuple(key(list[a]), a) < std::tuple(key(list[b]), b); });
  std::vector<Diagnostic> result;
  for (size_t i : order)
    result.push_back(list[i]);
  auto same = [&](const Diagnostic &a, const Diagnostic &b) {
    return key(a) == key(b) && a.code == b.code && a.message == b.message;
  };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

/// Whether two neighbouring letters changed places.
static bool swapped(llvm::StringRef a, llvm::StringRef b) {
  if (a.size() != b.size())
    return false;
  auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  return a.end() - x >= 2 && x[0] == y[1] && x[1] == y[0] && std::equal(x + 2, a.end(), y + 2);
}

/// The same letters in another case, or two that changed places.
static bool isOneSlip(llvm::StringRef name, llvm::StringRef candidate) {
  return candidate.equals_insensitive(name) || swapped(name, candidate);
}

/// Of the candidates that have the name in them, the shortest that begins with it, else the shortest. `asWord`: only
/// those where an underscore follows the name at the beginning.
static std::string longer(llvm::StringRef name, llvm::ArrayRef<std::string> candidates, bool asWord) {
  std::string result;
  bool begins = false;
  for (const std::string &candidate : candidates) {
    size_t at = llvm::StringRef(candidate).find_insensitive(name);
    if (at == llvm::StringRef::npos || candidate.size() == name.size() || (begins && at > 0))
      continue;
    if (asWord && (at > 0 || candidate[name.size()] != '_'))
      continue;
    if (result.empty() || (!begins && at == 0) || candidate.size() < result.size())
      result = candidate;
    begins |= at == 0;
  }
  return result;
}

std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  unsigned best = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
  std::string result;
  bool slipped = false;
  for (const std::string &candidate : candidates) {
    if (candidate == name)
      continue;
    bool slip = isOneSlip(name, candidate);
    unsigned distance = slip ? 1 : name.edit_distance(candidate, /*AllowReplacements=*/true, /*MaxEditDistance=*/best);
    // A replaced one-letter name has nothing in common with the other.
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      result = candidate;
      slipped = slip;
    }
  }
  bool isLetterMore = best == 1 && result.size() != name.size(); // or less: "gradient" for gradients
  if (slipped || isLetterMore || name.size() < 3)
    return result;
  // "a100" is the beginning of a100_80g and no slip of h100; "bert" may be albert_base where nothing is nearer.
  std::string whole = longer(name, candidates, /*asWord=*/true);
  if (!whole.empty() || !result.empty())
    return whole.empty() ? result : whole;
  return longer(name, candidates, /*asWord=*/false);
}

namespace {

/// One character of the source line as printed, and how many columns it takes.
struct Cell {
  std::string text;
  int width = 1;
  uint32_t offset = 0;
};

std::vector<Cell> cellsOf(llvm::StringRef line, uint32_t start) {
  std::vector<Cell> cells;
  for (size_t i = 0; i < line.size();) {
    Cell cell;
    cell.offset = start + i;
    unsigned length = llvm::getNumBytesForUTF8(line[i]);
    llvm::StringRef bytes = line.substr(i, length);
    const auto *data = reinterpret_cast<const llvm::UTF8 *>(bytes.data());
    if (bytes.size() != length || !llvm::isLegalUTF8Sequence(data, data + length)) {
      cell.text = "?";
      length = 1;
    } else if (length == 1 && (line[i] < ' ' || line[i] == 0x7f)) {
      cell.text = " "; // tabs and control characters: one column, so that the caret stays where it belongs
    } else {
      cell.text = bytes.str();
      cell.width = std::max(0, llvm::sys::unicode::columnWidthUTF8(bytes));
    }
    i += length;
    cells.push_back(std::move(cell));
  }
  return cells;
}

void printLine(llvm::raw_ostream &out, const SourceManager &sources, SourceRange range, bool colour) {
  constexpr size_t kWindow = 160;
  uint32_t start = 0;
  llvm::StringRef line = sources.line(range.file, range.begin, &start);
  if (line.trim().empty())
    return;
  // Of a very long line only the part around the range is looked at.
  uint32_t skipped = 0;
  if (line.size() > 4 * kWindow) {
    uint32_t at = range.begin - start;
    skipped = at > kWindow ? at - kWindow : 0;
    while (skipped > 0 && (line[skipped] & 0xC0) == 0x80)
      --skipped;
    line = line.substr(skipped, 4 * kWindow);
    start += skipped;
  }
  std::vector<Cell> cells = cellsOf(line, start);
  size_t caret = 0;
  while (caret < cells.size() && cells[caret].offset < range.begin)
    ++caret;
  size_t from = caret > kWindow / 2 && cells.size() > kWindow ? caret - kWindow / 2 : 0;
  size_t to = std::min(cells.size(), from + kWindow);
  bool cutLeft = from > 0 || skipped > 0, cutRight = to < cells.size();
  std::string text = cutLeft ? "..." : "", marks = cutLeft ? "   " : "";
  for (size_t i = from; i < to; ++i) {
    text += cells[i].text;
    char mark = i == caret ? '^' : i > caret && cells[i].offset < range.end ? '~' : ' ';
    if (cells[i].width > 0)
      marks += mark + std::string(cells[i].width - 1, mark == ' ' ? ' ' : '~');
  }
  if (caret >= cells.size())
    marks += '^';
  out << "  " << llvm::StringRef(text).rtrim() << (cutRight ? "..." : "") << '\n';
  out << "  " << (colour ? "\033[32m" : "") << llvm::StringRef(marks).rtrim() << (colour ? "\033[0m" : "") << '\n';
}

void printHead(llvm::raw_ostream &out, const SourceManager &sources, SourceRange range, llvm::StringRef kind,
               llvm::StringRef message, llvm::StringRef colour) {
  llvm::StringRef reset = colour.empty() ? "" : "\033[0m";
  if (range.valid()) {
    Position position = sources.position(range);
    out << sources.path(range.file) << ':' << position.line << ':' << position.column << ": ";
  } else {
    out << "accord: ";
  }
  out << colour << kind << reset << ": " << message << '\n';
}

} // namespace

void Diagnostics::render(llvm::raw_ostream &out, bool colour) const {
  size_t shown = 0, hidden = errorCount;
  for (const Diagnostic &d : sorted()) {
    bool isError = d.severity == Severity::Error;
    if (isError && shown == kCap)
      continue;
    if (isError) {
      ++shown;
      --hidden;
    }
    std::string kind = (isError ? "error[" : "warning[") + entryOf(d.code).number.str() + "]";
    printHead(out, *manager, d.range, kind, d.message, !colour ? "" : isError ? "\033[1;31m" : "\033[1;35m");
    if (d.range.valid())
      printLine(out, *manager, d.range, colour);
    if (!d.help.empty())
      out << "  help: " << d.help << '\n';
    for (const Note &note : d.notes) {
      printHead(out, *manager, note.range, "note", note.message, colour ? "\033[1;36m" : "");
      if (note.range.valid())
        printLine(out, *manager, note.range, colour);
    }
  }
  if (shown == kCap && hidden > 0)
    out << hidden << (hidden == 1 ? " more error" : " more errors") << " not shown\n";
}

std::string Diagnostics::text() const {
  std::string result;
  llvm::raw_string_ostream out(result);
  render(out);
  return result;
}

} // namespace accord
