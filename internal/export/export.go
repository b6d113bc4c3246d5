package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/trust"
	"github.com/headrace/headrace/store"
)

// Options say what is written where. Zero fields mean their defaults.
type Options struct {
	Target
	ShardBytes   int64         // most bytes of a shard, if it has more than one sample; 0: 10⁹
	ShardSamples int64         // most samples of a shard; 0: as many as fit
	Images       string        // how shards have images: "npy", "png", "jpg" or "webp"; "": npy in tar, png in others
	Quality      int           // of jpg and webp; 0: 95 for jpg, lossless for webp
	Every        time.Duration // how often a checkpoint is written; 0: 5 s
	Overwrite    bool          // remove what an earlier run wrote

	away *away // of a folder in a store; nil: Dir is one of this machine
}

// where returns a name in the folder as messages have it.
func (o *Options) where(name string) string {
	if o.away != nil {
		return store.Join(o.away.shown, name)
	}
	return filepath.Join(o.Dir, name)
}

// hasSize refuses a file that is not the one that the journal speaks of.
func (o *Options) hasSize(f File) error {
	if o.away != nil {
		return o.away.hasSize(f.Name, f.Bytes)
	}
	return hasSize(filepath.Join(o.Dir, f.Name), f.Bytes)
}

// besideShard returns the name of the file beside a shard; "": there is none.
func (o *Options) besideShard(name string) string {
	if k := kinds[o.Kind]; k.beside != "" {
		return strings.TrimSuffix(name, k.suffix) + k.beside
	}
	return ""
}

// Run says what is written.
type Run struct {
	Info   headrace.Info
	Epochs int
	Fused  bool
}

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

