package shard

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store"
)

// Options say how [Open] finds shards, and what is kept of them.
type Options struct {
	Root   string // the folder of relative names; "": that of the process
	Format string // "": told by what is in the shards, or by their names
	Jobs   int    // shards that are scanned at once; 0: as many as there are cores

	Beside bool // an index that is missing is written beside the shards, not into the cache
	Force  bool // they are scanned, whatever is known of them

	Replaces bool // U+FFFD for what is not UTF-8 in text, which otherwise is an error

	Blocks int64 // bytes of unpacked blocks that are kept; 0: 256 MiB

	// Warn is told, once, of an index that is not believed, because somebody could have
	// written it who could not have written the shards. nil: nobody is.
	Warn func(message string)

	// Scanned is told how many shards are done, of those that have to be scanned. It is
	// called by one goroutine at a time.
	Scanned func(done, all int)
}

// Dataset is the samples of shards. They have numbers from 0 on, those of the first shard
// before those of the second.
type Dataset struct {
	Format Format // of the shards

	shards  []listed
	names   []string // of the shards, within the set
	index   *index.File
	from    string // where the index was found or written; "": it is in memory alone
	handles *handles
	blocks  blocks
	damaged sync.Mutex // one at a time is made again
	assured sync.Map   // numbers of shards that were scanned once more, and are as they were
	doubts  doubts

	reading context.Context // ends with Close
	stop    context.CancelFunc

	life   sync.RWMutex // held by those who read
	closed bool

	replaces bool
	sniffed  func() (*sniffed, error)
}

// Open finds the samples of shards. From is names of files or folders, or patterns; in
// braces are ranges and lists, as "train-{000..129}.tar".
//
// What is in the shards is kept in an index, so that the next Open takes no time. An
// index that is missing or damaged, or that of shards which have changed, is made again,
// shards side by side, and only of what has changed.
func Open(ctx context.Context, from []string, o Options) (*Dataset, error) {
	if len(Names()) == 0 {
		return nil, fmt.Errorf("%w: this program has no formats of shards: import github.com/headrace/headrace/shard/formats", ErrUnsupported)
	}
	if o.Format != "" && !slices.Contains(Names(), o.Format) {
		return nil, fmt.Errorf("%w: there is no format %q, but %s", ErrUnsupported, o.Format, strings.Join(Names(), ", "))
	}
	l := lister{ctx: ctx, root: o.Root, format: o.Format}
	if err := l.list(from); err != nil {
		return nil, err
	}
	d := &Dataset{shards: l.all, names: namesWithin(l.all), replaces: o.Replaces}
	d.reading, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.blocks.limit = cmp.Or(o.Blocks, 256<<20)
	versions, err := d.versions(ctx, o)
	if err != nil {
		return nil, err
	}
	d.doubts.data = d.local()
	if err := d.load(ctx, versions, o); err != nil {
		return nil, err
	}
	d.handles = newHandles(d.openShard)
	d.sniffed = sync.OnceValues(d.sniff)
	return d, nil
}

// Close closes the shards, when nobody reads them any more.
func (d *Dataset) Close() {
	d.stop()
	d.life.Lock()
	defer d.life.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	d.handles.drop()
	d.index.Close()
}

// KeepBlocks says how many bytes of unpacked blocks are kept.
func (d *Dataset) KeepBlocks(bytes int64) {
	d.blocks.mu.Lock()
	defer d.blocks.mu.Unlock()
	d.blocks.limit = bytes
}

// HasBlocks tells whether samples are in what has to be unpacked.
func (d *Dataset) HasBlocks() bool {
	_, ok := d.Format.(Unpacker)
	return ok
}

// Len is how many samples there are.
func (d *Dataset) Len() int64 { return d.index.Len() }

// Index is what is known of the shards and their fields.
func (d *Dataset) Index() *index.File { return d.index }

// Kept is where the index is; "": in memory alone.
func (d *Dataset) Kept() string { return d.from }

// Key is a sample's name for people: that which its shard has for it, or the shard's with
// its number in it.
func (d *Dataset) Key(i int64) string {
	n, in := d.index.Find(i)
	d.life.RLock()
	defer d.life.RUnlock()
	return d.keyOf(n, in)
}

