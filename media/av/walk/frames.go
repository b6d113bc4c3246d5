package walk

import (
	"bytes"

	"github.com/headrace/headrace/media/av/heads"
)

// frameWalk follows frames of AC-3, one after the other.
type frameWalk struct{}

func (frameWalk) step(f *file, at int64) (next int64, err error) {
	size := heads.AC3(f.Bytes(at, 6))
	if size < 0 {
		return f.Len, nil // which package whole tells
	}
	if size > 0 && (at+size >= f.Len || f.isFrame(at+size)) {
		return at + size, nil
	}

	// What comes after the last frame is no part of the recording.
	for p, tried := at+1, 0; p < f.Len && tried < mostTried; tried++ {
		b := f.Bytes(p, heads.Together)
		i := bytes.Index(b, []byte{0x0B, 0x77})
		if i < 0 {
			p += int64(max(len(b)-1, 1))
			continue
		}
		if p += int64(i); f.isFrame(p) && f.isFrame(p+heads.AC3(f.Bytes(p, 6))) {
			return 0, damage(at, "a frame should begin there and end where the next one begins")
		}
		p++
	}
	if size > 0 {
		return at + size, nil
	}
	return f.Len, nil
}

// begin implements walker.
func (frameWalk) begin(f *file, at int64) int64 {
	if f.isFrame(at) {
		return at
	}
	return f.Len
}

func (f *file) isFrame(at int64) bool {
	b := f.Bytes(at, 6)
	return len(b) > 0 && heads.AC3(b) > 0
}
