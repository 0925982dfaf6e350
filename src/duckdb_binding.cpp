#include "duckdb_binding.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mutex>
#include <stdexcept>
#include <string>

namespace merganser {

namespace {

//! What scripts/unbind_from_module.py writes: the size of the initializers, under a tag the dynamic linker ignores, and
//! the mark of a symbol that comes from DuckDB, as its size, which means nothing for an undefined symbol.
constexpr ElfW(Sxword) INITIALIZERS_SIZE_TAG = 0x6d657202;
constexpr ElfW(Xword) FROM_DUCKDB = 0x6d657267;

#if defined(__x86_64__)
constexpr ElfW(Xword) ADDRESS = R_X86_64_64, DATA_SLOT = R_X86_64_GLOB_DAT, CALL_SLOT = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr ElfW(Xword) ADDRESS = R_AARCH64_ABS64, DATA_SLOT = R_AARCH64_GLOB_DAT, CALL_SLOT = R_AARCH64_JUMP_SLOT;
#endif

// Plain data: initializers have not run when they are used first.
std::mutex binding_lock;
ElfW(Addr) bound_to = 0;

link_map *ModuleOf(const void *address) {
	Dl_info info;
	link_map *result = nullptr;
	if (!dladdr1(address, &info, reinterpret_cast<void **>(&result), RTLD_DL_LINKMAP)) {
		return nullptr;
	}
	return result;
}

std::string NameOf(const link_map &module) {
	return *module.l_name ? module.l_name : "the program itself";
}

//! The dynamic section of a loaded object.
class DynamicSection {
public:
	explicit DynamicSection(const link_map &object) : object(object) {
	}

	ElfW(Xword) Value(ElfW(Sxword) tag) const {
		for (auto entry = object.l_ld; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag == tag) {
				return entry->d_un.d_val;
			}
		}
		return 0;
	}
	//! Some dynamic linkers have made some of these addresses absolute, in place.
	template <class T>
	T *Find(ElfW(Sxword) tag) const {
		auto value = Value(tag);
		return reinterpret_cast<T *>(value < object.l_addr ? object.l_addr + value : value);
	}

private:
	const link_map &object;
};

class Binder {
public:
	Binder(const link_map &image, const link_map &duckdb)
	    : image(image), duckdb(duckdb), section(image), symbols(section.Find<const ElfW(Sym)>(DT_SYMTAB)),
	      names(section.Find<const char>(DT_STRTAB)) {
		// It is loaded, so this opens no file; it is never closed, as the extension needs it from now on.
		handle = dlopen(*duckdb.l_name ? duckdb.l_name : nullptr, RTLD_LAZY | RTLD_NOLOAD);
		if (!handle) {
			throw std::runtime_error("merganser cannot look up the functions of " + NameOf(duckdb));
		}
	}

	void Bind() {
		Fill(section.Find<const ElfW(Rela)>(DT_RELA), section.Value(DT_RELASZ));
		Fill(section.Find<const ElfW(Rela)>(DT_JMPREL), section.Value(DT_PLTRELSZ));
	}
	void RunInitializers() {
		using initializer_t = void (*)(int, char **, char **);
		auto initializers = section.Find<const initializer_t>(DT_INIT_ARRAY);
		auto count = section.Value(INITIALIZERS_SIZE_TAG) / sizeof(initializer_t);
		for (ElfW(Xword) i = 0; i < count; i++) {
			initializers[i](0, nullptr, nullptr);
		}
	}

private:
	const link_map &image;
	const link_map &duckdb;
	DynamicSection section;
	const ElfW(Sym) * symbols;
	const char *names;
	void *handle;

	void Fill(const ElfW(Rela) * relocations, ElfW(Xword) bytes) {
		for (ElfW(Xword) i = 0; i < bytes / sizeof(ElfW(Rela)); i++) {
			auto &relocation = relocations[i];
			auto &symbol = symbols[ELF64_R_SYM(relocation.r_info)];
			if (symbol.st_shndx != SHN_UNDEF || symbol.st_size != FROM_DUCKDB) {
				continue;
			}
			auto address = Find(names + symbol.st_name);
			auto type = ELF64_R_TYPE(relocation.r_info);
			if (type != ADDRESS && type != DATA_SLOT && type != CALL_SLOT) {
				throw std::runtime_error("merganser refers to DuckDB in a way it cannot bind, relocation type " +
				                         std::to_string(type));
			}
			*reinterpret_cast<ElfW(Addr) *>(image.l_addr + relocation.r_offset) = address + relocation.r_addend;
		}
	}
	ElfW(Addr) Find(const char *name) const {
		auto found = dlsym(handle, name);
		if (!found) {
			throw std::runtime_error("merganser " MERGANSER_VERSION " is built for DuckDB " MERGANSER_DUCKDB_VERSION
			                         " on " MERGANSER_DUCKDB_PLATFORM ", but the DuckDB that loads it, " +
			                         NameOf(duckdb) + ", does not offer its extensions " + name);
		}
		return reinterpret_cast<ElfW(Addr)>(found);
	}
};

//! This image, if it was made to forget its DuckDB.
const link_map *UnboundImage() {
	auto image = ModuleOf(reinterpret_cast<const void *>(&UnboundImage));
	return image && DynamicSection(*image).Value(INITIALIZERS_SIZE_TAG) ? image : nullptr;
}

} // namespace

void DuckDBBinding::BindTo(const void *caller) {
	auto image = UnboundImage();
	if (!image) {
		return;
	}
	auto duckdb = ModuleOf(caller);
	if (!duckdb) {
		throw std::runtime_error(
		    "merganser cannot tell which DuckDB loads it: no loaded library has the caller's code");
	}
	std::lock_guard<std::mutex> guard(binding_lock);
	auto identity = reinterpret_cast<ElfW(Addr)>(duckdb);
	if (bound_to == identity) {
		return;
	}
	if (bound_to) {
		throw std::runtime_error("a second DuckDB in this process, " + NameOf(*duckdb) + ", loads " + NameOf(*image) +
		                         ", which works with the first, " +
		                         NameOf(*reinterpret_cast<const link_map *>(bound_to)) +
		                         ". Use one DuckDB for both, or load a copy of the extension's file in the second");
	}
	Binder binder(*image, *duckdb);
	binder.Bind();
	binder.RunInitializers();
	bound_to = identity;
}

} // namespace merganser

bool merganser_is_bound() {
	using namespace merganser; // NOLINT
	std::lock_guard<std::mutex> guard(binding_lock);
	return bound_to || !UnboundImage();
}
