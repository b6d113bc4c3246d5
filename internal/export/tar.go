package export

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"headrace"
	"headrace/sample"
)

// tarTrailer ends an archive.
var tarTrailer = make([]byte, 1024)

// shards writes archives in the convention of WebDataset. The files of a sample are put
// together in memory first, so that a shard ends before its size is passed, and several
// samples are encoded at once.
type shards struct {
	options  Options
	epochs   bool // more than one
	key      int  // the field that names samples; negative: none
	fields   []headrace.Field
	encoders []encoder

	complete []File // of them, each has its name
	current  *part  // nil: the next sample begins one
	inShard  int64  // samples in it
	samples  int64  // in all
	ended    bool   // a shard, since the journal was written last
	blocks   []bytes.Buffer
}

func openTar(o Options, fields []headrace.Field, epochs bool, written []File) (_ format, err error) {
	w := &shards{options: o, epochs: epochs, fields: fields, key: -1, blocks: make([]bytes.Buffer, 4*runtime.GOMAXPROCS(0))}
	for i, f := range fields {
		e, err := newEncoder(f, o)
		if err != nil {
			return nil, err
		}
		w.encoders = append(w.encoders, e)
		if f.Name == "key" && f.Kind == sample.Text {
			w.key = i
		}
	}

	for i, f := range written {
		if f.Name != o.shard(i) || !f.Complete && i < len(written)-1 {
			return nil, fmt.Errorf("%w: the journal names %s, which cannot be the shard of that number", ErrFiles, f.Name)
		}
		w.samples += f.Samples
		if f.Complete {
			if err := hasSize(filepath.Join(o.Dir, f.Name), f.Bytes); err != nil {
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

// hasSize refuses a file that is not what the journal says.
func hasSize(path string, bytes int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if info.Size() != bytes {
		return fmt.Errorf("%w: %s has %d bytes, and had %d when it was written", ErrFiles, path, info.Size(), bytes)
	}
	return nil
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

// encode makes the files of some samples, each into its block.
func (w *shards) encode(columns []column, at, n, epoch int) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	share := (n + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for from := 0; from < n; from += share {
		wait.Go(func() {
			var scratch []byte
			for i := from; i < min(n, from+share); i++ {
				scratch, errs[i] = w.encodeOne(&w.blocks[i], scratch, columns, at+i, w.samples+int64(i), epoch)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// encodeOne makes the files of a sample. Nothing in them depends on when or by whom
// they are made.
func (w *shards) encodeOne(block *bytes.Buffer, scratch []byte, columns []column, row int, number int64, epoch int) (_ []byte, err error) {
	key := ""
	if w.key >= 0 {
		key = columns[w.key].texts[row]
	}
	name := stem(key, number, epoch, w.epochs)
	block.Reset()
	archive := tar.NewWriter(block)
	for i, e := range w.encoders {
		if scratch, err = e.encode(scratch[:0], columns[i], row); err != nil {
			return nil, fmt.Errorf("%s of %q: %w", w.fields[i].Name, key, err)
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: name + "." + e.suffix, Size: int64(len(scratch)), Mode: 0o644}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(scratch); err != nil {
			return nil, err
		}
	}
	return scratch, archive.Flush()
}

// add writes a sample into the shard at hand, or into the next where that would become
// too large.
func (w *shards) add(block []byte) error {
	if w.current != nil {
		o := w.options
		full := o.ShardSamples > 0 && w.inShard >= o.ShardSamples
		if full || w.current.bytes+int64(len(block)+len(tarTrailer)) > o.ShardBytes {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	if w.current == nil {
		var err error
		if w.current, err = openPart(w.options.Dir, w.options.shard(len(w.complete)), 0); err != nil {
			return err
		}
		w.inShard = 0
	}
	if _, err := w.current.Write(block); err != nil {
		return err
	}
	w.inShard++
	w.samples++
	return nil
}

// end completes the shard at hand.
func (w *shards) end() error {
	if _, err := w.current.Write(tarTrailer); err != nil {
		return err
	}
	if err := w.current.finish(); err != nil {
		return err
	}
	w.complete = append(w.complete, File{Name: w.current.name, Samples: w.inShard, Bytes: w.current.bytes, Complete: true})
	w.current, w.ended = nil, true
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
	for i, g := range w.fields {
		if g.Name == f.Name {
			return FieldFile{Name: f.Name, Suffix: w.encoders[i].suffix, DType: dtypeName(f), Shape: shapeOf(f), Note: w.encoders[i].note}
		}
	}
	return FieldFile{}
}

func (w *shards) close() {
	if w.current != nil {
		w.current.close()
	}
}
