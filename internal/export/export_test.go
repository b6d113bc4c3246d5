package export

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"
)

const never = time.Hour

// pipeline makes small images of a folder's images, each other in every epoch.
func pipeline(root string, more ...recipe.Args) recipe.Recipe {
	args := []recipe.Args{&input.Files{Pattern: recipe.Path(root), Label: "parent"}, &flow.Shuffle{}, &image.DecodeImage{},
		&image.RandomResizedCrop{Size: recipe.Size{Height: 6, Width: 5}}}
	args = append(append(args, more...), &flow.Batch{Size: 7})
	var r recipe.Recipe
	for _, a := range args {
		r.Steps = append(r.Steps, recipe.Step{Args: a})
	}
	return r
}

// job is something to be written.
type job struct {
	recipe  recipe.Recipe
	epochs  int
	onError headrace.OnError
	options Options
}

// open begins the job, or goes on with it.
func (j job) open(t *testing.T) (*headrace.Loader, *Export) {
	t.Helper()
	l, e, err := j.try(t)
	if err != nil {
		t.Fatal(err)
	}
	return l, e
}

func (j job) try(t *testing.T) (*headrace.Loader, *Export, error) {
	t.Helper()
	var e *Export
	l, err := headrace.Open(context.Background(), j.recipe, headrace.Config{Epochs: &j.epochs, OnError: j.onError}, headrace.Options{
		Lost: func(lost headrace.Lost) { e.Lost(lost) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e, err = Open(j.options, Run{Info: l.Info(), Epochs: j.epochs, Fused: true})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(e.Close)
	return l, e, nil
}

// write writes up to so many batches, and reports whether the end came before.
func write(t *testing.T, l *headrace.Loader, e *Export, batches int) (ended bool) {
	t.Helper()
	if err := l.Start(e.State(), nil); err != nil {
		t.Fatal(err)
	}
	for batches > 0 {
		b, err := l.Next(context.Background())
		switch err {
		case nil:
			if err := errors.Join(e.Write(b, l.State()), e.Checkpoint()); err != nil {
				t.Fatal(err)
			}
			b.Release()
			batches--
		case io.EOF:
		case pipe.ErrDone:
			if _, err := e.Finish(l.State()); err != nil {
				t.Fatal(err)
			}
			return true
		default:
			t.Fatal(err)
		}
	}
	return false
}

// whole writes all of it, and returns the files.
func (j job) whole(t *testing.T) map[string]string {
	t.Helper()
	j.options.Dir = t.TempDir()
	l, e := j.open(t)
	write(t, l, e, 1<<30)
	e.Close()
	return files(t, j.options.Dir)
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func same(t *testing.T, got, want map[string]string, when string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s is another: %d bytes, want %d", when, name, len(got[name]), len(text))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there is %s besides", when, name)
		}
	}
}

func jobs(t *testing.T) map[string]job {
	root := phototest.Folder(t, 30)
	spoilt := phototest.Folder(t, 20)
	for _, name := range []string{"003.jpg", "017.jpg", "018.jpg", "019.jpg"} {
		phototest.Spoil(t, spoilt, name)
	}
	shards := Target{Kind: "tar", Name: "train-%06d.tar"}
	arrays := Target{Kind: "npy"}
	return map[string]job{
		"tar":               {pipeline(root), 1, headrace.Raise, Options{Target: shards, ShardBytes: 20_000}},
		"tar, epochs, lost": {pipeline(spoilt), 2, headrace.Skip, Options{Target: shards, ShardSamples: 4}},
		"tar, large shards": {pipeline(root), 2, headrace.Raise, Options{Target: shards}},
		"tar, tiny shards":  {pipeline(spoilt), 1, headrace.Skip, Options{Target: shards, ShardBytes: 1}},
		"tar, png":          {pipeline(root), 1, headrace.Raise, Options{Target: shards, ShardSamples: 11, Images: "png"}},
		"jsonl": {pipeline(spoilt, &data.Drop{Fields: []string{"image"}}), 2,
			headrace.Skip, Options{Target: kindOf("jsonl"), ShardSamples: 9}},
		"parquet":           {pipeline(spoilt), 2, headrace.Skip, Options{Target: kindOf("parquet"), ShardBytes: 2000}},
		"tfrecord":          {pipeline(root), 1, headrace.Raise, Options{Target: kindOf("tfrecord"), ShardSamples: 8}},
		"bin":               {tokens(t, 40), 1, headrace.Raise, Options{Target: kindOf("bin"), ShardSamples: 11}},
		"npy":               {pipeline(root), 1, headrace.Raise, Options{Target: arrays}},
		"npy, epochs, lost": {pipeline(spoilt), 2, headrace.Skip, Options{Target: arrays}},
		"npy, floating point": {pipeline(root, &image.Normalize{Mean: []float64{0.5}, Std: []float64{0.25}}),
			1, headrace.Raise, Options{Target: arrays}},
	}
}

func kindOf(name string) Target { return Target{Kind: name, Name: "train-%06d" + kinds[name].suffix} }

// tokens are of so many documents.
func tokens(t *testing.T, documents int) recipe.Recipe {
	t.Helper()
	root := t.TempDir()
	for i := range documents {
		var tokens []byte
		for k := range 5 {
			tokens = binary.LittleEndian.AppendUint32(tokens, uint32(100*i+k))
		}
		file := append(npy.Write(tensor.Int32, tensor.Shape{5}), tokens...)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%03d.npy", i)), file, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return recipe.Recipe{Steps: recipe.Chain{
		{Args: &input.Files{Pattern: recipe.Path(root)}}, {Args: &flow.Shuffle{}},
		{Args: &data.DecodeNPY{To: "tokens", DType: "int32", Shape: recipe.Extents{5}}}, {Args: &flow.Batch{Size: 3}},
	}}
}

