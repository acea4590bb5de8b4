"""Scripts that measure the library: a package, as pyarrow 17 has one of this name."""
