package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/headrace/headrace/media"
)

// truncated is the file cut at every byte.
func truncated(data []byte) iter.Seq[File] {
	return func(yield func(File) bool) {
		for n := range data {
			if !yield(File{fmt.Sprintf("cut after %d of %d bytes", n, len(data)), bytes.Clone(data[:n])}) {
				return
			}
		}
	}
}

// rotten is the file with damage at random places, the same for the same seed.
func rotten(data []byte, seed uint64, count int) iter.Seq[File] {
	return func(yield func(File) bool) {
		r := rand.New(rand.NewPCG(seed, 7))
		for i := range count {
			b := bytes.Clone(data)
			for range 1 + r.IntN(4) {
				b = rot(r, b)
			}
			if !yield(File{fmt.Sprintf("rot %d", i), b}) {
				return
			}
		}
	}
}

// rot does one thing to some bytes.
func rot(r *rand.Rand, b []byte) []byte {
	at := r.IntN(len(b))
	n := 1 + r.IntN(min(8, len(b)-at))
	switch r.IntN(8) {
	case 0:
		b[at] = byte(r.Uint32())
	case 1:
		clear(b[at : at+n])
	case 2:
		copy(b[at:at+n], "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")
	case 3: // gone
		return append(b[:at:at], b[at+n:]...)
	case 4: // twice
		return append(b[:at+n:at+n], b[at:]...)
	case 5: // from somewhere else
		copy(b[at:at+n], b[r.IntN(len(b)-n+1):])
	default:
		b[at] ^= 1 << r.IntN(8)
	}
	return b
}

// extreme is the file with each number of its header at its limits, wherever a number
// may be and however long it may be.
func extreme(data []byte) iter.Seq[File] {
	const header = 400 // beyond it, pixels
	values := []uint32{0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}
	return func(yield func(File) bool) {
		for at := range min(len(data), header) {
			for _, v := range values {
				for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
					for size := 1; size <= 4; size *= 2 {
						if at+size > len(data) || uint64(v) >= 1<<(8*size) {
							continue
						}
						number := order.AppendUint32(nil, v)
						if order == binary.AppendByteOrder(binary.BigEndian) {
							number = number[4-size:]
						}
						b := bytes.Clone(data)
						copy(b[at:], number[:size])
						if !yield(File{fmt.Sprintf("%#x in %d bytes at %d, %v", v, size, at, order), b}) {
							return
						}
					}
				}
			}
		}
	}
}

// contradictory is the file with sizes that its pixels do not have, neither so large
// that they are refused nor so small that all is there.
func contradictory(data []byte, format string) (files []File) {
	for _, size := range [][2]uint32{{0, 0}, {0, seedHeight}, {seedWidth, 0}, {1, 1}, {seedWidth + 1, seedHeight},
		{seedWidth, seedHeight + 1},
		{seedHeight, seedWidth}, {300, 200}, {seedWidth, 60_000}, {16_000, seedHeight}, {16_383, 1000}} {
		if b := Resized(data, format, size[0], size[1]); b != nil {
			files = append(files, File{fmt.Sprintf("%d×%d pixels", size[0], size[1]), b})
		}
	}
	return files
}

// both yields each file as it is, and a PNG with right check sums too: what they
// protect must hold without them.
func both(format string, files iter.Seq[File]) iter.Seq[File] {
	if format != media.PNG {
		return files
	}
	return func(yield func(File) bool) {
		for f := range files {
			if !yield(f) || len(f.Data) > len(pngMagic) && !yield(File{f.Name + ", right check sums", recrc(f.Data)}) {
				return
			}
		}
	}
}