// Wherever a run is cut, and however long before that its last checkpoint was, the next
// one ends with the same files.
func TestCutAnywhere(t *testing.T) {
	for name, j := range jobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time they wait for the disk
			want := j.whole(t)
			for saved := 0; ; saved++ { // batches until the checkpoint
				j.options.Dir = t.TempDir()
				j.options.Every = never
				l, e := j.open(t)
				if write(t, l, e, saved) {
					break
				}
				if err := e.Save(); err != nil {
					t.Fatal(err)
				}
				ended := write2(t, l, e, saved%5) // these are lost, but for shards that ended
				e.Close()
				l.Close()
				if ended {
					continue
				}
				l, e = j.open(t)
				write(t, l, e, 1<<30)
				e.Close()
				same(t, files(t, j.options.Dir), want, fmt.Sprintf("cut %d batches after a checkpoint after %d", saved%5, saved))
			}
		})
	}
}

// write2 goes on without a start.
func write2(t *testing.T, l *headrace.Loader, e *Export, batches int) (ended bool) {
	t.Helper()
	for batches > 0 {
		b, err := l.Next(context.Background())
		switch err {
		case nil:
			if err := e.Write(b, l.State()); err != nil {
				t.Fatal(err)
			}
			b.Release()
			batches--
		case io.EOF:
		case pipe.ErrDone:
			return true
		default:
			t.Fatal(err)
		}
	}
	return false
}

// A run cut again and again, at each batch.
func TestCutAtEveryBatch(t *testing.T) {
	for name, j := range jobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time they wait for the disk
			want := j.whole(t)
			j.options.Dir, j.options.Every = t.TempDir(), 1
			for range 1000 {
				l, e := j.open(t)
				ended := write(t, l, e, 1)
				e.Close()
				l.Close()
				if ended {
					same(t, files(t, j.options.Dir), want, "cut at every batch")
					return
				}
			}
			t.Fatal("it never ended")
		})
	}
}

// A kill while the files get their names leaves some of them with, some without.
func TestCutWhileItEnds(t *testing.T) {
	for name, j := range jobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time they wait for the disk
			want := j.whole(t)
			j.options.Dir, j.options.Every = t.TempDir(), 1
			l, e := j.open(t)
			if err := l.Start(e.State(), nil); err != nil {
				t.Fatal(err)
			}
			write2(t, l, e, 1<<30)
			if err := e.Save(); err != nil {
				t.Fatal(err)
			}
			journal, err := os.ReadFile(e.path("journal.json"))
			if err != nil {
				t.Fatal(err)
			}
			before := files(t, j.options.Dir)
			if _, err := e.Finish(l.State()); err != nil {
				t.Fatal(err)
			}
			e.Close()
			os.Remove(e.path("manifest.json"))
			for name, text := range before { // what shards are made of goes after the manifest is there
				if j.options.Kind == "parquet" || j.options.Kind == "bin" {
					os.WriteFile(filepath.Join(j.options.Dir, name), []byte(text), 0o666)
				}
			}
			os.WriteFile(e.path("journal.json"), journal, 0o666)
			last := "image.npy"
			if j.options.Kind != "npy" {
				last = ""
			}
			if last != "" { // the one that was renamed first has its name, this one has not
				os.Rename(filepath.Join(j.options.Dir, last), filepath.Join(j.options.Dir, last+partSuffix))
			}
			l, e = j.open(t)
			write(t, l, e, 1<<30)
			e.Close()
			same(t, files(t, j.options.Dir), want, "cut while files were renamed")

			os.WriteFile(e.path("journal.json"), journal, 0o666) // removed after the manifest was written
			_, e = j.open(t)
			if m, done := e.Complete(); !done || m.Samples == 0 {
				t.Error("what is complete is not found to be")
			}
			e.Close()
			same(t, files(t, j.options.Dir), want, "cut before the journal was removed")
		})
	}
}

