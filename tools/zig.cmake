# The compiler that PyPI's ziglang carries, for the processor and the glibc that tools/wheels.py names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{BITFM_PROCESSOR})
set(CMAKE_CXX_COMPILER $ENV{BITFM_ZIG} c++ -target $ENV{BITFM_TARGET})
set(CMAKE_CXX_ARCHIVE_CREATE "$ENV{BITFM_ZIG} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "$ENV{BITFM_ZIG} ranlib <TARGET>")
