package walk

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/headrace/headrace/media/av/heads"
)

// inClusters are the elements that may be in a cluster besides, and numbers that have no
// more than eight bytes.
var inClusters = map[uint32]bool{
	heads.Timestamp: true, 0xA7: true, 0xAB: true, heads.SimpleBlock: true, heads.BlockGroup: true,
	0xAF: true, heads.Void: true, heads.Checksum: true,
	0x5854: true,
}

// inGroups are those of a group of blocks.
var inGroups = map[uint32]bool{
	heads.Block: true, 0xA2: true, 0x75A1: true, 0x9B: true, 0xFA: true, 0xFB: true, 0xFD: true,
	0xA4: true, 0x75A2: true, 0x8E: true, 0xC8: true, 0xAF: true, heads.Void: true, heads.Checksum: true,
}

var isNumber = map[uint32]bool{heads.Timestamp: true, 0xA7: true, 0xAB: true, 0x9B: true, 0xFA: true, 0xFB: true, 0xFD: true, 0x75A2: true}

// matroskaWalk follows the elements of Matroska and WebM down to the blocks in clusters.
type matroskaWalk struct {
	segment int64 // its end; 0: there is none
	cluster int64 // its end; 0: there is none
	live    bool  // the segment has no size
	open    bool  // the cluster has no size, and ends before the next element of a segment
	timed   bool  // the cluster has said its time
	tracks  map[uint64]bool
}

func (w *matroskaWalk) step(f *file, at int64) (next int64, err error) {
	if at == w.cluster {
		w.cluster = 0
	}
	if at == w.segment {
		w.segment, w.cluster = 0, 0
	}
	e, junk, cut := f.Element(at)
	if cut {
		return f.Len, nil // which Check tells
	}
	if w.cluster > 0 && !(w.open && !junk && isOuter(e.ID)) {
		return w.inCluster(f, at, e, junk)
	}
	w.cluster = 0
	return w.outer(f, at, e, junk)
}

// begin implements walker. Demuxers seek to clusters.
func (w *matroskaWalk) begin(f *file, at int64) int64 {
	w.cluster = 0
	if e, junk, cut := f.Element(at); junk || cut || e.ID != heads.Cluster || w.segment == 0 {
		return f.Len
	}
	return at
}

// isOuter reports whether an element is one of a segment, or is outside.
func isOuter(id uint32) bool { return id >= 0x10000000 }

// outer takes an element outside clusters.
func (w *matroskaWalk) outer(f *file, at int64, e heads.Element, junk bool) (next int64, err error) {
	switch {
	case w.segment == 0 && (junk || e.ID != heads.EBML && e.ID != heads.Segment):
		return f.Len, nil // behind a segment is no part of it
	case junk && w.live && f.zeros(at, f.Len):
		return f.Len, nil
	case junk || !isOuter(e.ID) && e.ID != heads.Void && e.ID != heads.Checksum:
		return 0, damage(at, "no element of Matroska begins there, and one should")
	}

	end := e.End
	if w.segment > 0 && end < 0 && e.ID != heads.Cluster {
		return 0, damage(at, "the element %X does not say where it ends", e.ID)
	}
	if w.segment > 0 && end > w.segment {
		if w.live {
			return f.Len, nil // which Check tells
		}
		return 0, damage(at, "the element %X goes on to byte %d, and what it is in ends at %d", e.ID, end, w.segment)
	}

	switch e.ID {
	case heads.Segment:
		w.segment, w.live, w.tracks = end, end <= e.Body, nil
		if w.live {
			w.segment = f.Len
		}
		return e.Body, nil
	case heads.Cluster:
		w.cluster, w.open, w.timed = end, end < 0, false
		if w.open {
			w.cluster = w.segment
			return e.Body, nil
		}
		return e.Body, f.crc(e)
	case heads.Tracks:
		w.tracks = f.trackNumbers(e)
		return end, f.crc(e)
	case heads.Info:
		return end, f.crc(e)
	}
	return end, nil
}

// inCluster takes an element of a cluster.
func (w *matroskaWalk) inCluster(f *file, at int64, e heads.Element, junk bool) (next int64, err error) {
	if w.open && w.live && junk && f.zeros(at, f.Len) {
		return f.Len, nil
	}
	if err := inside(at, e, junk, w.cluster, inClusters, "a cluster"); err != nil {
		if w.open && e.End > f.Len {
			return f.Len, nil // which Check tells
		}
		return 0, err
	}
	if e.End > f.Len {
		return f.Len, nil
	}
	switch e.ID {
	case heads.Timestamp:
		w.timed = true
	case heads.SimpleBlock, heads.BlockGroup:
		if !w.timed {
			return 0, damage(at, "a block comes before the time of its cluster")
		}
		if e.ID == heads.SimpleBlock {
			err = w.block(f, e)
		} else {
			err = w.group(f, e)
		}
	}
	return e.End, err
}

