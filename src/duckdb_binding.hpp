//===----------------------------------------------------------------------===//
//                         Merganser
//
// duckdb_binding.hpp
//
// Problem: the extension calls C++ functions of the DuckDB that loads it. Python loads DuckDB's module for itself only,
// so the dynamic linker does not look there; and to name the module as a library that is needed works only where a path
// written into the extension leads to it. That is wrong for `pip --target`, for several site-packages, for LOAD of an
// installed extension, and it brings in a second DuckDB where the path leads to another environment's.
//
// So the extension is linked against the module, which checks that every function is there, and then made to forget
// it (scripts/unbind_from_module.py): the dynamic linker leaves what comes from DuckDB empty and runs no initializer.
// The entry point, which DuckDB calls, finds the module by the address it returns to, looks up every symbol there,
// fills the gaps, and runs the initializers. Nothing else of the extension runs before.
//
//   _duckdb.abi3.so  --LOAD-->  dlopen(merganser.duckdb_extension)   no symbol of DuckDB is known yet
//                    --calls->  merganser_duckdb_cpp_init            returns into _duckdb.abi3.so: bind to it
//
// Sound because the caller is the DuckDB whose objects the extension works on, wherever it lies, whatever it is called
// and however many there are; a symbol it lacks refuses the load before anything of it was used. Symbols are looked up
// in this one module and not made global, so nobody else's libraries are bound otherwise.
//
// Limits: one image of the extension serves one DuckDB. A second DuckDB in the process that loads the same file is
// refused; one that loads a copy gets an image of its own. Little-endian 64-bit ELF on x86-64 and ARM. Builds that
// carry their DuckDB (`make release`) have no gaps, and nothing happens.
//===----------------------------------------------------------------------===//

#pragma once

namespace merganser {

struct DuckDBBinding {
	//! Binds this image to the DuckDB that has the code at `caller`. Throws std::runtime_error, which names the module,
	//! where it lacks a symbol, or where the image is bound to another one.
	static void BindTo(const void *caller);
};

} // namespace merganser

//! Whether the functions of this image can be called: not before DuckDB has loaded it.
extern "C" __attribute__((visibility("default"))) bool merganser_is_bound();
