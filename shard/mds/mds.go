package mds

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/shard/internal/packed"
)

const name = "mds"

// Opener opens sets by their index.json.
type Opener struct{}

var _ shard.Opener = Opener{}

// Name is "mds".
func (Opener) Name() string { return name }

// Suffixes is "index.json".
func (Opener) Suffixes() []string { return []string{"index.json"} }

// Begins looks for the list of shards.
func (Opener) Begins(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"shards"`)) && !bytes.Contains(head, []byte(`"chunks"`))
}

// described is what index.json says of a shard.
type described struct {
	Format      string   `json:"format"`
	Version     int      `json:"version"`
	Samples     int64    `json:"samples"`
	Compression *string  `json:"compression"`
	Names       []string `json:"column_names"`
	Encodings   []string `json:"column_encodings"`
	Sizes       []*int64 `json:"column_sizes"`
	Raw         *file    `json:"raw_data"`
	Packed      *file    `json:"zip_data"`
}

type file struct {
	Name  string `json:"basename"`
	Bytes int64  `json:"bytes"`
}

// Set is one that was opened.
type Set struct {
	names   joint.Names
	shards  []facts
	columns joint.Columns
}

// facts are what has to be known of a shard.
type facts struct {
	size, samples int64 // size: unpacked
	codec         packed.Codec
}

var (
	_ shard.Set      = (*Set)(nil)
	_ shard.Parser   = (*Set)(nil)
	_ shard.Unpacker = (*Set)(nil)
)

// Open reads index.json. Of shards that are there both compressed and not, as Streaming
// may leave them, it takes the others.
func (Opener) Open(ctx context.Context, f shard.File) (shard.Set, error) {
	var all struct {
		Shards  []described `json:"shards"`
		Version int         `json:"version"`
	}
	if err := joint.ReadJSON(ctx, f, &all); err != nil {
		return nil, err
	}
	if all.Version != 2 || all.Shards == nil {
		return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "a set of MDS version %d: must be 2", all.Version)
	}

	s := &Set{}
	unpacked := len(all.Shards) > 0 && hasRaw(f, all.Shards[0])
	for i, d := range all.Shards {
		if err := s.add(f, d, unpacked); err != nil {
			return nil, err
		}
		if first := all.Shards[0]; i > 0 && !sameColumns(first, d) {
			return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "shards %q and %q have other columns", s.names.All()[0], s.names.All()[i])
		}
	}
	if len(all.Shards) == 0 {
		return s, nil
	}
	var err error
	s.columns, err = columnsOf(f, all.Shards[0])
	return s, err
}

func sameColumns(a, b described) bool {
	return reflect.DeepEqual(a.Names, b.Names) && reflect.DeepEqual(a.Encodings, b.Encodings) && reflect.DeepEqual(a.Sizes, b.Sizes)
}

// hasRaw tells whether a shard that should be compressed is there unpacked alone.
func hasRaw(f shard.File, d described) bool {
	if d.Raw == nil || d.Packed == nil {
		return false
	}
	if exists(f, d.Packed.Name) {
		return false
	}
	return exists(f, d.Raw.Name)
}

func exists(f shard.File, name string) bool {
	if strings.ContainsAny(name, `/\`) {
		return false
	}
	other, err := f.Beside(name)
	return err == nil && other != nil
}

var codecs = map[string]packed.Codec{
	"zstd": packed.Zstd, "gz": packed.Gzip, "br": packed.Brotli, "snappy": packed.Snappy, "bz2": packed.Bzip2,
}

// add adds a shard.
func (s *Set) add(f shard.File, d described, unpacked bool) error {
	if d.Format != name || d.Version != 2 {
		return shard.Wrong(f, -1, shard.ErrUnsupported, "shards of format %q version %d: must be %q version 2", d.Format, d.Version, name)
	}
	if d.Raw == nil || d.Raw.Bytes < 0 || d.Samples < 0 {
		return shard.Wrong(f, -1, shard.ErrCorrupt, "shard %d has no size", len(s.shards))
	}
	known := facts{size: d.Raw.Bytes, samples: d.Samples}
	taken := d.Raw.Name
	if d.Compression != nil && *d.Compression != "" && !unpacked {
		algorithm, _, _ := strings.Cut(*d.Compression, ":") // what follows is a level
		var ok bool
		if known.codec, ok = codecs[algorithm]; !ok || d.Packed == nil {
			return shard.Wrong(f, -1, shard.ErrUnsupported, "the compression %q", *d.Compression)
		}
		taken = d.Packed.Name
	}
	s.shards = append(s.shards, known)
	return s.names.Add(f, taken)
}

// Name is "mds".
func (*Set) Name() string { return name }

// Suffixes are those of shards.
func (*Set) Suffixes() []string { return []string{".mds"} }

// Begins is false: no bytes tell.
func (*Set) Begins([]byte) bool { return false }

// Shards are the names that index.json has.
func (s *Set) Shards() []string { return s.names.All() }

// Scan reads the offsets of a shard.
func (s *Set) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	i, err := s.names.Find(f)
	if err != nil {
		return err
	}
	known := s.shards[i]
	s.columns.Refuse(found)
	whole := io.NewSectionReader(f, 0, f.Size())
	if known.codec == packed.None {
		if f.Size() != known.size {
			return shard.Wrong(f, -1, shard.ErrTruncated, "the shard has %d bytes, and %d as index.json says", f.Size(), known.size)
		}
		return joint.Scan(ctx, f, whole, known.size, known.samples, found)
	}

	r, err := packed.NewReader(known.codec, whole)
	if err != nil {
		return &shard.Error{Shard: f.Name(), At: -1, Err: err}
	}
	defer r.Close() // it was opened for reading
	found.Block(index.Block{Len: f.Size(), Size: known.size, Codec: uint64(known.codec)})
	return joint.Scan(ctx, f, r, known.size, known.samples, found)
}

// Unpack unpacks a shard.
func (*Set) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	return packed.Append(dst, packed.Codec(b.Codec), data, b.Size)
}

// Schema is that of the columns.
func (s *Set) Schema(record []byte) (sample.Schema, error) { return s.columns.Schema(record) }

// Parse reads columns of a sample.
func (s *Set) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	return scratch, s.columns.Parse(record, want, into)
}