// The shards hold every sample once, in the order of the loader, under names that
// WebDataset understands.
func TestShards(t *testing.T) {
	j := jobs(t)["tar, epochs, lost"]
	names, labels, keys := []string{}, "", map[string]int{}
	dir := j.whole(t)
	var m Manifest
	if err := json.Unmarshal([]byte(dir["train.manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Samples != 2*16 || m.Lost() != 2*4 || len(m.Epochs) != 2 || len(m.Classes) != 2 || len(dir) != len(m.Files)+1 {
		t.Errorf("the manifest is %+v", m)
	}
	for _, f := range m.Files {
		if f.Samples > 4 || f.Bytes != int64(len(dir[f.Name])) {
			t.Errorf("%+v has %d bytes", f, len(dir[f.Name]))
		}
		r := tar.NewReader(strings.NewReader(dir[f.Name]))
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, _ := io.ReadAll(r)
			names = append(names, h.Name)
			switch {
			case strings.HasSuffix(h.Name, ".cls"):
				labels += string(content)
			case strings.HasSuffix(h.Name, ".key.txt"):
				keys[h.Name[:2]+string(content)]++
				if want := strings.TrimSuffix(filepath.Base(string(content)), ".jpg"); !strings.Contains(h.Name, "-"+want+".") {
					t.Errorf("%s is of %s", h.Name, content)
				}
			case !bytes.HasPrefix(content, []byte("\x93NUMPY")) || len(content) != 128+6*5*3:
				t.Errorf("%s has %d bytes", h.Name, len(content))
			}
		}
	}
	if len(names) != 3*2*16 || len(labels) != 2*16 || strings.Trim(labels, "01") != "" || len(keys) != 2*16 {
		t.Errorf("there are %d files, labels %q, %d keys", len(names), labels, len(keys))
	}
	if !strings.HasPrefix(names[0], "e0-000000000-class") || !strings.HasSuffix(names[0], ".npy") || !strings.HasPrefix(names[len(names)-1], "e1-000000031-class") {
		t.Errorf("the first file is %s, the last %s", names[0], names[len(names)-1])
	}
}

func TestShardsKeepTheirSize(t *testing.T) {
	j := jobs(t)["tar"]
	for name, text := range j.whole(t) {
		if strings.HasSuffix(name, ".tar") && len(text) > 20_000 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
	j.options.ShardBytes = 1
	if n := len(j.whole(t)); n != 30+1 {
		t.Errorf("%d files: a sample that is larger than a shard has one of its own", n)
	}
}

// Nothing is gone on with that another run began, and nothing is overwritten unasked.
func TestOthersAreRefused(t *testing.T) {
	all := jobs(t)
	for _, kind := range []string{"tar", "npy"} {
		base := all[kind]
		for _, complete := range []bool{false, true} {
			base.options.Dir = t.TempDir()
			l, e := base.open(t)
			write(t, l, e, map[bool]int{false: 2, true: 100}[complete])
			if !complete {
				e.Save()
			}
			e.Close()
			before := files(t, base.options.Dir)
			for want, change := range map[string]func(j *job){
				"the recipe, its variables or its seed":       func(j *job) { j.recipe.Seed++ },
				"--epochs was 1, and is 2":                    func(j *job) { j.epochs = 2 },
				"--shard-size was 20000, and is 30000":        func(j *job) { j.options.ShardBytes = 30_000 },
				"--shard-samples was 0, and is 5":             func(j *job) { j.options.ShardSamples = 5 },
				"--images was npy, and is jpg":                func(j *job) { j.options.Images = "jpg" },
				"--out was tar:train-%06d.tar, and is tar:tr": func(j *job) { j.options.Name = "train_%06d.tar" },
			} {
				if kind == "npy" && strings.HasPrefix(want, "--") && !strings.HasPrefix(want, "--epochs") {
					continue
				}
				other := base
				change(&other)
				_, _, err := other.try(t)
				if !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--overwrite") {
					t.Errorf("%s, %q: %v", kind, want, err)
				}
				same(t, files(t, base.options.Dir), before, want)
			}
			base.onError = headrace.Skip // as it is allowed to: nothing was lost before
			again, e := base.open(t)
			write(t, again, e, 100)
			e.Close()
		}
	}
}

func TestOverwrite(t *testing.T) {
	all := jobs(t)
	for _, kind := range []string{"tar", "npy"} {
		j := all[kind]
		want := j.whole(t)
		j.options.Dir = t.TempDir()
		other := j
		other.recipe.Seed++
		l, e := other.open(t)
		write(t, l, e, 2)
		e.Save()
		e.Close()
		mine := filepath.Join(j.options.Dir, "notes.txt")
		os.WriteFile(mine, nil, 0o666)

		j.options.Overwrite = true
		l, e = j.open(t)
		write(t, l, e, 100)
		e.Close()
		want["notes.txt"] = ""
		same(t, files(t, j.options.Dir), want, kind)

		l, e = j.open(t) // also of what is complete
		if _, done := e.Complete(); done {
			t.Error("it was to begin again")
		}
		write(t, l, e, 100)
		e.Close()
		same(t, files(t, j.options.Dir), want, kind)
	}
}

// A recipe of other fields leaves no file of the one before.
func TestOverwriteOtherFields(t *testing.T) {
	j := jobs(t)["npy"]
	j.options.Dir = t.TempDir()
	l, e := j.open(t)
	write(t, l, e, 100)
	e.Close()
	j.recipe.Steps[0].Args.(*input.Files).Label = ""
	j.options.Overwrite = true
	l, e = j.open(t)
	write(t, l, e, 100)
	e.Close()
	if _, there := files(t, j.options.Dir)["label.npy"]; there {
		t.Error("labels of another run are left")
	}
}

func TestForeignFilesAreKept(t *testing.T) {
	all := jobs(t)
	for kind, name := range map[string]string{"tar": "train-000007.tar", "npy": "label.npy"} {
		j := all[kind]
		j.options.Dir = t.TempDir()
		os.WriteFile(filepath.Join(j.options.Dir, name), []byte("precious"), 0o666)
		if _, _, err := j.try(t); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v", err)
		}
		if files(t, j.options.Dir)[name] != "precious" {
			t.Errorf("%s is gone", name)
		}
	}
}

