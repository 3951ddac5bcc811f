# A room is a group of folders that compile alike; every room ends up in the one shared libaccord.so, so that plugins find our symbols.
set_property(GLOBAL PROPERTY ACCORD_ROOMS "")
set_property(GLOBAL PROPERTY ACCORD_TABLEGEN "")

# accord_compiled_like(target LEVEL HEADER...): optimizes at LEVEL and precompiles the headers. Clang refuses a precompiled header of another
# level or of code that is for programs alone (-fPIE), so there is one for each pair of headers and level: that of the first target that asks,
# which the others share. Only Release has levels. Level 0 has so few files that it takes the header of level 1, unvalidated: they differ in
# the macro __OPTIMIZE__ alone. With sanitizers, what is of level 0 has none: it would take minutes, and is no code of ours.
function(accord_compiled_like target level)
  target_compile_options(${target} PRIVATE -fPIC)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O${level})
  endif()
  if(level EQUAL 0)
    set(level 1)
    if(ACCORD_SANITIZE)
      target_compile_options(${target} PRIVATE -O0 -fno-sanitize=all)
    endif()
    if((CMAKE_BUILD_TYPE STREQUAL "Release" OR ACCORD_SANITIZE) AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-validate-pch")
    endif()
  endif()
  string(MAKE_C_IDENTIFIER "ACCORD_PRECOMPILED_${level}_${ARGN}" key)
  get_property(owner GLOBAL PROPERTY ${key})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY ${key} ${target})
  endif()
endfunction()

# accord_room(name [READS_DNN] [FOLDERS folder...] [SEARCHES folder...] [GENERATED file...] [DEPENDS target...] [SOURCES file...]
# [INCLUDES folder...]): all .cpp files of the folders and of their sub-folders (without FOLDERS: of the current folder alone).
# SEARCHES: those of the folders in which the time of a command is spent. They are optimized as far as the compiler can (-O3); all other code
# runs as fast at -O1, which compiles in four fifths of the time.
# GENERATED: those of the files that are mostly written by a tool and never hot; they are not optimized. They are linked last, for the linker
# keeps the first of equal inline functions.
# READS_DNN: most files include dialects/dnn/Dnn.h, which takes four of the five seconds that such a file compiles; so it is precompiled. All
# other rooms precompile cmake/Precompiled.h. INCLUDES: of packages that this room alone uses.
function(accord_room name)
  cmake_parse_arguments(ARG "READS_DNN" "" "FOLDERS;SEARCHES;GENERATED;DEPENDS;SOURCES;INCLUDES" ${ARGN})
  set(header <cmake/Precompiled.h>)
  if(ARG_READS_DNN)
    set(header <cmake/PrecompiledMlir.h>)
  endif()
  if(ARG_FOLDERS)
    list(TRANSFORM ARG_FOLDERS APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  else()
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  set(searches "")
  if(ARG_SEARCHES)
    list(TRANSFORM ARG_SEARCHES APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
    file(GLOB_RECURSE searches CONFIGURE_DEPENDS ${patterns})
    list(REMOVE_ITEM sources ${searches})
  endif()
  list(REMOVE_ITEM sources ${ARG_GENERATED})
  accord_objects(accord_${name} 1 ${sources} ${ARG_SOURCES})
  accord_objects(accord_${name}_searches 3 ${searches})
  accord_objects(accord_${name}_generated 0 ${ARG_GENERATED})
endfunction()

# accord_objects(target LEVEL file...): a part of a room, with the arguments of `accord_room`; nothing where there are no files.
macro(accord_objects target level)
  if(NOT "${ARGN}" STREQUAL "")
    add_library(${target} OBJECT ${ARGN})
    get_property(generated GLOBAL PROPERTY ACCORD_TABLEGEN)
    if(generated OR ARG_DEPENDS)
      add_dependencies(${target} ${generated} ${ARG_DEPENDS})
    endif()
    target_include_directories(${target} SYSTEM PRIVATE ${ARG_INCLUDES})
    accord_compiled_like(${target} ${level} "${header}")
    set_property(GLOBAL APPEND PROPERTY ACCORD_ROOMS ${target})
  endif()
endmacro()

# accord_tablegen(target file.td out flags...; ...): each generated file as `OUT:FLAGS` (flags separated by commas).
function(accord_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  foreach(rule ${ARGN})
    string(REPLACE ":" ";" parts "${rule}")
    list(GET parts 0 out)
    list(GET parts 1 flags)
    string(REPLACE "," ";" flags "${flags}")
    mlir_tablegen(${out} ${flags} -I ${CMAKE_SOURCE_DIR})
  endforeach()
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY ACCORD_TABLEGEN ${target})
endfunction()

function(accord_shared_library)
  get_property(rooms GLOBAL PROPERTY ACCORD_ROOMS)
  set(last ${rooms})
  list(FILTER last INCLUDE REGEX "_generated$")
  list(FILTER rooms EXCLUDE REGEX "_generated$")
  set(objects "")
  foreach(room ${rooms} ${last})
    list(APPEND objects $<TARGET_OBJECTS:${room}>)
  endforeach()
  add_library(accord SHARED ${objects})
  # The library calls its own copy of an inline function, not that of the program, which the unit tests compile without optimization.
  target_link_options(accord PRIVATE LINKER:-Bsymbolic-functions)
  get_property(libraries GLOBAL PROPERTY ACCORD_LIBRARIES) # of single rooms
  target_link_libraries(accord PUBLIC MLIR LLVM fmt::fmt PRIVATE PkgConfig::Z3 "${ANTLR4_LIBRARY}" ${libraries})
endfunction()
