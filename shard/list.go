package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/store"
)

// ErrNoShards marks a set that would have no shards.
var ErrNoShards = errors.New("shard: there are no shards")

// listed is a shard that belongs to a set.
type listed struct {
	in   store.Store // in which it is
	path string      // by which it is opened there
	key  string      // as it was given
	set  Set         // of a set that describes itself; nil: its format is told by what is in it
	by   string      // the file that does
}

// isLocal reports whether it is a file of this machine.
func (s *listed) isLocal() bool {
	_, local := s.in.(store.Local)
	return local
}

// lister finds shards.
type lister struct {
	ctx    context.Context
	root   string
	format string // "": any
	all    []listed
}

// place is where a name is looked for.
type place struct {
	in     store.Store
	scheme string // before the names of its objects
	root   string // the folder of relative names
}

// placeOf returns the place of a name, and what the name is there.
func (l *lister) placeOf(name string) (p place, object string, err error) {
	if command, ok := strings.CutPrefix(name, "pipe:"); ok {
		return p, "", fmt.Errorf("%w: %q is a command, which can only be read from its beginning: "+
			"give the shards that %q reads, as files", ErrUnsupported, name, strings.TrimSpace(command))
	}
	if p.in, object, err = store.Of(name); err != nil {
		return p, "", err
	}
	switch p.in.(type) {
	case store.Local:
		p.root = l.root
	default:
		p.scheme = strings.TrimSuffix(name, object)
	}
	return p, object, nil
}

func (p place) under(name string) string {
	if p.root == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(p.root, name)
}

// exists tells whether there is an object of a name, or a folder.
func (p place) exists(ctx context.Context, name string) (object, folder bool, err error) {
	if _, err := p.in.Stat(ctx, p.under(name)); err == nil {
		return true, false, nil
	} else if _, local := p.in.(store.Local); !local && !errors.Is(err, fs.ErrNotExist) {
		return false, false, fmt.Errorf("%s: %w", store.Shown(p.scheme+name), err) // it may be there
	}
	folder, err = store.IsFolder(ctx, p.in, p.under(name))
	return false, folder, err
}

// about says of an error in which store it is.
func (p place) about(err error) error {
	if p.scheme == "" {
		return err
	}
	return fmt.Errorf("%s: %w", p.scheme, err)
}

// list finds the shards that names stand for, in their order: braces in the order of
// shells, what a pattern or a folder has by the bytes of its paths.
func (l *lister) list(from []string) error {
	for _, name := range from {
		p, name, err := l.placeOf(name)
		if err != nil {
			return err
		}
		names := []string{name}
		if strings.Contains(name, "{") {
			if names, err = l.expand(p, name); err != nil {
				return err
			}
		}
		for _, one := range names {
			if err := l.one(p, one); err != nil {
				return err
			}
		}
	}
	if len(l.all) == 0 {
		return ErrNoShards
	}
	return nil
}

// expand returns the names that one with braces stands for: itself, where there is
// something of this name.
func (l *lister) expand(p place, name string) ([]string, error) {
	object, folder, err := p.exists(l.ctx, name)
	if errors.Is(err, fs.ErrPermission) && p.scheme != "" {
		return expand(name) // without the right to list, missing names are denied, too
	}
	if err != nil || object || folder {
		return []string{name}, err
	}
	return expand(name)
}

// one adds what a name without braces stands for.
func (l *lister) one(p place, name string) error {
	if p.scheme != "" && isShard(name) {
		// A request for each would take long; versions asks for all at once.
		l.all = append(l.all, listed{in: p.in, path: name, key: store.Shown(p.scheme + name)})
		return nil
	}
	object, folder, err := p.exists(l.ctx, name)
	switch {
	case err != nil:
		return err
	case folder:
		return l.folder(p, name)
	case strings.ContainsAny(name, "*?[") && !object:
		t, err := store.Find(l.ctx, p.in, p.root, name, nil)
		if err != nil {
			return p.about(err)
		}
		l.matched(p, t)
		return nil
	}
	if object && slices.Contains(describing(), path.Base(name)) {
		if done, err := l.described(p, name); done || err != nil {
			return err
		}
	}
	// that it is missing is said with all others that are
	l.all = append(l.all, listed{in: p.in, path: p.under(name), key: store.Shown(p.scheme + name)})
	return nil
}

// isShard tells whether a name can only be that of one shard.
func isShard(name string) bool {
	return bySuffix(name) != nil && !strings.ContainsAny(name, "*?[") && !slices.Contains(describing(), path.Base(name))
}

