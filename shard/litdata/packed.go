package litdata

import (
	"context"
	"encoding/binary"
	"io"
	"strings"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/shard/internal/packed"
	"github.com/headrace/headrace/shard/internal/window"
)

// unit is what is compressed as one.
type unit uint8

const (
	nothing    unit = iota
	wholeChunk      // as older versions did, and newer do if asked to
	frames          // some samples together
	singly          // each sample
)

// unitOf reads what index.json says of compression; false: it is none that is known.
func unitOf(compression, level *string) (unit, bool) {
	if compression == nil || *compression == "" {
		return nothing, true
	}
	algorithm, _, _ := strings.Cut(*compression, ":") // what follows is how hard
	u, ok := map[string]unit{"": wholeChunk, "chunk": wholeChunk, "batch": frames, "sample": singly}[text(level)]
	return u, ok && algorithm == "zstd"
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// rowsMark ends chunks whose samples are rows of Arrow.
const rowsMark = "LDARW01\x00"

// refuseRows refuses them.
func refuseRows(f shard.File) error {
	if f.Size() < int64(len(rowsMark)) {
		return nil
	}
	at := f.Size() - int64(len(rowsMark))
	end, err := window.New(f).At(at, len(rowsMark))
	if err == nil && string(end) == rowsMark {
		err = shard.Wrong(f, at, shard.ErrUnsupported, "the samples of the chunk are rows of Arrow, as "+
			"LitData keeps dicts of simple values alone: read it by hr.source(litdata.StreamingDataset(…)), or write Parquet")
	}
	return err
}

// scanPacked reads the offsets of a chunk that is one block.
func scanPacked(ctx context.Context, f shard.File, known facts, found *index.Builder) error {
	r, err := packed.NewReader(packed.Zstd, io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return &shard.Error{Shard: f.Name(), At: -1, Err: err}
	}
	defer r.Close() // it was opened for reading
	found.Block(index.Block{Len: f.Size(), Size: known.size, Codec: uint64(packed.Zstd)})
	return joint.Scan(ctx, f, r, known.size, known.samples, found)
}

// Chunks of frames begin with a mark, a version, flags, and the numbers of samples, of
// samples in a frame, and of frames. There follow the offsets of samples in what the
// frames hold, and the frames' places.
const (
	framesMark  = "LDFZ01\x00\x00"
	framesBegin = len(framesMark) + 2 + 2 + 3*4
	frameLength = 4 + 4 + 8 + 4 + 4
)

func scanFrames(ctx context.Context, f shard.File, known facts, found *index.Builder) error {
	w := window.New(f)
	head, err := w.At(0, framesBegin)
	if err != nil {
		return err
	}
	if string(head[:len(framesMark)]) != framesMark || binary.LittleEndian.Uint16(head[8:]) != 1 {
		return shard.Wrong(f, 0, shard.ErrUnsupported, "the chunk does not begin as one of LitData's frames, version 1")
	}
	n, all := int64(binary.LittleEndian.Uint32(head[12:])), int64(binary.LittleEndian.Uint32(head[20:]))
	if n != known.samples {
		return shard.Wrong(f, 12, shard.ErrCorrupt, "the chunk has %d samples, and %d as index.json says", n, known.samples)
	}
	table := int64(framesBegin) + 4*(n+1)
	begin := table + frameLength*all
	if begin > f.Size() {
		return shard.Wrong(f, 12, shard.ErrTruncated, "%d samples and %d frames do not fit into %d bytes", n, all, f.Size())
	}

	unpacked := int64(0)
	for i := range all {
		entry, err := w.At(table+frameLength*i, frameLength)
		if err != nil {
			return err
		}
		at, length, size := binary.LittleEndian.Uint64(entry[8:]), int64(binary.LittleEndian.Uint32(entry[16:])),
			int64(binary.LittleEndian.Uint32(entry[20:]))
		if length > f.Size()-begin || at < uint64(begin) || at > uint64(f.Size()-length) {
			return shard.Wrong(f, table+frameLength*i, shard.ErrCorrupt, "frame %d has %d bytes at %d, of %d", i, length, at, f.Size())
		}
		found.Block(index.Block{At: int64(at), Len: length, Size: size, Codec: uint64(packed.Zstd)})
		unpacked += size
	}

	offsets := io.NewSectionReader(f, int64(framesBegin), 4*(n+1))
	return joint.Offsets(ctx, f, offsets, joint.Range{From: 0, To: unpacked}, n, func(at, length int64) error {
		found.Sample(nil)
		found.Part(nil, at, length)
		return nil
	})
}

// scanSingly reads the offsets, and of each sample how large it is unpacked.
func scanSingly(ctx context.Context, f shard.File, known facts, found *index.Builder) error {
	n := known.samples
	if n > f.Size()/4-2 {
		return shard.Wrong(f, 0, shard.ErrCorrupt, "%d samples do not fit into %d bytes", n, f.Size())
	}
	w := window.New(f)
	head, err := w.At(0, 4)
	if err != nil {
		return err
	}
	if has := int64(binary.LittleEndian.Uint32(head)); has != n {
		return shard.Wrong(f, 0, shard.ErrCorrupt, "the chunk has %d samples, and %d as index.json says", has, n)
	}

	unpacked := int64(0)
	offsets := io.NewSectionReader(f, 4, 4*(n+1))
	return joint.Offsets(ctx, f, offsets, joint.Range{From: 4 * (n + 2), To: f.Size()}, n, func(at, length int64) error {
		begin, err := w.At(at, int(min(length, packed.HeaderOfZstd)))
		if err != nil {
			return err
		}
		size, err := packed.SizeOfZstd(begin)
		if err != nil || size > 1<<62-unpacked {
			return &shard.Error{Shard: f.Name(), At: at, Err: err}
		}
		found.Block(index.Block{At: at, Len: length, Size: size, Codec: uint64(packed.Zstd)})
		found.Sample(nil)
		found.Part(nil, unpacked, size)
		unpacked += size
		return nil
	})
}
