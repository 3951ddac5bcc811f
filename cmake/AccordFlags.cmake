# One set of flags for all of our own code. Exceptions stay on (ANTLR and Z3 throw, each caught at its own border);
# LLVM itself is built without them, so nothing may throw through a pass.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH "${LLVM_LIBRARY_DIRS}")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${LLVM_LIBRARY_DIRS}")

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-fcolor-diagnostics)
  # The same headers give the same precompiled header, which ccache needs to see.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
if(ACCORD_SANITIZE)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  # Loops that are asked to be vectorized may not be, with checks inside.
  add_compile_options(-Wno-pass-failed)
  add_link_options(-fsanitize=address,undefined)
endif()
# Headers are included from the root: "lib/support/Quantity.h"; generated ones mirror the tree under the build folder. What tools write is no
# code of ours to warn of or to examine.
include_directories("${CMAKE_SOURCE_DIR}")
include_directories(SYSTEM "${CMAKE_BINARY_DIR}")
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
