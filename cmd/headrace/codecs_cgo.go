//go:build cgo

package main

// Each registers its decoders, which take the place of those in plain Go.
import (
	_ "github.com/headrace/headrace/media/avif"
	_ "github.com/headrace/headrace/media/ffmpeg"
	_ "github.com/headrace/headrace/media/jpeg"
	_ "github.com/headrace/headrace/media/sound/fast"
	_ "github.com/headrace/headrace/media/spng"
	_ "github.com/headrace/headrace/media/tiff"
	_ "github.com/headrace/headrace/media/turbo"
	_ "github.com/headrace/headrace/media/webp"
	_ "github.com/headrace/headrace/media/yuv/fast"
)
