# generate_interfaces(<dependency>...): rosidl_generate_interfaces for every file in msg/, srv/ and action/.
#
# A macro, because rosidl_generate_interfaces leaves variables in its caller's scope that ament_package needs.

option(PYTHON_INTERFACES_ONLY
  "Generate interfaces for Python nodes over Fast DDS alone: no C++ types, a fifth of the time" OFF)

macro(generate_interfaces)
  find_package(ament_cmake REQUIRED)
  find_package(rosidl_default_generators REQUIRED)
  foreach(dependency ${ARGN})
    find_package(${dependency} REQUIRED)
  endforeach()
  if(PYTHON_INTERFACES_ONLY)
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:|_introspection_cpp:")
  endif()

  file(GLOB interfaces CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
    msg/*.msg srv/*.srv action/*.action)
  rosidl_generate_interfaces(${PROJECT_NAME} ${interfaces} DEPENDENCIES ${ARGN})

  if(PYTHON_INTERFACES_ONLY)
    # The generated files spend most of their compile time on the same headers.
    set_target_properties(
      ${PROJECT_NAME}__rosidl_generator_c ${PROJECT_NAME}__rosidl_generator_py
      ${PROJECT_NAME}__rosidl_typesupport_c ${PROJECT_NAME}__rosidl_typesupport_fastrtps_c
      ${PROJECT_NAME}__rosidl_typesupport_introspection_c
      PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # These have the same static names.
    get_target_property(descriptions ${PROJECT_NAME}__rosidl_generator_c SOURCES)
    list(FILTER descriptions INCLUDE REGEX "__description\\.c$")
    set_source_files_properties(${descriptions} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  drop_missing_include_directories()
  keep_include_directories_private(${PROJECT_NAME}__rosidl_generator_py)
  ament_export_dependencies(rosidl_default_runtime)
endmacro()

# The message wheels export targets whose include directories are folders of the machine that built them;
# CMake refuses to generate with a folder that is not there. A ROS installation has all of its folders, and
# nothing changes for it.
function(drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "__rosidl_generator_py$")
      get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
      set(present "")
      foreach(folder IN LISTS folders)
        if(EXISTS "${folder}")
          list(APPEND present "${folder}")
        endif()
      endforeach()
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
    endif()
  endforeach()
endfunction()

# Nor does our own package tell others where this machine has the headers of Python and NumPy. Those may lie
# in an environment within this source folder, which CMake refuses to export.
function(keep_include_directories_private target)
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${folders}>")
endfunction()
