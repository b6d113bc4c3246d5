package shard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/headrace/headrace/shard/index"
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

// Name is Key with the whole name of a shard, which does not depend on other shards.
func (d *Dataset) Name(i int64) string {
	n, in := d.index.Find(i)
	d.life.RLock()
	defer d.life.RUnlock()
	if key := d.ownKey(n, in); key != "" {
		return key
	}
	return fmt.Sprintf("%s[%d]", d.shards[n].key, in)
}

func (d *Dataset) keyOf(shard, in int) string {
	if key := d.ownKey(shard, in); key != "" {
		return key
	}
	return d.names[shard] + "[" + strconv.Itoa(in) + "]" // for each sample that is read
}

// ownKey is the name that a shard has for a sample; "": it has none, or is closed.
func (d *Dataset) ownKey(shard, in int) string {
	if !d.closed {
		if s, err := d.segment(shard); err == nil {
			if key, err := s.Key(in, nil); err == nil && len(key) > 0 {
				return string(key)
			}
		}
	}
	return ""
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

// Away reports whether some of the shards are in a store, and not on this machine.
func (d *Dataset) Away() bool {
	return slices.ContainsFunc(d.shards, func(s listed) bool { return !s.isLocal() })
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
