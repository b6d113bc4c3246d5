package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/trust"
	"github.com/headrace/headrace/store"
)

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
		return false, fmt.Errorf("%w: %s is not a manifest of this command (%w): write elsewhere, "+
			"or use --overwrite, which removes it", ErrOther, e.options.where(filepath.Base(path)), err)
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
		return fmt.Errorf("%w: %s is not a journal of this command (%w): write elsewhere, "+
			"or use --overwrite, which removes it", ErrOther, e.options.where(filepath.Base(path)), err)
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
			return fmt.Errorf("%w: %s exists, and nothing says that this command wrote it. Write elsewhere, "+
				"or use --overwrite", ErrOther, e.options.where(name))
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

	// A crash must not leave a manifest of files that are gone.
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
