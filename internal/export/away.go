package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/headrace/headrace/store"
)

// away is a folder of a store that a run writes to. Objects appear whole, and cannot be
// appended to. So files are made in a folder of this machine, as they are without a
// store, and are put into the store when they are complete. With each journal go the
// parts that it speaks of, which are small when a shard has just ended, as they are when
// the journal is due. A run of another machine goes on from them.
type away struct {
	in     store.Writer
	folder string // in the store, with a slash at its end; "": the store itself
	shown  string // with the scheme
	local  string

	journal store.Condition // that the journal is still ours
	sent    map[string]bool // files that are complete
	parts   map[string]bool // objects of parts
}

// openAway begins to write to a store.
func openAway(name string) (*away, error) {
	a, err := awayIn(name)
	if err == nil {
		a.local, err = os.MkdirTemp("", "headrace-out-")
	}
	return a, err
}

// awayIn finds a folder of a store, into which nothing is written yet.
func awayIn(name string) (*away, error) {
	w, folder, err := store.WriterOf(name)
	if err != nil {
		return nil, err
	}
	if folder != "" && !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	return &away{in: w, folder: folder, shown: store.Shown(name), journal: store.IfAbsent,
		sent: map[string]bool{}, parts: map[string]bool{}}, nil
}

func (a *away) close() { os.RemoveAll(a.local) }

// errorOf adds to an error which object it is about.
func (a *away) errorOf(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", store.Join(a.shown, name), err)
}

// names returns the names in the folder.
func (a *away) names() (all []string, err error) {
	for o, err := range a.in.Objects(context.Background(), a.folder) {
		if err != nil {
			return nil, a.errorOf("", err)
		}
		if name := strings.TrimPrefix(o.Name, a.folder); !strings.Contains(name, "/") {
			all = append(all, name)
		}
	}
	return all, nil
}

// fetch copies an object to the local folder. Without one, the error is [fs.ErrNotExist].
func (a *away) fetch(name string) (o store.Object, err error) {
	if o, err = a.in.Stat(context.Background(), a.folder+name); err != nil {
		return o, a.errorOf(name, err)
	}
	f, err := os.Create(filepath.Join(a.local, name))
	if err != nil {
		return o, err
	}
	buf := make([]byte, min(o.Size, 8<<20))
	for at := int64(0); at < o.Size && err == nil; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), o.Size-at)]
		if err = a.in.ReadAt(context.Background(), o, buf, at); err == nil {
			_, err = f.WriteAt(buf, at)
		}
	}
	return o, a.errorOf(name, errors.Join(err, f.Close()))
}

// hasSize refuses an object that is not the one that the journal speaks of.
func (a *away) hasSize(name string, bytes int64) error {
	o, err := a.in.Stat(context.Background(), a.folder+name)
	if err == nil && o.Size != bytes {
		err = fmt.Errorf("it has %d bytes, and had %d when it was written", o.Size, bytes)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, a.errorOf(name, err))
	}
	a.sent[name] = true
	return nil
}

// put copies a local file to the store.
func (a *away) put(name string, c store.Condition) (store.Object, error) {
	f, err := os.Open(filepath.Join(a.local, name))
	if err != nil {
		return store.Object{}, err
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return store.Object{}, err
	}
	o, err := a.in.Put(context.Background(), a.folder+name, f, about.Size(), c)
	return o, a.errorOf(name, err)
}

// send puts a file that is complete, and another one beside it, and removes it here.
func (a *away) send(name, beside string) error {
	for _, one := range []string{beside, name} {
		if one == "" || a.sent[one] {
			continue
		}
		if _, err := a.put(one, store.Condition{}); err != nil {
			return err
		}
		a.sent[one] = true
		if err := remove(filepath.Join(a.local, one)); err != nil {
			return err
		}
	}
	return nil
}

// save puts the journal, and before it the files that it speaks of.
func (a *away) save(journal string, files []File, beside func(name string) string) error {
	parts := map[string]bool{}
	for _, f := range files {
		if f.Complete {
			if err := a.send(f.Name, beside(f.Name)); err != nil {
				return err
			}
			continue
		}
		if _, err := a.put(f.Name+partSuffix, store.Condition{}); err != nil {
			return err
		}
		parts[f.Name+partSuffix] = true
	}

	if err := a.note(journal); err != nil {
		return err
	}
	// The journal does not name these parts any more, so a killed run does not need them.
	for name := range a.parts {
		if !parts[name] {
			if err := a.remove(name); err != nil {
				return err
			}
		}
	}
	a.parts = parts
	return nil
}

// note puts the journal, unless another run has put one.
func (a *away) note(journal string) error {
	o, err := a.put(journal, a.journal)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: another run writes to %s: %w", ErrBusy, a.shown, err)
	}
	if err == nil {
		a.journal = store.IfUnchanged(o)
	}
	return err
}

// finish puts the manifest, and cleans up.
func (a *away) finish(manifest, journal string, ours func(name string) bool) error {
	if _, err := a.put(manifest, store.Condition{}); err != nil {
		return err
	}
	return a.clean(journal, ours)
}

// clean removes the journal and all parts, which a manifest makes needless.
func (a *away) clean(journal string, ours func(name string) bool) error {
	all, err := a.names()
	if err != nil {
		return err
	}
	for _, name := range all { // also parts of a run whose journal did not come to speak of them
		if trimPart(name) == name || !ours(trimPart(name)) {
			continue
		}
		if err := a.remove(name); err != nil {
			return err
		}
	}
	return a.remove(journal)
}

// remove removes an object that may be gone.
func (a *away) remove(name string) error {
	if err := a.in.Remove(context.Background(), a.folder+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a.errorOf(name, err)
	}
	return nil
}

// begin fetches the notes of an earlier run, and the parts that its journal speaks of.
func (a *away) begin(manifest, journal string) error {
	if _, err := a.fetch(manifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o, err := a.fetch(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// From here on the journal is replaced only if no other run has written it.
	a.journal = store.IfUnchanged(o)

	text, err := os.ReadFile(filepath.Join(a.local, journal))
	if err != nil {
		return err
	}
	j, err := parseJournal(text)
	if err != nil {
		return nil // that is said by those who read it
	}
	for _, f := range j.Files {
		if f.Complete {
			continue
		}
		a.parts[f.Name+partSuffix] = true
		if _, err := a.fetch(f.Name + partSuffix); err != nil {
			return fmt.Errorf("%w: %w", ErrFiles, err)
		}
	}
	return nil
}
