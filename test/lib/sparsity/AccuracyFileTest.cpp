// Files of accuracies and sensitivities, and patterns in them.
#include "test/lib/sparsity/AccuracyFixture.h"
#include "llvm/Support/FileSystem.h"
#include <array>
#include <fstream>
#include <random>

namespace accord::accuracy_test {
namespace {

TEST(AccuracyFileReading, LinesOfAccuracies) {
  AccuracyFile file = good("layer,pattern,density,right,samples,note\n"
                           ",dense,,76,100,\n"
                           "block.*,\"nm(2,4)\",,738,1000,\"a, b\"\n"
                           "*,unstructured,0.2,70,100,\n"
                           "head,\"block(4, 4, density = 0.5)\",,7,10,\n"
                           ",banded(8),,1,2,\n");
  ASSERT_EQ(file.accuracies.size(), 5u);
  std::vector<std::string> texts;
  for (const MeasuredAccuracy &a : file.accuracies)
    texts.push_back(
        fmt::format("{}|{}|{}|{}|{}/{}", a.location.line, a.layer, a.pattern, a.density, a.right, a.samples));
  EXPECT_EQ(texts, (std::vector<std::string>{"6||banded(8)|0|1/2", "2||dense|1|76/100", "4||unstructured|0.2|70/100",
                                             "3|block.*|nm(2, 4)|0.5|738/1000", "5|head|block(4, 4)|0.5|7/10"}));
}

TEST(AccuracyFileReading, SharesCountRoundedDown) {
  AccuracyFile file = good("density,top1\n1,0.76\n0.5,0.7557\n", measurements(1000));
  EXPECT_EQ(file.accuracies[0].right, 760);
  EXPECT_EQ(file.accuracies[1].right, 755);
  EXPECT_EQ(file.accuracies[1].share, share("0.7557"));
  EXPECT_EQ(good("density,top1\n1,0.76\n").accuracies[0].samples, 0);
  EXPECT_EQ(good("density,top1,samples\n1,0.76,10\n", measurements(99)).accuracies[0].samples, 10);
}

TEST(AccuracyFileReading, ErrorsHavePlacesAndWaysOut) {
  struct {
    const char *text;
    unsigned line, column;
    const char *message, *help;
  } cases[] = {
      {"", 1, 1, "an empty file", "for example: pattern,density,top1 / \"nm(2, 4)\",0.5,0.742"},
      {"\n\n\n", 1, 1, "an empty file", nullptr},
      {"density,top1\n", 1, 1, "names of columns without a line of values", nullptr},
      {"density,top-1\n0.5,0.7\n", 1, 9, "unknown column 'top-1'", "did you mean 'top1'?"},
      {"densty,top1\n0.5,0.7\n", 1, 1, "unknown column 'densty'", "did you mean 'density'?"},
      {"density,zzzzzz\n0.5,0.7\n", 1, 9, "unknown column 'zzzzzz'",
       "columns are top1, pattern, density, layer, of, right, samples, recipe, dense_layers, distribution, note"},
      {"density\n0.5\n", 1, 1, "no column 'top1', nor 'right' and 'samples'", nullptr},
      {"density,right\n0.5,3\n", 1, 1, "no column 'samples' beside 'right'", nullptr},
      {"top1\n0.5\n", 1, 1, "no column 'pattern', nor 'density'", nullptr},
      {"density,top1,top1\n1,1,1\n", 1, 14, "column 'top1' is named twice", nullptr},
      {"density,top1\n1,69.7\n", 2, 3, "column 'top1': expected a share from 0 to 1, found '69.7'", "69.7 % is 0.697"},
      {"density,top1\n1.2,0.697\n", 2, 1, "column 'density': expected a share from 0 to 1, found '1.2'",
       "1.2 % is 0.012"},
      {"density,top1\n1,NaN\n", 2, 3, "column 'top1': expected a share from 0 to 1, found 'NaN'", ""},
      {"density,top1\n1,-0.1\n", 2, 3, "column 'top1': expected a share from 0 to 1, found '-0.1'", ""},
      {"density,top1\n1,1e-900\n", 2, 3, "column 'top1': expected a share from 0 to 1, found '1e-900'", ""},
      {"density,top1\n1,\n", 2, 1, "no value of 'top1' in this line", nullptr},
      {"density,top1\n0.5,0.7\n0.50,0.6\n", 3, 1, "unstructured with density 0.5 is in this file twice", nullptr},
      {"pattern,density,top1\ndense,,0.7\nunstructured,1,0.7\n", 3, 1, "the dense network is in this file twice",
       "a density of 1 is the dense network, whatever the pattern and the layer"},
      {"pattern,top1\nnm(2, 4),0.5\n", 2, 10, "3 cells, but the first line names 2 columns",
       "a pattern with commas is written in quotes: \"nm(2, 4)\""},
      {"density,top1\n1\n", 2, 1, "1 cells, but the first line names 2 columns", nullptr},
      {"pattern,density,top1\n\"nm(2, 4)\",0.25,0.7\n", 2, 12, "nm(2, 4) has a density of 0.5, not 0.25", nullptr},
      {"pattern,top1\nunstructured,0.7\n", 2, 1, "no density of unstructured", nullptr},
      {"pattern,top1\nunstructred,0.7\n", 2, 1,
       "'unstructred' is no pattern; it is dense, unstructured, nm(n, m), block(rows, columns) or banded(band): did "
       "you mean 'unstructured'?",
       nullptr},
      {"pattern,top1\n\"nm(5, 4)\",0.7\n", 2, 1, "'nm(5, 4)' keeps more than it has", nullptr},
      {"pattern,top1\n\"nm(2\",0.7\n", 2, 1, "'nm(2': expected ',' or ')' at letter 5", nullptr},
      {"pattern,top1\nblock(4),0.7\n", 2, 1, "'block(4)' does not say columns", nullptr},
      {"pattern,top1\n\"nm(2, 99999999999999999999)\",0.7\n", 2, 1,
       "'nm(2, 99999999999999999999)': m is a whole number from 1 to 1024", nullptr},
      {"pattern,top1\n,0.7\n", 2, 1, "column 'pattern' is empty", nullptr},
      {"density,right,samples\n1,5,4\n", 2, 3, "5 right of 4 samples", nullptr},
      {"density,right,samples\n1,5,0\n", 2, 5,
       "column 'samples': expected a whole number from 1 to 1000000000, found '0'", nullptr},
      {"density,right,samples\n1,0.5,4\n", 2, 3,
       "column 'right': expected a whole number from 0 to 1000000000, found '0.5'", nullptr},
      {"density,top1,right,samples\n1,0.9,5,10\n", 2, 3, "0.9 is not 5 of 10", nullptr},
      {"of,density,top1\nweight,1,0.5\n", 2, 1, "column 'of': 'weight' is none of weights, activations, gradients",
       nullptr},
  };
  for (auto &c : cases) {
    Rejection first = bad(c.text).front();
    EXPECT_EQ(first.error.code, Code::WrongQualityFile);
    EXPECT_EQ(first.error.message, c.message) << c.text;
    EXPECT_EQ(first.error.location.file, "m.csv");
    EXPECT_EQ(std::pair(first.error.location.line, first.error.location.column), std::pair(c.line, c.column)) << c.text;
    if (c.help) {
      EXPECT_EQ(first.help, c.help) << c.text;
    }
  }
}

TEST(AccuracyFileReading, NothingCrashesTheReader) {
  EXPECT_EQ(bad(std::string("density,top1\n1,\0\n", 16)).front().error.code, Code::WrongQualityFile);
  EXPECT_EQ(bad(std::string(1 << 16, '\xff')).front().error.code, Code::WrongQualityFile);
  EXPECT_EQ(bad("\"").front().error.code, Code::WrongQualityFile);
  std::string many = "density,top1\n";
  for (int i = 0; i < 10'001; ++i)
    many += fmt::format("0.{:05},0.5\n", i);
  EXPECT_EQ(bad(many).front().error.message, "more than 10000 lines of values");
  std::string error = "density,top1\n";
  for (int i = 0; i < 100; ++i)
    error += "2,2\n";
  EXPECT_EQ(bad(error).size(), 20u);
  std::mt19937 random(7);
  const std::string letters = "nmblockdense(),.=0123456789 -tu\"\n*";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned n = random() % 24; n > 0; --n)
      text += letters[random() % letters.size()];
    parsePattern(text, GemmOperand::Weights);
    readAccuracies("pattern,top1\n" + text, measurements());
  }
}

TEST(AccuracyFileReading, OfMetricsAndSensitivities) {
  auto two = readAccuracies("density,top1,top5\n1,0.7,0.9\n", measurements(), {"top5"});
  EXPECT_TRUE(std::holds_alternative<AccuracyFile>(two));
  AccuracyMeasurements column = measurements();
  column.metric = "density";
  EXPECT_EQ(bad("density,right,samples\n1,1,1\n", column).front().error.location.file, "t.accel");

  AccuracyMeasurements ranks = measurements(0, AccuracyMeasurements::Kind::Sensitivity);
  std::vector<LayerSensitivity> layers = good("sensitivity,layer\n0.5,block.*\n2,block.1\n", ranks).sensitivities;
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].layer, "block.*");
  EXPECT_EQ(layers[1].value, 2);
  EXPECT_EQ(bad("layer,sensitivity\na,-1\n", ranks).front().error.message,
            "column 'sensitivity': expected a number of at least 0, found '-1'");
  EXPECT_EQ(bad("layer,sensitivity\na,1\na,2\n", ranks).front().error.message, "layer 'a' is in this file twice");
  EXPECT_EQ(bad("layer,top1\na,1\n", ranks).front().error.message, "unknown column 'top1'");
}

