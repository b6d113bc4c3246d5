//go:build cgo && headrace_static_tiff

package tiff

// #cgo CFLAGS: -DHR_TIFF_STATIC
// #cgo LDFLAGS: -ltiff -ljpeg -lwebp -lzstd -llzma -ldeflate -lz -lm -lpthread
import "C"

// standard is the library that is linked in, as in wheels.
const standard = ""
