// Package tarfile finds samples in tar files, as WebDataset writes them: neighbours whose
// names are the same up to the first dot are one sample, and what follows the dot names
// each of its parts.
//
// Only headers are read. Where members are large that is one read for each, and where
// they are small many headers come with one. Archives of GNU tar, of POSIX (ustar and
// pax), of BSD and of old Unix are read; what is no file is passed over. Compressed
// archives are refused, since nothing in them can be found without all that is before it.
// An index of DALI's beside an archive is taken where it is true.
package tarfile

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// Format is the format of tar files.
var Format shard.Format = format{}

type format struct{}

// Name implements [shard.Format].
func (format) Name() string { return "tar" }

// Suffixes implements [shard.Format]. Those of compressed archives are among them, so
// that somebody says what is wrong with these.
func (format) Suffixes() []string {
	return []string{".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"}
}

// Begins implements [shard.Format].
func (format) Begins(head []byte) bool {
	return len(head) >= blockSize && header(head[:blockSize]).valid()
}

// Head implements [shard.Preceded].
func (format) Head() int64 { return blockSize }

// Heads implements [shard.Preceded]. Of names that are too long for a header, or are not
// in ASCII, headers have only something like them.
func (format) Heads(head, key []byte, name string, size int64) bool {
	h := header(head)
	is, ok := h.size()
	if !ok || is != size || !h.valid() {
		return false
	}
	var room [2 * blockSize]byte
	want := append(append(append(room[:0], key...), '.'), name...)
	return len(want) >= shortName || !ascii(want) || bytes.EqualFold(h.name(room[len(want):len(want)]), want)
}

// shortName is how long a name can be that headers have as it is, at least.
const shortName = 100

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Scan implements [shard.Format].
func (format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	s := scan{ctx: ctx, window: window{f: f}}
	if err := s.refuseCompressed(); err != nil {
		return err
	}
	g := grouping{found: found}
	if all := listed(f); all != nil {
		for i := range all {
			if err := g.add(f, &all[i]); err != nil {
				return err
			}
		}
		return s.end(all[len(all)-1].at + padded(all[len(all)-1].size) + blockSize)
	}
	for {
		m, err := s.next()
		if err != nil || m == nil {
			return err
		}
		if err := g.add(f, m); err != nil {
			return err
		}
	}
}

// compressed are the beginnings of files that are no tar files, though they are called
// so, with what takes them apart.
var compressed = []struct{ begins, name, tool string }{
	{"\x1f\x8b", "gzip", "gunzip"},
	{"BZh", "bzip2", "bunzip2"},
	{"\xfd7zXZ\x00", "xz", "unxz"},
	{"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
}

func (s *scan) refuseCompressed() error {
	var head [6]byte
	n, _ := s.f.ReadAt(head[:], 0)
	for _, c := range compressed {
		if bytes.HasPrefix(head[:n], []byte(c.begins)) {
			return shard.Wrong(s.f, 0, shard.ErrUnsupported, "it is compressed with %s, "+
				"in which nothing can be read by number: unpack it with %s", c.name, c.tool)
		}
	}
	return nil
}
