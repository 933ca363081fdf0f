# find_package(holdoff): holdoff::holdoff_static, and holdoff::holdoff, which is the shared library where it is installed.
set(_holdoff_prefix "${CMAKE_CURRENT_LIST_DIR}")
while(NOT EXISTS "${_holdoff_prefix}/include/holdoff.h")
  get_filename_component(_holdoff_up "${_holdoff_prefix}" DIRECTORY)
  if(_holdoff_up STREQUAL _holdoff_prefix)
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "holdoff.h is not above ${CMAKE_CURRENT_LIST_DIR}")
    return()
  endif()
  set(_holdoff_prefix "${_holdoff_up}")
endwhile()

function(_holdoff_add target kind file)
  if(EXISTS "${file}" AND NOT TARGET ${target})
    add_library(${target} ${kind} IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION "${file}"
      INTERFACE_INCLUDE_DIRECTORIES "${_holdoff_prefix}/include")
  endif()
endfunction()
_holdoff_add(holdoff::holdoff SHARED "${_holdoff_prefix}/lib/libholdoff.so.@VERSION@")
if(TARGET holdoff::holdoff)
  set_target_properties(holdoff::holdoff PROPERTIES IMPORTED_SONAME "@SONAME@")
endif()
# One archive behind two names where there is no shared library.
_holdoff_add(holdoff::holdoff_static STATIC "${_holdoff_prefix}/lib/libholdoff.a")
_holdoff_add(holdoff::holdoff STATIC "${_holdoff_prefix}/lib/libholdoff.a")
