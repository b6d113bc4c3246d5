// Package webpfile finds the first frame of an animated WebP.
package webpfile

import (
	"encoding/binary"
	"fmt"

	"headrace/media"
)

// A Frame is where a frame stands on its canvas, and its chunks.
type Frame struct {
	Left, Top, Width, Height int
	Chunks                   []byte
}

// First returns the first frame of an animation. It lies within the canvas whose size info says.
func First(src []byte, info *media.Info) (f Frame, err error) {
	for rest := src[min(12, len(src)):]; len(rest) >= 8; {
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
