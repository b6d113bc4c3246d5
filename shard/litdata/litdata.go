package litdata

import (
	"bytes"
	"context"
	"io"
	"path"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/shard/internal/packed"
)

const name = "litdata"

// Opener opens sets by their index.json.
type Opener struct{}

var _ shard.Opener = Opener{}

// Name is "litdata".
func (Opener) Name() string { return name }

// Suffixes is "index.json".
func (Opener) Suffixes() []string { return []string{"index.json"} }

// Begins looks for the list of chunks.
func (Opener) Begins(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"chunks"`))
}

// described is what index.json says.
type described struct {
	Chunks []struct {
		Name    string `json:"filename"`
		Bytes   int64  `json:"chunk_bytes"`
		Samples int64  `json:"chunk_size"`
	} `json:"chunks"`
	Config struct {
		Compression *string  `json:"compression"`
		Level       *string  `json:"compression_level"` // what is compressed as one: nil is the chunk
		Formats     []string `json:"data_format"`
		Spec        string   `json:"data_spec"`
		Encryption  any      `json:"encryption"`
		Loader      string   `json:"item_loader"`
	} `json:"config"`
}

// Set is one that was opened.
type Set struct {
	names   joint.Names
	chunks  []facts
	packed  unit
	columns joint.Columns
}

// facts are what has to be known of a chunk.
type facts struct{ size, samples int64 }

var (
	_ shard.Set      = (*Set)(nil)
	_ shard.Parser   = (*Set)(nil)
	_ shard.Unpacker = (*Set)(nil)
)

// Open reads index.json.
func (Opener) Open(ctx context.Context, f shard.File) (shard.Set, error) {
	var d described
	if err := joint.ReadJSON(ctx, f, &d); err != nil {
		return nil, err
	}
	s := &Set{}
	var ok bool
	if s.packed, ok = unitOf(d.Config.Compression, d.Config.Level); !ok {
		return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "the compression %q of a %q: must be zstd",
			*d.Config.Compression, text(d.Config.Level))
	}
	if d.Config.Encryption != nil {
		return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "the chunks are encrypted: "+
			"read them by hr.source(litdata.StreamingDataset(…, encryption=…))")
	}

	for _, chunk := range d.Chunks {
		if chunk.Bytes < 0 || chunk.Samples < 0 {
			return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "chunk %q of %d bytes and %d samples", chunk.Name, chunk.Bytes, chunk.Samples)
		}
		if err := s.names.Add(f, chunk.Name); err != nil {
			return nil, err
		}
		s.chunks = append(s.chunks, facts{chunk.Bytes, chunk.Samples})
	}

	var err error
	switch d.Config.Loader {
	case "TokensLoader":
		s.columns, err = tokens(f, d.Config.Formats)
	case "", "PyTreeLoader":
		s.columns, err = leaves(f, d.Config.Formats, d.Config.Spec)
	case "ParquetLoader":
		files := path.Join(path.Dir(f.Name()), "*.parquet")
		err = shard.Wrong(f, -1, shard.ErrUnsupported, "chunks of LitData's ParquetLoader, "+
			"which are Parquet files: read them as such, hr.read(%q)", files)
	default:
		err = shard.Wrong(f, -1, shard.ErrUnsupported, "chunks of LitData's %s: read them "+
			"by hr.source(litdata.StreamingDataset(…))", d.Config.Loader)
	}
	return s, err
}

// Name is "litdata".
func (*Set) Name() string { return name }

// Suffixes are those of chunks.
func (*Set) Suffixes() []string { return []string{".bin"} }

// Begins is false: no bytes tell.
func (*Set) Begins([]byte) bool { return false }

// Shards are the names that index.json has.
func (s *Set) Shards() []string { return s.names.All() }

// Scan reads the offsets of a chunk.
func (s *Set) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	i, err := s.names.Find(f)
	if err != nil {
		return err
	}
	s.columns.Refuse(found)
	known := s.chunks[i]
	if s.packed == wholeChunk {
		return scanPacked(ctx, f, known, found)
	}

	if f.Size() != known.size {
		return shard.Wrong(f, -1, shard.ErrTruncated, "the chunk has %d bytes, and %d as index.json says", f.Size(), known.size)
	}
	if err := refuseRows(f); err != nil {
		return err
	}
	switch s.packed {
	case frames:
		return scanFrames(ctx, f, known, found)
	case singly:
		return scanSingly(ctx, f, known, found)
	}
	return joint.Scan(ctx, f, io.NewSectionReader(f, 0, f.Size()), known.size, known.samples, found)
}

// Unpack unpacks a chunk, or a part of one.
func (*Set) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	return packed.Append(dst, packed.Codec(b.Codec), data, b.Size)
}

// Schema is that of the leaves.
func (s *Set) Schema(record []byte) (sample.Schema, error) {
	return s.columns.Schema(record)
}

// Parse reads leaves of a sample.
func (s *Set) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	return scratch, s.columns.Parse(record, want, into)
}
