# accord_python_module(LIBRARIES...): the target `_native`, the commands of Accord in the process of Python. It is built against the
# stable interface of CPython, so that one file serves every Python from 3.9; nothing else is needed to build it.
function(accord_python_module)
  add_library(_native MODULE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/Native.cpp")
  set_target_properties(_native PROPERTIES PREFIX "" SUFFIX ".abi3.so" CXX_VISIBILITY_PRESET hidden)
  target_compile_features(_native PRIVATE cxx_std_20)
  target_compile_options(_native PRIVATE -Wall -Wextra)
  target_include_directories(_native PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../..")
  target_include_directories(_native SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
  target_link_libraries(_native PRIVATE ${ARGN})
endfunction()
