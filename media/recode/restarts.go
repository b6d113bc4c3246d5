package recode

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/heads"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// restarts reports whether the clock of a file begins again somewhere: then a time does
// not tell where in the file a packet is, and seeking would go astray. To know it, all of
// the file is read, but in the formats of long recordings nothing is demuxed. What was
// found is kept.
func restarts(ctx context.Context, file *os.File, c container, format string) (bool, error) {
	if r, ok := c.(*ffmpeg.Reader); !ok || r.Joined() {
		return ok, nil
	}
	var look func(context.Context, *os.File) (bool, error)
	switch {
	case format == "mpegts":
		look = restartsTS
	case format == "mpeg":
		look = restartsPS
	case strings.HasPrefix(format, "matroska") && isOneSegment(file):
		return false, nil
	case strings.HasPrefix(format, "matroska"), format == "flv", format == "asf", format == "ogg", format == "nut":
		look = restartsAny
	default: // times are counted, or are in an index
		return false, nil
	}

	of, err := stateOf(file)
	if err != nil {
		return false, err
	}
	if so, ok := looked.get(of); ok {
		return so, nil
	}
	so, err := look(ctx, file)
	if err == nil {
		looked.put(of, so)
	}
	return so, err
}

// state is a file as it was when it was read.
type state struct {
	device, inode    uint64
	size             int64
	written, changed unix.Timespec
}

func stateOf(file *os.File) (state, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return state{}, &os.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	return state{uint64(s.Dev), s.Ino, s.Size, s.Mtim, s.Ctim}, nil
}

// looked is which of the files that were read begin again.
var looked answers

type answers struct {
	sync.Mutex
	all map[state]bool
}

func (k *answers) get(of state) (so, ok bool) {
	k.Lock()
	defer k.Unlock()
	so, ok = k.all[of]
	return so, ok
}

func (k *answers) put(of state, so bool) {
	const most = 4096
	k.Lock()
	defer k.Unlock()
	if k.all == nil || len(k.all) >= most {
		k.all = map[state]bool{}
	}
	k.all[of] = so
}

// restartsAny reads all packets of a file.
func restartsAny(ctx context.Context, file *os.File) (bool, error) {
	r, err := ffmpeg.NewReader(file)
	if err != nil {
		return false, err
	}
	defer r.Close()
	var p packets.Packet
	for n := 0; r.Restarts == 0; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err := r.Read(&p); err == io.EOF {
			return false, nil
		} else if err != nil {
			return true, nil // it is said to those who read it
		}
	}
	return true, nil
}

// isOneSegment reports whether a Matroska file is one segment and says where that ends:
// then nothing was joined to it.
func isOneSegment(file *os.File) bool {
	about, err := file.Stat()
	if err != nil {
		return false
	}
	f, at := heads.File{From: file, Len: about.Size()}, int64(0)
	for range 8 { // there may be empty elements between
		e, junk, cut := f.Element(at)
		if junk || cut || e.End < 0 {
			return false
		}
		if at = e.End; e.ID == heads.Segment {
			return at >= f.Len
		}
	}
	return false
}

// together is how many bytes of a file are read at once.
const together = 1 << 20

// inPieces calls each with a file's bytes, piece by piece, until it returns true. It says
// how many bytes at the end it has used up; the rest begins the next piece.
func inPieces(ctx context.Context, file *os.File, each func(b []byte) (used int, stop bool)) (stopped bool, err error) {
	b := make([]byte, together)
	at, had := int64(0), 0
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, err := file.ReadAt(b[had:], at)
		if err != nil && err != io.EOF {
			return false, err
		}
		at += int64(n)
		had += n
		used, stop := each(b[:had])
		if stop || n == 0 {
			return stop, nil
		}
		had = copy(b, b[used:had])
		if had == len(b) {
			return true, nil
		}
	}
}

// A clock of 33 bits.
type clock33 map[int]uint64

// back reports whether the time of a stream is before the last that it had. Half of all
// times are behind any: a clock whose bits run out goes on.
func (c clock33) back(stream int, time uint64) bool {
	last, ok := c[stream]
	c[stream] = time
	return ok && (time-last)&(1<<33-1) >= 1<<32
}

func restartsTS(ctx context.Context, file *os.File) (bool, error) {
	c := clock33{}
	return inPieces(ctx, file, func(b []byte) (used int, stop bool) {
		const size, sync = 188, 0x47
		for len(b)-used > 2*size+16 {
			p := b[used:]
			if p[0] != sync {
				used += max(1, bytes.IndexByte(p[1:len(p)-2*size], sync)+1)
				continue
			}
			if time, timed, _ := av.TransportTime(p[:size]); timed && c.back(int(av.TransportID(p)), time) {
				return used, true
			}
			used += size // those of 192 and 204 bytes have others between them, which the search passes
		}
		return used, false
	})
}

func restartsPS(ctx context.Context, file *os.File) (bool, error) {
	c := clock33{}
	pack := []byte{0, 0, 1, 0xBA}
	return inPieces(ctx, file, func(b []byte) (used int, stop bool) {
		for {
			n := bytes.Index(b[used:], pack)
			if n < 0 {
				return max(used, len(b)-len(pack)+1), false
			}
			if used += n; len(b)-used < 9 {
				return used, false
			}
			if c.back(0, systemClock(b[used+4:])) {
				return used, true
			}
			used += len(pack)
		}
	})
}

// systemClock is the time of a pack, without what is below its 90,000th part of a second.
func systemClock(b []byte) uint64 {
	if b[0]&0xC0 != 0x40 { // MPEG-1
		return av.Time33(b)
	}
	n := uint64(binary.BigEndian.Uint32(b))<<8 | uint64(b[4])
	return n>>35&7<<30 | n>>19&0x7FFF<<15 | n>>3&0x7FFF // not 33 bits in a row: after 3, 15 and 15 there is a mark
}
