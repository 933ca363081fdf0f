"""Packs the built library of the folder around it: `conan create .`"""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy


class Holdoff(ConanFile):
    name = "holdoff"
    version = "@VERSION@"
    description = "Retry decisions as pure state machines: backoff, jitter, deadlines, hints"
    license = "MIT OR Apache-2.0"
    package_type = "library"
    settings = "os", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    exports_sources = "include/*", "lib/libholdoff*", "share/*"

    def validate(self):
        if (self.settings.os, self.settings.arch) != ("@OS@", "@ARCH@"):
            raise ConanInvalidConfiguration("this archive is for @OS@ on @ARCH@")

    def package(self):
        source, package = Path(self.source_folder), Path(self.package_folder)
        library = "libholdoff.so*" if self.options.shared else "libholdoff.a"
        copy(self, "*", source / "include", package / "include")
        copy(self, library, source / "lib", package / "lib")
        copy(self, "*", source / "share/doc/holdoff", package / "licenses")

    def package_info(self):
        self.cpp_info.libs = ["holdoff"]
        self.cpp_info.set_property("cmake_file_name", "holdoff")
        self.cpp_info.set_property("cmake_target_name", "holdoff::holdoff")
        self.cpp_info.set_property("pkg_config_name", "holdoff")