// format is how samples become files.
type format interface {
	write(columns []column, rows, epoch int) error
	due() bool               // the journal should be written now
	sync() ([]File, error)   // force all to the disk, and say how far that is
	finish() ([]File, error) // complete all files
	describe(headrace.Field) FieldFile
	noted() error // the journal or the manifest says what sync or finish has returned
	close()       // leave them as they are
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

// checkWhole refuses batches that have no samples in them any more.
func checkWhole(i headrace.Info) error {
	if i.Single {
		return fmt.Errorf("%w: --out writes what comes into batches: end the recipe with batch", ErrOptions)
	}
	if i.Whole {
		return fmt.Errorf("%w: --out writes samples, and collate makes whole batches of them: leave it out of the recipe", ErrOptions)
	}
	return nil
}

// checkShapes refuses to put arrays of different shapes into one.
func (o Options) checkShapes(fields []headrace.Field) error {
	for _, f := range fields {
		if o.Kind == "npy" && !f.Shape.Fixed() && !isLists(f) {
			return fmt.Errorf("%w: --out npy writes one array of all samples: the field %q is %v %v, and has other shapes in other batches; use --out tar", ErrOptions, f.Name, f.DType, f.Shape)
		}
	}
	return nil
}

func (o Options) check() error {
	images := kinds[o.Kind].images
	switch {
	case o.Images != "" && len(images) == 0:
		return fmt.Errorf("%w: --images is %q: --out %s writes arrays and no images; use --out tar", ErrOptions, o.Images, o.Kind)
	case o.Images != "" && !slices.Contains(images, o.Images):
		return fmt.Errorf("%w: --images is %q: must be %s or %s", ErrOptions, o.Images, strings.Join(images[:len(images)-1], ", "), images[len(images)-1])
	case o.Quality < 0 || o.Quality > 100:
		return fmt.Errorf("%w: --quality is %d: must be from 1 to 100", ErrOptions, o.Quality)
	case o.Quality != 0 && o.Images != "jpg" && o.Images != "webp":
		return fmt.Errorf("%w: --quality has no meaning with --images %s: use it with jpg or webp", ErrOptions, cmp.Or(o.Images, "npy"))
	case o.ShardBytes < 0:
		return fmt.Errorf("%w: --shard-size is %d: must be a number of bytes, at least 1", ErrOptions, o.ShardBytes)
	case o.ShardSamples < 0:
		return fmt.Errorf("%w: --shard-samples is %d: must be at least 1", ErrOptions, o.ShardSamples)
	}
	return nil
}

func (e *Export) path(name string) string {
	return filepath.Join(e.options.Dir, e.options.beside(name))
}

func (e *Export) identity() Identity {
	i := Identity{
		Target: "npy", Recipe: e.run.Info.State.Recipe, Samples: e.run.Info.Samples, Epochs: e.run.Epochs, Fused: e.run.Fused, Decoder: e.run.Info.Decoder,
	}
	if e.options.Kind != "npy" {
		i.Target = e.options.Kind + ":" + e.options.Name
		i.ShardBytes, i.ShardSamples = e.options.ShardBytes, e.options.ShardSamples
		i.Images, i.Quality = e.options.Images, e.options.Quality
	}
	return i
}

// begin finds out how far an earlier run came, and opens the files.
func (e *Export) begin() error {
	if a := e.options.away; a != nil {
		if err := a.begin(e.options.beside("manifest.json"), e.options.beside("journal.json")); err != nil {
			return err
		}
	}
	if e.options.Overwrite {
		if err := e.removeAll(); err != nil {
			return err
		}
	}
	done, err := e.readManifest()
	if err != nil || done {
		return err
	}
	if err := e.readJournal(); err != nil {
		return err
	}
	if e.format, err = e.open(); errors.Is(err, ErrFiles) {
		return fmt.Errorf("%w; --overwrite begins again", err)
	}
	return err
}

func (e *Export) open() (format, error) {
	if e.options.Kind == "npy" {
		return openNPY(e.options, e.run.Info.Fields, e.journal.Files)
	}
	return openShards(e.options, e.run, e.journal.Files)
}

// readManifest reports whether all was written already.
func (e *Export) readManifest() (done bool, err error) {
	path := e.path("manifest.json")
	text, err := e.record(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if e.manifest, err = parseManifest(text); err != nil {
		return false, fmt.Errorf("%w: %s is not a manifest of this command (%w): write elsewhere, or use --overwrite, which removes it", ErrOther, e.options.where(filepath.Base(path)), err)
	}
	if err := e.same(path, e.manifest.Identity, "wrote"); err != nil {
		return false, err
	}
	for _, f := range e.manifest.Files {
		if err := e.options.hasSize(f); err != nil {
			return false, fmt.Errorf("%w; --overwrite begins again", err)
		}
		if err := remove(filepath.Join(e.options.Dir, f.Name+partSuffix)); err != nil { // what it was made of
			return false, err
		}
	}
	e.complete, e.saved = true, e.manifest.Samples
	e.journal.State = e.run.Info.State
	e.journal.State.Epoch = e.run.Epochs
	if a := e.options.away; a != nil {
		if err := a.clean(e.options.beside("journal.json"), e.isOurs); err != nil {
			return false, err
		}
	}
	return true, remove(e.path("journal.json")) // there is one if the run was killed as it ended
}

// readJournal finds where the run goes on. Without a journal it begins, and says so
// before there is anything else.
func (e *Export) readJournal() error {
	path := e.path("journal.json")
	text, err := e.record(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := e.refuseOthers(); err != nil {
			return err
		}
		e.journal = journal{Version: journalVersion, Identity: e.identity(), State: e.run.Info.State, Epochs: []Epoch{}, Files: []File{}}
		if err := replaceJSON(path, e.journal); err != nil || e.options.away == nil {
			return err
		}
		return e.options.away.note(e.options.beside("journal.json"))
	}
	if err != nil {
		return err
	}
	if e.journal, err = parseJournal(text); err != nil {
		return fmt.Errorf("%w: %s is not a journal of this command (%w): write elsewhere, or use --overwrite, which removes it", ErrOther, e.options.where(filepath.Base(path)), err)
	}
	e.saved = e.written()
	return e.same(path, e.journal.Identity, "began to write")
}

// record reads what a run has noted of itself, unless somebody could have written it who
// could not have written the files.
func (e *Export) record(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var judge trust.Judge
	if err := judge.Check(int(f.Fd()), path, []string{e.options.Dir}); err != nil {
		return nil, fmt.Errorf("%w: %w: write elsewhere, or use --overwrite, which removes it", ErrOther, err)
	}
	return io.ReadAll(f)
}

// same refuses to go on with another run's files.
func (e *Export) same(path string, was Identity, did string) error {
	if all := was.differences(e.identity()); len(all) > 0 {
		return fmt.Errorf("%w: another run %s to %v, says %s: %s. Give the same again, write elsewhere, or use --overwrite",
			ErrOther, did, e.shownTarget(), e.options.where(filepath.Base(path)), strings.Join(all, "; "))
	}
	return nil
}

// refuseOthers keeps files that no journal knows.
func (e *Export) refuseOthers() error {
	names, err := e.ours()
	for _, name := range names {
		if trimPart(name) == name {
			return fmt.Errorf("%w: %s exists, and nothing says that this command wrote it. Write elsewhere, or use --overwrite", ErrOther, e.options.where(name))
		}
	}
	return err
}

// ours lists the files in the folder that have names which this run gives.
func (e *Export) ours() (names []string, err error) {
	all, err := e.names()
	for _, entry := range all {
		if e.isOurs(trimPart(entry)) {
			names = append(names, entry)
		}
	}
	return names, err
}

// isOurs reports whether this run gives a file such a name.
func (e *Export) isOurs(name string) bool {
	if e.options.Kind == "npy" {
		return slices.ContainsFunc(e.run.Info.Fields, func(f headrace.Field) bool { return npyName(f) == name })
	}
	_, is := e.options.isShard(name)
	return is
}

// names returns all names in the folder.
func (e *Export) names() (all []string, err error) {
	if e.options.away != nil {
		return e.options.away.names()
	}
	entries, err := os.ReadDir(e.options.Dir)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all, err
}

// shownTarget returns the target as the user named it.
func (e *Export) shownTarget() Target {
	t := e.options.Target
	if e.options.away != nil {
		t.Dir = e.options.away.shown
	}
	return t
}

// trimPart is the name that a part is to have. What is made of a part is the part of
// one.
func trimPart(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, partSuffix), partSuffix)
}