TEST(AccuracyFileReading, FromDisk) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("evidence", folder));
  std::string path = folder.str().str() + "/m.csv", other = folder.str().str() + "/n.csv";
  std::ofstream(path) << "density,top1\n1,0.7\n";
  std::ofstream(other) << "density,top1\n0.5,0.6\n1.0,0.8\n";
  SparsityRequest r = request(0.5);
  auto first = [&](const std::string &file) {
    r.measurements.front().file = file;
    auto read = readAccuracyFiles(r);
    auto *error = std::get_if<std::vector<Rejection>>(&read);
    return error ? error->front().error.message : "read";
  };
  EXPECT_EQ(first(path), "read");
  EXPECT_EQ(first(folder.str().str()), fmt::format("cannot read '{}': it is a directory", folder.str().str()));
  EXPECT_EQ(first("/nowhere/m.csv"), "cannot read '/nowhere/m.csv': no such file or directory");
  EXPECT_EQ(first("/dev/zero"), "cannot read '/dev/zero': it is no regular file");
  r.measurements.push_back(measurements());
  r.measurements.back().file = other;
  EXPECT_EQ(first(path), "'top1' of the dense network was measured in two files");
  r.measurements.back().kind = AccuracyMeasurements::Kind::Published;
  EXPECT_EQ(first(path), "read");
  (void)llvm::sys::fs::remove_directories(folder);
}