// Files that were changed between two runs are found out.
func TestChangedFiles(t *testing.T) {
	all := jobs(t)
	for name, c := range map[string]struct {
		kind   string
		change func(dir string) error
	}{
		"a shard is gone":    {"tar", func(dir string) error { return os.Remove(filepath.Join(dir, "train-000000.tar")) }},
		"a shard is shorter": {"tar", func(dir string) error { return os.Truncate(filepath.Join(dir, "train-000001.tar"), 512) }},
		"a part is gone":     {"tar", func(dir string) error { return removeParts(dir) }},
		"an array is gone":   {"npy", func(dir string) error { return os.Remove(filepath.Join(dir, "label.npy.part")) }},
		"an array is shorter": {"npy", func(dir string) error {
			return os.Truncate(filepath.Join(dir, "image.npy.part"), 200)
		}},
		"a field has no file": {"npy", func(dir string) error {
			return edit(filepath.Join(dir, "journal.json"), `"label.npy"`, `"image.npy"`)
		}},
		"a shard has another number": {"tar", func(dir string) error {
			return edit(filepath.Join(dir, "train.journal.json"), `"train-000001.tar"`, `"train-000009.tar"`)
		}},
	} {
		j := all[c.kind]
		j.options.Dir = t.TempDir()
		l, e := j.open(t)
		write(t, l, e, 3)
		if err := e.Save(); err != nil {
			t.Fatal(err)
		}
		e.Close()
		if err := c.change(j.options.Dir); err != nil {
			t.Fatal(err)
		}
		if _, _, err := j.try(t); !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func removeParts(dir string) error {
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	if len(parts) != 1 {
		return fmt.Errorf("%v", parts)
	}
	return os.Remove(parts[0])
}

func edit(path, before, after string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(before)) {
		return fmt.Errorf("%s has no %s", path, before)
	}
	return os.WriteFile(path, bytes.Replace(text, []byte(before), []byte(after), 1), 0o666)
}

func TestChangedFilesOfACompleteRun(t *testing.T) {
	j := jobs(t)["npy"]
	j.options.Dir = t.TempDir()
	l, e := j.open(t)
	write(t, l, e, 100)
	e.Close()
	os.Truncate(filepath.Join(j.options.Dir, "label.npy"), 130)
	if _, _, err := j.try(t); !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("%v", err)
	}
}

