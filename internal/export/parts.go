package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/store"
)

// Part is one of several parts in which the samples are written, each by a run of its
// own on any machine. The zero Part is the whole.
type Part struct{ Index, Of int }

// mostParts is far beyond what any array of jobs has.
const mostParts = 1 << 20

// ParsePart reads i/n, such as 3/16, which counts from 0.
func ParsePart(text string) (p Part, err error) {
	index, of, ok := strings.Cut(text, "/")
	if p.Index, err = strconv.Atoi(index); err == nil && ok {
		p.Of, err = strconv.Atoi(of)
	}
	known := err == nil && ok && p.Of <= mostParts
	if !known || p.Index < 0 || p.Index >= p.Of {
		return Part{}, fmt.Errorf("%q: must be i/n, such as 0/16 for the first of 16 parts and 15/16 for the last", text)
	}
	return p, nil
}

// String is the form that ParsePart reads; "" of the whole.
func (p Part) String() string {
	if p.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Of)
}

// name returns the middle of a part's file names. Numbers are as wide as Hugging Face
// has them, so that names are in the order of the parts.
func (p Part) name() string { return fmt.Sprintf("%05d-of-%05d", p.Index, p.Of) }

// prefix returns the beginning of the names of a part's samples, so that no two parts
// have the same.
func (p Part) prefix() string {
	if p.Of == 0 {
		return ""
	}
	return fmt.Sprintf("p%d-", p.Index)
}

var partName = regexp.MustCompile(`^(\d{5,})-of-(\d{5,})$`)

// Part returns the target of a part of the samples: shards that say so in their names, or
// a folder of its own.
func (t Target) Part(p Part) Target {
	switch {
	case p.Of == 0:
	case t.Kind == "npy":
		t.Dir = store.Join(t.Dir, p.name())
	default:
		at := strings.Index(t.Name, "%")
		t.Name = t.Name[:at] + p.name() + "-" + t.Name[at:]
	}
	return t
}

// manifestOf returns the name of a part's manifest, within the folder.
func (t Target) manifestOf(p Part) string {
	if t.Kind == "npy" {
		return p.name() + "/manifest.json"
	}
	return t.Part(p).beside("manifest.json")
}

// partOf tells which part of the target it is whose manifest has such a name, within the
// folder.
func (t Target) partOf(manifest string) (p Part, ok bool) {
	// What is around the name of any part is around that of the first of one.
	first := Part{0, 1}
	before, after, _ := strings.Cut(t.manifestOf(first), first.name())
	middle, begins := strings.CutPrefix(manifest, before)
	middle, ends := strings.CutSuffix(middle, after)
	numbers := partName.FindStringSubmatch(middle)
	if !begins || !ends || numbers == nil {
		return Part{}, false
	}
	p, err := ParsePart(numbers[1] + "/" + numbers[2])
	return p, err == nil && p.name() == middle
}

// Whole sums up all parts of a target.
type Whole struct {
	Parts    int   `json:"parts"`
	Files    int   `json:"files"`
	Samples  int64 `json:"samples"`
	Bytes    int64 `json:"bytes"`
	Lost     int64 `json:"lost"`
	Replaced int64 `json:"replaced"`
}

// ErrParts marks parts that are no whole.
var ErrParts = errors.New("export: the parts are not whole")

// CheckParts verifies that all parts of a target are there, that they are of one recipe
// and one set of options, and that each has the files that its manifest lists, in their
// sizes. The error lists the faults of all parts.
func CheckParts(ctx context.Context, t Target) (w Whole, err error) {
	in, err := openParts(ctx, t)
	if err != nil {
		return w, err
	}
	found, err := in.found()
	if err != nil {
		return w, err
	}
	w.Parts = len(found)

	var wrong, missing []string
	var first *Manifest
	for i, is := range found {
		p := Part{i, w.Parts}
		if !is {
			missing = append(missing, p.String())
			continue
		}
		m, err := in.manifest(ctx, p)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("part %v: %v", p, err))
			continue
		}

		// Parts are of one run, but for what makes them parts.
		if first == nil {
			first = &m
		}
		was, is := first.Identity, m.Identity
		was.Part, was.Target = is.Part, is.Target
		if all := was.differences(is); len(all) > 0 {
			wrong = append(wrong, fmt.Sprintf("part %v is of another run than %s: %s", p, first.Identity.Part, strings.Join(all, "; ")))
		}
		wrong = append(wrong, in.files(p, m)...)
		w.add(m)
	}

	if len(missing) > 0 {
		wrong = append([]string{fmt.Sprintf("of %d parts %d are missing, or not complete: --part %s",
			w.Parts, len(missing), strings.Join(missing, ", "))}, wrong...)
	}
	if len(wrong) > 0 {
		return w, fmt.Errorf("%w: %s", ErrParts, strings.Join(wrong, "; "))
	}
	return w, nil
}

