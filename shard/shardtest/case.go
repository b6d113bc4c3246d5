package shardtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/metrics"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/shard"
)

// Case is a shard and what is in it.
type Case struct {
	Format shard.Format // of a shard that stands for itself
	Opener shard.Opener // of one that belongs to a set
	Index  string       // the file that names the shards of the set
	File   string       // the shard's name
	Folder Folder       // it, and what is beside it
	Want   []Sample
	// Text is whether the format has nothing that a change of content would contradict,
	// so that a file which is cut off may have a last sample that is other than wanted.
	Text bool
	Room int // bytes of memory that the format may take whatever the size of the file
}

// Run tests the format with the case.
func (c Case) Run(t *testing.T) {
	t.Run("samples", c.Read)
	t.Run("cancelled", c.cancelled)
	t.Run("cut off", c.cutOff)
	t.Run("spoilt", c.spoilt)
}

// open is the format, and the shard of a folder.
func (c Case) open(ctx context.Context, folder Folder) (shard.Format, *File, error) {
	file, err := folder.Open(c.File)
	if err != nil || c.Opener == nil {
		return c.Format, file, err
	}
	described, err := folder.Open(c.Index)
	if err != nil {
		return nil, nil, err
	}
	set, err := c.Opener.Open(ctx, described)
	return set, file, err
}

// All returns all samples of the shard.
func (c Case) All() ([]Sample, error) { return c.read(context.Background(), c.Folder) }

func (c Case) read(ctx context.Context, folder Folder) ([]Sample, error) {
	f, file, err := c.open(ctx, folder)
	if err != nil {
		return nil, err
	}
	return all(ctx, f, file)
}

// Read compares what is read with what is wanted, in sequence and at random.
func (c Case) Read(t *testing.T) {
	got, err := c.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(c.Want) {
		t.Fatalf("%d samples, want %d", len(got), len(c.Want))
	}
	for i, want := range c.Want {
		if d := got[i].differs(want); d != "" {
			t.Errorf("sample %d: %s", i, d)
		}
	}

	f, file, err := c.open(t.Context(), c.Folder)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReader(t.Context(), f, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range rand.Perm(len(c.Want)) {
		s, err := r.sample(i)
		if err != nil {
			t.Fatalf("sample %d at random: %v", i, err)
		}
		if d := s.differs(c.Want[i]); d != "" {
			t.Errorf("sample %d at random: %s", i, d)
		}
	}
}

func (c Case) cancelled(t *testing.T) {
	f, file, err := c.open(t.Context(), c.Folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newReader(ctx, f, file); !errors.Is(err, context.Canceled) {
		t.Errorf("the scan of a cancelled context: %v", err)
	}
}

// cutOff shortens each file to every length.
func (c Case) cutOff(t *testing.T) {
	for _, name := range c.Folder.names() {
		data := c.Folder[name]
		for _, n := range places(len(data), tier.Cases(few(data, 700), 20_000)) {
			got, err := c.attempt(t, name, data[:n:n])
			if err == nil && name == c.File && n < len(data) && len(got) > len(c.Want) {
				t.Errorf("%s, the first %d of %d bytes: %d samples, of %d", name, n, len(data), len(got), len(c.Want))
			}
			if c.Text && err == nil && len(got) > 0 {
				got = got[:len(got)-1]
			}
			for i, s := range got {
				if i >= len(c.Want) {
					break
				}
				if d := s.differs(c.Want[i]); d != "" {
					t.Errorf("%s, the first %d of %d bytes: sample %d: %s", name, n, len(data), i, d)
				}
			}
		}
	}
}

// spoilt writes other bytes and lengths that lie over each place of each file. What comes
// of it may be an error or other samples.
func (c Case) spoilt(t *testing.T) {
	lies := [][]byte{
		{0x00}, {0xff}, {0x80}, {0x01}, {0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {0x7f, 0xff, 0xff, 0xff},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		{0, 0, 0, 0, 0, 0, 0, 0x80}, {0, 0, 0, 0, 0, 1, 0, 0}, {0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		[]byte("9999999999999999999"), []byte("-1"),
	}
	for _, name := range c.Folder.names() {
		data := c.Folder[name]
		for _, at := range places(len(data)-1, tier.Cases(few(data, 150), 20_000)) {
			for _, lie := range lies {
				other := bytes.Clone(data)
				copy(other[at:], lie)
				c.attempt(t, name, other)
			}
		}
	}
}

// Reporter is what tests have that a wrong result is said to.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// attempt reads a folder of which one file has other content. Panics, promises that are
// broken, and memory beyond what the files can hold are errors of the test.
func (c Case) attempt(t Reporter, name string, data []byte) ([]Sample, error) {
	t.Helper()
	folder := c.Folder.with(name, data)
	size := 0
	for _, d := range folder {
		size += len(d)
	}
	before := allocated()
	samples, err := c.read(context.Background(), folder)
	if taken := allocated() - before; taken > c.most(size) {
		t.Errorf("%s of %d bytes: %d bytes of memory (%v)", name, len(data), taken, err)
	}
	if errors.Is(err, errPromise) {
		t.Errorf("%s of %d bytes: %v", name, len(data), err)
	}
	if err != nil && err.Error() == "" {
		t.Errorf("%s of %d bytes: an error that says nothing", name, len(data))
	}
	return samples, err
}

// allocated is how many bytes the program has taken so far, freed ones too.
func allocated() uint64 {
	of := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(of)
	return of[0].Value.Uint64()
}

// most is the memory up to which a shard may be read.
func (c Case) most(size int) uint64 { return 4<<20 + uint64(c.Room) + 256*uint64(size) }

// few is less for files of which each attempt takes long, and in quick runs.
func few(data []byte, most int) int {
	if len(data) > 64<<10 {
		most /= 4
	}
	if testing.Short() {
		most /= 4
	}
	return most
}

// places are all from 0 to n or, of more than most, the first, the last, and some
// between.
func places(n, most int) []int {
	var at []int
	for i := 0; i <= n; i++ {
		if n <= most || i < most/3 || i > n-most/3 || i%(3*n/most+1) == 0 {
			at = append(at, i)
		}
	}
	return at
}

// Fuzz has the fuzzer change the files. Errors are as good as samples.
func (c Case) Fuzz(f *testing.F) {
	names := c.Folder.names()
	for i, name := range names {
		f.Add(uint8(i), c.Folder[name])
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		c.attempt(t, names[int(which)%len(names)], data)
	})
}

// Refused tests that a file with this content is an error that says so, and that names
// the shard where it is the format's.
func (c Case) Refused(t Reporter, name string, data []byte, kind error, says string) {
	t.Helper()
	_, err := c.attempt(t, name, data)
	if !errors.Is(err, kind) || !bytes.Contains(fmt.Append(nil, err), []byte(says)) {
		t.Errorf("%v, want %v: …%s…", err, kind, says)
	}
}
