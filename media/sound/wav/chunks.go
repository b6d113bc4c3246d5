package wav

import (
	"encoding/binary"
	"math"
)

// chunks walks along the chunks of a file.
type chunks struct {
	file []byte // what is left
	wide bool   // the file is W64
}

// chunk is one of them. Its body is what there is of it, which may be less than its size;
// of the last one, all that follows.
type chunk struct {
	name string
	size int64
	body []byte
}

var (
	w64Riff = []byte("riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00")
	w64Wave = []byte("wave\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a")
)

func riff(file []byte) chunks { return chunks{file: file[min(12, len(file)):]} }
func w64(file []byte) chunks  { return chunks{file: file[min(40, len(file)):], wide: true} }

// next returns the next chunk; false: there is none.
func (c *chunks) next() (chunk, bool) {
	head, size := 8, int64(0)
	if c.wide {
		head = 24
	}
	if len(c.file) < head {
		return chunk{}, false
	}

	name := string(c.file[:4])
	if c.wide {
		size = int64(min(binary.LittleEndian.Uint64(c.file[16:]), math.MaxInt64-8)) - 24
		if size < 0 {
			return chunk{}, false
		}
	} else {
		size = int64(binary.LittleEndian.Uint32(c.file[4:]))
	}
	body := c.file[head:]

	// Chunks begin at even places, those of W64 at multiples of eight.
	skip := size + size%2
	if c.wide {
		skip = (size + 7) / 8 * 8
	}
	c.file = body[min(skip, int64(len(body))):]

	if name != "data" {
		body = body[:min(size, int64(len(body)))]
	}
	return chunk{name, size, body}, true
}