func (w *Whole) add(m Manifest) {
	w.Files += len(m.Files)
	w.Samples += m.Samples
	w.Bytes += m.Bytes()
	w.Lost += m.Lost()
	w.Replaced += m.Replaced()
}

// written are the files of all parts, in a folder of this machine or of a store.
type written struct {
	target Target
	shown  string
	sizes  map[string]int64 // by name within the folder
	read   func(ctx context.Context, name string) ([]byte, error)
}

func openParts(ctx context.Context, t Target) (*written, error) {
	dir, err := store.Plain(t.Dir)
	if err != nil {
		return nil, err
	}
	if _, _, ok := store.Scheme(dir); !ok {
		return localParts(t, dir)
	}
	a, err := openAway(dir)
	if err != nil {
		return nil, err
	}
	a.close() // nothing is made here

	w := &written{target: t, shown: a.shown, sizes: map[string]int64{}}
	objects := map[string]store.Object{}
	for o, err := range a.in.Objects(ctx, a.folder) {
		if err != nil {
			return nil, a.errorOf("", err)
		}
		name := strings.TrimPrefix(o.Name, a.folder)
		w.sizes[name], objects[name] = o.Size, o
	}
	w.read = func(ctx context.Context, name string) ([]byte, error) {
		o := objects[name]
		if o.Size > mostManifest {
			return nil, fmt.Errorf("%s has %d bytes: is no manifest", name, o.Size)
		}
		text := make([]byte, o.Size)
		return text, a.errorOf(name, a.in.ReadAt(ctx, o, text, 0))
	}
	return w, nil
}

// mostManifest bounds a manifest: some 10⁶ files.
const mostManifest = 1 << 27

func localParts(t Target, dir string) (*written, error) {
	w := &written{target: t, shown: dir, sizes: map[string]int64{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			if name == "." || t.Kind == "npy" && partName.MatchString(name) {
				return nil
			}
			return fs.SkipDir
		}
		about, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // a run replaces its journal
			return nil
		}
		if err == nil {
			w.sizes[name] = about.Size()
		}
		return err
	})

	w.read = func(_ context.Context, name string) ([]byte, error) {
		if w.sizes[name] > mostManifest {
			return nil, fmt.Errorf("%s has %d bytes: is no manifest", name, w.sizes[name])
		}
		return os.ReadFile(filepath.Join(dir, name))
	}
	return w, err
}

// found tells of each part whether it has a manifest. Parts of two divisions are refused:
// they have the same samples.
func (w *written) found() ([]bool, error) {
	all := map[int][]bool{}
	for name := range w.sizes {
		if p, ok := w.target.partOf(name); ok {
			if all[p.Of] == nil {
				all[p.Of] = make([]bool, p.Of)
			}
			all[p.Of][p.Index] = true
		}
	}
	switch of := slices.Sorted(maps.Keys(all)); len(of) {
	case 0:
		return nil, fmt.Errorf("%w: %s has no manifest of a part: write them with --part 0/n to --part n-1/n", ErrParts, w.shown)
	case 1:
		return all[of[0]], nil
	default:
		return nil, fmt.Errorf("%w: %s has parts of %d and of %d: remove those of all but one run", ErrParts, w.shown, of[0], of[1])
	}
}

// manifest reads that of a part.
func (w *written) manifest(ctx context.Context, p Part) (m Manifest, err error) {
	name := w.target.manifestOf(p)
	text, err := w.read(ctx, name)
	if err != nil {
		return m, err
	}
	if m, err = parseManifest(text); err != nil {
		return m, fmt.Errorf("%s is not a manifest of this command: %w", name, err)
	}
	if m.Identity.Part != p.String() {
		return m, fmt.Errorf("%s says that it is of part %q", name, m.Identity.Part)
	}
	return m, nil
}

// files says which files of a part are not as its manifest says.
func (w *written) files(p Part, m Manifest) (wrong []string) {
	for _, f := range m.Files {
		name := f.Name
		if w.target.Kind == "npy" {
			name = p.name() + "/" + name
		}
		if size, ok := w.sizes[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("part %v: %s is gone", p, name))
		} else if size != f.Bytes {
			wrong = append(wrong, fmt.Sprintf("part %v: %s has %d bytes, and had %d when it was written", p, name, size, f.Bytes))
		}
	}
	return wrong
}