TEST(MeasurementPattern, TextsAreReadAsTheyAreWritten) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    SparsityPattern p;
    auto of = static_cast<GemmOperand>(random() % 3);
    p.kind = std::array{SparsityPattern::Kind::Unstructured, SparsityPattern::Kind::Structured,
                        SparsityPattern::Kind::Block, SparsityPattern::Kind::Banded}[random() % 4];
    p.density = 0.5;
    p.of = 2 + random() % 7, p.kept = 1 + random() % (p.of - 1);
    p.along = random() % 2 ? SparsityPattern::Along::Output : SparsityPattern::Along::Reduction;
    p.transposable = random() % 2;
    p.blockRows = 1 + random() % 9, p.blockColumns = 1 + random() % 9;
    p.band = random() % 9;
    p.dynamic = random() % 2;
    std::string text = measuredPattern(of, p);
    PatternText read = parsePattern(text, of);
    EXPECT_EQ(read.error, "") << text;
    read.pattern.density = 0.5;
    EXPECT_EQ(measuredPattern(of, read.pattern), text);
  }
  auto same = [](const char *a, const char *b) {
    auto key = [](const char *text) {
      PatternText read = parsePattern(text, GemmOperand::Weights);
      EXPECT_EQ(read.error, "") << text;
      read.pattern.density = 0.5;
      return measuredPattern(GemmOperand::Weights, read.pattern);
    };
    return key(a) == key(b);
  };
  EXPECT_TRUE(same("nm(2,4)", "nm(m = 4, n = 2)"));
  EXPECT_TRUE(same("nm(2, 4, transposable)", "nm(2, 4) transposable"));
  EXPECT_TRUE(same("nm(2, 4, along = output)", "nm(2, 4, output)"));
  EXPECT_FALSE(same("nm(2, 4)", "nm(4, 8)"));
  EXPECT_FALSE(same("nm(2, 4)", "nm(2, 4) transposable"));
  EXPECT_FALSE(same("nm(2, 4)", "nm(2, 4, along = output)"));
  EXPECT_FALSE(same("unstructured", "unstructured dynamic"));
  EXPECT_FALSE(same("block(4, 4)", "block(4, 8)"));
}

} // namespace
} // namespace accord::accuracy_test
