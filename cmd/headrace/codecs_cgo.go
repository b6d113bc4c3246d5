//go:build cgo

package main

// Each registers its decoders, which take the place of those in plain Go.
import (
	_ "headrace/media/avif"
	_ "headrace/media/ffmpeg"
	_ "headrace/media/jpeg"
	_ "headrace/media/sound/fast"
	_ "headrace/media/spng"
	_ "headrace/media/tiff"
	_ "headrace/media/turbo"
	_ "headrace/media/webp"
	_ "headrace/media/yuv/fast"
)
