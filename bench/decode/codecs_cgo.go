//go:build cgo

package main

// The decoders that the engine has.
import (
	_ "github.com/headrace/headrace/media/avif"
	_ "github.com/headrace/headrace/media/jpeg"
	_ "github.com/headrace/headrace/media/spng"
	_ "github.com/headrace/headrace/media/tiff"
	_ "github.com/headrace/headrace/media/turbo"
	_ "github.com/headrace/headrace/media/webp"
)
