package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/tensor"
)

// packed is several arrays in one result: 8 bytes with the length of a JSON text, the
// text, and the arrays, each at a multiple of 64.
type packed struct {
	slot   *arena.Slot
	at     int
	Arrays []packedArray  `json:"arrays"`
	About  map[string]any `json:"about,omitempty"`
}

type packedArray struct {
	Name  string       `json:"name"`
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	At    int          `json:"at"`
}

// packText is how much room the text has.
const packText = 1 << 12

// pack begins a result with room for arrays of so many bytes, together.
func (s *ioSession) pack(ctx context.Context, bytes int64, arrays int) (*packed, error) {
	slot, err := s.results.reserve(ctx, packText+bytes+64*int64(arrays))
	if err != nil {
		return nil, err
	}
	return &packed{slot: slot, at: packText}, nil
}

// room is memory for the next array, whose size may turn out smaller.
func (p *packed) room(n int) []byte { return p.slot.Bytes()[p.at:][:n:n] }

// add records an array that has been written to the room.
func (p *packed) add(name string, t tensor.DType, shape tensor.Shape) {
	n := t.Size()
	for _, extent := range shape {
		n *= extent
	}
	p.Arrays = append(p.Arrays, packedArray{name, t.String(), shape, p.at})
	p.at += (n + 63) &^ 63
}

// done is the result.
func (p *packed) done() (*result, error) {
	text, err := json.Marshal(p)
	if err == nil && len(text) > packText-8 {
		err = fmt.Errorf("serve: %d arrays in one result", len(p.Arrays))
	}
	if err != nil {
		p.slot.Drop()
		return nil, err
	}
	binary.LittleEndian.PutUint64(p.slot.Bytes(), uint64(len(text)))
	copy(p.slot.Bytes()[8:], text)
	return newBytesResult(p.slot, p.at), nil
}