// isManifest tells whether the file is what "headrace run --out" writes beside shards. Of
// a file of this name by another program, such as a table, its beginning decides.
func (l *lister) isManifest(p place, t *store.Table, i int) bool {
	key := path.Base(t.Key(i))
	if t.Len() == 1 || key != "manifest.json" && !strings.HasSuffix(key, ".manifest.json") {
		return false
	}
	f, err := open(l.ctx, p.in, t.Path(i), p.scheme+t.Key(i))
	if err != nil {
		return false // the error is that of the shard
	}
	defer f.Close()
	head := make([]byte, len(manifestHead))
	_, err = f.ReadAt(head, 0)
	return err == nil && string(head) == manifestHead
}

const manifestHead = "{\n \"headrace_export\""

// matched adds what a pattern has, but for indices that other programs have put beside
// the shards, as train-0.idx is beside train-0.tar: they are no shards.
func (l *lister) matched(p place, t *store.Table) {
	isIndex := func(key string) bool { return strings.HasSuffix(key, ".idx") || strings.HasSuffix(key, ".index") }
	shards := map[string]bool{} // and what is before each dot of their names
	for i := range t.Len() {
		key := t.Key(i)
		if isIndex(key) {
			continue
		}
		for folder, base := path.Split(key); base != ""; base = base[:max(0, strings.LastIndexByte(base, '.'))] {
			shards[folder+base] = true
		}
	}
	for i := range t.Len() {
		key := t.Key(i)
		if l.isManifest(p, t, i) {
			continue
		}
		if !isIndex(key) || !shards[strings.TrimSuffix(key, path.Ext(key))] {
			l.all = append(l.all, listed{in: p.in, path: t.Path(i), key: p.scheme + key})
		}
	}
}

// folder adds the shards of a folder: those that a file in it names, or those of the
// formats that are known.
func (l *lister) folder(p place, name string) error {
	for _, index := range describing() {
		if done, err := l.described(p, path.Join(name, index)); done || err != nil {
			return err
		}
	}
	wanted := suffixes()
	if f := named(l.format); f != nil {
		wanted = f.Suffixes()
	}
	t, err := store.Find(l.ctx, p.in, p.root, name, wanted)
	if errors.Is(err, store.ErrNoFiles) {
		return l.noShards(p.scheme+name, wanted)
	}
	if err != nil {
		return p.about(err)
	}

	first := map[string]string{} // of each format
	var found []listed
	for i := range t.Len() {
		if l.isManifest(p, t, i) {
			continue
		}
		found = append(found, listed{in: p.in, path: t.Path(i), key: p.scheme + t.Key(i)})
		if f := bySuffix(t.Key(i)); f != nil && first[f.Name()] == "" {
			first[f.Name()] = path.Base(t.Key(i))
		}
	}
	if len(first) > 1 && l.format == "" {
		var formats []string
		for format, of := range first {
			formats = append(formats, fmt.Sprintf("%s (%s)", format, of))
		}
		slices.Sort(formats)
		return fmt.Errorf("%w: the folder %q has files of several formats, %s: choose one with a pattern such as %q",
			ErrUnsupported, name, words.List(formats), path.Join(name, "*"+path.Ext(first[slices.Sorted(keys(first))[0]])))
	}
	l.all = append(l.all, found...)
	return nil
}

// noShards is the error for a folder without shards, in which most often each file is a
// sample.
func (l *lister) noShards(folder string, suffixes []string) error {
	which := "shards, such as .tar or .parquet files"
	if l.format != "" {
		which = "file that ends in " + words.Either(suffixes)
	}
	return fmt.Errorf("%w: the folder %q holds no %s: images, recordings and videos are read by files(%q), "+
		"for which headrace init prints a recipe",
		store.ErrNoFiles, folder, which, folder)
}

func keys(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// described adds the shards that a file names; false: it is none that does.
func (l *lister) described(p place, name string) (bool, error) {
	f, err := open(l.ctx, p.in, p.under(name), p.scheme+name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	defer f.Close()
	o := openerOf(f)
	if o == nil || l.format != "" && l.format != o.Name() {
		return false, nil
	}
	set, err := o.Open(l.ctx, f)
	if err != nil {
		return false, err
	}
	for _, s := range set.Shards() {
		if !filepath.IsLocal(filepath.FromSlash(s)) {
			return false, Wrong(f, -1, ErrCorrupt, "it names the shard %q, which is not in its folder", s)
		}
		key := path.Join(path.Dir(name), s)
		l.all = append(l.all, listed{in: p.in, path: p.under(key), key: p.scheme + key, set: set, by: p.under(name)})
	}
	return true, nil
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
