package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store"
)

// shards writes files of many samples each. Each sample is put together in memory first,
// so that a shard ends before its size is passed, and several samples are encoded at
// once.
//
// What a run goes on from is the blocks of the samples. Where these are not the shard, as
// of Parquet, they are in its part, and stay there until the journal says that the shard
// is complete.
type shards struct {
	options Options
	kind    kind
	run     Run
	records records

	complete []File // of them, each has its name
	current  *part  // nil: the next sample begins one
	inShard  int64  // samples in it
	samples  int64  // in all
	ended    bool   // a shard, since the journal was written last
	spent    []string
	blocks   []bytes.Buffer
}

func openShards(o Options, run Run, written []File) (_ format, err error) {
	w := &shards{options: o, kind: kinds[o.Kind], run: run, blocks: make([]bytes.Buffer, 4*runtime.GOMAXPROCS(0))}
	if w.records, err = w.kind.open(o, run); err != nil {
		return nil, err
	}

	for i, f := range written {
		if f.Name != o.shard(i) || !f.Complete && i < len(written)-1 {
			return nil, fmt.Errorf("%w: the journal names %s, which cannot be the shard of that number", ErrFiles, f.Name)
		}
		w.samples += f.Samples
		if f.Complete {
			if err := o.hasSize(f); err != nil {
				return nil, err
			}
			w.complete = append(w.complete, f)
			continue
		}

		w.inShard = f.Samples
		if w.current, err = openPart(o.Dir, f.Name, f.Bytes); err != nil {
			return nil, err
		}
	}

	if err := removeShards(o.Target, len(written)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// removeShards removes the shards from a number on, and their parts: what a run wrote
// after its last journal.
func removeShards(t Target, from int) error {
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if number, ok := t.isShard(trimPart(e.Name())); ok && number >= from {
			if err := remove(filepath.Join(t.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *shards) write(columns []column, rows, epoch int) error {
	if c, ok := w.records.(columnar); ok && c.byColumns() {
		return w.writeRows(c, columns, rows)
	}
	for at := 0; at < rows; at += len(w.blocks) {
		n := min(len(w.blocks), rows-at)
		if err := w.encode(columns, at, n, epoch); err != nil {
			return err
		}
		for i := range n {
			if err := w.add(w.blocks[i].Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// encode makes the blocks of some samples.
func (w *shards) encode(columns []column, at, n, epoch int) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	share := (n + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for from := 0; from < n; from += share {
		wait.Go(func() {
			var scratch []byte
			for i := from; i < min(n, from+share); i++ {
				scratch, errs[i] = w.records.encode(&w.blocks[i], scratch, columns, at+i, w.samples+int64(i), epoch)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// add writes a sample into the current shard, or into the next if that would become too
// large.
func (w *shards) add(block []byte) error {
	if w.current != nil {
		o := w.options
		full := o.ShardSamples > 0 && w.inShard >= o.ShardSamples
		if full || w.current.bytes+int64(len(block)+len(w.kind.end)) > o.ShardBytes {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	if w.current == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if _, err := w.current.Write(block); err != nil {
		return err
	}
	w.inShard++
	w.samples++
	return nil
}

// begin opens the next shard.
func (w *shards) begin() (err error) {
	w.current, err = openPart(w.options.Dir, w.options.shard(len(w.complete)), 0)
	w.inShard = 0
	return err
}

// end completes the shard at hand.
func (w *shards) end() error {
	p := w.current
	if _, err := p.Write(w.kind.end); err != nil {
		return err
	}
	bytes := p.bytes
	c, converts := w.records.(converter)
	if converts {
		var err error
		if bytes, err = w.convert(c, p); err != nil {
			return err
		}
		w.spent = append(w.spent, filepath.Join(p.dir, p.name+partSuffix))
	} else if err := p.finish(); err != nil {
		return err
	}
	w.complete = append(w.complete, File{Name: p.name, Samples: w.inShard, Bytes: bytes, Complete: true})
	w.current, w.ended = nil, true
	return nil
}

// convert makes a shard of the blocks in a part, which stays.
func (w *shards) convert(c converter, blocks *part) (bytes int64, err error) {
	if err := blocks.buffer.Flush(); err != nil {
		return 0, err
	}
	defer blocks.close()

	// Under a name of its own, for that of a part is taken.
	shard, err := openPart(blocks.dir, blocks.name+partSuffix, 0)
	if err != nil {
		return 0, err
	}
	defer shard.close()
	parts := []*part{shard}
	var beside io.Writer
	if w.kind.beside != "" {
		p, err := openPart(blocks.dir, strings.TrimSuffix(blocks.name, w.kind.suffix)+w.kind.beside+partSuffix, 0)
		if err != nil {
			return 0, err
		}
		defer p.close()
		parts, beside = []*part{p, shard}, p
	}

	from := bufio.NewReaderSize(io.NewSectionReader(blocks.file, 0, blocks.bytes), 1<<20)
	if err := c.convert(from, w.inShard, shard, beside); err != nil {
		return 0, fmt.Errorf("%s: %w", blocks.name, err)
	}
	for _, p := range parts {
		if err := p.sync(); err != nil {
			return 0, err
		}
		name := filepath.Join(p.dir, p.name)
		if err := os.Rename(name+partSuffix, strings.TrimSuffix(name, partSuffix)); err != nil {
			return 0, err
		}
	}
	return shard.bytes, store.SyncFolder(blocks.dir)
}

// noted removes the blocks of shards that a journal or a manifest says are complete.
func (w *shards) noted() error {
	for _, name := range w.spent {
		if err := remove(name); err != nil {
			return err
		}
	}
	w.spent = nil
	return nil
}

// due reports whether the journal should say something at once: of a shard that is
// complete people may think that it is done with.
func (w *shards) due() bool { return w.ended }

func (w *shards) sync() ([]File, error) {
	w.ended = false
	files := w.complete
	if w.current == nil {
		return files, nil
	}
	if err := w.current.sync(); err != nil {
		return nil, err
	}
	return append(files[:len(files):len(files)], File{Name: w.current.name, Samples: w.inShard, Bytes: w.current.bytes}), nil
}

func (w *shards) finish() ([]File, error) {
	if w.current != nil {
		if err := w.end(); err != nil {
			return nil, err
		}
	}
	return w.complete, nil
}

func (w *shards) describe(f headrace.Field) FieldFile {
	for i, g := range w.run.Info.Fields {
		if g.Name == f.Name {
			return w.records.describe(i, f)
		}
	}
	return FieldFile{}
}

func (w *shards) close() {
	if w.current != nil {
		w.current.close()
	}
}