func TestRecordsOfSomethingElse(t *testing.T) {
	j := jobs(t)["npy"]
	for _, name := range []string{"journal.json", "manifest.json"} {
		j.options.Dir = t.TempDir()
		os.WriteFile(filepath.Join(j.options.Dir, name), []byte(`{"web": "manifest"}`), 0o666)
		if _, _, err := j.try(t); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("%v", err)
		}
		overwriting := j
		overwriting.options.Overwrite = true
		l, e := overwriting.open(t)
		write(t, l, e, 100)
		e.Close()
	}
}

func TestTwoAtOnce(t *testing.T) {
	j := jobs(t)["tar"]
	j.options.Dir = t.TempDir()
	_, e := j.open(t)
	if _, _, err := j.try(t); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	other := j
	other.options.Name = "val-%06d.tar" // in the same folder
	_, o := other.open(t)
	o.Close()
	e.Close()
	_, e = j.open(t)
	e.Close()
}

func TestPlacesThatCannotBeWritten(t *testing.T) {
	j := jobs(t)["npy"]
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o666)
	for _, dir := range []string{file, filepath.Join(file, "deeper"), "/proc/nothing"} {
		j.options.Dir = dir
		if _, _, err := j.try(t); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(dir, "/deeper")) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	j.options.Dir = t.TempDir()
	os.Mkdir(filepath.Join(j.options.Dir, "image.npy.part"), 0o777)
	if _, _, err := j.try(t); err == nil || !strings.Contains(err.Error(), "image.npy.part") {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	base := jobs(t)["tar"]
	for want, change := range map[string]func(j *job){
		`--images is "gif": must be npy, png, jpg or webp`: func(j *job) { j.options.Images = "gif" },
		`--images is "png": --out npy writes arrays`:       func(j *job) { j.options.Images = "png"; j.options.Target = Target{Kind: "npy", Dir: j.options.Dir} },
		`--quality is 101: must be from 1 to 100`:          func(j *job) { j.options.Images, j.options.Quality = "jpg", 101 },
		`--quality has no meaning with --images png`:       func(j *job) { j.options.Images, j.options.Quality = "png", 50 },
		`--shard-size is -1: must be`:                      func(j *job) { j.options.ShardBytes = -1 },
		`not fit: --shard-samples is -1: must be`:          func(j *job) { j.options.ShardSamples = -1 },
		`image is float32 [6, 5, 3]: must be uint8 (PNG: ui`: func(j *job) {
			j.options.Images, j.recipe = "jpg", pipeline(t.TempDir(), &image.Normalize{Mean: []float64{0.5}, Std: []float64{0.25}})
		},
	} {
		j := base
		j.options.Dir = t.TempDir()
		change(&j)
		if j.recipe.Steps[0].Args.(*input.Files).Pattern != base.recipe.Steps[0].Args.(*input.Files).Pattern {
			j.recipe.Steps[0] = base.recipe.Steps[0]
		}
		if _, _, err := j.try(t); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// A source may lose all that it has, or a run have no epoch.
func TestNothing(t *testing.T) {
	for _, kind := range []string{"tar", "npy"} {
		j := jobs(t)[kind]
		j.epochs = 0
		got := j.whole(t)
		if kind == "tar" && len(got) != 1 || kind == "npy" && len(got) != 4 {
			t.Errorf("%s: %d files", kind, len(got))
		}
	}
}

// A journal in a folder where everybody can put files says where a run goes on only if it
// is this user's.
func TestAJournalOfSomebodyElse(t *testing.T) {
	tier.GivesFilesAway(t)
	dir := t.TempDir()
	e := &Export{options: Options{Target: Target{Dir: dir, Kind: "npy"}}}
	path := filepath.Join(dir, "journal.json")
	if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o644), os.Chmod(dir, os.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	if text, err := e.record(path); err != nil || string(text) != "{}" {
		t.Errorf("%q, %v", text, err)
	}
	const bob = 48002 // whom no file of the machine belongs to
	if err := os.Chown(path, bob, bob); err != nil {
		t.Fatal(err)
	}
	if _, err := e.record(path); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "could have been written by user 48002") {
		t.Error(err)
	}
}
