package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A digest of a set says in a few dozen bytes what its shards are: their names within the
// set, and where in them samples are. Of each shard it takes a number of 32 bits. All of
// these are joined by exclusive or, and for each bit of a shard's place those of the
// shards that have it set. If one shard is another, the sums that differ are the bits of
// its place.

// Digest returns that of the set. The place of the set is not part of it, nor when files
// were written.
func (d *Dataset) Digest() string {
	text := strconv.Itoa(len(d.shards))
	for _, sum := range d.sums() {
		text += fmt.Sprintf(":%08x", sum)
	}
	return text
}

func (d *Dataset) sums() []uint32 {
	all := make([]uint32, 1+bits.Len(uint(len(d.shards)-1)))
	for i := range d.index.Shards {
		s := &d.index.Shards[i]
		h := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d %s", i, s.Size, s.Samples, s.Digest, s.Name))
		v := binary.LittleEndian.Uint32(h[:])
		all[0] ^= v
		for b := range len(all) - 1 {
			if i>>b&1 != 0 {
				all[1+b] ^= v
			}
		}
	}
	return all
}

// Changed tells what is different from the set that had this digest.
func (d *Dataset) Changed(was string) error {
	parts := strings.Split(was, ":")
	n, err := strconv.Atoi(parts[0])
	now := d.sums()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %q is not a digest of shards", ErrCorrupt, was)
	case n != len(d.shards):
		return fmt.Errorf("%w: there were %d shards, and now there are %d", ErrChanged, n, len(d.shards))
	case len(parts) != 1+len(now):
		return fmt.Errorf("%w: %q is not a digest of shards", ErrCorrupt, was)
	}

	place, one := 0, true
	var whole uint32
	for k, part := range parts[1:] {
		v, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			return fmt.Errorf("%w: %q is not a digest of shards", ErrCorrupt, was)
		}
		switch other := uint32(v) ^ now[k]; {
		case k == 0:
			whole = other
		case other == whole && other != 0:
			place |= 1 << (k - 1)
		case other != 0:
			one = false
		}
	}
	switch {
	case whole == 0 && one:
		return nil
	case !one || place >= len(d.shards):
		return fmt.Errorf("%w: several shards have changed, or have other names", ErrChanged)
	}
	return fmt.Errorf("%w: the shard %q has changed", ErrChanged, d.shards[place].key)
}
