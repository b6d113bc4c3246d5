package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/trust"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store"
)

// load finds the index of the shards, or makes it.
func (d *Dataset) load(ctx context.Context, versions []version, o Options) error {
	beside, kept := d.places(o)
	var old []*index.File // with some shards that have not changed
	defer func() { closeAll(old) }()
	if !o.Force {
		for _, at := range append([]string{beside}, kept...) {
			x := d.known(at, o.Format)
			if x == nil {
				continue
			}
			if d.fits(x, versions) {
				d.index, d.from = x, at
				return d.setFormat(x.Format)
			}
			old = append(old, x)
		}
	}

	if o.Beside {
		if kept = []string{beside}; !d.shards[0].isLocal() {
			if _, _, err := store.WriterOf(beside); err != nil {
				return fmt.Errorf("%w: the index cannot be beside %s: %w", ErrUnsupported, d.shards[0].key, err)
			}
			return d.build(ctx, versions, beside, old, o)
		}
	}
	at, unlock, err := d.lock(ctx, kept)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.Beside {
			return fmt.Errorf("shard: the index cannot be written: %w", err)
		}
		return d.build(ctx, versions, "", old, o) // there is no place for it
	}
	defer unlock()
	if x := d.known(at, o.Format); !o.Force && x != nil { // which somebody has written meanwhile
		if d.fits(x, versions) {
			d.index, d.from = x, at
			return d.setFormat(x.Format)
		}
		old = append(old, x)
	}
	return d.build(ctx, versions, at, old, o)
}

func closeAll(all []*index.File) {
	for _, x := range all {
		x.Close()
	}
}

// places returns the places for the index: beside the shards, and in the caches.
func (d *Dataset) places(o Options) (beside string, kept []string) {
	h := sha256.New()
	for _, name := range d.names {
		io.WriteString(h, name+"\x00")
	}
	name := hex.EncodeToString(h.Sum(nil)[:8]) + index.Suffix
	for i := range d.shards {
		io.WriteString(h, d.absolute(i)+"\x00")
	}
	io.WriteString(h, o.Format)
	if beside = filepath.Join(filepath.Dir(d.absolute(0)), "_headrace", name); !d.shards[0].isLocal() {
		beside = store.Join(store.Dir(d.absolute(0)), "_headrace", name)
	}
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	for _, folder := range index.Folders() {
		kept = append(kept, filepath.Join(folder, sum[:2], sum[2:]+index.Suffix))
	}
	return beside, kept
}

// known returns an index that is of these shards, or of some of them; nil: there is none.
func (d *Dataset) known(at, format string) *index.File {
	if at == "" {
		return nil
	}
	x, err := d.loadIndex(at)
	if err != nil {
		return nil
	}
	if format != "" && x.Format != format || d.setFormat(x.Format) != nil {
		x.Close()
		return nil
	}
	return x
}

// fits tells whether an index is of the shards as they are now.
func (d *Dataset) fits(x *index.File, versions []version) bool {
	if len(x.Shards) != len(d.shards) {
		return false
	}
	for i := range x.Shards {
		s := &x.Shards[i]
		if s.Name != d.names[i] || !same(s.Size, s.Version, versions[i]) {
			return false
		}
	}
	return true
}

// setFormat sets the format that an index names.
func (d *Dataset) setFormat(name string) error {
	if set := d.shards[0].set; set != nil && set.Name() == name {
		d.Format = set
		return nil
	}
	if d.Format = named(name); d.Format == nil || d.shards[0].set != nil {
		return fmt.Errorf("%w: the format %q", ErrUnsupported, name)
	}
	return nil
}

// lock waits for the one who makes the index, so that it is not made twice at once, and
// returns the first place for it that is not another user's: the folder that the
// environment names may be for several.
func (d *Dataset) lock(ctx context.Context, places []string) (at string, unlock func(), err error) {
	err = errors.New("there is no folder for it: HOME is not set")
	for _, at := range places {
		if d.doubts.about(at) {
			continue // whoever wrote that one need not believe ours either
		}
		if unlock, err = lock(ctx, at+".lock"); !errors.Is(err, errOthers) {
			return at, unlock, err
		}
	}
	return "", nil, err
}

var errOthers = errors.New("it is another user's")

