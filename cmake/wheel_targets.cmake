# The message wheels export targets whose include directories are folders of the machine that built them;
# CMake refuses to generate with a folder that is not there. A ROS installation has all of its folders, and
# nothing changes for it.
#
# Call after rosidl_generate_interfaces, in the same directory.
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
