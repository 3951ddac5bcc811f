# What Accord is built on. MLIR may come from Debian, apt.llvm.org or a local build: point CMAKE_PREFIX_PATH
# or MLIR_DIR at another one and it wins over the Debian prefix tried here last.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} from ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
# Without it `add_mlir_doc` writes to the root of the file system.
set(MLIR_BINARY_DIR "${CMAKE_BINARY_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Language servers. Both are found as files: the targets that LLVM exports for them ask for the headers of zstd, which nothing here needs.
find_library(LLVM_LSP_LIBRARY LLVMSupportLSP HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_library(MLIR_LSP_LIBRARY MLIRLspServerLib HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_library(MLIR_LSP_SUPPORT_LIBRARY MLIRLspServerSupportLib HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)

find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(Z3 REQUIRED IMPORTED_TARGET z3)
find_path(ANTLR4_INCLUDE_DIR antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_LIBRARY antlr4-runtime REQUIRED)
find_program(ANTLR4_TOOL antlr4 REQUIRED)
find_library(JEMALLOC_LIBRARY jemalloc REQUIRED)
find_package(Ceres REQUIRED)
find_path(QHULL_INCLUDE_DIR libqhull_r/qhull_ra.h REQUIRED)
find_library(QHULL_LIBRARY qhull_r REQUIRED)
find_package(Eigen3 REQUIRED)
find_path(BOOST_MATH_INCLUDE_DIR boost/math/distributions/beta.hpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_path(BOOST_BEAST_INCLUDE_DIR boost/beast/http.hpp REQUIRED)
find_path(ONNX_INCLUDE_DIR onnx/onnx.proto REQUIRED)
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers: their macros are what the command line says, and no file of ours asks for the time. CCACHE_DEPEND: a file is known by
  # the bytes of all that it includes. Without it ccache also compares preprocessed text, which has no comments: after a change of a comment
  # it would give the precompiled header of before, which clang refuses since the header "has been modified".
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()