func (d *Dataset) keyOf(shard, in int) string {
	if !d.closed {
		if s, err := d.segment(shard); err == nil {
			if key, err := s.Key(in, make([]byte, 0, 64)); err == nil && len(key) > 0 {
				return string(key)
			}
		}
	}
	return fmt.Sprintf("%s[%d]", d.names[shard], in)
}

// Place says where a sample is, for messages: the shard, as it was given, and the
// sample's number in it.
func (d *Dataset) Place(i int64) (shard string, in int) {
	n, in := d.index.Find(i)
	return d.shards[n].key, in
}

// Path is that of a shard.
func (d *Dataset) Path(shard int) string { return d.shards[shard].path }

// formatOf is that of a shard.
func (d *Dataset) formatOf(shard int) Format {
	if set := d.shards[shard].set; set != nil {
		return set
	}
	return d.Format
}

// namesWithin are the names of shards within their set: without the folders that all of
// them are below.
func namesWithin(all []listed) (names []string) {
	for _, s := range all {
		names = append(names, path.Clean(s.path))
	}
	common := path.Dir(names[0])
	for _, name := range names[1:] {
		for common != "/" && common != "." && !strings.HasPrefix(name, common+"/") {
			common = path.Dir(common)
		}
	}
	for i, name := range names {
		names[i] = strings.TrimPrefix(strings.TrimPrefix(name, common), "/")
	}
	return names
}

// version is that of a shard.
type version struct {
	store.Object
	beside string // that of the file beside it which says where its samples are; "": there is none
}

func (v version) String() string {
	if v.beside == "" {
		return v.Version
	}
	return v.Version + "+" + v.beside
}

// versions looks at all shards, and says which are missing.
func (d *Dataset) versions(ctx context.Context, o Options) ([]version, error) {
	described := map[string]string{} // by the files that name shards
	for _, s := range d.shards {
		if s.by != "" && described[s.by] == "" {
			described[s.by] = versionBeside(ctx, s.in, s.by)
		}
	}

	all := make([]version, len(d.shards))
	wrong := make([]error, len(d.shards))
	err := each(ctx, len(d.shards), o.Jobs, 64, func(i int) error {
		s := &d.shards[i]
		all[i].Object, wrong[i] = s.in.Stat(ctx, s.path)
		if wrong[i] != nil && !s.isLocal() {
			wrong[i] = fmt.Errorf("%s: %w", s.key, wrong[i])
		}
		all[i].beside = described[s.by]
		format := cmp.Or(named(o.Format), bySuffix(s.path))
		if a, ok := format.(Accompanied); ok && s.by == "" {
			all[i].beside = versionBeside(ctx, s.in, path.Join(path.Dir(s.path), a.Companion(path.Base(s.path))))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	count, first := 0, -1
	for i, err := range wrong {
		if err != nil {
			if count++; first < 0 {
				first = i
			}
		}
	}
	switch {
	case count > 1:
		return nil, fmt.Errorf("%w (and so are %d of %d shards)", wrong[first], count, len(wrong))
	case count == 1:
		return nil, wrong[first]
	}
	return all, nil
}

// versionBeside is that of a file beside shards. That it is missing is said when shards
// are scanned.
func versionBeside(ctx context.Context, in store.Store, name string) string {
	o, err := in.Stat(ctx, name)
	if err != nil {
		return "missing"
	}
	return fmt.Sprint(o.Size, "-", o.Version)
}

// each calls a function for each of n, several at once, and stops at the first error.
func each(ctx context.Context, n, jobs, atOnce int, do func(i int) error) error {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(jobs, (n+atOnce-1)/atOnce) {
		all.Go(func() {
			for i := range next {
				for k := i; k < min(i+atOnce, n) && ctx.Err() == nil; k++ {
					if err := do(k); err != nil {
						cancel(err)
					}
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i += atOnce {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// local are the paths of the shards; none, where one of them is in a store.
func (d *Dataset) local() (paths []string) {
	for i := range d.shards {
		if !d.shards[i].isLocal() {
			return nil
		}
		paths = append(paths, d.absolute(i))
	}
	return paths
}

// absolute is a shard's path, whatever folder the process is in, or its name in a store.
func (d *Dataset) absolute(i int) string {
	s := &d.shards[i]
	if !s.isLocal() {
		return s.key
	}
	if at, err := filepath.Abs(s.path); err == nil {
		return at
	}
	return s.path
}
