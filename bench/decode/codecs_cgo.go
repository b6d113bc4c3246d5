//go:build cgo

package main

// The decoders that the engine has.
import (
	_ "headrace/media/avif"
	_ "headrace/media/jpeg"
	_ "headrace/media/spng"
	_ "headrace/media/tiff"
	_ "headrace/media/turbo"
	_ "headrace/media/webp"
)
