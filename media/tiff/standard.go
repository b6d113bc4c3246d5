//go:build cgo && !headrace_static_tiff

package tiff

// standard is opened with the first image.
const standard = "libtiff.so.6"