// removeAll removes what an earlier run wrote; first of all what says that it is
// complete.
func (e *Export) removeAll() error {
	names, err := e.ours()
	if err != nil {
		return err
	}
	for _, record := range []string{"manifest.json", "journal.json"} {
		names = append(names, listed(e.path(record))...) // a recipe of other fields left other files
		if err := remove(e.path(record)); err != nil {
			return err
		}
	}
	if err := store.SyncFolder(e.options.Dir); err != nil {
		return err
	}
	for _, name := range names {
		if err := remove(filepath.Join(e.options.Dir, name)); err != nil {
			return err
		}
	}
	if a := e.options.away; a != nil {
		for _, name := range append([]string{e.options.beside("manifest.json"), e.options.beside("journal.json")}, names...) {
			if err := a.remove(name); err != nil {
				return err
			}
		}
		a.journal, a.parts = store.IfAbsent, map[string]bool{}
	}
	return nil
}

// listed names the files that a manifest or a journal lists, and their parts.
func listed(record string) (names []string) {
	text, err := os.ReadFile(record)
	if err != nil {
		return nil
	}
	j, _ := parseJournal(text)
	m, _ := parseManifest(text)
	for _, f := range append(j.Files, m.Files...) {
		names = append(names, f.Name, f.Name+partSuffix)
	}
	return names
}

// State is where the loader is to start.
func (e *Export) State() headrace.State { return e.journal.State }

// Complete returns what was written, once it is, be it by an earlier run.
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
	m := Manifest{Version: journalVersion, Samples: e.written(), Epochs: e.journal.Epochs, Classes: e.run.Info.Classes, Identity: e.identity(), Files: []File{}}
	for _, f := range files {
		f.Complete = false
		m.Files = append(m.Files, f)
	}
	for _, f := range e.run.Info.Fields {
		m.Fields = append(m.Fields, e.format.describe(f))
	}
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

// Close lets go of the files. What the last checkpoint covers is there for the next run.
func (e *Export) Close() {
	if e.format != nil {
		e.format.close()
	}
	unlock(e.lock)
	if e.options.away != nil {
		e.options.away.close()
	}
}
