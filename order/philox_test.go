package order

import "testing"

// The vectors that the authors publish with Random123 (kat_vectors), for philox4x32
// with 10 rounds.
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter block
		key     [2]uint32
		want    block
	}{
		{block{}, [2]uint32{}, block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			block{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			block{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox(uint64(c.key[0])|uint64(c.key[1])<<32, c.counter); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.key, c.counter, got, c.want)
		}
	}
}