func lock(ctx context.Context, at string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	if !trust.Own(int(f.Fd())) { // it might never be let go of
		f.Close()
		return nil, fmt.Errorf("%s: %w", at, errOthers)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR): // there are no locks here: it may be made twice
			return func() { f.Close() }, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// build scans what has to be, and writes the index to a place; "": it stays in memory.
func (d *Dataset) build(ctx context.Context, versions []version, at string, old []*index.File, o Options) error {
	if err := d.chooseFormat(ctx, o.Format); err != nil {
		return err
	}
	b := builder{d: d, versions: versions, segments: make([][]byte, len(d.shards)), pieces: at + ".pieces"}
	_, _, away := store.Scheme(at)
	if at == "" || away {
		b.pieces = ""
	}
	b.reuse(old)
	if err := b.scan(ctx, o); err != nil {
		return err
	}

	fill := func(w *index.Writer) error {
		for i := range b.segments {
			s, err := b.segment(i)
			if err != nil {
				return err
			}
			if err := w.Add(index.Shard{Name: d.names[i], Size: versions[i].Size, Version: versions[i].String()}, s); err != nil {
				return err
			}
		}
		return nil
	}
	if at != "" {
		err := d.writeIndex(ctx, at, fill)
		if err == nil {
			if d.index, err = d.loadIndex(at); err == nil {
				d.from = at
				os.RemoveAll(b.pieces)
				d.doubts.tell(o.Warn, at)
				return nil
			}
		}
		if o.Beside {
			return fmt.Errorf("shard: the index cannot be written: %w", err)
		}
	}
	var err error
	d.index, err = inMemory(d.Format.Name(), fill)
	d.doubts.tell(o.Warn, "")
	return err
}

// mostIndex bounds the index of a store's shards, which is read whole.
const mostIndex = 1 << 32

// loadIndex reads the index at a path, or in the store of the shards. That one is
// believed: the right to write there is the right to write the shards.
func (d *Dataset) loadIndex(at string) (*index.File, error) {
	if _, _, ok := store.Scheme(at); !ok {
		return index.Load(at, d.doubts.of(at))
	}
	data, err := store.Read(d.reading, at, mostIndex)
	if err != nil {
		return nil, err
	}
	return index.Read(data)
}

func (d *Dataset) writeIndex(ctx context.Context, at string, fill func(*index.Writer) error) error {
	if _, _, ok := store.Scheme(at); !ok {
		return index.Write(at, d.Format.Name(), fill)
	}
	var all bytes.Buffer
	w := index.NewWriter(&all, d.Format.Name())
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := store.Put(ctx, at, all.Bytes(), store.Condition{})
	return err
}

// chooseFormat tells the format of the first shard, which all have.
func (d *Dataset) chooseFormat(ctx context.Context, name string) error {
	if set := d.shards[0].set; set != nil {
		for _, s := range d.shards {
			if s.set == nil || s.set.Name() != set.Name() {
				return fmt.Errorf("%w: %s belongs to a set of the format %s, and %s does not",
					ErrUnsupported, d.shards[0].key, set.Name(), s.key)
			}
		}
		d.Format = set
		return nil
	}
	if name != "" {
		if d.Format = named(name); d.Format == nil {
			return fmt.Errorf("%w: %s has no file that describes a set of the format %s", ErrUnsupported, d.shards[0].key, name)
		}
		return nil
	}
	f, err := d.shards[0].open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	d.Format, err = detect(f)
	return err
}

// builder makes an index.
type builder struct {
	d        *Dataset
	versions []version
	segments [][]byte // of shards; nil: it has to be scanned; empty: it is in pieces
	// the folder of segments that took long, for somebody who has to begin again, and
	// of those that memory has no room for
	pieces string
	held   atomic.Int64
}

// mostHeld is how many bytes of segments are in memory until the index is written.
var mostHeld int64 = 256 << 20

// reuse takes what is known of shards that have not changed.
func (b *builder) reuse(old []*index.File) {
	for _, x := range old {
		known := map[string]int{}
		for i := range x.Shards {
			known[x.Shards[i].Name] = i
		}
		for i, name := range b.d.names {
			n, ok := known[name]
			if !ok || b.segments[i] != nil {
				continue
			}
			if s := &x.Shards[n]; same(s.Size, s.Version, b.versions[i]) && index.Digest(x.Bytes(n)) == s.Digest {
				b.segments[i] = append([]byte(nil), x.Bytes(n)...)
			}
		}
	}
}

func (b *builder) scan(ctx context.Context, o Options) error {
	var missing []int
	for i, s := range b.segments {
		if s == nil {
			missing = append(missing, i)
		}
	}
	var mu sync.Mutex
	done := 0
	return each(ctx, len(missing), o.Jobs, 1, func(k int) error {
		i := missing[k]
		var err error
		if b.segments[i], err = b.one(ctx, i); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; o.Scanned != nil {
			o.Scanned(done, len(missing))
		}
		return nil
	})
}

// worthKeeping is how long a scan takes that is not to be done again where others fail.
const worthKeeping = 200 * time.Millisecond

// one scans a shard, unless somebody has done so who was cut off before all were done.
func (b *builder) one(ctx context.Context, i int) ([]byte, error) {
	if segment := b.piece(i); segment != nil {
		return segment, nil
	}
	begin := time.Now()
	segment, err := b.d.scanShard(ctx, i, b.versions[i])
	if err != nil || b.pieces == "" {
		return segment, err
	}
	full := b.held.Add(int64(len(segment))) > mostHeld
	if full || time.Since(begin) > worthKeeping {
		err := index.Write(b.pieceOf(i), b.d.Format.Name(), func(w *index.Writer) error {
			return w.Add(index.Shard{Name: b.d.names[i], Size: b.versions[i].Size, Version: b.versions[i].String()}, segment)
		})
		if err == nil && full { // where it cannot be kept, it stays in memory
			return []byte{}, nil
		}
	}
	return segment, nil
}

// pieceOf is where the segment of a shard is kept by itself.
func (b *builder) pieceOf(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", b.d.names[i], b.versions[i].Size, b.versions[i]))
	return filepath.Join(b.pieces, hex.EncodeToString(sum[:16]))
}

// piece returns the segment that is kept of a shard; nil: there is none that fits.
func (b *builder) piece(i int) []byte {
	if b.pieces == "" {
		return nil
	}
	x, err := index.Load(b.pieceOf(i), b.d.doubts.of(b.pieceOf(i)))
	if err != nil {
		return nil
	}
	defer x.Close()
	fits := len(x.Shards) == 1 && x.Format == b.d.Format.Name() && same(x.Shards[0].Size, x.Shards[0].Version, b.versions[i])
	if !fits || index.Digest(x.Bytes(0)) != x.Shards[0].Digest {
		return nil
	}
	return append([]byte(nil), x.Bytes(0)...)
}

// segment returns that of a shard, which was scanned.
func (b *builder) segment(i int) ([]byte, error) {
	if s := b.segments[i]; len(s) > 0 {
		return s, nil
	}
	if s := b.piece(i); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("shard: what was kept of %s is gone from %s; start again", b.d.shards[i].key, b.pieces)
}
