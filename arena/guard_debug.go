//go:build headrace_debug

package arena

import "bytes"

// Guarded reports whether canaries and poison are compiled in.
const Guarded = true

// guardBytes is the canary's length: a row written one vector register too far still
// hits it.
const guardBytes = 64

const (
	canaryByte = 0xC5
	// poisonByte is chosen to show: as float32 or bfloat16 it is near -6e-30 in every
	// lane, as int64 a huge negative label.
	poisonByte = 0x8F
)

var (
	canary     = bytes.Repeat([]byte{canaryByte}, guardBytes)
	poisonPage = bytes.Repeat([]byte{poisonByte}, 4096)
)

func (c *cell) setCanary() { copy(c.beyond, canary) }

// checkCanary reports a write beyond the slot's end, and repairs the canary, so that
// each is reported once.
func (c *cell) checkCanary(when string) error {
	i := firstOther(c.beyond, canary)
	if i < 0 {
		return nil
	}
	c.setCanary()
	return c.corrupt(len(c.bytes)+i, when)
}

// poison overwrites the slot: whoever still reads it shall see that it is not theirs.
func (c *cell) poison() {
	for b := c.bytes; len(b) > 0; {
		b = b[copy(b, poisonPage):]
	}
}

// checkPoison reports a write after the slot was given back. A slot that was never used
// has no poison yet.
func (c *cell) checkPoison() error {
	if c.serial == 0 {
		return nil
	}
	for at := 0; at < len(c.bytes); at += len(poisonPage) {
		if i := firstOther(c.bytes[at:min(at+len(poisonPage), len(c.bytes))], poisonPage); i >= 0 {
			return c.corrupt(at+i, "reserved again")
		}
	}
	return nil
}

func (c *cell) corrupt(offset int, when string) error {
	return &CorruptError{Segment: c.segment.id, Slot: c.index, Offset: offset, When: when}
}

// firstOther is the index of the first byte of got that differs from want's; -1 where
// none does.
func firstOther(got, want []byte) int {
	if bytes.Equal(got, want[:len(got)]) {
		return -1
	}
	for i := range got {
		if got[i] != want[i] {
			return i
		}
	}
	return -1
}