// inside finds out whether an element may be in another that ends at a place.
func inside(at int64, e heads.Element, junk bool, end int64, may map[uint32]bool, of string) error {
	switch {
	case junk:
		return damage(at, "no element of %s begins there, and one should", of)
	case !may[e.ID] && (e.ID < 0x4000 || isOuter(e.ID)): // longer names are left to be given
		return damage(at, "the element %X is none of %s", e.ID, of)
	case e.End < 0 || e.End > end:
		return damage(at, "the element %X goes on to byte %d, and what it is in ends at %d", e.ID, e.End, end)
	case isNumber[e.ID] && e.End-e.Body > 8:
		return damage(at, "the element %X is a number of %d bytes", e.ID, e.End-e.Body)
	}
	return nil
}

// group follows the elements of a group, of which one is a block.
func (w *matroskaWalk) group(f *file, of heads.Element) error {
	has := false
	for at := of.Body; at < of.End; {
		e, junk, cut := f.Element(at)
		if err := inside(at, e, junk || cut, of.End, inGroups, "a group of blocks"); err != nil {
			return err
		}
		if e.ID == heads.Block {
			has = true
			if err := w.block(f, e); err != nil {
				return err
			}
		}
		at = e.End
	}
	if !has {
		return damage(of.Body, "a group of blocks has none")
	}
	return nil
}

// block looks at the head of a block: which track it is of, and how it is divided.
func (w *matroskaWalk) block(f *file, e heads.Element) error {
	const most = 2048
	b := f.Bytes(e.Body, int(min(e.End-e.Body, most)))
	track, n := heads.Vint(b)
	if n == 0 || len(b) < n+3 {
		return damage(e.Body, "a block is too short for its head")
	}
	if w.tracks != nil && !w.tracks[track] {
		return damage(e.Body, "a block is of track %d, which the file has not", track)
	}

	lacing, size := b[n+2]>>1&3, e.End-e.Body-int64(n)-3
	b = b[n+3:]
	if lacing == 0 {
		return nil
	}
	if len(b) == 0 {
		return damage(e.Body, "a block does not say how many frames it has")
	}
	if !laced(lacing, int(b[0])+1, b[1:], size-1) {
		return damage(e.Body, "the sizes of the frames in a block are not right")
	}
	return nil
}

// laced reports whether n frames fit into a block of so many bytes, which begins with
// their sizes.
func laced(lacing byte, n int, b []byte, size int64) bool {
	if lacing == 2 {
		return size%int64(n) == 0
	}
	sum, last := int64(0), int64(0)
	for i := range n - 1 {
		var used int
		if lacing == 1 {
			for last = 0; used < len(b) && b[used] == 255; used++ {
				last += 255
			}
			if used == len(b) {
				return size > int64(len(b)) // more than is looked at
			}
			last += int64(b[used])
			used++
		} else {
			var v uint64
			if v, used = heads.Vint(b); used == 0 {
				return len(b) < 8 && size > 8
			}
			if i > 0 {
				v += uint64(last) - (1<<(7*used-1) - 1)
			}
			last = int64(v)
		}

		b = b[used:]
		if size -= int64(used); last < 0 || last > size {
			return false
		}
		sum += last
	}
	return sum <= size
}

// trackNumbers returns those that blocks may have; nil if they are not known.
func (f *file) trackNumbers(of heads.Element) map[uint64]bool {
	all := map[uint64]bool{}
	for at := of.Body; at < of.End; {
		e, junk, cut := f.Element(at)
		if junk || cut || e.End < 0 || e.End > of.End {
			return nil
		}
		switch e.ID {
		case heads.TrackEntry:
			at = e.Body // its elements, among which is the number, are walked over, too
			continue
		case heads.TrackNumber:
			var v uint64
			for _, c := range f.Bytes(e.Body, int(min(e.End-e.Body, 8))) {
				v = v<<8 | uint64(c)
			}
			if all[v] = true; len(all) > mostStreams {
				return nil
			}
		}
		at = e.End
	}
	return all
}

// crc checks the sum that an element may begin with (RFC 8794, 11.3.1).
func (f *file) crc(of heads.Element) error {
	b := f.Bytes(of.Body, 6)
	if f.light || of.End > f.Len {
		return nil
	}
	if begins := len(b) == 6 && b[0] == heads.Checksum && b[1] == 0x84; !begins { // of four bytes
		return nil
	}
	want, sum := binary.LittleEndian.Uint32(b[2:]), uint32(0)
	for at := of.Body + 6; at < of.End; {
		b := f.Bytes(at, int(min(heads.Together, of.End-at)))
		if len(b) == 0 {
			return nil
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
		at += int64(len(b))
	}
	if sum != want {
		return damage(of.Body, "the checksum of %s is wrong", of.Name())
	}
	return nil
}

// zeros reports whether nothing else follows up to a place.
func (f *file) zeros(at, until int64) bool {
	for at < until {
		b := f.Bytes(at, int(min(heads.Together, until-at)))
		if len(b) == 0 {
			break
		}
		for _, c := range b {
			if c != 0 {
				return false
			}
		}
		at += int64(len(b))
	}
	return true
}
