package wav

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/media/sound"
)

// together is how much of a file is read to look at some of it: chunks are small, and
// side by side.
const together = 4 << 10

// chunks walks along the chunks of a file.
type chunks struct {
	*sound.Content
	at    int64            // of the next one
	wide  bool             // the file is W64
	order binary.ByteOrder // of numbers
}

// chunk is one of them. Its body begins at a place, and has less bytes than its size
// where the file is cut.
type chunk struct {
	name     string
	size, at int64
	left     int64 // bytes of the file from there on
}

// has is how many bytes of the body there are.
func (c chunk) has() int64 { return min(c.size, c.left) }

var (
	w64Riff = []byte("riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00")
	w64Wave = []byte("wave\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a")
)

// chunksOf returns the chunks of a file, by its first bytes.
func chunksOf(c *sound.Content, head []byte) chunks {
	switch {
	case bytes.HasPrefix(head, w64Riff):
		return chunks{Content: c, at: 40, wide: true, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("RIFX")):
		return chunks{Content: c, at: 12, order: binary.BigEndian}
	}
	return chunks{Content: c, at: 12, order: binary.LittleEndian}
}

// next returns the next chunk; false: there is none.
func (c *chunks) next() (chunk, bool, error) {
	n := 8
	if c.wide {
		n = 24
	}
	head, err := c.Bytes(c.at, n)
	if err != nil || len(head) < n {
		return chunk{}, false, err
	}

	// Chunks begin at even places, those of W64 at multiples of eight.
	next := chunk{name: string(head[:4]), at: c.at + int64(n)}
	skip := int64(0)
	if c.wide {
		next.size = int64(min(binary.LittleEndian.Uint64(head[16:]), math.MaxInt64-8)) - 24
		if next.size < 0 {
			return chunk{}, false, nil
		}
		skip = (next.size + 7) / 8 * 8
	} else {
		next.size = int64(c.order.Uint32(head[4:]))
		skip = next.size + next.size%2
	}
	next.left = c.Size() - next.at
	c.at = next.at + min(skip, next.left)
	return next, true, nil
}

// lead reports whether nothing but chunks follow, to the end of the file.
func (c chunks) lead() bool {
	for range mostChunks {
		next, ok, err := c.next()
		if err != nil || !ok {
			return err == nil && c.at == c.Size()
		}
		for _, letter := range []byte(next.name) {
			if letter < ' ' || letter > '~' {
				return false
			}
		}
		if next.size > next.left {
			return false
		}
	}
	return false
}
