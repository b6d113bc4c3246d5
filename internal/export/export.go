package export

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store"
)

// Export is the output of one run.
type Export struct {
	options  Options
	run      Run
	lock     *os.File
	format   format
	journal  journal
	manifest Manifest
	complete bool
	lost     []headrace.Lost // since the batch that was written last
	last     time.Time       // when the journal was written
	saved    int64           // samples that it covers
}

// Open prepares to write, from the beginning or where an earlier run of the same kind
// ended. Its folder is made if it is not there.
func Open(o Options, r Run) (_ *Export, err error) {
	o.ShardBytes = cmp.Or(o.ShardBytes, 1e9)
	if k := kinds[o.Kind]; len(k.images) > 0 {
		o.Images = cmp.Or(o.Images, k.images[0])
	}
	o.Every = cmp.Or(o.Every, 5*time.Second)
	if err := errors.Join(o.check(), checkWhole(r.Info), checkFields(r.Info.Fields), o.checkShapes(r.Info.Fields)); err != nil {
		return nil, err
	}

	if o.Dir, err = store.Plain(o.Dir); err != nil {
		return nil, err
	}
	if _, _, ok := store.Scheme(o.Dir); ok {
		if o.away, err = openAway(o.Dir); err != nil {
			return nil, err
		}
		o.Dir = o.away.local
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, err
	}

	// The lock comes before all reading and removing: another run may be writing here.
	e := &Export{options: o, run: r, last: time.Now()}
	if e.lock, err = lock(e.path("lock")); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Export) path(name string) string {
	return filepath.Join(e.options.Dir, e.options.beside(name))
}

func (e *Export) identity() Identity {
	i := Identity{
		Target: "npy", Recipe: e.run.Info.State.Recipe, Samples: e.run.Info.Samples, Epochs: e.run.Epochs,
		Part: e.options.Part.String(), Fused: e.run.Fused, Decoder: e.run.Info.Decoder,
	}
	if e.options.Kind != "npy" {
		i.Target = e.options.Kind + ":" + e.options.Name
		i.ShardBytes, i.ShardSamples = e.options.ShardBytes, e.options.ShardSamples
		i.Images, i.Quality = e.options.Images, e.options.Quality
	}
	return i
}

// State returns the state from which the loader is to start.
func (e *Export) State() headrace.State { return e.journal.State }

// Complete returns the manifest when all is written, even by an earlier run.
func (e *Export) Complete() (Manifest, bool) { return e.manifest, e.complete }

// Saved is the number of samples that the next run need not make again.
func (e *Export) Saved() int64 { return e.saved }

// WrittenIn is the number of samples of an epoch that have been written, by earlier
// runs too; of rows into which several are packed, all of them.
func (e *Export) WrittenIn(epoch int) int64 {
	if epoch >= len(e.journal.Epochs) {
		return 0
	}
	return e.journal.Epochs[epoch].Samples + e.journal.Epochs[epoch].Packed
}

func (e *Export) written() (n int64) {
	for _, epoch := range e.journal.Epochs {
		n += epoch.Samples
	}
	return n
}

// Write adds the samples of a batch. The state is that of the loader after the batch.
func (e *Export) Write(b *headrace.Batch, state headrace.State) error {
	if err := e.format.write(columns(b, e.run.Info.Fields), b.Rows(), b.Epoch()); err != nil {
		return err
	}
	epoch := e.epoch(b.Epoch())
	epoch.Samples += int64(b.Rows())
	epoch.Packed += b.Samples() - int64(b.Rows())
	e.reach(state)
	return nil
}

// Lost counts a sample that the loader lost on its way to the next batch.
func (e *Export) Lost(l headrace.Lost) { e.lost = append(e.lost, l) }

// reach notes how far the loader is. Losses count with the state that covers them:
// whoever goes on from an earlier one, meets them again.
func (e *Export) reach(state headrace.State) {
	for _, l := range e.lost {
		if l.Replaced {
			e.epoch(l.ID.Epoch).Replaced++
		} else {
			e.epoch(l.ID.Epoch).Lost++
		}
	}
	e.lost = e.lost[:0]
	e.journal.State = state
}

func (e *Export) epoch(n int) *Epoch {
	for len(e.journal.Epochs) <= n {
		e.journal.Epochs = append(e.journal.Epochs, Epoch{})
	}
	return &e.journal.Epochs[n]
}

// Checkpoint forces to the disk what was written, and notes that the run goes on from
// there. It does so when it is time, and else nothing.
func (e *Export) Checkpoint() error {
	// A store gets no journal in the middle of a shard: its part would go there again.
	if !e.format.due() && (e.options.away != nil || time.Since(e.last) < e.options.Every) {
		return nil
	}
	return e.Save()
}

// Save is a checkpoint now.
func (e *Export) Save() (err error) {
	if e.journal.Files, err = e.format.sync(); err != nil {
		return err
	}
	if err = replaceJSON(e.path("journal.json"), e.journal); err == nil && e.options.away != nil {
		err = e.options.away.save(e.options.beside("journal.json"), e.journal.Files, e.options.besideShard)
	}
	if err == nil {
		e.saved = e.written()
		err = e.format.noted()
	}
	e.last = time.Now() // after it: a slow disk must not be all that the run waits for
	return err
}

// Finish completes the files, and writes the manifest. The state is that of the loader
// at its end.
func (e *Export) Finish(end headrace.State) (Manifest, error) {
	if e.complete {
		return e.manifest, nil
	}
	e.reach(end)
	if e.options.away == nil { // what is sent next is complete
		if err := e.Save(); err != nil {
			return Manifest{}, err
		}
	}
	files, err := e.format.finish()
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Version: journalVersion, Samples: e.written(), Epochs: e.journal.Epochs,
		Classes: e.run.Info.Classes, Identity: e.identity(), Files: []File{}}
	for _, f := range files {
		f.Complete = false
		m.Files = append(m.Files, f)
	}

	for _, f := range e.run.Info.Fields {
		m.Fields = append(m.Fields, e.format.describe(f))
	}
	// The manifest declares the run complete, so it follows the files, and the journal is
	// removed last.
	if err := replaceJSON(e.path("manifest.json"), m); err != nil {
		return Manifest{}, err
	}
	if a := e.options.away; a != nil {
		for _, f := range m.Files {
			if err := a.send(f.Name, e.options.besideShard(f.Name)); err != nil {
				return Manifest{}, err
			}
		}
		if err := a.finish(e.options.beside("manifest.json"), e.options.beside("journal.json"), e.isOurs); err != nil {
			return Manifest{}, err
		}
	}
	e.manifest, e.complete, e.saved = m, true, m.Samples
	if err := e.format.noted(); err != nil {
		return m, err
	}
	return m, remove(e.path("journal.json"))
}

// Close closes the files. The next run goes on from the last checkpoint.
func (e *Export) Close() {
	if e.format != nil {
		e.format.close()
	}
	unlock(e.lock)
	if e.options.away != nil {
		e.options.away.close()
	}
}
