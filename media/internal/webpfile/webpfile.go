// Package webpfile finds the first frame of an animated WebP.
package webpfile

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
)

// A Frame is where a frame stands on its canvas, and its chunks.
type Frame struct {
	Left, Top, Width, Height int
	Chunks                   []byte
}

// First returns the first frame of an animation. It is within the canvas whose size
// info says.
func First(src []byte, info *media.Info) (f Frame, err error) {
	if err := canvas(src, info); err != nil {
		return f, err
	}
	for rest := src[12:]; len(rest) >= 8; {
		name, n := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if name == "ANMF" && n < 16 {
			return f, fmt.Errorf("%w: webp frame of %d bytes", media.ErrCorrupt, n)
		}
		if n > uint64(len(rest)) {
			break
		}
		if name != "ANMF" {
			rest = rest[min(n+n&1, uint64(len(rest))):]
			continue
		}
		at := func(i int) int { return int(rest[i]) | int(rest[i+1])<<8 | int(rest[i+2])<<16 }
		f = Frame{2 * at(0), 2 * at(3), 1 + at(6), 1 + at(9), rest[16:n]}
		if f.Left+f.Width > info.Width || f.Top+f.Height > info.Height {
			return f, fmt.Errorf("%w: webp frame that reaches beyond its canvas", media.ErrCorrupt)
		}
		return f, nil
	}
	return f, fmt.Errorf("%w: webp ends before its first frame", media.ErrTruncated)
}

// canvas checks that an animation has the size that info says.
func canvas(src []byte, info *media.Info) error {
	if len(src) < 30 {
		return fmt.Errorf("%w: webp ends before its first frame", media.ErrTruncated)
	}
	width := 1 + (int(src[24]) | int(src[25])<<8 | int(src[26])<<16)
	height := 1 + (int(src[27]) | int(src[28])<<8 | int(src[29])<<16)
	if string(src[12:16]) != "VP8X" || width != info.Width || height != info.Height {
		return fmt.Errorf("%w: not the webp with a canvas of %d×%d pixels that it was taken for", media.ErrCorrupt, info.Width, info.Height)
	}
	return nil
}

// Whole checks that the file has not ended before its end: what a library has no use
// for, an orientation, may be missing else.
func Whole(src []byte) error {
	if len(src) >= 8 {
		if n := uint64(binary.LittleEndian.Uint32(src[4:])) + 8; n > uint64(len(src)) {
			return fmt.Errorf("%w: webp ends after %d of %d bytes", media.ErrTruncated, len(src), n)
		}
	}
	return nil
}
